"""MongoDB's extended JSON within records, read: {"$oid": "..."} is an ObjectId. Pure.

https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from bson.codec_options import DatetimeConversion
from bson.errors import BSONError
from bson.json_util import JSONMode, JSONOptions, object_hook

from connectors.mongodb.documents import Typed
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.targets.envelopes import ENVELOPE
from rocketconnect_sdk.writes.templates import named

_OPTIONS = JSONOptions(
    json_mode=JSONMode.CANONICAL, tz_aware=True, tzinfo=UTC, datetime_conversion=DatetimeConversion.DATETIME_AUTO
)


@dataclass(frozen=True, slots=True)
class Extended:
    """Makes values of those that have a schema, and BSON's types of extended JSON in them. Picklable.

    Attributes:
        typed: Does the first of that.
    """

    typed: Typed

    def __call__(self, values: Sequence[object], schema: Schema | None) -> Sequence[object]:
        """See Addressing.values."""
        return [_record(named(value)) for value in self.typed(values, schema)]


def _record(value: object) -> object:
    """A document, or a change of one, whose documents may be texts, as Debezium has them."""
    if not isinstance(value, Mapping) or not value.keys() >= ENVELOPE:
        return restored(value)
    # A document keeps its _id for ever: what it was before names no other one.
    before = value["before"] if value.get("op") == "d" else None
    return {**value, "before": restored(named(before)), "after": restored(named(value["after"]))}


def restored(value: Any) -> Any:
    """A value with what extended JSON in it stands for.

    Raises:
        RecordError: something looks like extended JSON and is none, or it is nested deeper than can be read.
    """
    try:
        return _restored(value)
    except RecursionError:
        msg = "its values are nested too deep"
        raise RecordError(msg) from None


def _restored(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_restored(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    made = {name: _restored(each) for name, each in value.items()}
    if not any(isinstance(name, str) and name.startswith("$") for name in made):
        return made
    try:
        return object_hook(made, _OPTIONS)
    except (BSONError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
        msg = f"{', '.join(map(str, made))} of extended JSON stands for nothing: {error}"
        raise RecordError(msg) from None
