"""Values of every type, and what Kafka Connect and RocketMQ Connect should have of them: as the Java programs beside show it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from struct import pack, unpack
from typing import Any
from uuid import UUID

from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, Unit, decimal, struct, timestamp

_OWN = "own."
"""Stands for where the other side has its types with a meaning."""
_MS, _US, _NS = Unit
_KINDS: Mapping[Schema, tuple[str, str, Mapping[str, str]]] = {
    Schema(Type.UINT8): ("INT16", "", {"rocketconnect.type": "uint8"}),
    Schema(Type.UINT16): ("INT32", "", {"rocketconnect.type": "uint16"}),
    Schema(Type.UINT32): ("INT64", "", {"rocketconnect.type": "uint32"}),
    Schema(Type.UINT64): (
        "BYTES",
        f"{_OWN}Decimal",
        {"scale": "0", "connect.decimal.precision": "20", "rocketconnect.type": "uint64"},
    ),
    Schema(Type.DATE): ("INT32", f"{_OWN}Date", {}),
    Schema(Type.TIME, unit=_MS): ("INT32", f"{_OWN}Time", {}),
    Schema(Type.TIME, unit=_US): ("INT64", "io.debezium.time.MicroTime", {}),
    Schema(Type.TIME, unit=_NS): ("INT64", "io.debezium.time.NanoTime", {}),
    timestamp(_MS, zone=False): ("INT64", "io.debezium.time.Timestamp", {}),
    timestamp(_US, zone=False): ("INT64", "io.debezium.time.MicroTimestamp", {}),
    timestamp(_NS, zone=False): ("INT64", "io.debezium.time.NanoTimestamp", {}),
    timestamp(_MS): ("INT64", f"{_OWN}Timestamp", {}),
    timestamp(_US): ("STRING", "io.debezium.time.ZonedTimestamp", {}),
    timestamp(_NS): ("STRING", "io.debezium.time.ZonedTimestamp", {"rocketconnect.unit": "ns"}),
    Schema(Type.UUID): ("STRING", "io.debezium.data.Uuid", {}),
    Schema(Type.JSON): ("STRING", "io.debezium.data.Json", {}),
}
_CLASSES = {"INT8": "Byte", "INT16": "Short", "INT32": "Integer", "INT64": "Long", "BOOLEAN": "Boolean"}
_MOMENT = datetime(2024, 2, 29, 1, 2, 3, 4000, UTC)
_ID = UUID("12345678-1234-5678-1234-567812345678")
_LEAVES: list[tuple[Schema, Any]] = [
    (Schema(Type.BOOLEAN), True),
    *((Schema(Type(f"int{bits}")), -(1 << bits - 1)) for bits in (8, 16, 32, 64)),
    *((Schema(Type(f"uint{bits}")), (1 << bits) - 1) for bits in (8, 16, 32, 64)),
    (Schema(Type.FLOAT32), 0.10000000149011612),
    (Schema(Type.FLOAT64), 0.1),
    (STRING, "Grüße\n\x00😀"),
    (BYTES, b"\x00\xff"),
    (decimal(2), Decimal("-12.30")),
    (decimal(9, precision=76), Decimal(10**60)),
    (Schema(Type.DATE), date(1969, 12, 31)),
    (Schema(Type.TIME, unit=_MS), time(1, 2, 3, 4000)),
    (Schema(Type.TIME), time(23, 59, 59, 999_999)),
    (Schema(Type.TIME, unit=_NS), 86_399_999_999_999),
    *((timestamp(unit), _MOMENT) for unit in (_MS, _US)),
    *((timestamp(unit, zone=False), _MOMENT.replace(tzinfo=None)) for unit in (_MS, _US)),
    *((timestamp(_NS, zone=zone), -1) for zone in (True, False)),
    (Schema(Type.UUID), _ID),
    (Schema(Type.JSON), '{"a":[1,2.5]}'),
]
_ROW = struct(
    [
        *((f"f{number}", replace(schema, doc=f"A {schema.type.value}.")) for number, (schema, _) in enumerate(_LEAVES)),
        *((f"d{number}", replace(schema, default=value)) for number, (schema, value) in enumerate(_LEAVES)),
        ("nothing", replace(decimal(2), optional=True, parameters=(("of", "mine"),))),
        ("tags", Schema(Type.ARRAY, items=Schema(Type.STRING, optional=True))),
        ("counts", Schema(Type.MAP, keys=STRING, items=Schema(Type.UINT8))),
        ("by_number", Schema(Type.MAP, keys=Schema(Type.INT32), items=STRING)),
        ("by_id", Schema(Type.MAP, keys=Schema(Type.UUID), items=Schema(Type.DATE))),
        ("by_moment", Schema(Type.MAP, keys=timestamp(), items=Schema(Type.TIME))),
        ("by_day", Schema(Type.MAP, keys=Schema(Type.DATE), items=decimal(1))),
        ("inner", replace(struct([("x", Schema(Type.INT8))], name="inner"), version=3, doc="Within.", parameters=(("a", "b"),))),
    ],
    name="row",
)
SENT: list[tuple[Schema, Any]] = [
    *_LEAVES,
    (
        _ROW,
        {
            **{f"f{number}": value for number, (_, value) in enumerate(_LEAVES)},
            **{f"d{number}": value for number, (_, value) in enumerate(_LEAVES)},
            "nothing": None,
            "tags": ["a", None],
            "counts": {"k": 255},
            "by_number": {9: "nine"},
            "by_id": {_ID: date(2024, 2, 29)},
            "by_moment": {_MOMENT: time(1)},
            "by_day": {date(2024, 2, 29): Decimal("0.5")},
            "inner": {"x": 1},
        },
    ),
]
"""With their schemas."""


def had(schema: Schema, value: Any, package: str) -> dict[str, Any]:
    """What the other side should have of a value that is written with its names: the schema, and the value in its classes.

    Args:
        schema: The schema.
        value: The value.
        package: Where the other side has its types with a meaning.
    """
    return {"schema": _schema(schema, package), "value": _value(schema, value)}


def _schema(schema: Schema, package: str) -> dict[str, Any]:
    kind, name, parameters = _kind(schema)
    name = name.replace(_OWN, package)
    shown: dict[str, Any] = {
        "type": kind,
        "optional": schema.optional,
        "name": name or schema.name or None,
        "version": 1 if name else schema.version,
        "doc": schema.doc or None,
        "parameters": {**parameters, **dict(schema.parameters)},
        "default": None if schema.default is None else _value(schema, schema.default),
    }
    if schema.type is Type.STRUCT:
        shown["fields"] = [[field.name, _schema(field.schema, package)] for field in schema.fields]
    if schema.keys is not None:
        shown["keys"] = _schema(schema.keys, package)
    if schema.items is not None:
        shown["items"] = _schema(schema.items, package)
    return shown


def _kind(schema: Schema) -> tuple[str, str, Mapping[str, str]]:
    """The other side's type, the name and the parameters."""
    if schema.type is Type.DECIMAL:
        precision = {"connect.decimal.precision": str(schema.precision)} if schema.precision != 38 else {}
        return "BYTES", f"{_OWN}Decimal", {"scale": str(schema.scale), **precision}
    return _KINDS.get(Schema(schema.type, unit=schema.unit, zone=schema.zone)) or (schema.type.name, "", {})


