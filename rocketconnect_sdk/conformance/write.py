"""What every sink that keeps values by their keys must do, beside what every sink must.

class TestMySink(SinkSuite, WriteSuite):
    subject = SinkCase(MySink(), {"key": "${queue}-${offset}"}, read, keyed={"key": "${key}", "delete.enabled": "true"})
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rocketconnect_sdk.conformance.sink_case import QUEUES, SinkCase, Writer, writing
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask

_PUT = object()
Change = tuple[int, object]
"""A key, by its number, and what becomes of it: a new value (_PUT), or nothing is left (None)."""


class WriteSuite:
    """Subclass it beside SinkSuite, and give both one `subject`, or a fixture named `case`, with `keyed`."""

    subject: SinkCase

    @pytest.fixture
    def case(self) -> SinkCase:
        """What is tested. Override it where the case needs other fixtures."""
        return self.subject

    def test_of_each_key_the_newest_value_is_there(self, case: SinkCase) -> None:
        """In one batch, and over several."""
        self._are_left(case, [(0, _PUT), (1, _PUT), (0, _PUT)], [(1, _PUT), (2, _PUT)])

    def test_a_record_without_a_value_deletes_what_its_key_names(self, case: SinkCase) -> None:
        """And nothing else."""
        self._are_left(case, [(0, _PUT), (1, _PUT), (2, _PUT)], [(1, None)])

    def test_changes_of_a_key_are_made_in_their_order(self, case: SinkCase) -> None:
        """Also where a batch puts and deletes it by turns."""
        self._are_left(case, [(0, _PUT), (0, None), (0, _PUT), (1, _PUT), (2, _PUT), (1, None)], [(2, None), (2, _PUT)])

    def test_what_is_not_there_can_be_deleted(self, case: SinkCase) -> None:
        """A deletion may come again, or be of what never came."""
        self._are_left(case, [(0, _PUT), (1, None)], [(0, None)], [(0, None), (2, _PUT)])

    def test_changes_that_the_next_owner_makes_again_are_there_as_if_made_once(self, case: SinkCase) -> None:
        """An answer can get lost after the work was done, and the task with it."""
        self._are_left(case, [(0, _PUT), (1, _PUT)], [(0, None), (1, _PUT), (2, _PUT), (2, None)], again=True)

    @staticmethod
    def _are_left(case: SinkCase, *batches: Sequence[Change], again: bool = False) -> None:
        """The target holds what these batches have left. `again`: another owner begins with the last of them."""
        if case.keyed is None:
            pytest.skip("the case does not say by `keyed` how keys name what is written")
        keyed = replace(case, config={**case.config, **case.keyed})
        made: list[SinkBatch] = []
        left: dict[int, object] = {}
        with writing(keyed) as writer:
            writer.start()
            for changes in batches:
                made.append(_batch(keyed, changes, made[-1].offsets[-1] + 1 if made else 0))
                left |= {key: value for (key, _), value in zip(changes, made[-1].values, strict=True)}
                _write(writer, made[-1])
        if again:
            with writing(keyed, epoch=2) as writer:
                writer.positions = {queue: QueuePosition(made[-1].offsets[0]) for queue in QUEUES}
                _write(writer.start(), made[-1])
        found = sorted(map(repr, keyed.read()))
        assert found == sorted(repr(value) for value in left.values() if value is not None)


def _batch(case: SinkCase, changes: Sequence[Change], begin: int) -> SinkBatch:
    places = range(begin, begin + len(changes))
    values = [case.value(0, offset) if value is _PUT else None for offset, (_, value) in zip(places, changes, strict=True)]
    # The keys look as the places do by which the other tests name what they write, so `read` finds them, too.
    keys = [f"{QUEUES[0]}-{key}" for key, _ in changes]
    schema = None if case.schema is None else replace(case.schema, optional=True)
    return SinkBatch(QUEUES[0], QUEUES[0].partition("/")[0], values, places, keys=keys, schema=schema)


def _write(writer: Writer, batch: SinkBatch) -> None:
    """Writes it, unless the target says that it is there."""
    task, commit = writer.task, writer.commit(batch.offsets[-1] + 1)
    assert isinstance(task, RecordSinkTask)
    if commit.rows:
        task.commit([task.writer().stage(batch, f"changes-{batch.offsets[0]}")], commit)
        writer.positions.update(commit.after)
