"""Values in the form in which columns of ClickHouse are sent. Pure."""

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connectors.clickhouse.types import digits_of, items_kind
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.tables.values import Bad, clock_texts, cut_off, nested_texts, ticks_of, told

_NAMES = re.compile(r"'((?:[^'\\]|\\.)*)' = -?\d+")
"""Of the values of an Enum."""
_RANGES: Mapping[str, tuple[int, int]] = {
    "Date": (0, 65_535),
    "Date32": (-25_567, 120_529),
    "DateTime": (0, (1 << 32) - 1),
    # The years 1900 to 2299, in seconds.
    "DateTime64": (-2_208_988_800, 10_413_791_999),
}
"""By kind the least and the largest: days of dates, seconds of moments."""


def kind_of_moments(kind: str) -> str:
    """The kind of a moment without its zone; empty: values are none."""
    inner = items_kind(kind)
    plain = inner.partition("(")[0]
    return f"{plain}({digits_of(inner)})" if plain == "DateTime64" else plain if plain in _RANGES else ""


def typed(values: pa.Array, schema: Schema, kind: str) -> tuple[pa.Array, Bad]:  # noqa: PLR0911 - one for each kind
    """Values of the type that Spark has for a schema, in the form that they have on the way; and those that have none."""
    match schema.type:
        case Type.BOOLEAN:
            return values.cast(pa.uint8()), []
        case Type.UINT8 | Type.UINT16 | Type.UINT32 | Type.UINT64:
            return _unsigned(values, schema), []
        case Type.DATE if kind in _RANGES:
            return _date(values, kind)
        case Type.TIMESTAMP if kind.startswith("DateTime"):
            return _moment(values, schema, kind)
        case Type.TIMESTAMP | Type.TIME if kind == "Int64":
            return values.cast(pa.int64()), []
        case Type.DATE | Type.TIMESTAMP | Type.TIME:
            return clock_texts(values, schema), []
        case Type.UUID if kind == "UUID":
            return _uuids(values), []
        case Type.ARRAY if kind.startswith("Array(") and schema.items is not None:
            return _array(values, schema.items, kind)
        case Type.STRUCT | Type.ARRAY | Type.MAP:
            return nested_texts(values), []
        case Type.STRING if kind.startswith(("FixedString(", "Enum")):
            return values, _unknown(values, kind)
    return values, []


def _unknown(values: pa.StringArray, kind: str) -> Bad:
    """Texts that a server would refuse, with all rows beside them."""
    if kind.startswith("Enum"):
        names = pa.array([each.replace("\\'", "'").replace("\\\\", "\\") for each in _NAMES.findall(kind)], pa.string())
        bad = pc.and_(pc.invert(pc.is_in(values, names)), values.is_valid())
        return list(told(values, bad, f"is none of the values of its {kind.partition('(')[0]}"))
    width = int(kind.removeprefix("FixedString(").removesuffix(")"))
    why = f"has other than the {width} bytes of its column, which fills up with zeros"
    return list(told(values, pc.not_equal(pc.binary_length(values), width), why))


def _array(values: pa.ListArray, items: Schema, kind: str) -> tuple[pa.Array, Bad]:
    parents = pc.list_parent_indices(values)
    made, bad = typed(values.flatten(), items, items_kind(kind))
    # A null is refused already, and stands for nothing.
    lengths = pc.fill_null(pc.list_value_length(values), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    field = pa.field("item", made.type, items.optional)
    return pa.ListArray.from_arrays(offsets, made, type=pa.list_(field)), [(parents[at].as_py(), why) for at, why in bad]


def _uuids(values: pa.StringArray) -> pa.Array:
    """Texts as the server has them: the bytes of each half in reverse."""
    digits = pc.fill_null(pc.replace_substring(values, "-", ""), "0" * 32)
    halves = np.frombuffer(bytes.fromhex("".join(digits.to_pylist())), np.uint8).reshape(-1, 2, 8)[:, :, ::-1]
    made = pa.Array.from_buffers(pa.binary(16), len(values), [None, pa.py_buffer(halves.tobytes())])
    return pc.if_else(values.is_valid(), made, None)


def _unsigned(values: pa.Array, schema: Schema) -> pa.Array:
    return values.cast({Type.UINT8: pa.uint8(), Type.UINT16: pa.uint16(), Type.UINT32: pa.uint32()}.get(schema.type, pa.uint64()))


def _date(values: pa.Array, kind: str) -> tuple[pa.Array, Bad]:
    days = values.cast(pa.int32())
    least, most = _RANGES[kind]
    outside = pc.or_(pc.less(days, least), pc.greater(days, most))
    bad = list(told(values, outside, f"is no {kind} of ClickHouse"))
    days = pc.if_else(pc.fill_null(outside, False), pa.scalar(0, pa.int32()), days) if bad else days
    return (days.cast(pa.uint16()) if kind == "Date" else days), bad


def _moment(values: pa.Array, schema: Schema, kind: str) -> tuple[pa.Array, Bad]:
    ticks, held, wanted = values.cast(pa.int64()), ticks_of(schema), 10 ** digits_of(kind)
    name = kind.partition("(")[0]
    step = max(1, held // wanted)
    bad = list(told(values, cut_off(ticks, step), f"has more digits than a {kind}"))
    least, most = _RANGES[name]
    outside = pc.or_(pc.less(ticks, _scaled(least, held)), pc.greater(ticks, _scaled(most + 1, held) - 1))
    if wanted > held:
        outside = pc.or_(outside, pc.greater(pc.abs(ticks), (1 << 63) // (wanted // held) - 1))
    bad += told(values, outside, f"is out of the range of {name}")
    if bad:
        ticks = pc.if_else(pc.fill_null(outside, False), pa.scalar(0, pa.int64()), ticks)
    made = pc.multiply(ticks, wanted // held) if wanted >= held else pc.divide(ticks, step)
    return (made.cast(pa.uint32()) if name == "DateTime" else made), bad


def _scaled(seconds: int, ticks: int) -> int:
    return max(-(1 << 63), min((1 << 63) - 1, seconds * ticks))
