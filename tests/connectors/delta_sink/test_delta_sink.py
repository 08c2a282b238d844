"""What is particular to the Delta sink, with Spark."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from connectors.delta_sink import DeltaSink, table
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import DataFrameSinkTask, QueuePosition, SinkCommit
from tests.connectors.answers import lose_an_answer
from tests.connectors.delta_sink.spark import read, settings

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
PLAN, EPOCH = 28_342_800_000, 28_342_800_417
"""As they come from the clock: milliseconds since 2026 began."""
NUMBER = Schema(Type.INT64, optional=True)
ONE = struct([("id", NUMBER), ("day", NUMBER)], name="row")
TWO = struct([("id", NUMBER), ("day", NUMBER), ("more", NUMBER)], name="row")


class Owner:
    """A task, and the frames that it gets. Plans and epochs count from those above."""

    def __init__(self, path: Path, *, task: int = 0, owner: tuple[int, int] = (1, 1), uid: str = "uid", **options: str) -> None:
        given = {"path": str(path), **{key.replace("_", "."): value for key, value in options.items()}}
        generation, epoch = PLAN + owner[0], EPOCH + owner[1]
        context = TaskContext(connector_uid=uid, task=task, generation=generation, epoch=epoch, spark=spark_session(settings()))
        self.task: DataFrameSinkTask = DeltaSink().open(parse(DeltaSink.options, given), {}, context)

    def start(self) -> Mapping[str, QueuePosition]:
        return self.task.start()

    def write(self, begin: int, end: int, *, queue: int = 0, schema: Schema = ONE, **fields: int) -> None:
        """A row for each offset."""
        place = f"orders/broker-a/{queue}"
        commit = SinkCommit("uid", 0, 1, {place: QueuePosition(begin)}, {place: QueuePosition(end)}, end - begin, "token")
        self.task.columns_for(schema)
        values = [{"id": offset, "day": 5, **fields} for offset in range(begin, end)]
        rows = pa.table({"value": to_array(values, schema)})
        self.task.write(spark_session(settings()).createDataFrame(rows), commit)


def in_front(monkeypatch: pytest.MonkeyPatch, name: str, happens: Callable[[], object]) -> None:
    """Has something happen once, immediately before the next append or commit."""
    does: Callable[..., None] = getattr(table, name)

    def behind(*args: object) -> None:
        monkeypatch.setattr(table, name, does)
        happens()
        does(*args)

    monkeypatch.setattr(table, name, behind)


def ids(path: Path) -> list[object]:
    return sorted(row["id"] for row in read(path))  # type: ignore[type-var]


def test_a_table_gets_new_columns_and_keeps_its_partitions(tmp_path: Path) -> None:
    owner = Owner(tmp_path / "table", partition_by="day")
    owner.start()
    owner.write(0, 2)
    owner.write(2, 4, schema=TWO, more=7)
    assert sorted(read(tmp_path / "table"), key=lambda row: row["id"]) == [  # type: ignore[arg-type,return-value]
        {"id": 0, "day": 5, "more": None},
        {"id": 1, "day": 5, "more": None},
        {"id": 2, "day": 5, "more": 7},
        {"id": 3, "day": 5, "more": 7},
    ]
    assert DeltaTable(str(tmp_path / "table")).metadata().partition_columns == ["day"]


def test_a_new_plan_takes_over_the_queues_of_tasks_that_it_does_not_have(tmp_path: Path) -> None:
    old = [Owner(tmp_path / "table", task=task) for task in (0, 1)]
    for task, owner in enumerate(old):
        owner.start()
        owner.write(0, 10, queue=task)
    new = Owner(tmp_path / "table", owner=(2, 2))
    assert new.start() == {"orders/broker-a/0": QueuePosition(10), "orders/broker-a/1": QueuePosition(10)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old[1].write(10, 20, queue=1)
    new.write(10, 15, queue=1)
    with pytest.raises(PermanentError, match="a newer owner"):
        old[1].write(10, 20, queue=1)
    assert len(read(tmp_path / "table")) == 25


def test_an_owner_that_is_replaced_in_the_middle_of_a_write_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    zombie, new = Owner(path), Owner(path, owner=(1, 2))
    zombie.start()
    zombie.write(0, 10)
    in_front(monkeypatch, "append", new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.write(10, 20)
    assert ids(path) == list(range(10))
    new.write(10, 20)
    assert ids(path) == list(range(20))


def test_of_two_that_claim_at_the_same_time_the_newer_one_has_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    first = Owner(path)
    first.start()
    first.write(0, 10)
    old, new = Owner(path, owner=(1, 2)), Owner(path, owner=(1, 3))
    in_front(monkeypatch, "commit", new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.start()
    new.write(10, 20)
    assert ids(path) == list(range(20))


def test_a_write_of_a_task_that_a_new_plan_does_not_have_is_refused_in_its_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new plan has looked, claimed and closed while Spark wrote the files of the old one."""
    path = tmp_path / "table"
    old, new = Owner(path, task=1), Owner(path, owner=(2, 2))
    old.start()
    old.write(0, 10)

    def replaced() -> None:
        assert new.start() == {"orders/broker-a/0": QueuePosition(10)}
        new.write(10, 20)

    in_front(monkeypatch, "append", replaced)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(10, 20)
    assert ids(path) == list(range(20))


