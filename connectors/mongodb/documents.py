"""Values as BSON has them, exactly.

What has no counterpart in BSON is text in the plain form of JSON (docs/converters.md), or its record is refused; nothing is
rounded. https://bsonspec.org/spec.html
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, DecimalException
from typing import Any
from uuid import UUID

from bson.binary import Binary, UuidRepresentation
from bson.code import Code
from bson.datetime_ms import DatetimeMS
from bson.dbref import DBRef
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.max_key import MaxKey
from bson.min_key import MinKey
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp

from rocketconnect_sdk.converters.json.forms import moment_text, time_text
from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit
from rocketconnect_sdk.writes import as_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_OWN = (Binary, Code, DBRef, DatetimeMS, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp)
_SHOWN = 40
_DEEPEST = 100
"""What MongoDB takes. https://www.mongodb.com/docs/manual/reference/limits/"""


@dataclass(frozen=True, slots=True)
class Typed:
    """Makes values of those that have a schema, with dates of BSON.

    Attributes:
        dates: Every timestamp is one: digits below milliseconds are cut off, and one without a zone is that of UTC. False: only
            those are that a date holds whole, by their type: with a zone, and of milliseconds. Others are text.
    """

    dates: bool

    def __call__(self, values: Sequence[object], schema: Schema | None) -> Sequence[object]:
        """See Addressing.values."""
        if schema is None:
            return values
        try:
            return [self._of(schema, value) for value in values]
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            msg = f"a value does not fit its schema: {error}"
            raise RecordError(msg) from None

    def _of(self, schema: Schema, value: Any) -> Any:
        if value is None:
            return None
        match schema.type:
            case Type.STRUCT:
                made: Any = {field.name: self._of(field.schema, value.get(field.name)) for field in schema.fields}
            case Type.ARRAY if schema.items is not None:
                made = [self._of(schema.items, item) for item in value]
            case Type.MAP if schema.items is not None and schema.keys is not None:
                pairs = [(self._of(schema.keys, key), self._of(schema.items, item)) for key, item in value.items()]
                made = dict(pairs) if all(isinstance(key, str) for key, _ in pairs) else [list(pair) for pair in pairs]
            case Type.JSON:
                made = value_of(value)
            case Type.TIME:
                made = time_text(schema, value)
            case Type.TIMESTAMP:
                made = self._moment(schema, value)
            case _:
                made = value
        return made

    def _moment(self, schema: Schema, value: Any) -> datetime | str:
        if not self.dates and (schema.unit is not Unit.MILLISECONDS or not schema.zone):
            return str(moment_text(schema, value))
        moment: datetime = value if isinstance(value, datetime) else _EPOCH + timedelta(microseconds=value // 1000)
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000) if self.dates else moment


def document(value: Mapping[str, Any], *, within: str = "") -> dict[str, Any]:
    """An object as a document.

    Raises:
        RecordError: it has a name or a value that none can have.
    """
    return {_name(name, within): _bson(each, f"{within}{name}", 1) for name, each in value.items()}


def identity(key: object) -> Any:
    """A key as an _id.

    Raises:
        RecordError: it can be none.
    """
    if isinstance(key, list | tuple | Regex):
        msg = f"its key is a {'regular expression' if isinstance(key, Regex) else 'list'}, which can be no _id"
        raise RecordError(msg)
    if isinstance(key, Mapping) and (operator := next((name for name in map(as_text, key) if name.startswith("$")), None)):
        # The server would look for every document that it is true of.
        msg = (
            f"its key is an object with {operator[:_SHOWN]!r}, as a condition has, and no _id has such a name. "
            "Objects of extended JSON are read with extended.json=true"
        )
        raise RecordError(msg)
    return _bson(key, "_id", 0)


def _name(name: object, within: str) -> str:
    text = as_text(name)
    if "\0" in text or (text.startswith("$") and not within):
        msg = f"the field {text!r} has a name that MongoDB does not take: rename it by a transform"
        raise RecordError(msg)
    return text


def _bson(value: Any, where: str, depth: int) -> Any:
    kind = type(value)
    if kind in (str, float, bool, bytes) or value is None:
        return value
    if depth > _DEEPEST:
        msg = f"its values are nested deeper than the {_DEEPEST} levels that MongoDB takes"
        raise RecordError(msg)
    if (make := _KINDS.get(kind)) is not None:
        return make(value, where)
    if isinstance(value, Mapping):
        return {_name(name, f"{where}."): _bson(each, f"{where}.{name}", depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_bson(each, where, depth + 1) for each in value]
    return as_text(value)


def _whole(value: int, where: str) -> int | Decimal128:
    return value if _SMALLEST <= value <= _LARGEST else _decimal(Decimal(value), where)


def _decimal(value: Decimal, where: str) -> Decimal128:
    try:
        made = Decimal128(value)
    except DecimalException:
        made = None
    if made is None or made.to_decimal() != value:
        msg = f"{where} is {value}, and a decimal of BSON has 34 digits at most: make it text by a transform"
        raise RecordError(msg)
    return made


def _date(value: datetime, where: str) -> datetime:
    if value.microsecond % 1000:
        msg = f"{where} is {value.isoformat()}, and a date of BSON ends at milliseconds: set timestamps=date to cut the rest off"
        raise RecordError(msg)
    return value


_KINDS: Mapping[type, Callable[[Any, str], Any]] = {
    **dict.fromkeys(
        (Code, DBRef, DatetimeMS, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp), lambda value, _: value
    ),
    Binary: lambda value, _: value,
    int: _whole,
    Decimal: _decimal,
    UUID: lambda value, _: Binary.from_uuid(value, UuidRepresentation.STANDARD),
    datetime: _date,
    date: lambda value, _: value.isoformat(),
    time: lambda value, _: value.isoformat(),
    bytearray: lambda value, _: bytes(value),
}
