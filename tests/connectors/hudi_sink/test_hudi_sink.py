"""What is particular to the Hudi sink, with Spark."""

from pathlib import Path
from typing import Any

import pytest

from connectors.hudi_sink import table
from connectors.hudi_sink.timeline import table_columns
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.answers import lose_an_answer
from tests.connectors.hudi_sink.owner import NUMBER, TWO, Owner, ids, in_front
from tests.connectors.hudi_sink.spark import read, settings

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
QUEUE = "orders/broker-a/0"


def test_a_table_gets_new_columns_and_keeps_its_partitions(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, partition_by="day")
    owner.start()
    owner.append(0, 2)
    owner.append(2, 4, schema=TWO, more=7, day=6)
    assert sorted(read(path), key=lambda row: row["id"]) == [  # type: ignore[arg-type,return-value]
        {"id": 0, "day": 5, "more": None},
        {"id": 1, "day": 5, "more": None},
        {"id": 2, "day": 6, "more": 7},
        {"id": 3, "day": 6, "more": 7},
    ]
    assert sorted(each.name for each in path.iterdir()) == [".hoodie", "day=5", "day=6"]
    assert table_columns(path) == struct([("id", NUMBER), ("day", NUMBER), ("more", NUMBER)])


def test_a_new_plan_takes_over_the_queues_of_tasks_that_it_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "table"
    old = [Owner(path, task=task) for task in (0, 1)]
    for task, owner in enumerate(old):
        owner.start()
        owner.append(0, 10, queue=task)
    new = Owner(path, owner=(2, 2))
    assert new.start() == {QUEUE: QueuePosition(10), "orders/broker-a/1": QueuePosition(10)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old[1].append(10, 20, queue=1)
    new.append(10, 15, queue=1)
    assert len(read(path)) == 25


def test_an_owner_that_is_replaced_in_the_middle_of_a_write_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    zombie, new = Owner(path), Owner(path, owner=(1, 2))
    zombie.start()
    zombie.append(0, 10)
    in_front(monkeypatch, new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.append(10, 20)
    assert ids(path) == list(range(10))
    new.append(10, 20)
    assert ids(path) == list(range(20))


def test_of_two_that_claim_at_the_same_time_the_newer_one_has_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    first = Owner(path)
    first.start()
    first.append(0, 10)
    old, new = Owner(path, owner=(1, 2)), Owner(path, owner=(1, 3))
    in_front(monkeypatch, new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        old.start()
    new.append(10, 20)
    assert ids(path) == list(range(20))


def test_a_write_between_the_look_and_the_claim_of_a_new_plan_is_not_lost_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    old, new = Owner(path, task=1), Owner(path, owner=(2, 2))
    old.start()
    old.append(0, 10)
    in_front(monkeypatch, lambda: old.append(10, 20))
    assert new.start() == {QUEUE: QueuePosition(20)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old.append(20, 30)
    assert ids(path) == list(range(20))


def test_another_task_may_write_in_the_middle_of_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    one, other = Owner(path), Owner(path, task=1)
    one.start()
    one.append(0, 3)
    other.start()
    in_front(monkeypatch, lambda: other.append(0, 3, queue=1))
    one.append(3, 5)
    assert ids(path) == [0, 0, 1, 1, 2, 2, 3, 4]
    assert Owner(path, owner=(1, 2)).start() == {QUEUE: QueuePosition(5), "orders/broker-a/1": QueuePosition(3)}


@pytest.mark.parametrize("written", [False, True])
def test_an_answer_that_is_lost_is_no_double_and_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.append(0, 10)
    lose_an_answer(monkeypatch, table, "commit", written=written)
    with pytest.raises(RetriableError):
        owner.append(10, 20)
    owner.append(10, 20)
    assert ids(path) == list(range(20))
    assert Owner(path, owner=(1, 2)).start() == {QUEUE: QueuePosition(20)}


def test_types_that_avro_lacks_are_known_again_and_a_name_that_it_does_not_allow_is_a_bad_record(tmp_path: Path) -> None:
    path = tmp_path / "table"
    schema = struct([("id", NUMBER), ("day", Schema(Type.UINT32, optional=True))], name="row")
    owner = Owner(path)
    owner.start()
    owner.append(0, 2, schema=schema)
    assert table_columns(path) == struct([("id", NUMBER), ("day", Schema(Type.UINT32, optional=True))])
    wrong = struct([("id", NUMBER), ("a.b", NUMBER)], name="row")
    with pytest.raises(RecordError, match=r"a\.b is no name for a column of Hudi"):
        owner.append(2, 3, schema=wrong)
    assert ids(path) == [0, 1]


def test_what_is_on_a_table_is_found_again_when_others_have_written_much_since(tmp_path: Path) -> None:
    """Hudi puts old commits away."""
    path = tmp_path / "table"
    owner, other = Owner(path), Owner(path, uid="other")
    owner.start()
    owner.append(0, 2)
    other.start()
    keep = "hoodie.keep.min.commits=3,hoodie.keep.max.commits=4,hoodie.cleaner.commits.retained=2"
    other = Owner(path, uid="other", owner=(1, 2), hudi_settings=keep)
    other.start()
    for begin in range(8):
        other.append(begin, begin + 1)
    assert list((path / ".hoodie" / "timeline" / "history").glob("*.parquet"))
    assert Owner(path, owner=(1, 2)).start() == {QUEUE: QueuePosition(2)}


def test_a_table_of_another_kind_is_refused_and_one_that_another_program_has_made_is_written(tmp_path: Path) -> None:
    gateway: Any = spark_session(settings()).sparkContext._gateway  # the way to Java
    avro = '{"type":"record","name":"r","fields":[{"name":"id","type":["null","long"]},{"name":"day","type":["null","long"]}]}'

    def made(name: str, kind: str, version: int) -> Path:
        jvm = gateway.jvm
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.newTableBuilder().setTableType(kind).setTableName("rows")
        builder = builder.setTableVersion(version).setTableCreateSchema(avro)
        storage = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(jvm.org.apache.hadoop.conf.Configuration())
        builder.setPartitionFields("day").initTable(storage, f"file://{tmp_path / name}")
        return tmp_path / name

    with pytest.raises(PermanentError, match="the table is MERGE_ON_READ, and only COPY_ON_WRITE is written"):
        Owner(made("read", "MERGE_ON_READ", 9)).start()
    with pytest.raises(PermanentError, match="the table has version 6, and 8 and 9 are written"):
        Owner(made("old", "COPY_ON_WRITE", 6)).start()
    path = made("table", "COPY_ON_WRITE", 8)
    owner = Owner(path)
    owner.start()
    owner.append(0, 2)
    owner.append(2, 4, schema=TWO, more=7)
    assert ids(path) == [0, 1, 2, 3]
    assert "hoodie.table.version=8" in (path / ".hoodie" / "hoodie.properties").read_text()
    assert Owner(path, owner=(1, 2)).start() == {QUEUE: QueuePosition(4)}


def test_a_clock_that_is_behind_the_newest_commit_is_waited_for(tmp_path: Path) -> None:
    """Hudi orders commits by it."""
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.append(0, 2)
    timeline = path / ".hoodie" / "timeline"
    for name in [each.name for each in timeline.iterdir() if each.is_file()]:
        (timeline / name).rename(timeline / name.replace(name[:4], "2999"))
    with pytest.raises(RetriableError, match="the clock of this machine is behind the newest commit of the table"):
        owner.append(2, 4)
