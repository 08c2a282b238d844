"""The Iceberg sink with Spark: what all lakes do, and what is particular to it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from connectors.iceberg_sink import catalogs, table
from connectors.iceberg_sink.catalogs import Overtaken
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.changes import NUMBER
from tests.connectors.lakes.owners import OwnersSuite
from tests.connectors.lakes.smoke import SmokeSuite
from tests.connectors.lakes.table import TWO

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestSmoke(SmokeSuite):
    lake = Iceberg


class TestOwners(OwnersSuite):
    lake = Iceberg


@pytest.mark.slow
def test_a_table_gets_new_columns_and_wider_ones_and_keeps_its_partitions(tmp_path: Path) -> None:
    owner = Iceberg(tmp_path).owner(partition_by="bucket(4, id), day")
    owner.start()
    narrow = struct([("id", Schema(Type.INT32, optional=True)), ("day", NUMBER)], name="row")
    owner.append(0, 2, schema=narrow)
    owner.append(2**40, 2**40 + 1, schema=TWO, more=7)
    assert sorted(Iceberg(tmp_path).read(), key=lambda row: row["id"]) == [
        {"id": 0, "day": 5, "more": None},
        {"id": 1, "day": 5, "more": None},
        {"id": 2**40, "day": 5, "more": 7},
    ]
    assert [str(field.transform) for field in Iceberg(tmp_path).newest.spec().fields] == ["bucket[4]", "identity"]


def test_moments_and_texts_are_parts_of_partitions(tmp_path: Path) -> None:
    owner = Iceberg(tmp_path).owner(columns="at:timestamp,name:string", partition_by="days(at), truncate(2, name)")
    owner.start()
    lines = [f'{{"at": "2026-07-0{day}T10:00:00Z", "name": "{name}"}}' for day, name in ((1, "Zermatt"), (1, "Zernez"), (2, "Zug"))]
    values = spark_session(Iceberg.settings()).createDataFrame(pa.table({"value": lines}))
    owner.task.write(values, SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(3)}, 3, "token"))
    parts = {path.parent.relative_to(Iceberg(tmp_path).root / "data").as_posix() for path in Iceberg(tmp_path).on_the_disk()}
    assert parts == {"at_day=2026-07-01/name_trunc=Ze", "at_day=2026-07-02/name_trunc=Zu"}
    assert sorted(str(row["name"]) for row in Iceberg(tmp_path).read()) == ["Zermatt", "Zernez", "Zug"]


def test_an_owner_that_is_replaced_right_behind_its_commit_has_written_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Iceberg(tmp_path).owner(), Iceberg(tmp_path).owner(owner=(1, 2))
    old.start()
    old.append(0, 10)
    link: Callable[..., None] = catalogs.link

    def behind(*given: object) -> None:
        monkeypatch.setattr(catalogs, "link", link)
        link(*given)
        assert new.start() == {"orders/broker-a/0": QueuePosition(20)}

    monkeypatch.setattr(catalogs, "link", behind)
    with pytest.raises(RetriableError):
        old.append(10, 20)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.append(10, 20)
    assert Iceberg(tmp_path).ids() == list(range(20))


@pytest.mark.slow
def test_of_two_that_make_the_table_at_the_same_time_one_does_and_both_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = Iceberg(tmp_path).owner(), Iceberg(tmp_path).owner(uid="other")
    owner.start()
    Iceberg.appends.in_front(monkeypatch, lambda: other.append(0, 1))
    owner.append(1, 2)
    assert Iceberg(tmp_path).ids() == [0, 1]


@pytest.mark.slow
def test_files_that_are_not_where_they_were_written_are_in_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Iceberg(tmp_path).owner()
    owner.start()
    owner.append(0, 10)
    with monkeypatch.context() as patch:
        patch.setattr(table, "local", lambda name: tmp_path / "none" if name.endswith(".parquet") else catalogs.local(name))
        with pytest.raises(PermanentError, match=r"of 1 file that they wrote, it does not see 1, such as .* at the same path"):
            owner.append(10, 20)
    assert Iceberg(tmp_path).ids() == list(range(10))
    owner.append(10, 20)
    assert Iceberg(tmp_path).ids() == list(range(20))


@pytest.mark.slow
def test_a_commit_that_others_always_overtake_is_given_up_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Iceberg(tmp_path).owner()
    owner.start()
    owner.append(0, 1)
    before = {path.name for path in Iceberg(tmp_path).root.rglob("*")}

    def overtaken(*_: object) -> None:
        raise FileExistsError

    with monkeypatch.context() as patch:
        patch.setattr(catalogs, "link", overtaken)
        with pytest.raises(Overtaken, match="nothing could be committed in 10 tries"):
            owner.append(1, 2)
    assert {path.name for path in Iceberg(tmp_path).root.rglob("*")} == before
    owner.append(1, 2)
    assert Iceberg(tmp_path).ids() == [0, 1]


def test_an_owner_that_stood_still_while_old_states_were_removed_adds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of its commit is free again."""
    zombie, new = Iceberg(tmp_path).owner(), Iceberg(tmp_path).owner(owner=(1, 2))
    zombie.start()
    zombie.append(0, 10)

    def replaced() -> None:
        new.start()
        new.append(10, 20)
        for state in sorted((Iceberg(tmp_path).root / "metadata").glob("v*.metadata.json"))[:-1]:
            state.unlink()

    Iceberg.appends.in_front(monkeypatch, replaced)
    with pytest.raises(RetriableError, match="is not that of the newest state"):
        zombie.append(10, 20)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.append(10, 20)
    assert Iceberg(tmp_path).ids() == list(range(20))
    table = spark_session(Iceberg.settings()).read.format("iceberg").load(f"file://{Iceberg(tmp_path).root}")
    assert table.count() == 20


