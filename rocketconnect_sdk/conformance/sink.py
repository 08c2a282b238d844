"""What every sink must do.

    class TestMySink(SinkSuite):
        subject = SinkCase(MySink(), {"option": "value"}, read=lambda: values_in_the_target())

A case that needs a directory or a server is a fixture named `case`. A sink on Spark gets a session of its own, local[2].
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pytest

from rocketconnect_sdk.columns.sinks import ArrowSinkTask, ColumnarSink, DataFrameSinkTask
from rocketconnect_sdk.conformance.documented import check_documented
from rocketconnect_sdk.conformance.kill import run_and_kill, said_before_death
from rocketconnect_sdk.conformance.sink_case import QUEUES, SinkCase, Writer, columns_of, expected, seen, small_disk, writing
from rocketconnect_sdk.errors import PermanentError, RecordError, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.evolution import POLICY
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import OPTIONAL_STRING, Field, Schema, Type
from rocketconnect_sdk.sink import BufferedSink, BufferedSinkTask, Guarantee, QueuePosition, RecordSink, RecordSinkTask, SinkCommit

_STEPS = 500


class SinkSuite:
    """Subclass it, and give it a `subject`, or a fixture named `case`."""

    subject: SinkCase

    @pytest.fixture
    def case(self) -> SinkCase:
        """What is tested. Override it where the case needs other fixtures."""
        return self.subject

    def _there(self, case: SinkCase, until: int) -> None:
        """Everything up to an offset is in the target, as often as the guarantee says."""
        found = seen(case, until)
        if case.sink.guarantee is Guarantee.AT_LEAST_ONCE:
            found = [list(dict.fromkeys(map(repr, values))) for values in found]
            assert found == [list(map(repr, values)) for values in expected(case, until)]
        else:
            assert found == expected(case, until)

    def test_its_options_are_documented(self, case: SinkCase) -> None:
        """Every option says what it is for, under a key that can be read."""
        check_documented(case.sink.options)
        assert (case.sink.__doc__ or "").strip(), "the class has no docstring, which is its summary"

    def test_it_accepts_its_configuration(self, case: SinkCase) -> None:
        """check() finds nothing wrong with what works."""
        assert list(case.sink.check(case.parsed)) == []

    def test_a_plan_has_at_most_as_many_tasks_as_allowed(self, case: SinkCase) -> None:
        """And at least one."""
        for tasks in (1, 3, 1000):
            assert 1 <= len(case.sink.plan(case.parsed, tasks).tasks) <= tasks

    def test_every_record_is_there_and_in_order(self, case: SinkCase) -> None:
        """Batch after batch, large and small."""
        with writing(case) as writer:
            writer.start()
            for until in (1, 2, 40, 41, 300):
                writer.write(until)
                self._there(case, until)

    def test_a_large_batch_is_there_and_in_order(self, case: SinkCase) -> None:
        """Large batches may take another way than small ones."""
        with writing(case) as writer:
            writer.start()
            writer.write(30_000)
            writer.write(30_001)
            self._there(case, 30_001)

    def test_it_goes_on_where_it_was(self, case: SinkCase) -> None:
        """What was stored with the data comes back from start(), with marks."""
        with writing(case) as writer:
            commit = writer.start().write(30)
        with writing(case, epoch=2) as writer:
            writer.start()
            if case.sink.guarantee is Guarantee.EXACTLY_ONCE:
                assert writer.positions == dict(commit.after)
            writer.write(50)
        self._there(case, 50)

    def test_a_start_that_is_made_again_changes_nothing(self, case: SinkCase) -> None:
        """start() is called again after SystemAway and RetriableError."""
        with writing(case) as writer:
            writer.start().write(30)
            writer.start().write(50)
        self._there(case, 50)

    def test_a_batch_that_is_written_again_is_there_once(self, case: SinkCase) -> None:
        """An answer can get lost after the work was done."""
        self._only_once(case)
        with writing(case) as writer:
            writer.start().write(20)
            commit = writer.commit(30)
            writer.put(commit)
            writer.put(commit)
            writer.write(40)
        self._there(case, 40)

    def test_what_is_there_already_is_refused(self, case: SinkCase) -> None:
        """Compare and set: a batch continues what is stored."""
        self._only_exactly_once(case)
        with writing(case) as writer:
            writer.start().write(20)
            writer.write(30)
            again = {queue: QueuePosition(10) for queue in QUEUES}
            writer.positions = dict(again)
            with pytest.raises(PermanentError):
                writer.write(25)
        self._there(case, 30)

    def test_positions_are_kept_whole_and_an_older_era_is_refused(self, case: SinkCase) -> None:
        """A queue that was made anew begins again: its era stands before the offset, and goes with the position."""
        self._only_exactly_once(case)
        with writing(case) as writer:
            writer.start().write(20)
            before = dict(writer.positions)
            writer.positions = {queue: replace(position, era=1, stored_ms=7) for queue, position in before.items()}
            writer.write(30)
            with writing(case, epoch=2) as other:
                other.start()
                assert other.positions == writer.positions
                other.positions = {queue: QueuePosition(30) for queue in QUEUES}
                with pytest.raises(PermanentError):
                    other.write(40)
        self._there(case, 30)

    @pytest.mark.parametrize(("older", "newer"), [((1, 1), (1, 2)), ((1, 9), (2, 3))])
    def test_an_older_owner_is_refused(self, case: SinkCase, older: tuple[int, int], newer: tuple[int, int]) -> None:
        """Invariant 3: (generation, epoch) of an owner that was replaced writes nothing any more."""
        self._only_exactly_once(case)
        with writing(case, generation=older[0], epoch=older[1]) as zombie:
            zombie.start().write(10)
            with writing(case, generation=newer[0], epoch=newer[1]) as writer:
                writer.start()
                with pytest.raises(PermanentError):
                    zombie.write(20)
                writer.write(15)
                with pytest.raises(PermanentError):
                    zombie.write(20)
                with pytest.raises(PermanentError):
                    zombie.start()
                writer.write(30)
        self._there(case, 30)

    def test_a_batch_that_was_given_up_leaves_nothing(self, case: SinkCase) -> None:
        """abort() undoes stage()."""
        self._only_exactly_once(case)
        with writing(case) as writer:
            writer.start().write(10)
            writer.abort(20)
            self._there(case, 10)
            writer.write(20)
        self._there(case, 20)

    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """The process is killed before each call that changes something, and in the middle of each write; then another goes on."""
        self.killed_at_steps(case)

    def killed_at_steps(self, case: SinkCase, every: int = 1, begin: int = 1) -> None:
        """Kills a writer at every so many steps of a batch, and has another one go on; AssertionError says what is not there."""
        until = 0
        for step in range(begin, _STEPS, every):
            until += 20
            epoch = 2 * step
            killed = run_and_kill(lambda until=until, epoch=epoch: _run(case, epoch, until), step, case.calls)  # type: ignore[misc]
            with writing(case, epoch=epoch + 1) as writer:
                writer.positions = {queue: QueuePosition(until - 20) for queue in QUEUES}
                writer.start().write(until)
            self._there(case, until)
            if not killed and step == begin:
                pytest.skip("it was never killed: name in `calls` of the case the functions by which it changes its system")
            if not killed:
                return
        pytest.fail(f"a batch takes more than {_STEPS} steps")

    def test_a_full_disk_keeps_nothing_of_a_batch_and_goes_on_when_there_is_room(self, case: SinkCase) -> None:
        """Never half a record, and the same batch again is all that is needed."""
        if case.directory is None:
            pytest.skip("the target is not in files here")
        with small_disk(case, case.directory) as disk, writing(case) as writer:
            writer.start().write(100)
            commit = writer.commit(10_000)
            for fault in disk.faults():
                made = writer.columns(commit)
                with fault, pytest.raises((SystemAway, RetriableError)):
                    writer.put(commit, made)
                self._there(case, 100)
            writer.put(commit)
            self._there(case, 10_000)

    def test_it_can_be_closed_twice_and_without_a_start(self, case: SinkCase) -> None:
        """close() comes after errors, too."""
        with writing(case) as writer:
            writer.task.close()
        with writing(case) as writer:
            writer.start()
            writer.task.close()

    def test_its_flush_policy_is_possible(self, case: SinkCase) -> None:
        """No negative limits."""
        with writing(case) as writer:
            flush = writer.task.flush
            assert flush.rows >= 0
            assert flush.bytes >= 0
            assert flush.interval >= 0

    def test_a_record_that_cannot_be_written_is_refused_alone(self, case: SinkCase) -> None:
        """The others of its batch are staged."""
        if not isinstance(case.sink, RecordSink):
            pytest.skip("only record sinks refuse single records")
        with writing(case) as writer:
            writer.start()
            task = writer.task
            assert isinstance(task, RecordSinkTask)
            values = [case.value(0, 0), object(), case.value(0, 1)]
            batch = SinkBatch(QUEUES[0], "orders", values, range(3), schema=case.schema)
            with pytest.raises(RecordRefused) as refused:
                task.writer().stage(batch, "refused")
            assert list(refused.value.refused) == [1]
            commit = SinkCommit("test", 0, 1, {QUEUES[0]: QueuePosition(0)}, {QUEUES[0]: QueuePosition(3)}, 3, "refused")
            task.commit([refused.value.receipt], commit)
        assert list(case.read()) == [values[0], values[2]]

    @pytest.mark.parametrize("until", [10, 12_000])
    def test_values_that_cannot_be_written_are_named_and_the_others_are_written(self, case: SinkCase, until: int) -> None:
        """Of a batch with such values nothing is written."""
        if not isinstance(case.sink, ColumnarSink) or case.unwritable is None:
            pytest.skip("only a sink of columns is asked for them, and not every one has any")
        from rocketconnect_sdk.arrow import to_array

        with writing(case) as writer:
            writer.start().write(1)
            task, commit = writer.task, writer.commit(until)
            assert isinstance(task, ArrowSinkTask | DataFrameSinkTask)
            good = [case.value(0, offset) for offset in range(1, until)]
            mixed = [good[0], case.unwritable, *good[1:], case.unwritable]
            with pytest.raises(RecordError):
                task.write(columns_of(case, mixed, case.schema), replace(commit, rows=len(mixed)))
            self._there(case, 1)
            reasons = task.unwritable(to_array(mixed, case.schema))
            assert list(reasons) == [1, len(mixed) - 1]
            assert all(reason.strip() for reason in reasons.values())
            task.write(columns_of(case, good, case.schema), replace(commit, rows=len(good)))
        assert seen(case, until)[0] == expected(case, until)[0]

    @pytest.mark.parametrize("policy", ["evolve", "ignore"])
    def test_rows_of_another_table_are_bad_records(self, case: SinkCase, policy: str) -> None:
        """Without a column in common each would be a row of nothing but nulls, or the table two tables."""
        given = {**case.config, POLICY.key: policy}
        if all(option.key != POLICY.key for option in case.sink.options) or list(case.sink.check(parse(case.sink.options, given))):
            pytest.skip("its columns do not change so")
        case = replace(case, config=given)
        other = Schema(Type.STRUCT, fields=(Field("of_another_table", OPTIONAL_STRING),))
        rows = [{"of_another_table": "x"}, {"of_another_table": None}]
        with writing(case) as writer:
            task = writer.start().task
            assert case.schema is not None
            if isinstance(task, ArrowSinkTask | DataFrameSinkTask):
                task.columns_for(case.schema)
            writer.write(20)
            if isinstance(task, ArrowSinkTask | DataFrameSinkTask):
                with pytest.raises(RecordError):
                    _hand_over(case, task, rows, other, replace(writer.commit(21), rows=2))
            else:
                assert isinstance(task, RecordSinkTask)
                with pytest.raises(RecordRefused) as refused:
                    task.writer().stage(SinkBatch(QUEUES[0], "orders", rows, range(20, 22), schema=other), "another")
                assert list(refused.value.refused) == [0, 1]
                task.abort([refused.value.receipt])
            self._there(case, 20)
            if isinstance(task, ArrowSinkTask | DataFrameSinkTask):
                task.columns_for(case.schema)
            writer.write(30)
        self._there(case, 30)

    def test_what_is_put_and_not_durable_before_a_death_is_put_again(self, case: SinkCase) -> None:
        """What durable() says lies within what was put, and is there whoever dies."""
        self._only_buffered(case)
        for number, until in enumerate((20, 40, 60)):
            begin = until - 20
            told = said_before_death(partial(_put, case, 2 * number + 1, begin, until))
            assert all(begin <= told.get(queue, begin) <= until for queue in QUEUES)
            self._there_at_least(case, told, until)
            with writing(case, epoch=2 * number + 2) as writer:
                writer.positions = {queue: QueuePosition(told.get(queue, begin)) for queue in QUEUES}
                writer.start().write(until)
            self._there(case, until)

    def test_all_that_was_put_is_durable_when_that_is_wanted_and_nothing_alone_changes_nothing(self, case: SinkCase) -> None:
        """A stop, a pause and each limit want it; without records it is put about each second."""
        self._only_buffered(case)
        with writing(case) as writer:
            task = writer.start().task
            assert isinstance(task, BufferedSinkTask)
            for until in (1, 30, 300):
                task.put(SinkBatch("", "", [], []))
                for batch in writer.batches(commit := writer.commit(until)):
                    task.put(batch)
                task.put(SinkBatch("", "", [], []))
                assert all(offset <= until for offset in task.durable(False).values())
                assert dict(task.durable(True)) == dict.fromkeys(QUEUES, until)
                self._there(case, until)
                writer.positions.update(commit.after)

    def test_a_record_that_can_t_be_put_is_refused_alone(self, case: SinkCase) -> None:
        """The others of its batch are taken, and durable without it."""
        self._only_buffered(case)
        with writing(case) as writer:
            task = writer.start().task
            assert isinstance(task, BufferedSinkTask)
            values = [case.value(0, 0), object(), case.value(0, 1)]
            with pytest.raises(RecordRefused) as refused:
                task.put(SinkBatch(QUEUES[0], "orders", values, range(3), schema=case.schema))
            assert list(refused.value.refused) == [1]
            assert dict(task.durable(True)) == {QUEUES[0]: 3}
        assert list(case.read()) == [values[0], values[2]]

    def test_positions_are_stored_without_records_too(self, case: SinkCase) -> None:
        """Otherwise what was left out is read, and left out, again after each restart."""
        self._only_exactly_once(case)
        with writing(case) as writer:
            writer.start().write(10)
            commit = replace(writer.commit(20), rows=0)
            writer.task.move(commit)
            writer.task.move(commit)
            self._there(case, 10)
            with writing(case, epoch=2) as newer:
                assert newer.start().positions == dict(commit.after)
                writer.positions = dict(commit.after)
                with pytest.raises(PermanentError):
                    writer.task.move(replace(writer.commit(30), rows=0))

    @staticmethod
    def _there_at_least(case: SinkCase, told: Mapping[str, int], until: int) -> None:
        found = seen(case, until)
        for queue, values in zip(QUEUES, found, strict=True):
            number = QUEUES.index(queue)
            assert {repr(case.value(number, offset)) for offset in range(told.get(queue, 0))} <= set(map(repr, values))

    @staticmethod
    def _only_buffered(case: SinkCase) -> None:
        if not isinstance(case.sink, BufferedSink):
            pytest.skip("what the sink has written is durable")

    @staticmethod
    def _only_once(case: SinkCase) -> None:
        if case.sink.guarantee is Guarantee.AT_LEAST_ONCE:
            pytest.skip("the sink says that it can write duplicates")

    @staticmethod
    def _only_exactly_once(case: SinkCase) -> None:
        if case.sink.guarantee is not Guarantee.EXACTLY_ONCE:
            pytest.skip("the sink stores no positions")


def _hand_over(
    case: SinkCase, task: ArrowSinkTask | DataFrameSinkTask, values: Sequence[object], schema: Schema, commit: SinkCommit
) -> None:
    """As the runtime does with a batch of another schema. A task that does not say its columns at once has some as it writes."""
    if task.columns_for(schema) is None:
        task.write(columns_of(case, values, schema), commit)


def _run(case: SinkCase, epoch: int, until: int) -> None:
    with writing(case, epoch=epoch) as writer:
        writer.positions = {queue: QueuePosition(until - 20) for queue in QUEUES}
        writer.start()
        writer.write(until - 10)
        writer.write(until)


def _put(case: SinkCase, epoch: int, begin: int, until: int) -> Mapping[str, int]:
    """Puts a range in two halves, and asks what is durable behind each."""
    with_task = Writer(case, epoch=epoch)
    with_task.positions = {queue: QueuePosition(begin) for queue in QUEUES}
    task = with_task.start().task
    told: Mapping[str, int] = {}
    if isinstance(task, BufferedSinkTask):
        for end in (until - 10, until):
            commit = with_task.commit(end)
            for batch in with_task.batches(commit):
                task.put(batch)
            with_task.positions.update(commit.after)
            told = dict(task.durable(False))
    return told
