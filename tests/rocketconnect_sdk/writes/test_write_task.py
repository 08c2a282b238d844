"""What a WriteSink does with a connection that fails, refuses and forgets."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from rocketconnect_sdk.errors import PermanentError, RecordError, RecordRefused, SystemAway
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.owners import Owner
from rocketconnect_sdk.writes import Addressing, Connection, Op, Operation, Template, TransactionalConnection, WriteTask
from rocketconnect_sdk.writes.templates import Told

QUEUE = "t/b/0"


class Target:
    """What there is, and what fails next."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.notes: dict[str, str] = {}
        self.away: list[str] = []
        self.connections = 0


class Plain(Connection):
    def __init__(self, target: Target) -> None:
        self.target = target
        target.connections += 1

    def ping(self) -> None:
        if "ping" in self.target.away:
            msg = "away"
            raise SystemAway(msg)

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        texts = [operation.value.decode() for operation in operations]
        if "write" in self.target.away and len(self.target.values) >= 2:
            self.target.away.remove("write")
            msg = "away"
            raise SystemAway(msg)
        self.target.values += [text for text in texts if not text.startswith("?")]
        return {index: "it asks" for index, text in enumerate(texts) if text.startswith("?")}

    def close(self) -> None:
        pass


class Exact(Plain, TransactionalConnection):
    def notes(self, names: Sequence[str]) -> Mapping[str, str]:
        return {name: self.target.notes[name] for name in names if name in self.target.notes}

    def transact(self, operations: Sequence[Operation], expected: Mapping[str, str | None], notes: Mapping[str, str]) -> bool:
        if any(self.target.notes.get(name) != text for name, text in expected.items()):
            return False
        texts = [operation.value.decode() for operation in operations]
        if any(text.startswith("?") for text in texts):
            raise RecordRefused({index: "it asks" for index, text in enumerate(texts) if text.startswith("?")}, None)
        self.target.values += texts
        self.target.notes.update(notes)
        if "answer" in self.target.away:
            self.target.away.remove("answer")
            msg = "the answer is lost"
            raise SystemAway(msg)
        return True


def task(target: Target, kind: type[Plain] = Exact, *, generation: int = 1, number: int = 0, epoch: int = 1) -> WriteTask:
    owner = Owner(generation, number, epoch)
    return WriteTask(lambda: kind(target), Addressing(target=Template.of("all")), owner, FlushPolicy(), 2)


def write(task: WriteTask, values: list[object], begin: int = 0, queue: str = QUEUE) -> dict[int, str]:
    """Writes a batch as the runtime does, and gives what was refused."""
    end = begin + len(values)
    commit = SinkCommit("c", 0, 1, {queue: QueuePosition(begin)}, {queue: QueuePosition(end)}, len(values), f"{queue}{begin}-{end}")
    receipts: object = [task.writer().stage(SinkBatch(queue, "t", values, range(begin, end)), "part")]
    refused: dict[int, str] = {}
    while True:
        try:
            task.commit(receipts, commit)  # type: ignore[arg-type]
        except RecordRefused as error:
            refused |= error.refused
            receipts = error.receipt
        except SystemAway:
            continue
        else:
            return refused


@pytest.mark.parametrize("kind", [Plain, Exact])
def test_refused_records_are_told_by_their_number_and_the_others_are_there(kind: type[Plain]) -> None:
    target = Target()
    running = task(target, kind)
    running.start()
    assert write(running, ["a", "?", "b", "c", "?"]) == {1: "it asks", 4: "it asks"}
    assert target.values == ["a", "b", "c"]


def test_a_target_that_goes_away_in_the_middle_gets_the_rest_over_a_new_connection() -> None:
    target = Target()
    running = task(target, Plain)
    running.start()
    target.away.append("write")
    write(running, ["a", "b", "c", "d", "e"])
    assert target.values == ["a", "b", "c", "d", "e"]
    assert target.connections == 2


