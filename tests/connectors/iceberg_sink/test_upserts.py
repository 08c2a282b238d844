"""Rows and changes of rows."""

import json
from pathlib import Path

import pytest
from pyarrow import parquet

from rocketconnect_sdk.errors import PermanentError
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.changes import QUEUE
from tests.connectors.lakes.keyed import KeyedSuite
from tests.connectors.lakes.table import UPSERT, LakeTable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.mark.slow
class TestChanges(KeyedSuite):
    lake = Iceberg

    def says_with_it(self, table: LakeTable) -> None:
        assert isinstance(table, Iceberg)
        told = json.loads(table.snapshots()[-1].summary["rocketconnect"])
        assert told == {"connector": "uid", "task": 0, "until": {QUEUE: 11}}


def test_only_files_with_rows_of_the_batch_are_written_anew(tmp_path: Path) -> None:
    owner = Iceberg(tmp_path).owner(UPSERT)
    owner.start()
    owner.rows(k0="zero", k9="nine")
    owner.rows(k4="four", k5="five")
    owner.rows(k20="twenty")
    before = set(Iceberg(tmp_path).root.glob("data/*.parquet"))
    owner.rows(k5="newer", k6="six")
    summary = Iceberg(tmp_path).snapshots()[-1].summary
    assert (summary["deleted-data-files"], summary["added-data-files"]) == ("1", "1")
    assert len(set(Iceberg(tmp_path).root.glob("data/*.parquet")) - before) == 1
    assert Iceberg(tmp_path).texts() == {0: "zero", 9: "nine", 4: "four", 5: "newer", 6: "six", 20: "twenty"}


def test_a_table_without_the_key_is_refused(tmp_path: Path) -> None:
    Iceberg(tmp_path).owner(columns="id:int64,other:string").start()
    with pytest.raises(PermanentError, match="the table has no column name, which the key of its rows has"):
        Iceberg(tmp_path).owner(UPSERT, pk_fields="id,name").start()


@pytest.mark.slow
def test_rows_of_a_file_that_are_far_from_those_of_the_batch_stay(tmp_path: Path) -> None:
    """A file has groups of rows, and a reader can leave groups out."""
    owner = Iceberg(tmp_path).owner(UPSERT)
    owner.start()
    owner.rows(k1000="far")
    update = Iceberg(tmp_path).java().updateProperties()
    for key, value in {"size-bytes": "1000", "check-min-record-count": "10", "check-max-record-count": "10"}.items():
        update.set(f"write.parquet.row-group-{key}", value)
    update.commit()
    owner.write([{"id": number, "a.b": f"{number} " * 20} for number in range(500)], Iceberg(tmp_path).rows)
    files = [Path(str(each).removeprefix("file:")) for each in Iceberg(tmp_path).newest.inspect.files()["file_path"]]
    assert max(parquet.read_metadata(file).num_row_groups for file in files) > 5
    owner.rows(k7="newer")
    assert len(Iceberg(tmp_path).texts()) == 501
    assert Iceberg(tmp_path).texts()[7] == "newer"
