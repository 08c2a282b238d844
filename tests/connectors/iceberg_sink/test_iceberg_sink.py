"""What is particular to the Iceberg sink, with Spark."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from connectors.iceberg_sink import catalogs, table
from connectors.iceberg_sink.catalogs import Overtaken
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.connectors.answers import lose_an_answer
from tests.connectors.iceberg_sink.owner import NUMBER, TWO, Owner, ids, in_front, java_table, rows_path
from tests.connectors.iceberg_sink.spark import opened, read, settings

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def files(lake: Path) -> set[Path]:
    return set(rows_path(lake).glob("data/**/*.parquet"))


def test_a_table_gets_new_columns_and_wider_ones_and_keeps_its_partitions(tmp_path: Path) -> None:
    owner = Owner(tmp_path, partition_by="bucket(4, id), day")
    owner.start()
    narrow = struct([("id", Schema(Type.INT32, optional=True)), ("day", NUMBER)], name="row")
    owner.write(0, 2, schema=narrow)
    owner.write(2**40, 2**40 + 1, schema=TWO, more=7)
    assert sorted(read(rows_path(tmp_path)), key=lambda row: row["id"]) == [  # type: ignore[arg-type,return-value]
        {"id": 0, "day": 5, "more": None},
        {"id": 1, "day": 5, "more": None},
        {"id": 2**40, "day": 5, "more": 7},
    ]
    assert [str(field.transform) for field in opened(rows_path(tmp_path)).spec().fields] == ["bucket[4]", "identity"]


def test_moments_and_texts_are_parts_of_partitions(tmp_path: Path) -> None:
    owner = Owner(tmp_path, columns="at:timestamp,name:string", partition_by="days(at), truncate(2, name)")
    owner.start()
    lines = [f'{{"at": "2026-07-0{day}T10:00:00Z", "name": "{name}"}}' for day, name in ((1, "Zermatt"), (1, "Zernez"), (2, "Zug"))]
    values = spark_session(settings()).createDataFrame(pa.table({"value": lines}))
    owner.task.write(values, SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(3)}, 3, "token"))
    parts = {path.parent.relative_to(rows_path(tmp_path) / "data").as_posix() for path in files(tmp_path)}
    assert parts == {"at_day=2026-07-01/name_trunc=Ze", "at_day=2026-07-02/name_trunc=Zu"}
    assert sorted(str(row["name"]) for row in read(rows_path(tmp_path))) == ["Zermatt", "Zernez", "Zug"]


def test_a_new_plan_takes_over_the_queues_of_tasks_that_it_does_not_have(tmp_path: Path) -> None:
    old = [Owner(tmp_path, task=task) for task in (0, 1)]
    for task, owner in enumerate(old):
        owner.start()
        owner.write(0, 10, queue=task)
    new = Owner(tmp_path, owner=(2, 2))
    assert new.start() == {"orders/broker-a/0": QueuePosition(10), "orders/broker-a/1": QueuePosition(10)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old[1].write(10, 20, queue=1)
    # What the first task of a plan has taken over the others go on from.
    other = Owner(tmp_path, task=1, owner=(2, 3))
    assert other.start()["orders/broker-a/1"] == QueuePosition(10)
    other.write(10, 15, queue=1)
    with pytest.raises(PermanentError, match="a newer owner"):
        old[1].write(10, 20, queue=1)
    assert len(read(rows_path(tmp_path))) == 25


def test_an_owner_that_is_replaced_in_the_middle_of_a_write_adds_nothing_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie, new = Owner(tmp_path), Owner(tmp_path, owner=(1, 2))
    zombie.start()
    zombie.write(0, 10)
    before = files(tmp_path)
    in_front(monkeypatch, "link", new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.write(10, 20)
    assert ids(tmp_path) == list(range(10))
    assert files(tmp_path) == before
    new.write(10, 20)
    assert ids(tmp_path) == list(range(20))


def test_an_owner_that_is_replaced_right_behind_its_commit_has_written_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Owner(tmp_path), Owner(tmp_path, owner=(1, 2))
    old.start()
    old.write(0, 10)
    link: Callable[..., None] = catalogs.link

    def behind(*given: object) -> None:
        monkeypatch.setattr(catalogs, "link", link)
        link(*given)
        assert new.start() == {"orders/broker-a/0": QueuePosition(20)}

    monkeypatch.setattr(catalogs, "link", behind)
    with pytest.raises(RetriableError):
        old.write(10, 20)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(10, 20)
    assert ids(tmp_path) == list(range(20))


def test_of_two_that_claim_at_the_same_time_the_newer_one_has_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Owner(tmp_path)
    first.start()
    first.write(0, 10)
    old, new = Owner(tmp_path, owner=(1, 2)), Owner(tmp_path, owner=(1, 3))
    in_front(monkeypatch, "link", new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.start()
    new.write(10, 20)
    assert ids(tmp_path) == list(range(20))


def test_a_write_between_the_look_and_the_claim_of_a_new_plan_is_not_lost_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Owner(tmp_path, task=1), Owner(tmp_path, owner=(2, 2))
    old.start()
    old.write(0, 10)
    in_front(monkeypatch, "link", lambda: old.write(10, 20))
    assert new.start() == {"orders/broker-a/0": QueuePosition(20)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(20, 30)
    assert ids(tmp_path) == list(range(20))


@pytest.mark.parametrize("first", ["old", "new"])
def test_of_two_plans_that_claim_different_tasks_at_the_same_time_the_newer_one_has_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Neither of them knows of the task of the other when it looks."""
    Owner(tmp_path, uid="other").start()
    Owner(tmp_path, uid="other").write(0, 1)
    old, new = Owner(tmp_path, task=1), Owner(tmp_path, owner=(2, 2))
    in_front(monkeypatch, "link", old.start if first == "old" else new.start)
    if first == "old":
        new.start()
    with pytest.raises(PermanentError, match="a newer owner"):
        (old.write(1, 10) if first == "old" else old.start())
    new.write(1, 10)
    assert ids(tmp_path) == list(range(10))


