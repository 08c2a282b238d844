"""Columns that are masked are so wherever their rows come from."""

import hashlib
import hmac
from typing import Any

import pytest

from connectors.postgres_cdc_source import PostgresCdcSource
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing, is_streaming, parsed

SALT = "${env:SALT}"
"""Whoever runs a connector puts the secret in its place."""
MASKS = {
    "column_mask": r".*\.t\.secret",
    "column_mask_text": "hidden",
    "column_mask_characters": r".*\.t\.phone",
    "column_truncate": r".*\.t\.name",
    "column_truncate_length": "3",
    "column_mask_hash": r".*\.t\.(id|person|mail|raw)",
    "column_mask_salt": SALT,
}
PERSON = "00000000-0000-0000-0000-00000000000a"


@pytest.fixture(params=["DEFAULT", "FULL"])
def table(shop: Shop, request: pytest.FixtureRequest) -> Shop:
    """With a table t."""
    columns = "id bigint, person uuid, mail varchar(50), raw bytea, secret text, phone text, name text, born date"
    shop.run(
        f"CREATE TABLE {shop.name}.t ({columns}, PRIMARY KEY (id, person))",
        f"ALTER TABLE {shop.name}.t REPLICA IDENTITY {request.param}",
    )
    return shop


def _hash(raw: bytes) -> str:
    return hmac.new(SALT.encode(), raw, hashlib.sha256).hexdigest()


def _row(number: int) -> dict[str, Any]:
    """As it is to come."""
    row = {"mail": _hash(b"a@b.example"), "raw": _hash(b"\x01"), "secret": "hidden", "phone": "*****", "name": "Grü"}
    return {"id": _hash(str(number).encode()), "person": _hash(PERSON.encode()), **row}


def _insert(shop: Shop, rows: int, born: str) -> str:
    values = rf"n, '{PERSON}', 'a@b.example', '\x01', 'a secret', '12345', 'Grüße', {born}"
    return f"INSERT INTO {shop.name}.t SELECT {values} FROM generate_series(1, {rows}) n"


def _told(captured: Captured, begin: int, rows: int) -> dict[Any, Any]:
    """So many rows by their keys, without what is not masked."""
    made = {}
    for _, _, key, value in captured.records[begin : begin + rows]:
        row = value["after"] or value["before"]
        assert key == {name: row[name] for name in ("id", "person")}
        made[key["id"]] = {name: text for name, text in row.items() if name != "born"}
    return made


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("rows", [3, 1_000])
@pytest.mark.parametrize("born", ["NULL", "'infinity'"])
def test_rows_of_snapshots_of_chunks_and_of_the_log_are_masked_alike(table: Shop, rows: int, columns: bool, born: str) -> None:
    table.run(_insert(table, rows, born))
    with capturing(table.config(**MASKS), columns=columns) as it:
        it.until(is_streaming)
        it.until(lambda so_far: so_far.task.log is not None and so_far.task.log.place)  # type: ignore[attr-defined]
        it.task.signal("execute-snapshot", {"tables": f"{table.name}.t"})
        it.until(lambda so_far: so_far.positions.get(f"incremental {table.name}.t", ()) >= (1, 2))
        t = f"{table.name}.t"
        table.run(f"UPDATE {t} SET secret = 'another'", f"DELETE FROM {t}", _insert(table, rows, born))
        it.until(lambda so_far: len(so_far.records) >= 5 * rows)
    expected = {_hash(str(number).encode()): _row(number) for number in range(1, rows + 1)}
    for number, op in enumerate("rrudc"):
        assert {value["op"] for *_, value in it.records[rows * number : rows * (number + 1)]} == {op}
        if op != "d":
            assert _told(it, rows * number, rows) == expected
    for *_, value in it.records:
        for row in filter(None, (value["before"], value["after"])):
            for name, text in _row(0).items():
                # Without FULL only the key is known of a row before.
                assert row[name] == text or name == "id" or (row is value["before"] and row[name] is None)


def test_a_large_value_that_did_not_change_is_masked_where_a_row_gets_another_key(shop: Shop) -> None:
    shop.run(
        f"CREATE TABLE {shop.name}.t (id int PRIMARY KEY, name text)",
        f"ALTER TABLE {shop.name}.t ALTER name SET STORAGE EXTERNAL",
        f"INSERT INTO {shop.name}.t VALUES (1, repeat('x', 5000))",
    )
    given = shop.config(**{**MASKS, "column_mask": "", "column_mask_characters": "", "column_mask_hash": r".*\.t\.id"})
    with capturing(given) as it:
        it.until(is_streaming)
        shop.run(f"UPDATE {shop.name}.t SET id = 2")
        it.until(lambda so_far: len(so_far.records) == 3)
    assert it.ops() == [
        ("r", {"id": _hash(b"1"), "name": "xxx"}),
        ("d", {"id": _hash(b"1"), "name": None}),
        ("c", {"id": _hash(b"2"), "name": "xxx"}),
    ]


def test_what_cannot_be_masked_is_told_and_fails_the_task(shop: Shop) -> None:
    shop.fill(1)
    given = shop.config(column_mask=r".*\.orders\.id, nothing")
    problems = list(PostgresCdcSource().check(parsed(given)))
    assert [(problem.key, problem.value) for problem in problems] == [
        ("column.mask", "nothing"),
        ("column.mask", f"{shop.name}.orders"),
    ]
    assert "id is part of the key" in problems[1].reason
    with capturing(given) as it, pytest.raises(PermanentError, match="can't be masked"):
        it.until(is_streaming)


def test_rows_that_are_compared_with_a_sink_are_masked(shop: Shop) -> None:
    shop.fill(2)
    rows = PostgresCdcSource().tables(parsed(shop.config(column_mask=".*name"))).open(f"{shop.name}.orders")
    (part,) = rows.behind(None, ["id"])
    assert part.values.to_pylist() == [{"id": 1, "name": "***"}, {"id": 2, "name": "***"}]
