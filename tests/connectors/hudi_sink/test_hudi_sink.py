"""The Hudi sink with Spark: what all lakes do, and what is particular to it."""

from pathlib import Path
from typing import Any

import pytest

from connectors.hudi_sink import table
from connectors.hudi_sink.timeline import table_columns
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.hudi_sink.tables import Hudi
from tests.connectors.lakes.changes import NUMBER, QUEUE
from tests.connectors.lakes.owners import OwnersSuite
from tests.connectors.lakes.smoke import SmokeSuite
from tests.connectors.lakes.table import TWO, LakeTable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestSmoke(SmokeSuite):
    lake = Hudi


@pytest.mark.slow
class TestOwners(OwnersSuite):
    lake = Hudi

    def test_a_table_gets_new_columns_and_keeps_its_partitions(self, table: LakeTable) -> None:
        """And the next look finds them."""
        super().test_a_table_gets_new_columns_and_keeps_its_partitions(table)
        assert sorted(each.name for each in table.root.iterdir()) == [".hoodie", "day=5", "day=6"]
        assert table_columns(table.root) == struct([("id", NUMBER), ("day", NUMBER), ("more", NUMBER)])


@pytest.mark.slow
def test_types_that_avro_lacks_are_known_again_and_a_name_that_it_does_not_allow_is_a_bad_record(tmp_path: Path) -> None:
    path = tmp_path / "table"
    schema = struct([("id", NUMBER), ("day", Schema(Type.UINT32, optional=True))], name="row")
    owner = Hudi(path).owner()
    owner.start()
    owner.append(0, 2, schema=schema)
    assert table_columns(path) == struct([("id", NUMBER), ("day", Schema(Type.UINT32, optional=True))])
    wrong = struct([("id", NUMBER), ("a.b", NUMBER)], name="row")
    with pytest.raises(RecordError, match=r"a\.b is no name for a column of Hudi"):
        owner.append(2, 3, schema=wrong)
    assert Hudi(path).ids() == [0, 1]


def test_types_that_avro_lacks_are_known_again_when_the_owner_that_made_the_table_died_before_its_first_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one claims the table first, by a commit without rows."""
    path = tmp_path / "table"
    columns = [("id", NUMBER), ("day", Schema(Type.UINT32, optional=True))]
    schema = struct(columns, name="row")
    dying = Hudi(path).owner()
    dying.start()

    def die(*_: object) -> None:
        raise RetriableError("here the process is killed")

    with monkeypatch.context() as patch, pytest.raises(RetriableError, match="is killed"):
        patch.setattr(table, "commit", die)
        dying.append(0, 2, schema=schema)
    assert Hudi(path).commits() == 0
    owner = Hudi(path).owner(owner=(1, 2))
    owner.start()
    owner.append(0, 2, schema=schema)
    assert Hudi(path).ids() == [0, 1]
    assert table_columns(path) == struct(columns)


@pytest.mark.slow
def test_what_is_on_a_table_is_found_again_when_others_have_written_much_since(tmp_path: Path) -> None:
    """Hudi puts old commits away."""
    path = tmp_path / "table"
    owner, other = Hudi(path).owner(), Hudi(path).owner(uid="other")
    owner.start()
    owner.append(0, 2)
    other.start()
    keep = "hoodie.keep.min.commits=3,hoodie.keep.max.commits=4,hoodie.cleaner.commits.retained=2"
    other = Hudi(path).owner(uid="other", owner=(1, 2), hudi_settings=keep)
    other.start()
    for begin in range(8):
        other.append(begin, begin + 1)
    assert list((path / ".hoodie" / "timeline" / "history").glob("*.parquet"))
    assert Hudi(path).owner(owner=(1, 2)).start() == {QUEUE: QueuePosition(2)}


@pytest.mark.slow
def test_a_table_of_another_kind_is_refused_and_one_that_another_program_has_made_is_written(tmp_path: Path) -> None:
    gateway: Any = spark_session(Hudi.settings()).sparkContext._gateway  # the way to Java
    avro = '{"type":"record","name":"r","fields":[{"name":"id","type":["null","long"]},{"name":"day","type":["null","long"]}]}'

    def made(name: str, kind: str, version: int) -> Path:
        jvm = gateway.jvm
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.newTableBuilder().setTableType(kind).setTableName("rows")
        builder = builder.setTableVersion(version).setTableCreateSchema(avro)
        storage = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(jvm.org.apache.hadoop.conf.Configuration())
        builder.setPartitionFields("day").initTable(storage, f"file://{tmp_path / name}")
        return tmp_path / name

    with pytest.raises(PermanentError, match="the table is MERGE_ON_READ, and only COPY_ON_WRITE is written"):
        Hudi(made("read", "MERGE_ON_READ", 9)).owner().start()
    with pytest.raises(PermanentError, match="the table has version 6, and 8 and 9 are written"):
        Hudi(made("old", "COPY_ON_WRITE", 6)).owner().start()
    path = made("table", "COPY_ON_WRITE", 8)
    owner = Hudi(path).owner()
    owner.start()
    owner.append(0, 2)
    owner.append(2, 4, schema=TWO, more=7)
    assert Hudi(path).ids() == [0, 1, 2, 3]
    assert "hoodie.table.version=8" in (path / ".hoodie" / "hoodie.properties").read_text()
    assert Hudi(path).owner(owner=(1, 2)).start() == {QUEUE: QueuePosition(4)}


@pytest.mark.slow
def test_a_clock_that_is_behind_the_newest_commit_is_waited_for(tmp_path: Path) -> None:
    """Hudi orders commits by it."""
    path = tmp_path / "table"
    owner = Hudi(path).owner()
    owner.start()
    owner.append(0, 2)
    timeline = path / ".hoodie" / "timeline"
    for name in [each.name for each in timeline.iterdir() if each.is_file()]:
        (timeline / name).rename(timeline / name.replace(name[:4], "2999"))
    with pytest.raises(RetriableError, match="the clock of this machine is behind the newest commit of the table"):
        owner.append(2, 4)