def test_the_first_batch_of_an_owner_that_was_replaced_before_there_was_a_table_is_refused(tmp_path: Path) -> None:
    old, new = Owner(tmp_path, task=1), Owner(tmp_path, owner=(2, 2))
    assert old.start() == new.start() == {}
    new.write(0, 10)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(0, 10)
    assert ids(tmp_path) == list(range(10))


def test_a_table_that_another_one_makes_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    """It has other columns."""
    owner, other = Owner(tmp_path), Owner(tmp_path, uid="other")
    owner.start()
    owner.task.columns_for(TWO)
    other.start()
    other.write(0, 1)
    values = pa.table({"value": to_array([{"id": 1, "day": 5, "more": 7}], TWO)})
    commit = SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token")
    with pytest.raises(RetriableError, match="has made the table meanwhile"):
        owner.task.write(spark_session(settings()).createDataFrame(values), commit)
    owner.write(1, 2, schema=TWO, more=7)
    assert ids(tmp_path) == [0, 1]


def test_of_two_that_make_the_table_at_the_same_time_one_does_and_both_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = Owner(tmp_path), Owner(tmp_path, uid="other")
    owner.start()
    in_front(monkeypatch, "link", lambda: other.write(0, 1))
    owner.write(1, 2)
    assert ids(tmp_path) == [0, 1]


@pytest.mark.parametrize("written", [False, True])
def test_an_answer_that_is_lost_is_no_double_and_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.write(0, 10)
    lose_an_answer(monkeypatch, catalogs, "link", written=written)
    with pytest.raises(RetriableError):
        owner.write(10, 20)
    next_owner = Owner(tmp_path, owner=(1, 2))
    assert next_owner.start() == {"orders/broker-a/0": QueuePosition(20 if written else 10)}
    next_owner.write(10, 20)
    next_owner.write(20, 30)
    assert ids(tmp_path) == list(range(30))


def test_files_that_are_not_where_they_were_written_are_in_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.write(0, 10)
    with monkeypatch.context() as patch:
        patch.setattr(table, "local", lambda name: tmp_path / "none" if name.endswith(".parquet") else catalogs.local(name))
        with pytest.raises(PermanentError, match=r"of 1 file that they wrote, it does not see 1, such as .* at the same path"):
            owner.write(10, 20)
    assert ids(tmp_path) == list(range(10))
    owner.write(10, 20)
    assert ids(tmp_path) == list(range(20))


def test_several_connectors_and_other_programs_may_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose files are written is not written again when another commit was faster."""
    one, other = Owner(tmp_path, uid="one"), Owner(tmp_path, uid="other")
    one.start()
    other.start()
    one.write(0, 3)
    in_front(monkeypatch, "link", lambda: one.write(3, 5))
    other.write(0, 3)
    strangers = spark_session(settings()).createDataFrame(pa.table({"id": [100, 101], "day": [1, 1]}))
    in_front(monkeypatch, "link", lambda: strangers.write.format("iceberg").mode("append").save(f"file://{rows_path(tmp_path)}"))
    one.write(5, 6)
    assert ids(tmp_path) == [0, 0, 1, 1, 2, 2, 3, 4, 5, 100, 101]
    assert len(files(tmp_path)) == len(opened(rows_path(tmp_path)).inspect.files())


@pytest.mark.slow
def test_a_commit_that_others_always_overtake_is_given_up_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.write(0, 1)
    before = {path.name for path in rows_path(tmp_path).rglob("*")}

    def overtaken(*_: object) -> None:
        raise FileExistsError

    with monkeypatch.context() as patch:
        patch.setattr(catalogs, "link", overtaken)
        with pytest.raises(Overtaken, match="nothing could be committed in 10 tries"):
            owner.write(1, 2)
    assert {path.name for path in rows_path(tmp_path).rglob("*")} == before
    owner.write(1, 2)
    assert ids(tmp_path) == [0, 1]


def test_an_owner_that_stood_still_while_old_states_were_removed_adds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of its commit is free again."""
    zombie, new = Owner(tmp_path), Owner(tmp_path, owner=(1, 2))
    zombie.start()
    zombie.write(0, 10)

    def replaced() -> None:
        new.start()
        new.write(10, 20)
        for state in sorted((rows_path(tmp_path) / "metadata").glob("v*.metadata.json"))[:-1]:
            state.unlink()

    in_front(monkeypatch, "link", replaced)
    with pytest.raises(RetriableError, match="is not that of the newest state"):
        zombie.write(10, 20)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.write(10, 20)
    assert ids(tmp_path) == list(range(20))
    table = spark_session(settings()).read.format("iceberg").load(f"file://{rows_path(tmp_path)}")
    assert table.count() == 20


