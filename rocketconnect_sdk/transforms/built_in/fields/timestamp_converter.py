"""timestamp_converter: points in time in another form."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import ClassVar

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import STRING, WHOLE, Schema, Type, Unit, timestamp
from rocketconnect_sdk.transforms.base import ON, Record, Records, given, given_many, put, put_many
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept
from rocketconnect_sdk.transforms.java_time import JavaTime, format_problem
from rocketconnect_sdk.transforms.moments import DAY, MOMENTS, moment, nanoseconds
from rocketconnect_sdk.transforms.texts import shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEPS: Mapping[str, int] = {"seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
_UNITS: Mapping[str, Unit] = {"microseconds": Unit.MICROSECONDS, "nanoseconds": Unit.NANOSECONDS}


class TimestampConverter(FieldsTransform):
    """Makes timestamps, dates, times, texts and numbers since 1970 one another. A time without a zone counts as UTC.

    A Timestamp made of a timestamp is as fine as that is; made of a number it has the unit of unix.precision, at least
    milliseconds; otherwise milliseconds. Whole numbers of every size are read. How formats are written is in
    docs/transforms.md.
    """

    name: ClassVar[str] = "timestamp_converter"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.TimestampConverter",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("field", "The field; empty: the value is no struct, and is changed as a whole.", default="", example="time"),
        Option(
            "target.type",
            "What it becomes: string (by format), unix (a number since 1970), Date or Time (the rest is cut off), or Timestamp.",
            required=True,
            choices=("string", "unix", "Date", "Time", "Timestamp"),
            example="string",
        ),
        Option(
            "format",
            "How texts are read and written, as Java's SimpleDateFormat has it. What is finer is not written.",
            check=lambda text: format_problem(text) if text else None,
            fix="Write for instance yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
            example="yyyy-MM-dd'T'HH:mm:ss",
        ),
        Option(
            "unix.precision",
            "What numbers count, read ones and written ones. What is finer is not written.",
            default="milliseconds",
            choices=tuple(_STEPS),
        ),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._format = JavaTime(config["format"]) if config["format"] else None
        self._step = _STEPS[config["unix.precision"]]

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        if config["target.type"] == "string" and not config["format"]:
            yield Problem("format", "", "is needed to write texts", "Write for instance yyyy-MM-dd'T'HH:mm:ss.SSSXXX")

    def apply(self, record: Record) -> Record:
        """See Transform."""
        if self.config["field"]:
            return super().apply(record)
        value, schema = given(record, self.config)
        if value is None:
            return record
        what = f"the {self.config['on']}"
        target = self._target(what, schema)
        return put(record, self.config, self._convert(what, schema, target, value), None if schema is None else target)

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        if self.config["field"]:
            return super().apply_many(records)
        values, schema = given_many(records, self.config)
        if values is None or schema is None:
            return None
        what = f"the {self.config['on']}"
        target = self._target(what, schema)
        return put_many(records, self.config, [self._convert(what, schema, target, value) for value in values], target)

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return [self._out(name, schema) if name == self.config["field"] else kept((name, schema)) for name, schema in names]

    def _out(self, name: str, schema: Schema | None) -> Out:
        what = f"the field {name}"
        target = self._target(what, schema)
        convert: Callable[[object], object] = partial(self._convert, what, schema, target)
        return Out(name, None if schema is None else target, name, convert)

    def _target(self, what: str, source: Schema | None) -> Schema:
        """What it becomes; without a schema what the values are made by."""
        if source is not None and source.type not in {*MOMENTS, *WHOLE, Type.STRING}:
            msg = f"{what} is no time, text or number since 1970, but {type_name(source)}"
            raise RecordError(msg)
        # As fine as what comes in: nothing is cut off that need not be.
        if source is None:
            unit = Unit.MICROSECONDS
        elif source.type in WHOLE:
            unit = _UNITS.get(self.config["unix.precision"], Unit.MILLISECONDS)
        else:
            unit = source.unit if source.type in (Type.TIME, Type.TIMESTAMP) else Unit.MILLISECONDS
        made = {
            "string": STRING,
            "unix": Schema(Type.INT64),
            "Date": Schema(Type.DATE),
            "Time": Schema(Type.TIME, unit=unit),
            "Timestamp": timestamp(unit),
        }[self.config["target.type"]]
        return made if source is None else replace(made, optional=source.optional, doc=source.doc)

    def _convert(self, what: str, source: Schema | None, target: Schema, value: object) -> object:
        if value is None:
            return None
        try:
            return self._made(self._read(value, source), target)
        except ValueError as error:
            msg = f"{what} can't become {self.config['target.type']}: {shown(value, source)} {error}"
            raise RecordError(msg) from None

    def _read(self, value: object, source: Schema | None) -> int:
        """Nanoseconds since 1970."""
        if isinstance(value, date | time) or (source is not None and source.type in MOMENTS):
            return nanoseconds(value, source)
        if isinstance(value, int) and not isinstance(value, bool):
            return value * self._step
        if isinstance(value, str):
            if self._format is None:
                msg = "is a text, and no format says how it is read"
                raise ValueError(msg)
            return nanoseconds(self._format.read(value), None)
        msg = f"is no time, text or number since 1970, but {type(value).__name__}"
        raise ValueError(msg)

    def _made(self, count: int, target: Schema) -> object:
        match target.type:
            case Type.STRING if self._format is not None:
                return self._format.write(_at(count))
            case Type.INT64:
                found = count // self._step
                if not -(1 << 63) <= found < 1 << 63:
                    msg = "is beyond what a number of 64 bits can count"
                    raise ValueError(msg)
                return found
            case Type.DATE:
                return moment(count - count % DAY, target)
            case Type.TIME:
                return moment(_cut(count % DAY, target), target)
        return moment(_cut(count, target), target)


def _cut(count: int, target: Schema) -> int:
    step = 10**9 // target.unit.in_second
    return count - count % step


def _at(count: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=count // 1000)
    except OverflowError:
        msg = "is beyond the years 1 to 9999"
        raise ValueError(msg) from None
