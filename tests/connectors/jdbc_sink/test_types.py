import json
import string
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.schema import WHOLE, Schema, Type, Unit, decimal, struct, timestamp
from tests.connectors.jdbc_sink.conftest import EACH, OCEANBASE, Target

INT32 = Schema(Type.INT32)
NANOSECONDS = st.integers(0, 86_400 * 10**9 - 1)
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001  # hypothesis wants them so


def milliseconds(value: Any) -> Any:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
TYPES: Mapping[str, tuple[Schema, st.SearchStrategy[Any]]] = {
    "a_boolean": (Schema(Type.BOOLEAN), st.booleans()),
    **{f"a_{kind.value}": (Schema(kind), st.integers(*limits)) for kind, limits in WHOLE.items()},
    "a_float32": (Schema(Type.FLOAT32), st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)),
    "a_float64": (Schema(Type.FLOAT64), st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)),
    "a_decimal": (decimal(4, precision=20), st.decimals(-(10**16) + 1, 10**16 - 1, places=4)),
    "a_small_decimal": (decimal(20, precision=25), st.decimals(-1, 1, places=20)),
    "a_string": (Schema(Type.STRING), TEXTS),
    "some_bytes": (Schema(Type.BYTES), st.binary(max_size=30)),
    "a_date": (Schema(Type.DATE), st.dates(date(1000, 1, 1))),
    "a_time_ms": (Schema(Type.TIME, unit=Unit.MILLISECONDS), st.times().map(milliseconds)),
    "a_time": (Schema(Type.TIME), st.times()),
    "a_time_ns": (Schema(Type.TIME, unit=Unit.NANOSECONDS), NANOSECONDS),
    "a_moment_ms": (timestamp(Unit.MILLISECONDS), MOMENTS.map(milliseconds).map(lambda value: value.replace(tzinfo=UTC))),
    "a_moment": (timestamp(), MOMENTS.map(lambda value: value.replace(tzinfo=UTC))),
    "a_moment_ns": (timestamp(Unit.NANOSECONDS), NANOSECONDS),
    "a_clock_ms": (timestamp(Unit.MILLISECONDS, zone=False), MOMENTS.map(milliseconds)),
    "a_clock": (timestamp(zone=False), MOMENTS),
    "a_clock_ns": (timestamp(Unit.NANOSECONDS, zone=False), NANOSECONDS),
    "a_uuid": (Schema(Type.UUID), st.uuids()),
    "a_json": (Schema(Type.JSON), st.sampled_from(['{"a": [1, null]}', '"ü"', "7"])),
    "a_struct": (struct([("x", INT32), ("y", Schema(Type.STRING))]), st.fixed_dictionaries({"x": st.just(-5), "y": TEXTS})),
    "an_array": (Schema(Type.ARRAY, items=INT32), st.lists(st.integers(-9, 9), max_size=3)),
    "a_map": (
        Schema(Type.MAP, keys=Schema(Type.STRING), items=INT32),
        st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=3), st.integers(-9, 9), max_size=3),
    ),
}
ROW = struct([("id", INT32), *((name, schema) for name, (schema, _) in TYPES.items())])
VALUES = st.fixed_dictionaries({name: values for name, (_, values) in TYPES.items()})


def read(schema: Schema, value: Any) -> object:  # noqa: PLR0911  # one for each type
    """What a driver gave, as the schema has it."""
    match schema.type:
        case Type.STRUCT | Type.ARRAY | Type.MAP:
            return json.loads(value) if isinstance(value, str) else value
        case Type.BOOLEAN:
            return bool(value)
        case Type.DECIMAL:
            return Decimal(value)
        case Type.BYTES:
            return bytes(value)
        case Type.DATE:
            return value if isinstance(value, date) else date.fromisoformat(value)
        case Type.TIME if schema.unit is not Unit.NANOSECONDS:
            made = (datetime(1, 1, 1) + value).time() if isinstance(value, timedelta) else value  # noqa: DTZ001
            return made if isinstance(made, time) else time.fromisoformat(made)
        case Type.TIMESTAMP if schema.unit is not Unit.NANOSECONDS:
            made = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            return made.replace(tzinfo=UTC) if schema.zone and made.tzinfo is None else made
        case Type.UUID:
            return UUID(str(value))
        case Type.JSON:
            return json.loads(value) if isinstance(value, str) and value[0] in '{["7' else value
        case _:
            return int(value) if schema.type in WHOLE else value


