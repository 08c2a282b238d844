"""JSON without schemas is for people and other programs, and what was written is read by `columns` as the same rows."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.objects import rows_of_bytes, rows_of_values
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.json.converter import JsonConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, struct, timestamp
from tests.examples import some
from tests.rocketconnect_sdk.typed_values import LEAVES

TYPES = {f"f{number}": leaf for number, leaf in enumerate(LEAVES)}
COLUMNS = struct([(name, replace(leaf, optional=True)) for name, leaf in TYPES.items()])
ROWS = st.fixed_dictionaries({name: st.none() | LEAVES[leaf] for name, leaf in TYPES.items()})


def plain(decimals: str = "") -> Converter:
    return converter("json", {"schemas.enable": "false", "decimal.format": decimals}, is_key=False)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (Schema(Type.DATE), date(2024, 12, 31), '"2024-12-31"'),
        (Schema(Type.TIME, unit=Unit.MILLISECONDS), time(23, 59, 59, 123_000), '"23:59:59.123"'),
        (Schema(Type.TIME), time(23, 59, 59), '"23:59:59"'),
        (Schema(Type.TIME, unit=Unit.NANOSECONDS), 1, '"00:00:00.000000001"'),
        (timestamp(Unit.MILLISECONDS, zone=True), datetime(2024, 12, 31, 23, 59, 59, 123_000, UTC), '"2024-12-31T23:59:59.123Z"'),
        (timestamp(Unit.MICROSECONDS, zone=False), datetime(2024, 12, 31, 23, 59, 59), '"2024-12-31T23:59:59"'),  # noqa: DTZ001
        (timestamp(Unit.NANOSECONDS, zone=True), -1, '"1969-12-31T23:59:59.999999999Z"'),
        (decimal(2, precision=30), Decimal("1234567890123456789012345678.9"), "1234567890123456789012345678.90"),
        (Schema(Type.BYTES), b"\0", '"AA=="'),
        (Schema(Type.JSON), '{"a":\n1.50}', '{"a":1.50}'),
        (Schema(Type.MAP, keys=Schema(Type.DATE), items=Schema(Type.INT8)), {date(2024, 12, 31): 1}, '{"2024-12-31":1}'),
    ],
)
def test_a_value_is_written_as_people_write_it(schema: Schema, value: Any, text: str) -> None:
    assert plain().encode(value, schema).decode() == text
    assert plain().encode_many(Column(to_array([value] * 2, schema)), schema) == [text.encode()] * 2


@pytest.mark.parametrize("decimals", ["", "text"])
@given(rows=st.lists(ROWS, min_size=1, max_size=3))
@settings(max_examples=some(100), deadline=None)
def test_whatever_is_written_without_a_schema_is_read_by_its_columns(decimals: str, rows: list[dict[str, Any]]) -> None:
    texts = [plain(decimals).encode(row, COLUMNS) for row in rows]
    assert plain(decimals).encode_many(Column(to_array(rows, COLUMNS)), COLUMNS) == texts
    expected = to_array([_as_read(row) for row in rows], COLUMNS)
    assert rows_of_values(texts, COLUMNS).equals(expected)
    assert rows_of_values([plain().decode(text)[0] for text in texts], COLUMNS).equals(expected)
    without = struct([(each.name, each.schema) for each in COLUMNS.fields if each.schema.type is not Type.JSON])
    at_once = [plain(decimals).encode({each.name: row[each.name] for each in without.fields}, without) for row in rows]
    read = rows_of_bytes(at_once, without)
    assert read is None or read.equals(to_array(rows, without))


def _as_read(row: dict[str, Any]) -> dict[str, Any]:
    """JSON by its meaning, and its null as none."""
    name = next(name for name, leaf in TYPES.items() if leaf.type is Type.JSON)
    held = None if row[name] is None else json.loads(row[name])
    return {**row, name: None if held is None else json.dumps(held, separators=(",", ":"), ensure_ascii=False)}


def test_decimals_are_numbers_texts_or_base64() -> None:
    written = {form: plain(form).encode(Decimal("1.5"), decimal(2)).decode() for form in ("", "NUMERIC", "TEXT", "BASE64")}
    assert written == {"": "1.50", "NUMERIC": "1.50", "TEXT": '"1.50"', "BASE64": '"AJY="'}
    enveloped = converter("json", {}, is_key=False)
    assert enveloped.encode(Decimal("1.5"), decimal(2)).endswith(b'"payload":"AJY="}')


def test_decimals_as_text_beside_a_schema_are_refused_at_validation() -> None:
    config = parse(JsonConverter.options, {"decimal.format": "TEXT"})
    assert [problem.key for problem in JsonConverter.check(config)] == ["decimal.format"]
    assert not list(JsonConverter.check(parse(JsonConverter.options, {"decimal.format": "TEXT", "schemas.enable": "false"})))


@pytest.mark.parametrize(
    ("schema", "value"),
    [(Schema(Type.JSON), "{"), (Schema(Type.DATE), 5), (Schema(Type.TIME), 5), (Schema(Type.TIME, unit=Unit.NANOSECONDS), 1 << 50)],
    ids=str,
)
def test_what_is_no_such_value_is_a_bad_record(schema: Schema, value: object) -> None:
    with pytest.raises(RecordError):
        plain().encode(value, schema)
