"""All types of PostgreSQL."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tests.pairs.kinds import FLOATS, JSON, SINGLES, Kind, decimals, text, whole

SHOWN = "CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END"
"""As the server writes it."""
_YEAR_2, _YEAR_9998 = (datetime.fromisoformat(f"{year:04}-01-01") for year in (2, 9998))
_POINTS_IN_TIME = st.datetimes(_YEAR_2, _YEAR_9998).map(lambda at: f"{at}+00")
_SPAN = (
    "CASE WHEN {0} IS NOT NULL THEN json_build_object('months', (extract(year FROM {0}) * 12 + extract(month FROM {0}))::int, "
    "'days', extract(day FROM {0})::int, 'microseconds', (extract(epoch FROM {0} - date_trunc('day', {0})) * 1000000)::bigint) END"
)


def _as(kind: str, values: st.SearchStrategy[Any], **more: Any) -> Kind:
    return Kind(kind, values, place=f"%s::text::{kind}", **more)


def _shown(kind: str, values: st.SearchStrategy[Any]) -> Kind:
    return _as(kind, values, select=SHOWN)


def _array(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values | st.none(), max_size=4)


POSTGRES: Mapping[str, Kind] = {
    "boolean": Kind("boolean", st.booleans()),
    "smallint": Kind("smallint", whole(16)),
    "integer": Kind("integer", whole(32)),
    "bigint": Kind("bigint", whole(64)),
    "oid": Kind("oid", whole(32, unsigned=True)),
    "real": Kind("real", SINGLES),
    "double precision": Kind("double precision", FLOATS),
    "numeric(12,3)": _as("numeric(12,3)", decimals(12, 3)),
    "numeric(60,20)": _as("numeric(60,20)", decimals(60, 20)),
    "numeric": _shown("numeric", decimals(30, 10)),
    "money": _as("money", st.integers(-(10**15), 10**15).map(lambda cents: f"{cents / 100:.2f}"), select="{}::numeric"),
    "text": Kind("text", text(300)),
    "varchar(50)": Kind("varchar(50)", text(50)),
    "char(20)": Kind("char(20)", text(20)),
    "name": Kind("name", text(15)),
    "enum": _shown("mood", st.sampled_from(["sad", "ok é", "very, happy"])),
    "domain": Kind("whole", st.integers(1, 99)),
    "bytea": Kind("bytea", st.binary(max_size=1000), bytes),
    "date": Kind("date", st.dates()),
    "time": Kind("time", st.times()),
    "time(0)": Kind("time(0)", st.times(max_value=datetime.fromisoformat("2000-01-01T23:59:58").time())),
    "timetz": _shown("timetz", st.times().map(lambda at: f"{at}+05:30")),
    "timestamp": Kind("timestamp", st.datetimes()),
    "timestamp(3)": Kind("timestamp(3)", st.datetimes(max_value=datetime.fromisoformat("9999-12-30"))),
    "timestamptz": _as("timestamptz", _POINTS_IN_TIME, told=lambda at: at.replace(tzinfo=UTC), select="{} AT TIME ZONE 'UTC'"),
    "interval": _as(
        "interval",
        st.builds("{} months {} days {} microseconds".format, st.integers(-99, 99), st.integers(-99, 99), whole(40)),
        select=_SPAN,
    ),
    "uuid": Kind("uuid", st.uuids()),
    "json": _as("json", JSON.map(json.dumps), select="{}::text"),
    "jsonb": _as("jsonb", JSON.map(json.dumps), select="{}::text"),
    "inet": _shown("inet", st.ip_addresses().map(str) | st.ip_addresses(v=4).map(lambda at: f"{at}/9")),
    "cidr": _shown("cidr", st.ip_addresses().map(str)),
    "macaddr": _shown("macaddr", st.binary(min_size=6, max_size=6).map(lambda raw: raw.hex(":"))),
    "bit(3)": _shown("bit(3)", st.integers(0, 7).map("{:03b}".format)),
    "varbit": _shown("varbit", st.integers(0, 99).map("{:b}".format)),
    "xml": _shown("xml", st.just("<a>1</a>")),
    "point": _shown("point", st.tuples(st.integers(), st.integers()).map(str)),
    "int4range": _shown("int4range", st.sampled_from(["[1,5)", "empty", "(,3]"])),
    "tsvector": _shown("tsvector", st.just("a:1 b:2")),
    "integer[]": Kind("integer[]", _array(whole(32)), place="%s::integer[]"),
    "text[]": Kind("text[]", _array(text(9)), place="%s::text[]"),
    "boolean[]": Kind("boolean[]", _array(st.booleans()), place="%s::boolean[]"),
    "uuid[]": Kind("uuid[]", _array(st.uuids()), place="%s::uuid[]"),
}
