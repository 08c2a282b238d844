"""What stands in an Avro schema for what Avro has no word for: properties and names, Kafka Connect's own where it has them."""

import re
from collections.abc import Mapping

from rocketconnect_sdk.schema import DIGITS, Schema, Type, Unit

NAME, VERSION, DOC = "connect.name", "connect.version", "connect.doc"
PARAMETERS, DEFAULT, CONNECT_TYPE = "connect.parameters", "connect.default", "connect.type"
INTERNAL, ENTRY = "connect.internal.type", "MapEntry"
NAMESPACE = "io.confluent.connect.avro"
ROOT = f"{NAMESPACE}.ConnectDefault"
"""The record of a struct without a name."""
UNION = f"{NAMESPACE}.Union"
"""The struct that stands for a union of more than null and one type: a field for each, of which one is not null."""
ENUM = f"{NAMESPACE}.Enum"
"""A parameter of a string that is an enum: its name. The parameters ENUM.SYMBOL are its symbols."""
FIXED_SIZE = "connect.fixed.size"
"""A parameter of bytes that are so many always."""

OWN_NAME, OWN_VERSION = "rocketconnect.name", "rocketconnect.version"
"""The name of a field that Avro does not allow; the name and version of a type whose connect.name says what it is."""
KIND = "rocketconnect.type"
"""A parameter: the whole numbers without a sign, which are written as the next larger type."""
PRECISION = "connect.decimal.precision"

_KAFKA = "org.apache.kafka.connect.data."
_ROCKETMQ = "io.openmessaging.connector.api.data.logical."
_TIME = "io.debezium.time."
_DATA = "io.debezium.data."
DECIMALS = (f"{_KAFKA}Decimal", f"{_ROCKETMQ}Decimal")
_MS, _US, _NS = Unit.MILLISECONDS, Unit.MICROSECONDS, Unit.NANOSECONDS

Place = tuple[Type, Unit | None, bool]

TYPES: Mapping[Place, tuple[str, str, str]] = {
    (Type.DATE, None, False): ("int", "date", f"{_KAFKA}Date"),
    (Type.TIME, _MS, False): ("int", "time-millis", f"{_KAFKA}Time"),
    (Type.TIME, _US, False): ("long", "time-micros", f"{_TIME}MicroTime"),
    (Type.TIME, _NS, False): ("long", "", f"{_TIME}NanoTime"),
    (Type.TIMESTAMP, _MS, True): ("long", "timestamp-millis", f"{_KAFKA}Timestamp"),
    (Type.TIMESTAMP, _US, True): ("long", "timestamp-micros", ""),
    (Type.TIMESTAMP, _NS, True): ("long", "timestamp-nanos", ""),
    (Type.TIMESTAMP, _MS, False): ("long", "local-timestamp-millis", f"{_TIME}Timestamp"),
    (Type.TIMESTAMP, _US, False): ("long", "local-timestamp-micros", f"{_TIME}MicroTimestamp"),
    (Type.TIMESTAMP, _NS, False): ("long", "local-timestamp-nanos", f"{_TIME}NanoTimestamp"),
    (Type.UUID, None, False): ("string", "uuid", f"{_DATA}Uuid"),
    (Type.JSON, None, False): ("string", "", f"{_DATA}Json"),
}
"""Avro's type, its logical type and the connect.name of types, by type, unit and zone; empty: there is none."""

PLAIN: Mapping[Type, str] = {
    Type.BOOLEAN: "boolean",
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.UINT8: "int",
    Type.UINT16: "int",
    Type.UINT32: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
UNSIGNED: Mapping[str, tuple[Type, str]] = {
    "uint8": (Type.UINT8, "int"),
    "uint16": (Type.UINT16, "int"),
    "uint32": (Type.UINT32, "long"),
    "uint64": (Type.UINT64, "bytes"),
}
UINT64 = Schema(Type.DECIMAL, precision=20)
"""As what a UINT64 is written."""

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]")


def place_of(schema: Schema) -> Place | None:
    """Where a type stands in TYPES; None: nowhere."""
    for place in ((schema.type, schema.unit, schema.zone), (schema.type, schema.unit, False), (schema.type, None, False)):
        if place in TYPES and (place[0] is not Type.TIMESTAMP or place[2] is schema.zone):
            return place
    return None


def schema_of(place: Place) -> Schema:
    """The schema that stands there."""
    return Schema(place[0], unit=place[1] or Unit.MICROSECONDS, zone=place[2])


LOGICAL: Mapping[tuple[str, str], Schema] = {(kind, word): schema_of(place) for place, (kind, word, _) in TYPES.items() if word}
"""By Avro's type and logical type."""
NAMED: Mapping[tuple[str, str], Schema] = {
    **{(kind, name): schema_of(place) for place, (kind, _, name) in TYPES.items() if name},
    **{("int", f"{where}Date"): Schema(Type.DATE) for where in (_ROCKETMQ, _TIME)},
    **{("int", f"{where}Time"): Schema(Type.TIME, unit=_MS) for where in (_ROCKETMQ, _TIME)},
    ("long", f"{_ROCKETMQ}Timestamp"): Schema(Type.TIMESTAMP, unit=_MS, zone=True),
}
"""By Avro's type and connect.name: what Debezium and Kafka Connect write without a logical type."""


def decimal_properties(schema: Schema) -> dict[str, object]:
    """What says that bytes are a decimal."""
    # Avro has no digits before a number, and not more behind the point than there are: readers that know only Avro see bytes then.
    logical = 0 <= schema.scale <= schema.precision and schema.precision > 0
    known = {"logicalType": "decimal", "precision": schema.precision, "scale": schema.scale}
    return {**(known if logical else {}), NAME: DECIMALS[0], VERSION: 1}


def decimal_parameters(schema: Schema) -> dict[str, str]:
    """The parameters of a decimal, as Kafka Connect has them; the precision is Confluent's."""
    return {"scale": str(schema.scale), PRECISION: str(schema.precision)}


def decimal_of(form: Mapping[str, object], parameters: Mapping[str, str]) -> tuple[int, int]:
    """The precision and scale of a decimal. Raises ValueError: they are no numbers."""
    if form.get("logicalType") == "decimal" and "precision" in form:
        precision, scale = form["precision"], form.get("scale", 0)
    else:
        precision, scale = parameters.get(PRECISION, DIGITS), parameters.get("scale", 0)
    if isinstance(precision, (int, str)) and isinstance(scale, (int, str)) and len(str(precision)) + len(str(scale)) < 12:
        return int(precision), int(scale)
    msg = "the precision and scale of a decimal are whole numbers"
    raise ValueError(msg)


def is_legal(full_name: str) -> bool:
    """Whether Avro allows a name, with a namespace or without."""
    return all(map(_PART.fullmatch, full_name.split(".")))


def legal(name: str) -> str:
    """A name that Avro allows, made of one that it may not: other characters by their numbers."""
    changed = _NOT_ALLOWED.sub(lambda match: f"_u{ord(match[0]):04x}_", name)
    return changed if _PART.fullmatch(changed) else f"_{changed}"
