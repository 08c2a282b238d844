"""Schemas of every type, with values that fit them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from rocketconnect_sdk.columns.floats import CERTAIN
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, Unit, decimal, struct, timestamp

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='\\"'), max_size=20)
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999."""


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)))


def _moments(unit: Unit, *, zone: bool) -> st.SearchStrategy[Any]:
    if unit is Unit.NANOSECONDS:
        return whole(64) if not zone else st.integers(-(1 << 62), 1 << 62)
    begin = datetime(1970, 1, 1, tzinfo=UTC if zone else None)
    return st.integers(_FIRST_MS, _LAST_MS).map(
        lambda ms: begin + timedelta(milliseconds=ms, microseconds=ms % 1000 if unit is Unit.MICROSECONDS else 0)
    )


def _times(unit: Unit) -> st.SearchStrategy[Any]:
    if unit is Unit.NANOSECONDS:
        return st.integers(0, 86_400 * 10**9 - 1)
    step = 1 if unit is Unit.MICROSECONDS else 1000
    return st.times().map(lambda value: value.replace(microsecond=value.microsecond // step * step))


LEAVES: Mapping[Schema, st.SearchStrategy[Any]] = {
    Schema(Type.BOOLEAN): st.booleans(),
    **{Schema(Type(f"int{bits}")): whole(bits) for bits in (8, 16, 32, 64)},
    **{Schema(Type(f"uint{bits}")): st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    Schema(Type.FLOAT32): st.floats(width=32, allow_nan=False, allow_infinity=False),
    Schema(Type.FLOAT64): st.floats(allow_nan=False, allow_infinity=False),
    STRING: TEXT,
    BYTES: st.binary(max_size=20),
    **{decimal(scale, precision=digits): decimals(digits, scale) for digits, scale in ((1, 0), (5, 5), (38, 2), (38, 38), (76, 9))},
    Schema(Type.DATE): st.dates(),
    **{Schema(Type.TIME, unit=unit): _times(unit) for unit in Unit},
    **{timestamp(unit, zone=zone): _moments(unit, zone=zone) for unit in Unit for zone in (True, False)},
    Schema(Type.UUID): st.uuids(),
    Schema(Type.JSON): st.sampled_from(["null", "1", '{"a":[1,2.5]}', '"ü"']),
}
"""Every type that is not made of others."""

assert {schema.type for schema in LEAVES} | {Type.STRUCT, Type.ARRAY, Type.MAP} == set(Type)


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, Any]:
    """A schema and a value that fits it."""
    kind = draw(st.sampled_from(["leaf", "leaf", "optional", "struct", "array", "map", "pairs"] if depth else ["leaf"]))
    if kind == "optional":
        schema, value = draw(typed(depth - 1))
        return replace(schema, optional=True), draw(st.sampled_from([None, value]))
    if kind == "struct":
        parts = {name: draw(typed(depth - 1)) for name in draw(st.lists(NAMES, unique=True, max_size=4))}
        return struct([(name, schema) for name, (schema, _) in parts.items()]), {name: value for name, (_, value) in parts.items()}
    if kind == "array":
        schema, value = draw(typed(depth - 1))
        return Schema(Type.ARRAY, items=schema), [value] * draw(st.integers(0, 2))
    if kind in ("map", "pairs"):
        schema, value = draw(typed(depth - 1))
        keys, key = (STRING, TEXT) if kind == "map" else (Schema(Type.INT32), whole(32))
        return Schema(Type.MAP, keys=keys, items=schema), dict.fromkeys(draw(st.lists(key, max_size=2)), value)
    schema = draw(st.sampled_from(list(LEAVES)))
    return schema, draw(LEAVES[schema])


@st.composite
def columns(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, st.SearchStrategy[Any]]:
    """A schema with a strategy for its values."""
    kind = draw(st.sampled_from(["leaf", "leaf", "optional", "struct", "array", "map", "pairs"] if depth else ["leaf"]))
    if kind == "optional":
        schema, values = draw(columns(depth - 1))
        return replace(schema, optional=True), st.none() | values
    if kind == "struct":
        parts = {name: draw(columns(depth - 1)) for name in draw(st.lists(NAMES, unique=True, max_size=4))}
        return struct([(name, schema) for name, (schema, _) in parts.items()]), st.fixed_dictionaries(
            {name: values for name, (_, values) in parts.items()}
        )
    if kind == "array":
        schema, values = draw(columns(depth - 1))
        return Schema(Type.ARRAY, items=schema), st.lists(values, max_size=3)
    if kind in ("map", "pairs"):
        schema, values = draw(columns(depth - 1))
        keys = draw(st.sampled_from([leaf for leaf in LEAVES if leaf.type not in (Type.FLOAT32, Type.FLOAT64)]))
        return Schema(Type.MAP, keys=keys, items=schema), st.dictionaries(LEAVES[keys], values, max_size=3)
    schema = draw(st.sampled_from(list(LEAVES)))
    return schema, LEAVES[schema]


def many(schema_and_values: tuple[Schema, st.SearchStrategy[Any]]) -> st.SearchStrategy[tuple[Schema, list[Any]]]:
    schema, values = schema_and_values
    return st.tuples(st.just(schema), st.lists(values, min_size=1, max_size=6))


def shown(values: Iterable[object]) -> str:
    """With the zeros below zero, and one name for UTC."""
    return repr(list(values)).replace("zoneinfo.ZoneInfo(key='UTC')", repr(UTC))


_PLAIN = [(f"f{number}", replace(leaf, optional=number % 2 == 0)) for number, leaf in enumerate(LEAVES)]
_INNER = struct([*_PLAIN[:3], ("deep", struct(_PLAIN[3:6], optional=True))])
FLAT = struct([*_PLAIN, ("in", _INNER), ("maybe", replace(_INNER, optional=True))])
"""A row of every type but arrays and maps, and of rows in it, of which some may be null."""


@st.composite
def flat_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of FLAT with and without nulls, a good many of them."""
    of = {name: LEAVES[replace(leaf, optional=False)] for name, leaf in _PLAIN}
    deep = st.fixed_dictionaries({name: of[name] for name, _ in _PLAIN[3:6]})
    inner = st.fixed_dictionaries({**{name: of[name] for name, _ in _PLAIN[:3]}, "deep": deep})
    one, other = (draw(st.fixed_dictionaries({**of, "in": inner, "maybe": inner})) for _ in range(2))
    without = dict.fromkeys(name for name, leaf in _PLAIN if leaf.optional)
    return [one, other, {**one, **without, "maybe": None}, {**other, "in": {**other["in"], "deep": None}}] * 5


def is_plain_json(row: object) -> bool:
    """Whether JSON of a value is read as a column: without a zero below zero, and what may have been a large whole number."""
    return "-0.0" not in repr(row) and not _has_large(row)


def _has_large(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_large, value.values()))
    return isinstance(value, float) and abs(value) >= CERTAIN[Type.FLOAT32]
