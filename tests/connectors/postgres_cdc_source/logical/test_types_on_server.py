"""What is decoded is what SELECT shows, for every type."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from math import isnan
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.values import Beyond
from rocketconnect_sdk.schema import Type
from tests.connectors.postgres_cdc_source.conftest import Changes
from tests.examples import some

pytestmark = pytest.mark.postgres

CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, max_size=300)
DATES = st.one_of(
    st.dates().map(str),
    st.tuples(st.integers(1, 4700), st.integers(1, 12), st.integers(1, 28)).map(lambda day: "{:04}-{:02}-{:02} BC".format(*day)),
    st.integers(10_000, 200_000).map(lambda year: f"{year}-06-07"),
    st.sampled_from(["infinity", "-infinity", "0001-01-01", "9999-12-31", "4713-01-01 BC"]),
)
TIMES = st.times().map(str) | st.just("24:00:00")
MOMENTS = st.tuples(DATES, st.times()).map(
    lambda both: both[0] if "infinity" in both[0] else f"{both[0].removesuffix(' BC')} {both[1]}{' BC' * both[0].endswith(' BC')}"
)
INTERVALS = st.tuples(st.integers(-(10**8), 10**8), st.integers(-(10**8), 10**8), st.integers(-(10**15), 10**15)).map(
    "{0[0]} months {0[1]} days {0[2]} microseconds".format
)
NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=40).map(str),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "0", "-0.0", "1e500", "1e-500", "123456789012345678901234567890.00"]),
)
PRICES = st.one_of(st.decimals(-(10**8), 10**8, places=2).map(str), st.just("NaN"))
FLOATS = st.floats().map(str)
BITS = st.text("01", max_size=100)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ADDRESSES = st.one_of(st.ip_addresses().map(str), st.ip_addresses(v=4).map("{}/32".format), st.just("10.0.0.0/8"), st.just("::/0"))
MACS = st.binary(min_size=6, max_size=6).map(lambda data: data.hex(":"))


def integers(bits: int) -> st.SearchStrategy[str]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1).map(str)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array(elements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = st.one_of(elements.map(quoted), st.just("NULL"))
    flat = st.lists(one, max_size=5).map(lambda found: "{" + ",".join(found) + "}")
    deep = st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(one, min_size=width, max_size=width), min_size=1, max_size=3).map(
            lambda rows: "{" + ",".join("{" + ",".join(row) + "}" for row in rows) + "}"
        )
    )
    return flat | deep


def dumps(value: object) -> str:
    import json

    # PostgreSQL's jsonb has no \u0000, which texts here have not either.
    return json.dumps(value, ensure_ascii=False)


PAIRS = st.tuples(integers(32), st.text('ab,()\\"', max_size=9)).map(lambda both: f"({both[0]},{quoted(both[1])})")
HSTORES = st.dictionaries(TEXTS, st.none() | TEXTS, max_size=4).map(
    lambda pairs: ",".join(f"{quoted(key)}=>{'NULL' if value is None else quoted(value)}" for key, value in pairs.items())
)

PLAIN = {
    "boolean": (st.sampled_from(["t", "f"]), Type.BOOLEAN),
    "smallint": (integers(16), Type.INT16),
    "integer": (integers(32), Type.INT32),
    "bigint": (integers(64), Type.INT64),
    "oid": (st.integers(0, (1 << 32) - 1).map(str), Type.UINT32),
    "real": (st.floats(width=32).map(str), Type.FLOAT32),
    "double precision": (FLOATS, Type.FLOAT64),
    "numeric(12,2)": (PRICES, Type.DECIMAL),
    "numeric(76,40)": (st.decimals(-(10**20), 10**20, places=40).map(str), Type.DECIMAL),
    "amount": (PRICES, Type.DECIMAL),
    "bytea": (st.binary(max_size=300).map(lambda data: "\\x" + data.hex()), Type.BYTES),
    "date": (DATES, Type.DATE),
    "time": (TIMES, Type.TIME),
    "timestamp": (MOMENTS, Type.TIMESTAMP),
    "timestamptz": (MOMENTS.map(lambda text: text if "infinity" in text else f"{text}".replace(" BC", "+00 BC")), Type.TIMESTAMP),
    "uuid": (st.uuids().map(str), Type.UUID),
    "hstore": (HSTORES, Type.MAP),
    "integer[]": (array(integers(32)), Type.ARRAY),
    "text[]": (array(TEXTS), Type.ARRAY),
    "numeric(12,2)[]": (array(PRICES), Type.ARRAY),
    "double precision[]": (array(FLOATS), Type.ARRAY),
    "date[]": (array(DATES), Type.ARRAY),
    "uuid[]": (array(st.uuids().map(str)), Type.ARRAY),
    "bytea[]": (array(st.binary(max_size=20).map(lambda data: "\\x" + data.hex())), Type.ARRAY),
}
"""Types whose values psycopg reads, too, which knows nothing of ours."""

AS_TEXT = {
    "numeric": (NUMBERS, Type.STRING),
    "numeric(5,-3)": (st.integers(-(10**7), 10**7).map(str), Type.STRING),
    "text": (TEXTS, Type.STRING),
    "varchar(400)": (TEXTS, Type.STRING),
    "char(400)": (TEXTS, Type.STRING),
    '"char"': (st.text("abc", max_size=1), Type.STRING),
    "name": (st.text("abcü", max_size=20), Type.STRING),
    "citext": (TEXTS, Type.STRING),
    "json": (JSONS.map(dumps), Type.JSON),
    "jsonb": (JSONS.map(dumps), Type.JSON),
    "xml": (st.text("abü ", max_size=30).map("<a>{}</a>".format), Type.STRING),
    "timetz": (TIMES.map("{}+05:30".format), Type.STRING),
    "inet": (ADDRESSES, Type.STRING),
    "cidr": (st.ip_addresses().map(str), Type.STRING),
    "macaddr": (MACS, Type.STRING),
    "bit(7)": (st.text("01", min_size=7, max_size=7), Type.STRING),
    "varbit": (BITS, Type.STRING),
    "mood": (st.sampled_from(["sad", "so, so", 'a "b"']), Type.STRING),
    "short_text": (st.text("ab", max_size=10), Type.STRING),
    "pair": (
        st.tuples(integers(32), st.text('ab,()\\"', max_size=9)).map(lambda both: f"({both[0]},{quoted(both[1])})"),
        Type.STRING,
    ),
    "point": (st.tuples(st.integers(), st.integers()).map("({0[0]},{0[1]})".format), Type.STRING),
    "tsvector": (st.text("ab ", max_size=20), Type.STRING),
    "int4range": (st.tuples(st.integers(-9, 0), st.integers(0, 9)).map("[{0[0]},{0[1]})".format), Type.STRING),
    "datemultirange": (st.just("{[2020-01-01,2020-02-01),[2021-01-01,)}"), Type.STRING),
    "int2vector": (st.just("1 2 3"), Type.STRING),
    "pg_lsn": (st.just("16/B374D848"), Type.STRING),
    "mood[]": (array(st.sampled_from(["sad", "so, so", 'a "b"'])), Type.ARRAY),
    "box[]": (st.just("{(1,1),(0,0);(2,2),(1,1)}"), Type.ARRAY),
    "jsonb[]": (array(JSONS.map(dumps)), Type.ARRAY),
}
"""Types whose values are texts as the server writes them, or lists of such texts."""


class Tables:
    """Tables of one column each, and their rows in both ways."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._numbers = count()
        for statement in (
            "CREATE EXTENSION IF NOT EXISTS hstore",
            "CREATE EXTENSION IF NOT EXISTS citext",
            "CREATE TYPE mood AS ENUM ('sad', 'so, so', 'a \"b\"')",
            "CREATE TYPE pair AS (number integer, word text)",
            "CREATE DOMAIN amount AS numeric(12,2)",
            "CREATE DOMAIN short_text AS varchar(20) CHECK (length(value) < 15)",
        ):
            changes.connection.execute(statement.encode())
        from psycopg.types import TypeInfo
        from psycopg.types.hstore import register_hstore

        info = TypeInfo.fetch(changes.connection, "hstore")
        assert info is not None
        register_hstore(info, changes.connection)

    def write(self, kind: str, texts: list[str], shown: str) -> tuple[list[Any], list[Any], ev.Relation]:
        """What was decoded of rows with these values, what SELECT shows, and the table."""
        name = f"of_{next(self._numbers)}"
        connection = self._changes.connection
        connection.execute(f"CREATE TABLE {name} (id integer PRIMARY KEY, value {kind})".encode())
        statement = f"INSERT INTO {name} SELECT o, t::{kind} FROM unnest(%s::text[]) WITH ORDINALITY AS u(t, o)"
        connection.execute(statement.encode(), [[*texts, None]])
        rows = connection.execute(f"SELECT {shown} FROM {name} ORDER BY id".encode()).fetchall()
        inserts = [event for event in self._changes.of([f"DROP TABLE {name}"]) if isinstance(event, ev.Insert)]
        return [event.new[1] for event in inserts], [row[0] for row in rows], inserts[0].relation