def _value(schema: Schema, value: Any) -> Any:
    if value is None:
        return None if schema.default is None else _value(schema, schema.default)
    match schema.type:
        case Type.STRUCT:
            return ["Struct", [[field.name, _value(field.schema, value[field.name])] for field in schema.fields]]
        case Type.ARRAY if schema.items is not None:
            return ["List", [_value(schema.items, item) for item in value]]
        case Type.MAP if schema.items is not None and schema.keys is not None:
            return ["Map", [[_value(schema.keys, key), _value(schema.items, item)] for key, item in value.items()]]
    return _LEAF.get(schema.type, _plain)(schema, value)


def _plain(schema: Schema, value: Any) -> list[Any]:
    kind, _, _ = _kind(schema)
    return [_CLASSES.get(kind, "String"), str(value).lower() if kind == "BOOLEAN" else str(value)]


def _decimal(schema: Schema, value: Any) -> list[Any]:
    sign, digits, exponent = Decimal(value).as_tuple()
    unscaled = int("".join(map(str, digits))) * 10 ** (int(exponent) + schema.scale)
    return ["BigDecimal", str(-unscaled if sign else unscaled), schema.scale]


def _time(schema: Schema, value: Any) -> list[Any]:
    count = value if isinstance(value, int) else _since_midnight(value, schema.unit)
    return ["Date", count] if schema.unit is _MS else ["Long", str(count)]


