"""What a column shows is what was written, or the record is a bad one: values at the edges of each type."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, decimal, struct, timestamp
from tests.connectors.jdbc_sink.conftest import Target
from tests.pairs.kinds import JSON, decimals, drawn

pytestmark = [pytest.mark.slow, pytest.mark.mariadb, pytest.mark.postgres]

COUNT = 60
"""Values of each type."""
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00")
_FRACTIONS = st.sampled_from([0, 1, 500_000, 700_000, 999_000, 999_999, 123_456])
_MOMENTS = st.builds(
    lambda at, micros: at.replace(microsecond=micros),
    st.sampled_from(
        [datetime.fromisoformat(each) for each in ("2024-12-31T23:59:59", "1999-02-28T00:00:00", "2037-01-01T12:00:00")]
    ),
    _FRACTIONS,
)
_TIMES = st.builds(lambda seconds, micros: time(23, 59, seconds, micros), st.sampled_from([0, 59]), _FRACTIONS)
_WORDS = st.text("aAé 1,\n\t\\'", max_size=6)
_BYTES = st.binary(max_size=5)
_DOUBLES = st.decimals(-999, 999, places=6).map(float)
_NUMBERS = st.integers(-5, 300) | st.integers(1890, 2200)
_TEXT, _DOUBLE = Schema(Type.STRING), Schema(Type.FLOAT64)


class Edge(NamedTuple):
    """Values for a column."""

    schema: Schema
    values: st.SearchStrategy[Any]


_CLOCK, _MOMENT = Edge(timestamp(zone=False), _MOMENTS), Edge(timestamp(), _MOMENTS.map(lambda at: at.replace(tzinfo=UTC)))
_TIME, _WORD, _FLOAT = Edge(Schema(Type.TIME), _TIMES), Edge(_TEXT, _WORDS), Edge(_DOUBLE, _DOUBLES)
_LONG = Edge(decimal(8, precision=20), (decimals(20, 8) | decimals(9, 2)).map(Decimal))
_DIGITS = Edge(_TEXT, decimals(40, 20) | decimals(9, 2))
_JSON = Edge(Schema(Type.JSON), JSON.map(json.dumps))
_NESTED = Edge(Schema(Type.ARRAY, items=_TEXT), st.lists(_WORDS, max_size=3))
EDGES: Mapping[str, Mapping[str, Edge]] = {
    "postgres": {
        **{f"timestamp({digits})": _CLOCK for digits in (0, 1, 3, 5, 6)},
        **{f"timestamptz({digits})": _MOMENT for digits in (0, 3, 6)},
        **{f"time({digits})": _TIME for digits in (0, 3, 6)},
        "timestamp": _CLOCK,
        "char(3)": _WORD,
        "varchar(3)": _WORD,
        "text": _WORD,
        "name": Edge(_TEXT, st.text("aü", min_size=28, max_size=70)),
        "numeric": _DIGITS,
        "numeric(9,2)": _LONG,
        "numeric(85,3)": _DIGITS,
        "real": _FLOAT,
        "double precision": _FLOAT,
        "bytea": Edge(Schema(Type.BYTES), _BYTES),
        "jsonb": _JSON,
        "json": _NESTED,
        "smallint": Edge(Schema(Type.INT64), _NUMBERS | st.integers(-40_000, 40_000)),
    },
    "mariadb": {
        **{f"DATETIME({digits})": _CLOCK for digits in (0, 1, 3, 5, 6)},
        **{f"TIMESTAMP({digits}) NULL": _MOMENT for digits in (0, 3, 6)},
        **{f"TIME({digits})": _TIME for digits in (0, 3, 6)},
        "CHAR(3)": _WORD,
        "VARCHAR(3)": _WORD,
        "VARCHAR(9) COLLATE latin1_swedish_ci": _WORD,
        "TINYTEXT": Edge(_TEXT, st.text("aü ", min_size=120, max_size=270)),
        "ENUM('a','A1','é')": Edge(_TEXT, _WORDS | st.sampled_from(["a", "A1", "A", "é"])),
        "SET('a','A1','é')": Edge(_TEXT, _WORDS | st.sampled_from(["a,A1", "é,a", "A", "a,é"])),
        "BINARY(3)": Edge(Schema(Type.BYTES), _BYTES),
        "VARBINARY(3)": Edge(Schema(Type.BYTES), _BYTES),
        "DECIMAL(9,2)": _LONG,
        "FLOAT": _FLOAT,
        "FLOAT(9,3)": _FLOAT,
        "DOUBLE": _FLOAT,
        "DOUBLE(9,3)": _FLOAT,
        "DOUBLE UNSIGNED": _FLOAT,
        "YEAR": Edge(Schema(Type.INT16), _NUMBERS),
        "BIT(5)": Edge(Schema(Type.UINT64), st.integers(0, 40)),
        "JSON": _NESTED,
        "TINYINT UNSIGNED": Edge(Schema(Type.INT64), _NUMBERS),
    },
    "sqlite": {
        "text": _WORD,
        "varchar(3)": _WORD,
        "string": Edge(_TEXT, _WORDS | st.sampled_from(["007", "1.0", "1e5", " 1"])),
        "numeric(9,2)": _DIGITS,
        "decimal(9,2)": _DIGITS,
        "text_decimal(9,2)": _LONG,
        "double": _FLOAT,
        "datetime": _CLOCK,
        "timestamp": _MOMENT,
        "time": _TIME,
        "date": Edge(Schema(Type.DATE), st.dates()),
        "bigint": Edge(Schema(Type.UINT64), st.sampled_from([(1 << 63) - 1, 1 << 63, 0])),
    },
}


@pytest.mark.parametrize("target", ["postgres", "mariadb", "sqlite"], indirect=True)
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_what_is_shown_is_what_was_written_or_the_record_is_a_bad_one(target: Target, mode: str) -> None:
    edges = EDGES[target.kind]
    target.run(f'CREATE TABLE "rows" (id INTEGER PRIMARY KEY, {", ".join(f"c{n} {kind}" for n, kind in enumerate(edges))})')
    task = target.start(insert_mode=mode, schema_evolution="ignore")
    first = 0
    for number, (kind, edge) in enumerate(edges.items()):
        column = f"c{number}"
        schema = struct([("id", Schema(Type.INT32)), (column, edge.schema)])
        rows = [{"id": first + place, column: value} for place, value in enumerate(drawn(edge.values, COUNT)[:-1])]
        first += len(rows)
        kept = rows
        try:
            target.write(task, rows, schema)
        except RecordError:
            bad = task.unwritable(None)
            kept = [row for place, row in enumerate(rows) if place not in bad]
            assert kept, kind
            target.write(task, kept, schema)
        assert _shown(target, column, kind) == {row["id"]: _meant(row[column], kind) for row in kept}, kind


def _shown(target: Target, column: str, kind: str) -> dict[int, Any]:
    of = column
    if target.kind == "mariadb" and kind.startswith("FLOAT"):
        # It shows six digits, and has all.
        of = f"{column} * 1e0"
    elif target.kind == "postgres" and kind.startswith("json"):
        of = f"{column}::text"
    return {number: _plain(value) for number, value in target.run(f'SELECT id, {of} FROM "rows" WHERE {column} IS NOT NULL')}


def _plain(value: Any) -> Any:
    match value:
        case memoryview() | bytes():
            return bytes(value)
        case timedelta():
            return (_EPOCH + value).time()
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        case dict() | list():
            return json.dumps(value, sort_keys=True)
    return value


def _meant(value: Any, kind: str) -> Any:
    """What a driver gives of a column of a type."""
    plain = _plain(value)
    if isinstance(plain, str):
        of_texts = {"numeric": _Number, "decimal": _Number, "json": _Json, "string": _Spelled}
        made = next((of for start, of in of_texts.items() if kind.lower().startswith(start)), None)
        return plain.ljust(3) if kind == "char(3)" else made(plain) if made else plain
    if kind.startswith("text_decimal"):
        return _Number(plain)
    if kind in ("datetime", "timestamp", "date", "time"):
        return _At(plain)
    return bytes([plain]) if kind == "BIT(5)" else plain


class _Number(str):
    """Equals a number of the same value."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return Decimal(str(other)) == Decimal(self)

    __hash__ = str.__hash__


class _Spelled(str):
    """Equals what is written as it is."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str(other) == str(self)

    __hash__ = str.__hash__


class _Json(str):
    """Equals JSON of the same value."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and json.loads(self) == json.loads(other)

    __hash__ = str.__hash__


class _At:
    """Equals the text of the same time."""

    def __init__(self, at: datetime | date | time) -> None:
        self.at = at

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return self.at == other
        found = type(self.at).fromisoformat(other)
        return self.at == (found.replace(tzinfo=None) if isinstance(found, datetime) else found)

    __hash__ = None  # type: ignore[assignment]  # it is compared alone
