"""Columns that are masked are so wherever their rows come from."""

import hashlib
import hmac
from typing import Any

import pytest

from connectors.mysql_cdc_source import MysqlCdcSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import Run, options, parsed, running

pytestmark = pytest.mark.mariadb
SALT = "${env:SALT}"
"""Whoever runs a connector puts the secret in its place."""
MASKS = {
    "column_mask": r".*\.t\.secret",
    "column_mask_text": "hidden",
    "column_mask_characters": r".*\.t\.phone",
    "column_truncate": r".*\.t\.name",
    "column_truncate_length": "3",
    "column_mask_hash": r".*\.t\.(id|mail|raw)",
    "column_mask_salt": SALT,
}


@pytest.fixture
def table(database: Database) -> Database:
    """With a table t."""
    columns = "id INT PRIMARY KEY, mail VARCHAR(50), raw VARBINARY(9), secret TEXT, phone VARCHAR(20), name VARCHAR(20), born DATE"
    database.run(f"CREATE TABLE t ({columns})")
    return database


def _hash(raw: bytes) -> str:
    return hmac.new(SALT.encode(), raw, hashlib.sha256).hexdigest()


def _row(number: int) -> dict[str, Any]:
    """As it is to come."""
    row = {"mail": _hash(b"a@b.example"), "raw": _hash(b"\x01"), "secret": "hidden", "phone": "*****", "name": "Grü"}
    return {"id": _hash(str(number).encode()), **row}


def _insert(first: int, last: int, born: str = "NULL") -> str:
    return f"INSERT INTO t SELECT seq, 'a@b.example', X'01', 'a secret', '12345', 'Grüße', {born} FROM seq_{first}_to_{last}"


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("rows", [3, 1_000])
@pytest.mark.parametrize("born", ["NULL", "'2024-02-03'", "'0000-00-00'"])
def test_rows_of_snapshots_of_chunks_and_of_the_log_are_masked_alike(table: Database, rows: int, columns: bool, born: str) -> None:
    table.run("SET SESSION sql_mode = ''", _insert(1, rows, born))
    context = TaskContext(columns=columns)
    read: list[dict[Any, Any]] = []
    with running(options(table, **MASKS), context=context) as run:
        run.until_records(rows)
        read.append(_told(run, 0))
        run.until(lambda run: run.positions.get("log", (0,) * 4)[3] == 1)
        run.task.signal("execute-snapshot", {"tables": f"{table.name}.t"})
        run.until_records(2 * rows)
        read.append(_told(run, rows))
        run.until(lambda run: run.positions.get(f"incremental {table.name}.t", ()) >= (1, 2))
        table.run("DELETE FROM t", _insert(1, rows, born), "UPDATE t SET secret = 'another'")
        run.until_records(5 * rows)
        read += [_told(run, rows * number) for number in (2, 3, 4)]
    expected = {_hash(str(number).encode()): _row(number) for number in range(1, rows + 1)}
    for each in read:
        assert each == expected


def _told(run: Run, begin: int) -> dict[Any, Any]:
    """Of the records from there on the rows by their keys, as many as there are of one kind, without what is not masked."""
    keys: list[Any] = [key for batch in run.batches for key in batch.keys or ()]
    made: dict[Any, Any] = {}
    for key, value in list(zip(keys, run.values, strict=True))[begin:]:
        row = value["after"] or value["before"]
        if key["id"] in made:
            break
        made[key["id"]] = {name: text for name, text in row.items() if name != "born"}
    return made


def test_what_cannot_be_masked_is_told_and_fails_the_task(table: Database) -> None:
    given = options(table, column_mask=r".*\.t\.(born|id), nothing")
    problems = list(MysqlCdcSource().check(parsed(given)))
    assert [(problem.key, problem.value) for problem in problems] == [
        ("column.mask", "nothing"),
        ("column.mask", f"{table.name}.t"),
    ]
    assert "id is part of the key" in problems[1].reason
    assert "born is of date" in problems[1].reason
    table.run(_insert(1, 1))
    with running(given) as run, pytest.raises(PermanentError, match="can't be masked"):
        run.until_records(1)


def test_rows_that_are_compared_with_a_sink_are_masked(table: Database) -> None:
    table.run(_insert(1, 2))
    masks = {**MASKS, "column_mask_hash": r".*\.t\.(mail|raw)"}
    rows = MysqlCdcSource().tables(parsed(options(table, **masks))).open(f"{table.name}.t")
    (part,) = rows.behind(None, ["id"])
    assert part.values.to_pylist() == [{**_row(0), "id": number, "born": None} for number in (1, 2)]
    with pytest.raises(PermanentError, match="is masked"):
        MysqlCdcSource().tables(parsed(options(table, **MASKS))).open(f"{table.name}.t")
