"""Rows and changes of rows by MERGE, with Spark."""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from connectors.delta_sink import DeltaSink, table
from connectors.lakes import staging
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, struct
from rocketconnect_sdk.sink import DataFrameSinkTask, QueuePosition, SinkCommit
from rocketconnect_sdk.spark.types import to_spark
from tests.connectors.delta_sink.spark import read, settings
from tests.connectors.lakes.changes import QUEUE, ROW, TEXT, WIDER, Frame, Row, change, envelopes

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class Owner:
    """A task, and the frames that it gets."""

    def __init__(self, path: Path, *, epoch: int = 1, task: int = 0, **options: str) -> None:
        given = {
            "path": str(path),
            "insert.mode": "upsert",
            "pk.fields": "id",
            "delete.enabled": "true",
            "truncate.enabled": "true",
        }
        given |= {key.replace("_", "."): value for key, value in options.items()}
        context = TaskContext(connector_uid="uid", task=task, generation=1, epoch=epoch, spark=spark_session(settings()))
        self.task: DataFrameSinkTask = DeltaSink().open(parse(DeltaSink.options, given), {}, context)
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


def stored(path: Path) -> list[Row]:
    return sorted(read(path), key=lambda row: str(row["id"]))


def texts(path: Path) -> dict[object, object]:
    return {row["id"]: row["a.b"] for row in stored(path)}


def log(path: Path) -> list[dict[str, Any]]:
    """The newest commit."""
    newest = max((path / "_delta_log").glob("*.json"))
    return [json.loads(line) for line in newest.read_text().splitlines()]


def in_the_middle(
    monkeypatch: pytest.MonkeyPatch, signals: Path, happens: Callable[[], object], does: Callable[[], object]
) -> None:
    """Does something that merges; something else happens while Spark looks at the rows of that, so behind its look at the table."""
    began, ended = signals / "began", signals / "ended"
    real = staging.staged

    def waits(key: object) -> bool:
        began.touch()
        while not ended.exists():
            time.sleep(0.01)
        return key is not None

    def staged(*args: Any) -> Any:
        monkeypatch.setattr(table, "staged", real)
        rows = real(*args)
        return rows.where(udf(waits, BooleanType(), useArrow=False)("id"))

    monkeypatch.setattr(table, "staged", staged)
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(does)
        try:
            while not (began.exists() or doing.done()):
                time.sleep(0.01)
            happens()
        finally:
            ended.touch()
        doing.result()


def test_changes_are_made_in_one_commit_with_the_claim_and_the_position(tmp_path: Path) -> None:
    path = tmp_path / "table of [ü] *"
    owner = Owner(path)
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
    assert texts(path) == {0: "first 0", 1: "newest", 30: "other key"}
    actions = log(path)
    claims = [each["txn"]["appId"] for each in actions if "txn" in each]
    assert claims == ["rocketconnect/uid/0"]
    assert any("add" in each for each in actions)
    (told,) = (json.loads(each["commitInfo"]["userMetadata"]) for each in actions if "commitInfo" in each)
    assert told == {"connector": "uid", "task": 0, "until": {QUEUE: 11}}
    assert Owner(path, epoch=2).start() == {QUEUE: QueuePosition(11)}