@pytest.mark.slow
def test_positions_outlive_the_snapshots_that_are_expired(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.write(0, 10)
    owner.write(10, 20)
    strangers = spark_session(settings()).createDataFrame(pa.table({"id": [100], "day": [1]}))
    strangers.write.format("iceberg").mode("append").save(f"file://{rows_path(tmp_path)}")
    now = int(datetime.now(UTC).timestamp() * 1000)
    java_table(tmp_path).expireSnapshots().expireOlderThan(now).retainLast(1).commit()
    assert len(opened(rows_path(tmp_path)).metadata.snapshots) == 1
    assert Owner(tmp_path, owner=(1, 2)).start() == {"orders/broker-a/0": QueuePosition(20)}


def test_the_snapshots_tell_the_position_of_each_state(tmp_path: Path) -> None:
    """As docs/iceberg.md looks for one."""
    owner = Owner(tmp_path)
    owner.start()
    for begin in (0, 10, 20):
        owner.write(begin, begin + 10)
    owner.write(0, 5, queue=1)
    snapshots = opened(rows_path(tmp_path)).metadata.snapshots
    told = [json.loads(each.summary["rocketconnect"] or "") for each in snapshots if each.summary]
    zero, one = "orders/broker-a/0", "orders/broker-a/1"
    assert [each["until"] for each in told] == [{zero: 10}, {zero: 20}, {zero: 30}, {zero: 30, one: 5}]
    assert told[0] == {"connector": "uid", "task": 0, "until": {zero: 10}}
    document = (Path(__file__).parents[3] / "docs" / "iceberg.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = {}
    exec(code.replace("/data/lake/shop/orders", str(rows_path(tmp_path))).replace("1000000", "25"), found)
    assert found["rows"].num_rows == 20


def test_a_table_that_does_not_take_the_rows_fails_the_task(tmp_path: Path) -> None:
    session = spark_session(settings())
    Owner(tmp_path, columns="id:string,other:int64").start()
    with pytest.raises(PermanentError, match="the table has no column day, which the rows have"):
        Owner(tmp_path, columns="id:string,day:int64").task.write(
            session.createDataFrame(pa.table({"value": ['{"id": "a", "day": 1}']})),
            SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token"),
        )
    with pytest.raises(PermanentError, match="the table does not take the rows"):
        Owner(tmp_path, columns="id:int64,other:string").task.write(
            session.createDataFrame(pa.table({"value": ['{"id": 1, "other": "b"}']})),
            SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token"),
        )
    assert read(rows_path(tmp_path)) == []


def test_a_column_that_takes_no_null_and_a_newer_format_are_told(tmp_path: Path) -> None:
    Owner(tmp_path, columns="id:int64,day:int64").start()
    update = java_table(tmp_path).updateSchema()
    update.allowIncompatibleChanges().requireColumn("day").commit()
    with pytest.raises(PermanentError, match="the column day of the table takes no null, and the rows have none"):
        Owner(tmp_path, columns="id:int64").task.write(
            spark_session(settings()).createDataFrame(pa.table({"value": ['{"id": 1}']})),
            SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token"),
        )
    java_table(tmp_path).updateProperties().set("format-version", "3").commit()
    with pytest.raises(PermanentError, match="has format version 3, and those up to 2 are written"):
        Owner(tmp_path).start()


@pytest.mark.parametrize(
    ("partitions", "reason"), [("days(at)", "Cannot find source column: at"), ("days(day)", "Invalid source type")]
)
def test_a_partition_that_cannot_be_made_is_told(tmp_path: Path, partitions: str, reason: str) -> None:
    owner = Owner(tmp_path, partition_by=partitions)
    owner.start()
    with pytest.raises(PermanentError, match=reason):
        owner.write(0, 1)


def test_all_that_a_commit_names_is_on_the_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Owner(tmp_path, partition_by="day")
    owner.start()
    owner.write(0, 2)
    there, synced = set(rows_path(tmp_path).rglob("*")), set[Path]()

    def noted(path: Path) -> None:
        sync(path)
        synced.add(path)

    def looked_at() -> None:
        new = {path for path in rows_path(tmp_path).rglob("*") if path not in there and path.suffix != ".tmp"}
        assert {path.suffix for path in new} >= {".parquet", ".avro"}
        assert new | {path.parent for path in new} <= synced

    monkeypatch.setattr("connectors.iceberg_sink.table.sync", noted)
    in_front(monkeypatch, "link", looked_at)
    owner.write(2, 4, day=6)
    assert len(synced) > 4
