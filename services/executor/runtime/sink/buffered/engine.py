"""Gives records to a buffered sink in this process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import BufferedSinkTask, SinkCommit
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part
from services.executor.runtime.sink.engines import Ready, by_queue, refused_records

NOTHING = SinkBatch("", "", [], [])


@dataclass(slots=True)
class _Given:
    """Of a queue: behind what was put, behind the last record that was taken, and what was refused in the last put."""

    until: int = 0
    taken: int = 0
    refused: Sequence[BadRecord] = ()


class BufferedEngine:
    """Puts batches; when they are durable is asked elsewhere, see BufferedRun."""

    gather_seconds = 0.0

    def __init__(self, task: BufferedSinkTask, *, headers: bool) -> None:
        self.wanted = DecodeSettings(headers=headers)
        self.task = task
        self._given: dict[str, _Given] = {}

    def begin(self) -> None:
        """The task was started: it has nothing."""
        self._given = {}

    def taken(self, queue: str) -> int:
        """The offset behind the last record of a queue that the sink has taken; 0: none."""
        return self._given[queue].taken if queue in self._given else 0

    @property
    def given(self) -> Mapping[str, int]:
        """By queue the offset behind what was put."""
        return {queue: given.until for queue, given in self._given.items()}

    def finish(self, part: Part) -> None:
        """Nothing to prepare."""

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Puts queue by queue; what was put is not put again when it is called again."""
        del commit
        ready(())
        refused: list[BadRecord] = []
        for batch in by_queue(parts):
            given = self._given.setdefault(batch.queue, _Given())
            if batch.offsets[0] >= given.until:
                self._put(batch, given)
            refused += [bad for bad in given.refused if batch.offsets[0] <= bad.offset <= batch.offsets[-1]]
        ready(refused)
        return refused

    def _put(self, batch: SinkBatch, given: _Given) -> None:
        refused: list[BadRecord] = []
        left_out: set[int] = set()
        try:
            self.task.put(batch)
        except RecordRefused as refusal:
            left_out = set(refusal.refused)
            refused = refused_records(refusal, batch, self.task)
        given.refused = refused
        given.until = batch.offsets[-1] + 1
        # What was refused is in the dead-letter queue, and nothing that has to become durable in the sink.
        given.taken = max([given.taken, *(at + 1 for index, at in enumerate(batch.offsets) if index not in left_out)])

    def give_up(self) -> None:
        """What was taken stays so: until it is durable the positions are before it."""
