"""What Debezium's events say, as values of ours: the mapping of its encodings."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from struct import Struct
from typing import Any
from uuid import UUID

from tests.fidelity.change import Change
from tests.servers.debezium import Event

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a clock on a wall
_FLOAT32 = Struct(">f")
_Meaning = Callable[[Any, Mapping[str, Any]], object]


def changes(events: Iterable[Event], source: Sequence[str]) -> Iterator[Change]:
    """Those events that are changes of rows, with these fields of their source."""
    for event in events:
        value = event["value"] and event["value"]["payload"]
        if value and "op" in value:
            types = {field["field"]: field for field in event["value"]["schema"]["fields"]}
            order = value["transaction"]
            yield Change(
                value["op"],
                value["source"]["table"],
                event["key"] and row(event["key"]["payload"], event["key"]["schema"]),
                row(value["before"], types["before"]),
                row(value["after"], types["after"]),
                {name: value["source"][name] for name in source},
                # Of PostgreSQL with a place in the log behind it.
                order and (order["id"].partition(":")[0], order["total_order"], order["data_collection_order"]),
            )


def row(values: Mapping[str, Any] | None, schema: Mapping[str, Any]) -> dict[str, object] | None:
    """A struct."""
    if values is None:
        return None
    types = {field["field"]: field for field in schema["fields"]}
    return {name: decoded(value, types[name]) for name, value in values.items()}


def decoded(value: Any, schema: Mapping[str, Any]) -> object:
    """A value under its schema."""
    if value is None:
        return None
    if schema["type"] == "array":
        return [decoded(item, schema["items"]) for item in value]
    meaning = _MEANINGS.get(schema.get("name", "")) or _TYPES.get(schema["type"])
    try:
        return meaning(value, schema) if meaning else value
    except (OverflowError, ValueError):
        # Of no date that Python has.
        return value


def unscaled(encoded: str, scale: int) -> Decimal:
    """A decimal: its digits as bytes of a signed integer, in base64."""
    digits = int.from_bytes(base64.b64decode(encoded), "big", signed=True)
    return Decimal(f"{digits}e{-scale}")


def _day(value: int, _: object) -> date:
    return date(1970, 1, 1) + timedelta(days=value)


def _micros(value: int, _: object = None) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


_TYPES: dict[str, _Meaning] = {
    "bytes": lambda value, _: base64.b64decode(value),
    # Its text has as many digits as tell 32 bits apart.
    "float": lambda value, _: _FLOAT32.unpack(_FLOAT32.pack(value))[0],
}
_MEANINGS: dict[str, _Meaning] = {
    "org.apache.kafka.connect.data.Decimal": lambda value, schema: unscaled(value, int(schema["parameters"]["scale"])),
    "io.debezium.data.VariableScaleDecimal": lambda value, _: unscaled(value["value"], value["scale"]),
    "io.debezium.time.Date": _day,
    "org.apache.kafka.connect.data.Date": _day,
    "io.debezium.time.Timestamp": lambda value, _: _micros(value * 1000),
    "io.debezium.time.MicroTimestamp": _micros,
    "io.debezium.time.ZonedTimestamp": lambda value, _: datetime.fromisoformat(value).astimezone(UTC),
    "org.apache.kafka.connect.data.Timestamp": lambda value, _: _micros(value * 1000).replace(tzinfo=UTC),
    "org.apache.kafka.connect.data.Time": lambda value, _: timedelta(milliseconds=value),
    "io.debezium.time.MicroTime": lambda value, _: timedelta(microseconds=value),
    "io.debezium.data.Bits": lambda value, _: int.from_bytes(base64.b64decode(value), "little"),
    "io.debezium.data.Uuid": lambda value, _: UUID(value),
    "io.debezium.data.geometry.Geometry": lambda value, _: (value["srid"] or 0, base64.b64decode(value["wkb"])),
    "io.debezium.data.geometry.Point": lambda value, _: (value["srid"] or 0, base64.b64decode(value["wkb"])),
}
"""By the name of the schema."""
