"""Names of types as users write them: int64, decimal(10,2), timestamp(ms)."""

import re

from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, timestamp

_PLAIN = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float32", "float64", "boolean", "string", "bytes", "date", "uuid", "json"),
}
_SAME = {"float": "float32", "double": "float64", "timestamp_ntz": "local_timestamp"}
"""What the option `columns` calls these."""
_NAME = re.compile(r"([a-z0-9_]+)(?:\(([^()]*)\))?")
_MOST_DIGITS = 76

TYPES = (
    "int8 to int64, uint8 to uint64, float, double, boolean, string, bytes, decimal(digits,behind the point), date, time, "
    "time(ms|us|ns), timestamp, timestamp(ms|us|ns), timestamp_ntz, timestamp_ntz(ms|us|ns), uuid, json"
)
"""The names of types that `read_type` knows, for people."""


def read_type(text: str) -> Schema:
    """The schema of a type by its name.

    Raises:
        ValueError: there is none of this name.
    """
    found = _NAME.fullmatch(text.strip().lower())
    name, of = (found[1], found[2]) if found else ("", None)
    name = _SAME.get(name, name)
    if of is None and name in _PLAIN:
        return Schema(Type(name))
    if name in ("time", "timestamp", "local_timestamp") and of in (None, *(unit.value for unit in Unit)):
        unit = Unit(of or "us")
        return Schema(Type.TIME, unit=unit) if name == "time" else timestamp(unit, zone=name == "timestamp")
    numbers = re.fullmatch(r"\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?", of or "", re.ASCII)
    if name == "decimal" and numbers:
        precision, scale = int(numbers[1]), int(numbers[2] or 0)
        if 1 <= precision <= _MOST_DIGITS and scale <= precision:
            return decimal(scale, precision=precision)
    msg = f"names the type {text.strip()!r}, and there are {TYPES}"
    raise ValueError(msg)
