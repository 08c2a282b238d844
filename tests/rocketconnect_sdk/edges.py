"""The values at the edges of every type, as Spark has them: what sinks fit to the columns of their tables."""

from collections.abc import Mapping, Sequence
from datetime import date
from uuid import UUID

import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.schema import BYTES, STRING, WHOLE, Schema, Type, Unit, decimal, timestamp
from rocketconnect_sdk.spark.types import to_spark

_DATES = [date.min, date(1899, 12, 31), date(1970, 1, 1), date(2149, 6, 7), date(2300, 1, 1), date.max]
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
_MOMENTS_MS = [_FIRST_MS, -2_208_988_800_001, -1, 0, 1, 1000, (1 << 32) * 1000, 10_413_792_000_000, _LAST_MS]
_FLOATS = [0.5, -0.0, 2.0, 300.0, 1e18, 2.0**63, 2.0**64, 3e38, float("nan"), float("inf"), float("-inf")]


def _moments(unit: Unit, *, zone: bool) -> pa.Array:
    if unit is Unit.NANOSECONDS:
        return pa.array([-(1 << 63), 1 - (1 << 63), -1, 0, 1, (1 << 63) - 1], pa.int64())
    ticks = [each * 1000 for each in _MOMENTS_MS] + ([1, -1] if unit is Unit.MICROSECONDS else [])
    return pa.array(ticks, pa.int64()).cast(pa.timestamp("us", "UTC" if zone else None))


def _decimals(precision: int, scale: int) -> pa.Array:
    nines = "9" * precision
    most = f"{nines[: precision - scale] or '0'}.{nines[precision - scale :]}" if scale else nines
    return pa.array([most, f"-{most}", "0"]).cast(pa.decimal256(precision, scale))


def _told(schema: Schema, values: Sequence[object]) -> pa.Array:
    return to_spark(to_array(values, schema))


EDGES: Mapping[Schema, pa.Array] = {
    Schema(Type.BOOLEAN): pa.array([True, False]),
    **{Schema(kind): _told(Schema(kind), sorted({low, 0, min(300, high), high})) for kind, (low, high) in WHOLE.items()},
    Schema(Type.FLOAT32): pa.array(_FLOATS, pa.float32()),
    Schema(Type.FLOAT64): pa.array([*_FLOATS, 1e308, 5e-324], pa.float64()),
    STRING: pa.array(["", "a", "\0", "ü" * 300, "0" * 32]),
    BYTES: pa.array([b"", b"\xff", b"a" * 300]),
    **{
        decimal(scale, precision=digits): to_spark(
            _decimals(digits, scale) if digits > 38 else _decimals(digits, scale).cast(pa.decimal128(digits, scale))
        )
        for digits, scale in ((5, 2), (38, 0), (38, 38), (60, 1))
    },
    Schema(Type.DATE): pa.array(_DATES),
    **{Schema(Type.TIME, unit=unit): pa.array([0, 1, 86_400 * unit.in_second - 1], pa.int64()) for unit in Unit},
    **{timestamp(unit, zone=zone): _moments(unit, zone=zone) for unit in Unit for zone in (True, False)},
    Schema(Type.UUID): _told(Schema(Type.UUID), [UUID(int=0), UUID(int=(1 << 128) - 1)]),
    Schema(Type.JSON): _told(Schema(Type.JSON), ['{"a": 1}', "null"]),
}
"""By type its edges. None of them is null."""

assert {schema.type for schema in EDGES} | {Type.STRUCT, Type.ARRAY, Type.MAP} == set(Type)
