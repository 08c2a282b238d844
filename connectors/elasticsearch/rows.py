"""Documents as rows: plain JSON objects, or with the types that the mapping of their index says. Pure.

https://www.elastic.co/docs/reference/elasticsearch/mapping-reference/field-data-types
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf, isfinite
from typing import Any

from rocketconnect_sdk.columns.texts import read_text
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.schema import Schema, Type, Unit, struct, timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = Schema(Type.INT64, optional=True)
_FLOAT64 = Schema(Type.FLOAT64, optional=True)
_STRING = Schema(Type.STRING, optional=True)
_JSON = Schema(Type.JSON, optional=True)
_TYPES: Mapping[str, Schema] = {
    "boolean": Schema(Type.BOOLEAN, optional=True),
    "byte": Schema(Type.INT8, optional=True),
    "short": Schema(Type.INT16, optional=True),
    "integer": Schema(Type.INT32, optional=True),
    "long": _INT64,
    "unsigned_long": Schema(Type.UINT64, optional=True),
    # A document has what was written, which the index alone keeps less exactly.
    **dict.fromkeys(("half_float", "float", "double", "scaled_float"), _FLOAT64),
    **dict.fromkeys(("text", "keyword", "constant_keyword", "wildcard", "match_only_text", "ip", "version"), _STRING),
    "binary": Schema(Type.BYTES, optional=True),
    # The index knows milliseconds, a document what was written.
    "date": timestamp(optional=True),
    "date_nanos": timestamp(Unit.NANOSECONDS, optional=True),
}
_LIMITS = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63}
_MOST_UINT64 = 1 << 64
_FIX = "rows=json keeps it as it is"


class Unfit(ValueError):
    """A value is none that the mapping says. The text says where, and why."""


def schema_of(properties: Mapping[str, Any], fields: Sequence[str] = ()) -> Schema:
    """The rows of an index.

    Args:
        properties: Of its mapping.
        fields: The only ones that are read, with those in them; empty: all.
    """
    made = [(name, _schema(each)) for name, each in properties.items()]
    if fields:
        made = [(name, schema) for name, schema in made if any(field.split(".")[0] == name for field in fields)]
    return struct(made)


def _schema(field: Mapping[str, Any]) -> Schema:
    inner = field.get("properties")
    kind = field.get("type", "object")
    if kind in ("object", "nested") and isinstance(inner, Mapping) and inner:
        row = struct([(name, _schema(each)) for name, each in inner.items()], optional=True)
        return Schema(Type.ARRAY, optional=True, items=row) if kind == "nested" else row
    return _TYPES.get(kind, _JSON)


class Documents:
    """Reads documents.

    Args:
        schema: What the mapping says; None: they are JSON objects.
    """

    def __init__(self, schema: Schema | None) -> None:
        self.schema = schema
        self._json = converter("json", {"schemas.enable": "false"}, is_key=False)

    def read(self, source: bytes) -> object:
        """The row of a document; a Rejected where it is none."""
        try:
            value, _ = self._json.decode(source)
        except RecordError as error:
            return rejected("NotJson", f"the document can't be read: {error}", source)
        if self.schema is None:
            return value
        try:
            return self._fitted(self.schema, value, "")
        except (ValueError, ArithmeticError) as error:
            return rejected("UnfitValue", f"the mapping of the index does not say what the document has: {error}. {_FIX}", source)

    def _fitted(self, schema: Schema, value: Any, where: str) -> Any:
        if value is None:
            return None
        match schema.type:
            case Type.STRUCT:
                return self._row(schema, value, where)
            case Type.ARRAY if schema.items is not None:
                items = schema.items
                return [self._fitted(items, each, where) for each in (value if isinstance(value, list) else [value])]
            case Type.JSON:
                return self._json.encode(value, None).decode()
            case _:
                return _plain(schema, value, where)

    def _row(self, schema: Schema, value: Any, where: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            msg = f"{where or 'the document'} is {_named(value)}, and an object there"
            raise Unfit(msg)
        made = {each.name: self._fitted(each.schema, value.get(each.name), f"{where}{each.name}") for each in schema.fields}
        if more := value.keys() - made.keys():
            msg = f"{where}{min(more)} is no field there"
            raise Unfit(msg)
        return made


def _plain(schema: Schema, value: Any, where: str) -> Any:
    kind = schema.type
    found: Any = None
    if kind is Type.BOOLEAN:
        found = value if isinstance(value, bool) else {"true": True, "false": False, "": False}.get(value)
    elif kind is Type.STRING:
        found = value if isinstance(value, str) else None
    elif kind is Type.BYTES and isinstance(value, str):
        found = read_text(schema, value)
    elif kind is Type.TIMESTAMP:
        found = _moment(schema, value)
    elif kind is Type.FLOAT64 and not isinstance(value, bool):
        number = float(value) if isinstance(value, int | float | Decimal | str) else inf
        found = number if isfinite(number) else None
    elif not isinstance(value, bool) and isinstance(value, int | float | Decimal | str):
        exact = value if isinstance(value, int) else Decimal(str(value))
        found = int(exact) if _is_within(kind, exact) and exact == int(exact) else None
    if found is None:
        msg = f"{where} is {_named(value)}, and {kind.value} there"
        raise Unfit(msg)
    return found


def _is_within(kind: Type, number: Decimal | int) -> bool:
    most = _LIMITS.get(kind)
    return 0 <= number < _MOST_UINT64 if most is None else -most <= number < most


def _moment(schema: Schema, value: Any) -> Any:
    """A time: milliseconds since 1970, or as ISO 8601 has it; without a zone it is in UTC, as it is to the server."""
    if isinstance(value, str) and not value.lstrip("-").isdecimal():
        text = value.replace(" ", "T")
        text = f"{text}T00:00:00" if "T" not in text else text
        try:
            return read_text(schema, text)
        except ValueError:
            return read_text(schema, f"{text}Z")
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    milliseconds = int(value)
    return milliseconds * 1_000_000 if schema.unit is Unit.NANOSECONDS else _EPOCH + timedelta(milliseconds=milliseconds)


def _named(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, Mapping) else repr(value)[:100]