@pytest.fixture(scope="module")
def tables(make_changes: Callable[[], Changes]) -> Iterator[Tables]:
    changes = make_changes()
    yield Tables(changes)
    changes.close()


few = settings(max_examples=some(12, 3), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("kind", PLAIN)
@few
@given(st.data())
def test_a_value_is_what_select_shows(tables: Tables, kind: str, data: st.DataObject) -> None:
    texts = data.draw(st.lists(PLAIN[kind][0], min_size=1, max_size=20))
    # What psycopg cannot read either is compared as text.
    far = kind in ("date", "time", "timestamp", "timestamptz", "date[]")
    # Of 32 bits psycopg reads the shortest text, and not the number.
    shown_as = "value::text" if far else "value::float8" if kind == "real" else "value"
    decoded, shown, relation = tables.write(kind, texts, shown_as)
    assert relation.columns[1].type.schema.type is PLAIN[kind][1]
    assert decoded[-1] is None
    assert len(decoded) == len(shown) == len(texts) + 1
    for one, other in zip(decoded, shown, strict=True):
        assert same(as_text(one, kind) if far else one, other), (one, other)


@pytest.mark.parametrize("kind", AS_TEXT)
@few
@given(st.data())
def test_a_value_without_a_type_here_is_the_servers_text(tables: Tables, kind: str, data: st.DataObject) -> None:
    texts = data.draw(st.lists(AS_TEXT[kind][0], min_size=1, max_size=20))
    # As the type's own output has it; ::text adds a mask to an address and takes blanks from char(n).
    shown_as = "value::text[]" if kind.endswith("[]") else "concat(value)"
    decoded, shown, relation = tables.write(kind, texts, shown_as)
    assert relation.columns[1].type.schema.type is AS_TEXT[kind][1]
    assert decoded[-1] is None
    assert decoded[:-1] == shown[:-1]


@few
@given(texts=st.lists(INTERVALS, min_size=1, max_size=20))
def test_an_interval_keeps_its_three_numbers(tables: Tables, texts: list[str]) -> None:
    shown = (
        "ARRAY[extract(year from value) * 12 + extract(month from value), extract(day from value),"
        " extract(hour from value) * 3600000000 + extract(minute from value) * 60000000 + extract(microseconds from value)]"
    )
    decoded, numbers, _ = tables.write("interval", texts, shown)
    assert [list(each.values()) for each in decoded[:-1]] == [list(map(int, each)) for each in numbers[:-1]]


@few
@given(texts=st.lists(st.integers(-(1 << 63), (1 << 63) - 1).map(lambda cents: str(Decimal(cents) / 100)), min_size=1, max_size=20))
def test_an_amount_of_money_is_exact(tables: Tables, texts: list[str]) -> None:
    decoded, shown, _ = tables.write("money", texts, "value::numeric")
    assert decoded == shown


def test_a_type_that_is_gone_is_text(changes: Changes) -> None:
    events = changes.of([
        "CREATE TYPE gone AS ENUM ('a')",
        "CREATE TABLE with_gone (id integer PRIMARY KEY, value gone)",
        "INSERT INTO with_gone VALUES (1, 'a')",
        "DROP TABLE with_gone",
        "DROP TYPE gone",
    ])  # fmt: skip
    inserts = [event for event in events if isinstance(event, ev.Insert)]
    assert [event.new for event in inserts] == [(1, "a")]


def same(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float | Decimal) and isinstance(other, float | Decimal) and isnan(one):
        return isnan(other)
    return type(one) is type(other) and one == other


def as_text(value: Any, kind: str) -> object:
    """What ::text makes of it, with DateStyle ISO and TimeZone UTC."""
    if isinstance(value, list):
        if not value:
            return "{}"
        return "{" + ",".join(element(as_text(one, kind)) for one in value) + "}"
    if value is None or isinstance(value, Beyond):
        return value and value.text
    text = str(value)
    if kind.startswith("time") and "." in text:
        head, _, zone = text.partition("+")
        text = head.rstrip("0") + ("+" + zone if zone else "")
    return text.replace("+00:00", "+00")


def element(text: Any) -> str:
    return "NULL" if text is None else f'"{text}"' if " " in text and not text.startswith("{") else str(text)
