"""Rows and changes of rows, with Spark."""

import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from connectors.iceberg_sink import IcebergSink, catalogs
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, struct
from rocketconnect_sdk.sink import DataFrameSinkTask, QueuePosition, SinkCommit
from rocketconnect_sdk.spark.types import to_spark
from tests.connectors.iceberg_sink.owner import in_front, java_table, rows_path
from tests.connectors.iceberg_sink.spark import opened, read, settings
from tests.connectors.lakes.changes import QUEUE, ROW, TEXT, WIDER, Frame, Row, change, envelopes

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class Owner:
    """A task, and the frames that it gets."""

    def __init__(self, warehouse: Path, *, epoch: int = 1, task: int = 0, **options: str) -> None:
        given = {
            "warehouse": str(warehouse),
            "table": "db.rows",
            "insert.mode": "upsert",
            "pk.fields": "id",
            "delete.enabled": "true",
            "truncate.enabled": "true",
        }
        given |= {key.replace("_", "."): value for key, value in options.items()}
        context = TaskContext(connector_uid="uid", task=task, generation=1, epoch=epoch, spark=spark_session(settings()))
        self.task: DataFrameSinkTask = IcebergSink().open(parse(IcebergSink.options, given), {}, context)
        self.queue = f"orders/broker-a/{task}"
        self.at = 0

    def start(self) -> Mapping[str, QueuePosition]:
        stored = self.task.start()
        self.at = stored.get(self.queue, QueuePosition(0)).until
        return stored

    def write(self, values: Sequence[object], schema: Schema | None, keys: Sequence[str | None] | None = None) -> None:
        """The next messages."""
        until = self.at + len(values)
        commit = SinkCommit(
            "uid", 0, 1, {self.queue: QueuePosition(self.at)}, {self.queue: QueuePosition(until)}, len(values), "token"
        )
        if schema is not None:
            self.task.columns_for(schema)
        held = {"value": to_spark(to_array(values, schema or STRING))}
        if keys is not None:
            held["key"] = pa.array(keys, pa.string())
        self.task.write(Frame(pa.table(held)), commit)  # type: ignore[arg-type]
        self.at = until

    def rows(self, **texts: str) -> None:
        """A row for each key, which is a letter and a number."""
        self.write([{"id": int(name[1:]), "a.b": text} for name, text in texts.items()], ROW)


def stored(lake: Path) -> list[Row]:
    return sorted(read(rows_path(lake)), key=lambda row: str(row["id"]))


def texts(lake: Path) -> dict[object, object]:
    return {row["id"]: row["a.b"] for row in stored(lake)}


def snapshots(lake: Path) -> list[Any]:
    return opened(rows_path(lake)).metadata.snapshots


def test_changes_are_made_in_one_commit_with_the_position(tmp_path: Path) -> None:
    lake = tmp_path / "lake of [ü] *"
    owner = Owner(lake)
    owner.start()
    first = [{"id": number, "a.b": f"first {number}"} for number in range(4)]
    owner.write([change("r", after=row) for row in first], envelopes(ROW))
    changes = [
        change("u", before={"id": 1, "a.b": None}, after={"id": 1, "a.b": "one"}),
        change("u", before={"id": 1, "a.b": None}, after={"id": 1, "a.b": "newest"}),
        change("d", before={"id": 2, "a.b": None}),
        change("u", before={"id": 3, "a.b": None}, after={"id": 30, "a.b": "other key"}),
        change("c", after={"id": 9, "a.b": "new"}),
        change("d", before={"id": 9, "a.b": None}),
        None,
    ]
    owner.write(changes, envelopes(ROW))
    assert texts(lake) == {0: "first 0", 1: "newest", 30: "other key"}
    assert len(snapshots(lake)) == 2
    assert json.loads(snapshots(lake)[-1].summary["rocketconnect"]) == {"connector": "uid", "task": 0, "until": {QUEUE: 11}}
    assert Owner(lake, epoch=2).start() == {QUEUE: QueuePosition(11)}