def test_columns_that_are_unchanged_keep_their_value_also_under_another_key_and_new_ones_are_added(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.rows(k0="zero", k1="one", k2="two")
    changes = [
        change("u", after={"id": 0, "a.b": None, "more": 5}, unchanged=["a.b"]),
        change("u", before={"id": 1, "a.b": None, "more": None}, after={"id": 7, "a.b": None, "more": 6}, unchanged=["a.b"]),
        change("c", after={"id": 8, "a.b": None, "more": 7}, unchanged=["a.b"]),
        change("u", after={"id": 2, "a.b": "second", "more": None}, unchanged=["more"]),
    ]
    owner.write(changes, envelopes(WIDER))
    assert stored(path) == [
        {"id": 0, "a.b": "zero", "more": 5},
        {"id": 2, "a.b": "second", "more": None},
        {"id": 7, "a.b": "one", "more": 6},
        {"id": 8, "a.b": None, "more": 7},
    ]


@pytest.mark.slow
def test_a_truncation_deletes_what_was_before_it(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, partition_by="id")
    owner.start()
    owner.write([change("t")], envelopes(ROW))
    owner.write([change("c", after={"id": number, "a.b": "x"}) for number in range(3)], envelopes(ROW))
    newer = [change("c", after={"id": 7, "a.b": "y"}), change("t"), change("c", after={"id": 1, "a.b": "z"})]
    owner.write(newer, envelopes(ROW))
    assert texts(path) == {1: "z"}
    assert DeltaTable(str(path)).metadata().partition_columns == ["id"]
    owner.write([change("t")], envelopes(ROW))
    assert texts(path) == {}
    assert Owner(path, epoch=2).start() == {QUEUE: QueuePosition(8)}


def test_the_key_of_the_record_is_that_of_the_row_and_a_record_without_a_value_deletes_it(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, pk_mode="record_key")
    owner.start()
    owner.write([None], None, ["5"])
    text = struct([("a.b", TEXT)], name="row", optional=True)
    owner.write([{"a.b": "x"}, {"a.b": "y"}, {"a.b": "z"}], text, ['{"id": 1}', '{"id": 2}', '{"id": 3}'])
    owner.write([{"a.b": "newer"}, None, None], text, ["1", "2", "4"])
    owner.write([None], None, ["3"])
    assert texts(path) == {1: "newer"}
    with pytest.raises(RecordError, match="2 values cannot be written"):
        owner.write([{"a.b": "x"}, {"a.b": "y"}, {"a.b": "z"}], text, ["6", None, "word"])
    reasons = owner.task.unwritable(pa.nulls(3))
    assert {index: reason.split(":")[0] for index, reason in reasons.items()} == dict.fromkeys(
        [1, 2], "the key is not that of a row"
    )
    assert texts(path) == {1: "newer"}


@pytest.mark.slow
def test_json_objects_and_envelopes_without_a_schema_are_rows_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    with pytest.raises(RecordError, match=r"the value has no schema, and there is no table .*: set columns"):
        owner.write(['{"id": 1}'], STRING)
    owner.rows(k1="one", k2="two")
    owner.write(['{"id": 2, "a.b": "second", "other": 5}', '{"id": 3}'], STRING)
    owner.write([json.dumps(change("d", before={"id": 1}))], STRING)
    assert texts(path) == {2: "second", 3: None}


def test_what_is_no_change_of_a_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, delete_enabled="false", truncate_enabled="false")
    owner.start()
    values = [
        change("c", after={"id": 1, "a.b": "x"}),
        change("c", after={"id": None, "a.b": "x"}),
        change("d", before={"id": 1, "a.b": None}),
        change("t"),
        change("x"),
    ]
    with pytest.raises(RecordError, match="4 values cannot be written"):
        owner.write(values, envelopes(ROW))
    assert dict(owner.task.unwritable(pa.nulls(5))) == {
        1: "id is null, and the column takes no null",
        2: "deletes a row, and delete.enabled is false",
        3: "truncates the table, and truncate.enabled is false",
        4: "the change has the op 'x' and not the row that belongs to it",
    }
    with pytest.raises(RecordError, match=r"the record has no field id, which the key of rows has"):
        owner.write([{"a.b": "x"}], struct([("a.b", TEXT)], name="row"))
    assert not path.joinpath("_delta_log").exists()


def test_a_table_without_the_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    spark_session(settings()).range(2).write.format("delta").save(f"file://{path}")
    with pytest.raises(PermanentError, match="the table has no column name, which the key of its rows has"):
        Owner(path, pk_fields="id,name").start()


@pytest.mark.slow
def test_another_task_that_merges_at_the_same_time_is_in_the_way_and_the_batch_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    one, other = Owner(path), Owner(path, task=1)
    one.start()
    one.rows(k0="zero", k1="one")
    other.start()
    with pytest.raises(RetriableError, match="another commit was in the way"):
        in_the_middle(monkeypatch, tmp_path, lambda: other.rows(k1="other", k2="two"), lambda: one.rows(k0="newer"))
    assert texts(path) == {0: "zero", 1: "other", 2: "two"}
    one.rows(k0="newer")
    assert texts(path) == {0: "newer", 1: "other", 2: "two"}


def test_an_owner_that_is_replaced_in_the_middle_of_a_merge_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    zombie, new = Owner(path), Owner(path, epoch=2)
    zombie.start()
    zombie.rows(k0="zero")
    with pytest.raises(RetriableError, match="another commit was in the way"):
        in_the_middle(monkeypatch, tmp_path, new.start, lambda: zombie.rows(k0="zombie"))
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.rows(k0="zombie")
    assert texts(path) == {0: "zero"}
    new.rows(k0="new")
    assert texts(path) == {0: "new"}


@pytest.mark.parametrize(
    "behind",
    [pytest.param(False, id="before its commit", marks=pytest.mark.slow), pytest.param(True, id="behind its commit")],
)
def test_killed_at_a_merge_each_change_is_made_once(tmp_path: Path, behind: bool) -> None:
    path = tmp_path / "table"
    owner = Owner(path)
    owner.start()
    owner.rows(k0="zero", k1="one")
    merge = table.merge

    def dies(builder: object) -> None:
        if behind:
            merge(builder)
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        table.merge = dies
        owner.write([change("d", before={"id": 0, "a.b": None}), change("c", after={"id": 2, "a.b": "two"})], envelopes(ROW))

    assert run_and_kill(work, 1_000_000)
    assert texts(path) == ({1: "one", 2: "two"} if behind else {0: "zero", 1: "one"})
    new = Owner(path, epoch=2)
    assert new.start() == {QUEUE: QueuePosition(4 if behind else 2)}
    new.rows(k0="again")
    assert texts(path) == ({0: "again", 1: "one", 2: "two"} if behind else {0: "again", 1: "one"})