@EACH
def test_rows_that_are_loaded_in_bulk_are_what_is_read(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.jdbc.mysql._WORTH_LOADING", 1)
    schema = struct([("id", INT32), ("text", Schema(Type.STRING, optional=True)), ("data", Schema(Type.BYTES, optional=True))])
    texts = ["", "\\N", "\\", "a\tb\nc\r\n", "ü\U0001f600", "NULL", None, "'\"", "\\t"]
    data = [None if text is None else text.encode() + b"\xff" for text in texts]
    rows = [{"id": number, "text": text, "data": each} for number, (text, each) in enumerate(zip(texts, data, strict=True))]
    task = target.start(auto_create="true")
    monkeypatch.delattr("pymysql.cursors.Cursor.executemany")
    target.write(task, rows, schema)
    found = target.run('SELECT id, text, data FROM "rows" ORDER BY id')
    wanted = [(each["id"], each["text"], each["data"]) for each in rows]
    assert [(number, text, data and bytes(data)) for number, text, data in found] == wanted


@pytest.mark.parametrize("target", ["mariadb", OCEANBASE], indirect=True)
@pytest.mark.parametrize("rows", [1, 200])
def test_numbers_and_booleans_go_into_columns_of_bits(target: Target, rows: int) -> None:
    target.run('CREATE TABLE "rows" (id INT PRIMARY KEY, flag BIT(1), mask BIT(64))')
    schema = struct([("id", INT32), ("flag", Schema(Type.BOOLEAN)), ("mask", Schema(Type.UINT64))])
    written = [{"id": n, "flag": n % 2 == 1, "mask": (1 << 64) - 1 - n} for n in range(rows)]
    target.write(target.start(), written, schema)
    found = target.run('SELECT id, flag + 0, mask + 0 FROM "rows" ORDER BY id')
    assert found == [(each["id"], int(each["flag"]), each["mask"]) for each in written]


@given(st.lists(VALUES, min_size=1, max_size=5), st.sampled_from([1, 100]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_written_is_what_is_read(target: Target, rows: list[dict[str, object]], worth_loading: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("connectors.jdbc.mysql._WORTH_LOADING", worth_loading)
        _write_and_read(target, rows)


def _write_and_read(target: Target, rows: list[dict[str, object]]) -> None:
    target.run('DROP TABLE IF EXISTS "rows"')
    for task in target.tasks:
        task.close()
    target.tasks.clear()
    target.run('DROP TABLE IF EXISTS "rocketconnect_positions"')
    task = target.start(insert_mode="upsert", pk_fields="id", auto_create="true")
    for part in (rows[:1], rows):
        target.write(task, [{"id": number, **each} for number, each in enumerate(part)], ROW)
    # MariaDB shows six digits of a float, and has all.
    columns = ", ".join("a_float32 * 1e0" if name == "a_float32" else name for name in TYPES)
    found = target.run(f'SELECT {columns} FROM "rows" ORDER BY id')
    for wanted, held in zip(rows, found, strict=True):
        for (name, (schema, _)), value in zip(TYPES.items(), held, strict=True):
            expected = json.loads(str(wanted[name])) if schema.type is Type.JSON else wanted[name]
            assert read(schema, value) == expected, name


@pytest.mark.parametrize("name", ["a_string", "some_bytes", "a_decimal", "a_moment", "an_array"])
def test_null_is_null_and_no_empty_text(target: Target, name: str) -> None:
    schema = struct([("id", INT32), ("value", Schema(**{**_parts(TYPES[name][0]), "optional": True}))])
    task = target.start(insert_mode="upsert", pk_fields="id", auto_create="true")
    target.write(task, [{"id": 1, "value": None}], schema)
    assert target.run('SELECT value FROM "rows"') == [(None,)]


def _parts(schema: Schema) -> dict[str, Any]:
    return {"type": schema.type, "precision": schema.precision, "scale": schema.scale, "zone": schema.zone, "items": schema.items}