def test_only_files_with_rows_of_the_batch_are_written_anew(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.rows(k0="zero", k9="nine")
    owner.rows(k4="four", k5="five")
    owner.rows(k20="twenty")
    before = set(rows_path(tmp_path).glob("data/*.parquet"))
    owner.rows(k5="newer", k6="six")
    summary = snapshots(tmp_path)[-1].summary
    assert (summary["deleted-data-files"], summary["added-data-files"]) == ("1", "1")
    assert len(set(rows_path(tmp_path).glob("data/*.parquet")) - before) == 1
    assert texts(tmp_path) == {0: "zero", 9: "nine", 4: "four", 5: "newer", 6: "six", 20: "twenty"}


@pytest.mark.slow
def test_columns_that_are_unchanged_keep_their_value_also_under_another_key_and_new_ones_are_added(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.rows(k0="zero", k1="one", k2="two")
    changes = [
        change("u", after={"id": 0, "a.b": None, "more": 5}, unchanged=["a.b"]),
        change("u", before={"id": 1, "a.b": None, "more": None}, after={"id": 7, "a.b": None, "more": 6}, unchanged=["a.b"]),
        change("c", after={"id": 8, "a.b": None, "more": 7}, unchanged=["a.b"]),
        change("u", after={"id": 2, "a.b": "second", "more": None}, unchanged=["more"]),
    ]
    owner.write(changes, envelopes(WIDER))
    wide = [
        {"id": 0, "a.b": "zero", "more": 5},
        {"id": 2, "a.b": "second", "more": None},
        {"id": 7, "a.b": "one", "more": 6},
        {"id": 8, "a.b": None, "more": 7},
    ]
    assert stored(tmp_path) == wide
    # Rows that lack a column of the table leave it as it is.
    owner.rows(k0="newer", k9="nine")
    assert stored(tmp_path) == [{"id": 0, "a.b": "newer", "more": 5}, *wide[1:], {"id": 9, "a.b": "nine", "more": None}]


@pytest.mark.slow
def test_a_truncation_deletes_what_was_before_it(tmp_path: Path) -> None:
    owner = Owner(tmp_path, partition_by="id")
    owner.start()
    owner.write([change("t")], envelopes(ROW))
    owner.write([change("c", after={"id": number, "a.b": "x"}) for number in range(3)], envelopes(ROW))
    newer = [change("c", after={"id": 7, "a.b": "y"}), change("t"), change("c", after={"id": 1, "a.b": "z"})]
    owner.write(newer, envelopes(ROW))
    assert texts(tmp_path) == {1: "z"}
    owner.write([change("t")], envelopes(ROW))
    assert texts(tmp_path) == {}
    assert Owner(tmp_path, epoch=2).start() == {QUEUE: QueuePosition(8)}


@pytest.mark.slow
def test_the_key_of_the_record_is_that_of_the_row_and_a_record_without_a_value_deletes_it(tmp_path: Path) -> None:
    owner = Owner(tmp_path, pk_mode="record_key")
    owner.start()
    owner.write([None], None, ["5"])
    text = struct([("a.b", TEXT)], name="row", optional=True)
    owner.write([{"a.b": "x"}, {"a.b": "y"}, {"a.b": "z"}], text, ['{"id": 1}', '{"id": 2}', '{"id": 3}'])
    owner.write([{"a.b": "newer"}, None, None], text, ["1", "2", "4"])
    owner.write([None], None, ["3"])
    assert texts(tmp_path) == {1: "newer"}
    with pytest.raises(RecordError, match="2 values cannot be written"):
        owner.write([{"a.b": "x"}, {"a.b": "y"}, {"a.b": "z"}], text, ["6", None, "word"])
    assert list(owner.task.unwritable(pa.nulls(3))) == [1, 2]


def test_a_table_without_the_key_is_refused(tmp_path: Path) -> None:
    Owner(tmp_path, columns="id:int64,other:string").start()
    with pytest.raises(PermanentError, match="the table has no column name, which the key of its rows has"):
        Owner(tmp_path, pk_fields="id,name").start()


@pytest.mark.slow
def test_rows_that_another_commit_has_changed_meanwhile_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Owner(tmp_path), Owner(tmp_path, task=1)
    one.start()
    one.rows(k0="zero", k1="one")
    other.start()
    in_front(monkeypatch, "link", lambda: other.rows(k1="other", k2="two"))
    before = set(rows_path(tmp_path).glob("data/*.parquet"))
    with pytest.raises(RetriableError, match="has changed the rows that were looked at"):
        one.rows(k0="newer")
    assert texts(tmp_path) == {0: "zero", 1: "other", 2: "two"}
    assert len(set(rows_path(tmp_path).glob("data/*.parquet")) - before) == 1
    one.rows(k0="newer")
    assert texts(tmp_path) == {0: "newer", 1: "other", 2: "two"}


def test_an_owner_that_is_replaced_in_the_middle_of_a_batch_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie, new = Owner(tmp_path), Owner(tmp_path, epoch=2)
    zombie.start()
    zombie.rows(k0="zero")
    in_front(monkeypatch, "link", new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.rows(k0="zombie")
    assert texts(tmp_path) == {0: "zero"}
    new.rows(k0="new")
    assert texts(tmp_path) == {0: "new"}


@pytest.mark.slow
@pytest.mark.parametrize("behind", [False, True], ids=["before its commit", "behind its commit"])
def test_killed_at_a_commit_each_change_is_made_once(tmp_path: Path, behind: bool) -> None:
    owner = Owner(tmp_path)
    owner.start()
    owner.rows(k0="zero", k1="one")
    link = catalogs.link

    def dies(staged: Path, state: Path) -> None:
        if behind:
            link(staged, state)
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        catalogs.link = dies
        owner.write([change("d", before={"id": 0, "a.b": None}), change("c", after={"id": 2, "a.b": "two"})], envelopes(ROW))

    assert run_and_kill(work, 1_000_000)
    assert texts(tmp_path) == ({1: "one", 2: "two"} if behind else {0: "zero", 1: "one"})
    new = Owner(tmp_path, epoch=2)
    assert new.start() == {QUEUE: QueuePosition(4 if behind else 2)}
    new.rows(k0="again")
    assert texts(tmp_path) == ({0: "again", 1: "one", 2: "two"} if behind else {0: "again", 1: "one"})


@pytest.mark.slow
def test_rows_of_a_file_that_are_far_from_those_of_the_batch_stay(tmp_path: Path) -> None:
    """A file has groups of rows, and a reader can leave groups out."""
    owner = Owner(tmp_path)
    owner.start()
    owner.rows(k1000="far")
    update = java_table(tmp_path).updateProperties()
    for key, value in {"size-bytes": "1000", "check-min-record-count": "10", "check-max-record-count": "10"}.items():
        update.set(f"write.parquet.row-group-{key}", value)
    update.commit()
    owner.write([{"id": number, "a.b": f"{number} " * 20} for number in range(500)], ROW)
    files = [Path(str(each).removeprefix("file:")) for each in opened(rows_path(tmp_path)).inspect.files()["file_path"]]
    assert max(parquet.read_metadata(file).num_row_groups for file in files) > 5
    owner.rows(k7="newer")
    assert len(texts(tmp_path)) == 501
    assert texts(tmp_path)[7] == "newer"