def _moment(schema: Schema, value: Any) -> list[Any]:
    if isinstance(value, int):
        count = value
    else:
        since = value - datetime(1970, 1, 1, tzinfo=UTC if schema.zone else None)
        count = (
            since.days * 86_400 + since.seconds
        ) * schema.unit.in_second + since.microseconds * schema.unit.in_second // 1_000_000
    if schema.unit is _MS and schema.zone:
        return ["Date", count]
    if not schema.zone:
        return ["Long", str(count)]
    seconds, parts = divmod(count, schema.unit.in_second)
    clock = datetime.fromordinal(date(1970, 1, 1).toordinal() + seconds // 86_400)
    day, second = clock.date(), seconds % 86_400
    digits = len(str(schema.unit.in_second)) - 1
    return ["String", f"{day}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{parts:0{digits}}Z"]


def _since_midnight(value: time, unit: Unit) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * unit.in_second + value.microsecond * unit.in_second // 1_000_000


_LEAF: Mapping[Type, Callable[[Schema, Any], list[Any]]] = {
    Type.DECIMAL: _decimal,
    Type.UINT64: _decimal,
    Type.DATE: lambda _, value: ["Date", (value - date(1970, 1, 1)).days * 86_400_000],
    Type.TIME: _time,
    Type.TIMESTAMP: _moment,
    Type.FLOAT32: lambda _, value: ["Float", f"{unpack('>I', pack('>f', value))[0]:x}"],
    Type.FLOAT64: lambda _, value: ["Double", f"{unpack('>Q', pack('>d', value))[0]:x}"],
    Type.BYTES: lambda _, value: ["byte[]", value.hex()],
}


def sorted_maps(shown: Any) -> Any:
    """The same with the pairs of maps in one order: Java's have none."""
    if isinstance(shown, dict):
        return {key: sorted_maps(part) for key, part in shown.items()}
    if isinstance(shown, list) and shown[:1] == ["Map"]:
        return ["Map", sorted(map(sorted_maps, shown[1]), key=repr)]
    return [sorted_maps(part) for part in shown] if isinstance(shown, list) else shown


def ours(shown: Any, schema: Schema | None = None) -> Any:
    """The value that the other side had, as Python has it under the schema that was read."""
    if shown is None:
        return None
    match shown:
        case ["List", items]:
            return [ours(item, schema.items if schema else None) for item in items]
        case ["Map", pairs]:
            keys, values = (schema.keys, schema.items) if schema else (None, None)
            return {ours(key, keys): ours(item, values) for key, item in pairs}
        case ["Struct", fields]:
            assert schema is not None
            assert [name for name, _ in fields] == [field.name for field in schema.fields]
            return {field.name: ours(item, field.schema) for field, (_, item) in zip(schema.fields, fields, strict=True)}
        case ["Date", milliseconds]:
            return _moment_of(milliseconds, schema)
    kind, *rest = shown
    return UUID(*rest) if schema is not None and schema.type is Type.UUID else _BACK[kind](*rest)


def _decimal_of(unscaled: str, scale: int) -> Decimal:
    return Decimal((int(unscaled.startswith("-")), tuple(map(int, unscaled.lstrip("-"))), -scale))


_BACK: Mapping[str, Callable[..., object]] = {
    **dict.fromkeys(("Byte", "Short", "Integer", "Long"), int),
    "Float": lambda bits: unpack(">f", pack(">I", int(bits, 16)))[0],
    "Double": lambda bits: unpack(">d", pack(">Q", int(bits, 16)))[0],
    "Boolean": lambda text: text == "true",
    "String": str,
    "byte[]": bytes.fromhex,
    "BigDecimal": _decimal_of,
}


def _moment_of(milliseconds: int, schema: Schema | None) -> date | time | datetime:
    found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    kind = None if schema is None else schema.type
    return found.date() if kind is Type.DATE else found.time() if kind is Type.TIME else found