def test_a_write_between_the_look_and_the_claim_of_a_new_plan_is_not_lost_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    old, new = Owner(path, task=1), Owner(path, owner=(2, 2))
    old.start()
    old.write(0, 10)
    in_front(monkeypatch, "commit", lambda: old.write(10, 20))
    assert new.start() == {"orders/broker-a/0": QueuePosition(20)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(20, 30)
    assert ids(path) == list(range(20))


@pytest.mark.parametrize("first", ["old", "new"])
def test_of_two_plans_that_claim_different_tasks_at_the_same_time_the_newer_one_has_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Neither of them knows of the task of the other when it looks."""
    path = tmp_path / "table"
    Owner(path, uid="other").start()
    Owner(path, uid="other").write(0, 1)
    old, new = Owner(path, task=1), Owner(path, owner=(2, 2))
    in_front(monkeypatch, "commit", old.start if first == "old" else new.start)
    if first == "old":
        new.start()
    with pytest.raises(PermanentError, match="a newer owner"):
        (old.write(1, 10) if first == "old" else old.start())
    new.write(1, 10)
    assert ids(path) == list(range(10))


def test_the_first_batch_of_an_owner_that_was_replaced_before_there_was_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    old, new = Owner(path, task=1), Owner(path, owner=(2, 2))
    assert old.start() == new.start() == {}
    new.write(0, 10)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(0, 10)
    assert ids(path) == list(range(10))


def test_a_table_that_another_one_makes_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    """It has other columns."""
    path = tmp_path / "table"
    owner, other = Owner(path), Owner(path, uid="other")
    owner.start()
    owner.task.columns_for(TWO)
    other.start()
    other.write(0, 1)
    values = pa.table({"value": to_array([{"id": 1, "day": 5, "more": 7}], TWO)})
    commit = SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token")
    with pytest.raises(RetriableError, match="has made the table meanwhile"):
        owner.task.write(spark_session(settings()).createDataFrame(values), commit)
    owner.write(1, 2, schema=TWO, more=7)
    assert ids(path) == [0, 1]


def test_a_table_that_forgets_its_writers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.write(0, 1)
    forgets = "'delta.setTransactionRetentionDuration' = 'interval 1 days'"
    spark_session(settings()).sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({forgets})")
    with pytest.raises(PermanentError, match=r"Run ALTER TABLE .* UNSET TBLPROPERTIES"):
        Owner(path, owner=(1, 2)).start()


@pytest.mark.parametrize("written", [False, True])
def test_an_answer_that_is_lost_is_no_double_and_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.write(0, 10)
    lose_an_answer(monkeypatch, table, "append", written=written)
    with pytest.raises(RetriableError):
        owner.write(10, 20)
    next_owner = Owner(path, owner=(1, 2))
    assert next_owner.start() == {"orders/broker-a/0": QueuePosition(20 if written else 10)}
    next_owner.write(10, 20)
    next_owner.write(20, 30)
    assert ids(path) == list(range(30))
    assert len(list((path / "_rocketconnect" / "uid").iterdir())) == 1


def test_a_file_of_a_commit_that_is_not_where_it_was_written_is_told_with_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.write(0, 10)
    before = set(path.glob("*.parquet"))
    appends: Callable[..., None] = table.append

    def elsewhere(*given: object) -> None:
        appends(*given)
        (new,) = set(path.glob("*.parquet")) - before
        new.unlink()

    monkeypatch.setattr(table, "append", elsewhere)
    version = DeltaTable(str(path)).version()
    told = rf"does not see 1 file of version {version + 1} of the table, such as .*Restore the table to version {version},"
    with pytest.raises(PermanentError, match=told):
        owner.write(10, 20)


def test_several_connectors_and_other_programs_may_append(tmp_path: Path) -> None:
    path = tmp_path / "table"
    one, other = Owner(path, uid="one"), Owner(path, uid="other")
    one.start()
    other.start()
    one.write(0, 3)
    other.write(0, 3)
    spark_session(settings()).range(100, 102).write.format("delta").mode("append").save(f"file://{path}")
    one.write(3, 5)
    assert ids(path) == [0, 0, 1, 1, 2, 2, 3, 4, 100, 101]


def test_the_history_tells_the_position_of_each_state(tmp_path: Path) -> None:
    """As docs/delta.md looks for one."""
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    for begin in (0, 10, 20):
        owner.write(begin, begin + 10)
    owner.write(0, 5, queue=1)
    told = [json.loads(each.get("userMetadata", "{}")) for each in DeltaTable(str(path)).history()]
    zero, one = "orders/broker-a/0", "orders/broker-a/1"
    assert [each["until"] for each in told if each] == [{zero: 30, one: 5}, {zero: 30}, {zero: 20}, {zero: 10}]
    assert told[0] == {"connector": "uid", "task": 0, "until": {zero: 30, one: 5}}
    document = (Path(__file__).parents[3] / "docs" / "delta.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    found: dict[str, DeltaTable] = {}
    exec(code.replace("/data/orders", str(path)).replace("1000000", "25"), found)
    assert found["table"].to_pyarrow_table().num_rows == 20


def test_vacuum_leaves_the_positions(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.write(0, 10)
    session = spark_session(settings())
    session.sql(f"VACUUM delta.`file://{path}` RETAIN 0 HOURS").collect()
    assert Owner(path, owner=(1, 2)).start() == {"orders/broker-a/0": QueuePosition(10)}