def test_writes_are_as_large_as_the_connection_says_and_it_is_told_the_schemas_before() -> None:
    told: list[object] = []

    class Small(Plain):
        def prepare(self, schemas: Mapping[str, Schema]) -> None:
            told.append(dict(schemas))

        def fits(self, operations: Sequence[Operation]) -> int:
            return 1 if operations[0].value == b'{"a":1}' else 9

        def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
            told.append(len(operations))
            return super().write(operations)

    addressing = Addressing(target=Template.of("all"), schemas=True)
    running = WriteTask(lambda: Small(Target()), addressing, Owner(1, 0, 1), FlushPolicy(), 2)
    row = struct([("a", Schema(Type.INT32))])
    receipt = running.writer().stage(SinkBatch(QUEUE, "t", [{"a": n} for n in (1, 2, 3, 4)], range(4), schema=row), "part")
    running.commit([receipt], SinkCommit("c", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(4)}, 4, "x"))
    assert told == [{"all": row}, 1, 2, 1]


def test_a_batch_whose_answer_was_lost_is_there_once() -> None:
    target = Target()
    running = task(target)
    running.start()
    target.away.append("answer")
    write(running, ["a", "b"])
    write(running, ["c"], 2)
    assert target.values == ["a", "b", "c"]


def test_tasks_of_one_plan_write_beside_each_other_and_a_newer_plan_ends_all() -> None:
    target = Target()
    first, second = task(target, number=0), task(target, number=3)
    assert first.start() == {}
    assert second.start() == {}
    write(first, ["a"], queue="t/b/0")
    write(second, ["b"], queue="t/b/1")
    write(first, ["c"], 1, queue="t/b/0")
    newer = task(target, generation=2, number=1, epoch=9)
    assert newer.start() == {"t/b/0": QueuePosition(2), "t/b/1": QueuePosition(1)}
    for old, begin, queue in ((first, 2, "t/b/0"), (second, 1, "t/b/1")):
        with pytest.raises(PermanentError, match="newer owner"):
            write(old, ["late"], begin, queue)
        with pytest.raises(PermanentError, match="newer owner"):
            old.start()
    write(newer, ["d"], 1, queue="t/b/1")
    other = task(target, generation=2, number=0, epoch=10)
    assert other.start() == {"t/b/0": QueuePosition(2), "t/b/1": QueuePosition(2)}
    assert target.values == ["a", "b", "c", "d"]


def test_a_target_that_was_put_back_ends_the_task_and_is_read_again_from_where_it_is() -> None:
    target = Target()
    running = task(target)
    running.start()
    write(running, ["a"])
    saved = dict(target.notes)
    write(running, ["b"], 1)
    target.notes, target.values = saved, ["a"]
    with pytest.raises(PermanentError, match=r"t/b/0 is not there any more: the target has lost its newest data"):
        write(running, ["c"], 2)
    assert task(target, epoch=2).start() == {QUEUE: QueuePosition(1)}


def test_a_target_that_was_emptied_is_told_from_one_that_was_put_back() -> None:
    target = Target()
    running = task(target)
    running.start()
    write(running, ["a"])
    target.notes, target.values = {}, []
    with pytest.raises(PermanentError, match="as if it had been emptied"):
        write(running, ["b"], 1)
    again = task(target, epoch=2)
    assert again.start() == {}
    write(again, ["b"], 1)
    assert target.values == ["b"]


def _doubled(told: Told, index: int) -> Iterator[Operation]:
    if told.value == "bad":
        msg = "it is bad"
        raise RecordError(msg)
    for text in ("", told.value) if told.value else ():
        yield Operation(Op.APPEND, "", "", f"{text}{told.value}".encode(), record=index)


def test_a_sink_that_makes_the_operations_itself_may_make_several_of_a_record_or_none() -> None:
    target = Target()
    task = WriteTask(lambda: Plain(target), Addressing(made=_doubled), Owner(1, 0, 1), FlushPolicy(), 1)
    with pytest.raises(RecordRefused) as refused:
        task.writer().stage(SinkBatch(QUEUE, "t", ["a", "", "bad", "?"], range(4)), "part")
    assert refused.value.refused == {2: "it is bad"}
    commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(4)}, 4, "token")
    with pytest.raises(RecordRefused) as late:
        task.commit([refused.value.receipt], commit)
    assert late.value.refused == {3: "it asks; it asks"}
    assert target.values == ["a", "aa"]
