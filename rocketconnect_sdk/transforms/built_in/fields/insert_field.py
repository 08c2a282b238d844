"""insert_field: adds fields with what a record is about, or with a text that is always the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import STRING, Schema, Unit, timestamp
from rocketconnect_sdk.transforms.base import ON, Record, given
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = timestamp(Unit.MILLISECONDS)


def _refused(given: str) -> str | None:
    return "has no meaning here: a record has neither a partition nor an offset of Kafka" if given else None


def _name_problem(name: str) -> str | None:
    return None if name.rstrip("!?") else "names no field"


def _field(key: str, what: str, example: str = "") -> Option:
    doc = f"The field that gets {what}. With ! behind it it is required, with ? or without either optional."
    return Option(key, doc, check=_name_problem, fix="Name the new field, such as origin.", example=example)


class InsertField(FieldsTransform):
    """Adds fields at the end of a struct. A field of that name must not be there: leave it out before, with replace_field.

    The time has milliseconds.
    """

    name: ClassVar[str] = "insert_field"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.InsertField",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        _field("topic.field", "the topic", "origin"),
        _field("timestamp.field", "the time of the record: a timestamp, or milliseconds since 1970 in a record without a schema"),
        _field("static.field", "static.value"),
        Option("static.value", "The text that static.field gets."),
        Option("partition.field", "Refused: Kafka Connect's.", check=_refused, fix="Take it out."),
        Option("offset.field", "Refused: Kafka Connect's.", check=_refused, fix="Take it out."),
        REPLACE_NULL,
    )

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        named = [key for key in ("topic.field", "timestamp.field", "static.field") if config[key] is not None]
        if not named:
            fix = "Give topic.field, timestamp.field or static.field."
            yield Problem("", "", "names no field to insert, so it would do nothing", fix)
        if (config["static.field"] is None) is not (config["static.value"] is None):
            yield Problem("static.value", "", "goes with static.field, and one of them is missing", "Give both.")

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        has_schema = all(schema is not None for _, schema in names)
        added: Mapping[str, tuple[Schema, Callable[[Record], object] | None]] = {
            "topic.field": (STRING, lambda record: record.topic),
            "timestamp.field": (_TIME, self._time),
            "static.field": (STRING, None),
        }
        outs = [kept(field) for field in names]
        for key, (schema, of_record) in added.items():
            given = self.config[key]
            if given is None:
                continue
            required = given.endswith("!")
            shown = replace(schema, optional=not required) if has_schema else None
            get = _required(key, of_record) if required and of_record is not None else of_record
            outs.append(Out(given.rstrip("!?"), shown, constant=self.config["static.value"], of_record=get))
        return outs

    def _time(self, record: Record) -> object:
        count, (_, schema) = record.timestamp_ms, given(record, self.config)
        if count is None or schema is None:
            return count
        try:
            return _EPOCH + timedelta(milliseconds=count)
        except OverflowError:
            msg = f"the time of the record, {count} ms since 1970, is beyond the years 1 to 9999"
            raise RecordError(msg) from None


def _required(key: str, get: Callable[[Record], object]) -> Callable[[Record], object]:
    def found(record: Record) -> object:
        value = get(record)
        if value is None:
            msg = f"{key} is required (!), and the record has no time"
            raise RecordError(msg)
        return value

    return found