@pytest.mark.slow
def test_positions_outlive_the_snapshots_that_are_expired(tmp_path: Path) -> None:
    owner = Iceberg(tmp_path).owner()
    owner.start()
    owner.append(0, 10)
    owner.append(10, 20)
    strangers = spark_session(Iceberg.settings()).createDataFrame(pa.table({"id": [100], "day": [1]}))
    strangers.write.format("iceberg").mode("append").save(f"file://{Iceberg(tmp_path).root}")
    now = int(datetime.now(UTC).timestamp() * 1000)
    Iceberg(tmp_path).java().expireSnapshots().expireOlderThan(now).retainLast(1).commit()
    assert len(Iceberg(tmp_path).newest.metadata.snapshots) == 1
    assert Iceberg(tmp_path).owner(owner=(1, 2)).start() == {"orders/broker-a/0": QueuePosition(20)}


@pytest.mark.slow
def test_the_snapshots_tell_the_position_of_each_state(tmp_path: Path) -> None:
    """As docs/iceberg.md looks for one."""
    owner = Iceberg(tmp_path).owner()
    owner.start()
    for begin in (0, 10, 20):
        owner.append(begin, begin + 10)
    owner.append(0, 5, queue=1)
    snapshots = Iceberg(tmp_path).newest.metadata.snapshots
    told = [json.loads(each.summary["rocketconnect"] or "") for each in snapshots if each.summary]
    zero, one = "orders/broker-a/0", "orders/broker-a/1"
    assert [each["until"] for each in told] == [{zero: 10}, {zero: 20}, {zero: 30}, {zero: 30, one: 5}]
    assert told[0] == {"connector": "uid", "task": 0, "until": {zero: 10}}
    document = (Path(__file__).parents[3] / "docs" / "iceberg.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = {}
    exec(code.replace("/data/lake/shop/orders", str(Iceberg(tmp_path).root)).replace("1000000", "25"), found)
    assert found["rows"].num_rows == 20


def test_a_table_that_does_not_take_the_rows_fails_the_task(tmp_path: Path) -> None:
    session = spark_session(Iceberg.settings())
    Iceberg(tmp_path).owner(columns="id:string,other:int64").start()
    with pytest.raises(PermanentError, match="the table has no column day, which the rows have"):
        Iceberg(tmp_path).owner(columns="id:string,day:int64").task.write(
            session.createDataFrame(pa.table({"value": ['{"id": "a", "day": 1}']})),
            SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token"),
        )
    with pytest.raises(PermanentError, match="the table does not take the rows"):
        Iceberg(tmp_path).owner(columns="id:int64,other:string").task.write(
            session.createDataFrame(pa.table({"value": ['{"id": 1, "other": "b"}']})),
            SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token"),
        )
    assert Iceberg(tmp_path).read() == []


@pytest.mark.slow
def test_a_column_that_takes_no_null_and_a_newer_format_are_told(tmp_path: Path) -> None:
    Iceberg(tmp_path).owner(columns="id:int64,day:int64").start()
    update = Iceberg(tmp_path).java().updateSchema()
    update.allowIncompatibleChanges().requireColumn("day").commit()
    with pytest.raises(PermanentError, match="the column day of the table takes no null, and the rows have none"):
        Iceberg(tmp_path).owner(columns="id:int64").task.write(
            spark_session(Iceberg.settings()).createDataFrame(pa.table({"value": ['{"id": 1}']})),
            SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token"),
        )
    Iceberg(tmp_path).java().updateProperties().set("format-version", "3").commit()
    with pytest.raises(PermanentError, match="has format version 3, and those up to 2 are written"):
        Iceberg(tmp_path).owner().start()


@pytest.mark.parametrize(
    ("partitions", "reason"), [("days(at)", "Cannot find source column: at"), ("days(day)", "Invalid source type")]
)
def test_a_partition_that_cannot_be_made_is_told(tmp_path: Path, partitions: str, reason: str) -> None:
    owner = Iceberg(tmp_path).owner(partition_by=partitions)
    owner.start()
    with pytest.raises(PermanentError, match=reason):
        owner.append(0, 1)


def test_all_that_a_commit_names_is_on_the_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Iceberg(tmp_path).owner(partition_by="day")
    owner.start()
    owner.append(0, 2)
    there, synced = set(Iceberg(tmp_path).root.rglob("*")), set[Path]()

    def noted(path: Path) -> None:
        sync(path)
        synced.add(path)

    def looked_at() -> None:
        new = {path for path in Iceberg(tmp_path).root.rglob("*") if path not in there and path.suffix != ".tmp"}
        assert {path.suffix for path in new} >= {".parquet", ".avro"}
        assert new | {path.parent for path in new} <= synced

    monkeypatch.setattr("connectors.iceberg_sink.table.sync", noted)
    Iceberg.appends.in_front(monkeypatch, looked_at)
    owner.append(2, 4, day=6)
    assert len(synced) > 4
