"""What the newest messages of a topic say of the configuration of a sink. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.all_misfits import misfits_of_objects, misfits_of_rows
from rocketconnect_sdk.columns.declared import type_name, write_columns
from rocketconnect_sdk.columns.floats import rounding_problem
from rocketconnect_sdk.columns.inference import inferred_fields
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.wording.counts import counted
from services.executor.host.jobs.forms import CHANGE_KEYS, ENVELOPE_KEYS, Content, Form, content_of

_CONVERTER = "value.converter"
_COLUMNS = "columns"
_ENVELOPED = "value.converter.schemas.enable"
_OBJECTS = (Form.OBJECT, Form.UNTYPED)
_SHOWN = 1000
_ROWS = 10_000
"""So many of the newest rows are held against columns: each value of another type costs time."""
_GIVEN = 200
_NO_ROWS_FIX = (
    "Rows come from a source that has types: give both ends of the topic value.converter=arrow, and a file_source of CSV "
    "format=csv with columns=infer. For one column with the whole of each value, set transforms=row, "
    "transforms.row.type=hoist_field and transforms.row.field=value."
)
_CHANGES_FIX = "Give both ends of the topic a value.converter that carries types: json with schemas.enable=true, arrow or avro."
_UNNAMED = "NAME:TYPE,... for the fields that are to be columns"
_OURS_FIX = (
    "A source that knows types (of tables, or of CSV with columns) sends them with what it sends from then on, where both ends of "
    "the topic have value.converter=arrow, or json where others read it too."
)
_REGISTERED_FIX = (
    "Set value.converter to the one that the source of the topic has (avro, json_schema or protobuf), and "
    "value.converter.schema.registry.url."
)


@dataclass(frozen=True, slots=True)
class Read:
    """A message, and what the converter of the sink makes of it.

    Attributes:
        body: Its bytes; at least one.
        value: What it holds.
        schema: Of the value.
        refusal: Why the converter does not read it; empty: it does.
        is_ours: A source of this program has sent it.
        packed: The rows of a packed message.
    """

    body: bytes
    value: object = None
    schema: Schema | None = None
    refusal: str = ""
    is_ours: bool = False
    packed: pa.StructArray | None = None

    @property
    def is_row(self) -> bool:
        """Whether it is a row with types."""
        return self.schema is not None and self.schema.type is Type.STRUCT

    @property
    def rows(self) -> pa.StructArray:
        """Its rows, where it is one or holds some."""
        return to_array([self.value], self.schema) if self.packed is None else self.packed


@dataclass(frozen=True, slots=True)
class Given:
    """The configuration of the sink, as far as it says what becomes of messages.

    Attributes:
        raw: As people gave it.
        converter: The name of the converter of values.
        columns: What its option of that name says; None: nothing.
        takes_rows: It writes rows; of another one nothing is refused.
        needs_types: It is refused when neither that option nor any of the messages gives types.
        may_change: Transforms make other records of what is read.
        is_tolerant: Bad records are left out.
        takes: Whether columns may have a type.
    """

    raw: Mapping[str, str]
    converter: str
    columns: Schema | None = None
    takes_rows: bool = True
    needs_types: bool = False
    may_change: bool = False
    is_tolerant: bool = False
    takes: Callable[[Schema], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class _Seen:
    """A message with what is in it."""

    read: Read
    content: Content

    @property
    def is_opened(self) -> bool:
        """Whether the converter has taken the payload out of its envelope."""
        value = self.read.value
        return value is None or (isinstance(value, dict) and value.keys() != ENVELOPE_KEYS)

    @property
    def fields(self) -> dict[str, Any] | None:
        """Those that `columns` can name, under the converter that is proposed."""
        value = self.read.value
        is_whole = self.content.form is Form.OBJECT and isinstance(value, dict)
        return value if is_whole else self.content.fields  # type: ignore[return-value]  # what JSON has as names is text

    @property
    def is_plain(self) -> bool:
        """Whether `columns` can name these fields under the converter that there is."""
        is_object = self.content.form is Form.OBJECT or (self.content.form is Form.UNTYPED and self.is_opened)
        return is_object and not self.read.refusal and not self.read.is_row


def judge(topics: Mapping[str, Sequence[Read]], given: Given) -> list[Problem]:
    """What is to be said of the newest messages of each topic; nothing where the sink writes what is meant, or there are none."""
    seen = {topic: list(map(_seen, reads)) for topic, reads in topics.items() if reads}
    objects = [fields for messages in seen.values() for each in messages if (fields := each.fields) is not None]
    proposed = cache(lambda: _proposed(objects, given))
    absent = _absent_columns(seen, given, proposed)
    if absent is not None and not absent.is_warning:
        return [absent]
    judged = (_judge(_About(topic, messages, given, proposed)) for topic, messages in seen.items())
    found = [problem for problem in judged if problem is not None]
    return found if absent is None or found else [absent]


def _seen(read: Read) -> _Seen:
    # To find out that a message is packed takes as long as to unpack it.
    return _Seen(read, content_of(read.body) if read.packed is None else Content(Form.PACKED))


def _absent_columns(seen: Mapping[str, Sequence[_Seen]], given: Given, proposed: Callable[[], Schema]) -> Problem | None:
    """What is wrong with columns that no message of any topic has: where these are all, each row would be empty."""
    messages = [each for of_one in seen.values() for each in of_one]
    if given.columns is None or given.may_change or not all(each.is_plain for each in messages):
        return None
    names = dict.fromkeys(name for each in messages for name in each.fields or ())
    absent = [field.name for field in given.columns.fields if field.name not in names]
    if not names or not absent:
        return None
    topics = ", ".join(f"`{topic}`" for topic in seen)
    unknown, there = ", ".join(absent)[:_SHOWN], ", ".join(names)[:_SHOWN]
    reason = f"names fields that no message has of the newest {len(messages)} of {topics}: {unknown}; they have: {there}"
    shown = write_columns(given.columns)[:_GIVEN]
    if len(absent) < len(given.columns.fields):
        fix = "Write names as the messages have them; a column that they lack is null."
        return Problem(_COLUMNS, shown, reason, fix, is_warning=True)
    return Problem(_COLUMNS, shown, reason, f"Set {_COLUMNS}={_written(proposed())}.")


def _written(columns: Schema) -> str:
    """Columns as they are set; where no field can be one, what people are to put there."""
    return write_columns(columns) or _UNNAMED


def _proposed(objects: Sequence[dict[str, Any]], given: Given) -> Schema:
    """The columns that the sink may have of objects."""
    return struct([(each.name, each.schema) for each in inferred_fields(objects).fields if given.takes(each.schema)])


def _judge(about: "_About") -> Problem | None:
    given, messages = about.given, about.messages
    refused = [each.read for each in messages if each.read.refusal]
    if len(refused) == len(messages):
        begin = "reads none of" if len(messages) > 1 else "does not read"
        reason = f"{begin} {about.said}: {refused[0].refusal[:_SHOWN]}"
        return Problem(_CONVERTER, given.converter, reason, about.fix, is_warning=given.is_tolerant or not given.takes_rows)
    if refused:
        reason = f"does not read {len(refused)} of {about.said}: {refused[0].refusal[:_SHOWN]}"
        fix = "What becomes of such records, errors.tolerance says."
        return Problem(_CONVERTER, given.converter, reason, fix, is_warning=True)
    if given.may_change:
        return None
    if all(each.read.is_row for each in messages):
        return None if given.columns is None else about.rows_problem(given.columns)
    if given.columns is not None:
        return about.columns_problem(given.columns)
    return about.types_problem() if given.takes_rows else about.packed_problem()


class _About:
    """What is said of messages."""

    def __init__(self, topic: str, messages: Sequence[_Seen], given: Given, proposed: Callable[[], Schema]) -> None:
        self.given = given
        self.messages = messages
        forms_of_all = Counter(each.content.form for each in messages)
        self._form = forms_of_all.most_common(1)[0][0]
        self._proposed = proposed
        newest = "the newest message" if len(messages) == 1 else f"the newest {counted(messages, 'message')}"
        forms = ", ".join(
            form.value if len(forms_of_all) == 1 else f"{form.value}: {count}" for form, count in forms_of_all.items()
        )
        self.said = f"{newest} of `{topic}` ({forms})"
        self._found = f"{newest} of `{topic}` {'holds' if len(messages) == 1 else 'hold'} {forms}"

    @property
    def fix(self) -> str:
        """The options under which the sink gets what such messages hold: rows, where it writes rows."""
        fixed = {Form.REGISTERED: _REGISTERED_FIX}
        if self._wants_rows:
            fixed |= dict.fromkeys((Form.JSON, Form.TEXT, Form.BYTES), _NO_ROWS_FIX) | {Form.CHANGE: _CHANGES_FIX}
        return fixed.get(self._form) or self._set(self._reading | self._naming)

    @property
    def _wants_rows(self) -> bool:
        return self.given.takes_rows or self.given.columns is not None

    @property
    def _reading(self) -> dict[str, str]:
        """What reads messages of this form, as far as it is not given."""
        is_off = self.given.raw.get(_ENVELOPED, "true") != "true"
        opening = {_CONVERTER: "json", **({_ENVELOPED: "true"} if is_off else {})}
        found = {
            Form.PACKED: {_CONVERTER: "arrow"},
            Form.ENVELOPE: opening,
            Form.UNTYPED: opening,
            Form.TEXT: {_CONVERTER: "string"},
            Form.BYTES: {_CONVERTER: "bytes"},
        }.get(self._form, {_CONVERTER: "json", _ENVELOPED: "false"})
        are_read = all(each.is_plain for each in self.messages if each.content.form is self._form)
        return {} if are_read and self._form in _OBJECTS else found

    @property
    def _naming(self) -> dict[str, str]:
        """The columns, where objects need some and none are given."""
        needs = self._form in _OBJECTS and self.given.takes_rows and self.given.columns is None
        return {_COLUMNS: _written(self._proposed())} if needs else {}

    def _set(self, options: Mapping[str, str]) -> str:
        said = f"Set {' and '.join(f'{key}={value}' for key, value in options.items())}"
        name = options.get(_CONVERTER, self.given.converter)
        old = [key for key in self.given.raw if key.startswith(f"{_CONVERTER}.") and key not in options]
        return f"{said}, and leave out {', '.join(old)}." if old and name != self.given.converter else f"{said}."

    def types_problem(self) -> Problem:
        """What is wrong without columns: the values have no types."""
        is_warning = not self.given.needs_types or any(each.read.is_row for each in self.messages)
        if self._form not in _OBJECTS:
            return Problem(_CONVERTER, self.given.converter, f"gives no types: {self._found}", self.fix, is_warning=is_warning)
        fields = ", ".join(f"{field.name} {type_name(field.schema)}" for field in self._proposed().fields)
        reason = f"is not given, and values have no types: {self._found}; their fields: {fields[:_SHOWN]}"
        fix = self.fix if self.given.needs_types else f"{self.fix} Without it a table that is there has to say the types."
        is_ours = all(each.read.is_ours for each in self.messages)
        return Problem(_COLUMNS, "", reason, f"{fix} {_OURS_FIX}" if is_ours else fix, is_warning=is_warning)

    def packed_problem(self) -> Problem | None:
        """What is to be told of a sink that takes values of any kind: packed rows, which are no values to anybody else."""
        packed = sum(each.content.form is Form.PACKED and not each.read.is_row for each in self.messages)
        if not packed:
            return None
        reason = f"does not unpack what is there: {self._found}"
        return Problem(_CONVERTER, self.given.converter, reason, self._set({_CONVERTER: "arrow"}), is_warning=True)

    def rows_problem(self, columns: Schema) -> Problem | None:
        """What is wrong with the columns that are given, where messages say themselves what theirs are."""
        shown = write_columns(columns)[:_GIVEN]
        names = dict.fromkeys(field.name for each in self.messages if each.read.schema for field in each.read.schema.fields)
        if names.keys() >= CHANGE_KEYS:
            # Its row is in it.
            return None
        absent = [field.name for field in columns.fields if field.name not in names]
        if absent:
            reason = f"names fields that no row has of {self.said}: {', '.join(absent)[:_SHOWN]}"
            reason += f"; they have: {', '.join(names)[:_SHOWN]}"
            fix = f"Leave out {_COLUMNS}, as the messages say what theirs are; a column that they lack is null."
            return Problem(_COLUMNS, shown, reason, fix, is_warning=True)
        newest, left = [], _ROWS
        for each in reversed(self.messages):
            newest.append(each.read.rows[:left])
            left -= len(newest[-1])
        if misfits := misfits_of_rows(newest, columns):
            reason = f"does not fit {self.said}: {'; '.join(misfits)[:_SHOWN]}"
            fix = "Change it or leave it out, as the messages say what their columns are; else errors.tolerance decides."
            return Problem(_COLUMNS, shown, reason, fix, is_warning=True)
        return rounding_problem(columns, lambda name: _column(newest, name), self.said)

    def columns_problem(self, columns: Schema) -> Problem | None:
        """What is wrong with the columns that are given."""
        shown = write_columns(columns)[:_GIVEN]
        objects = [each.fields or {} for each in self.messages if each.is_plain]
        if not objects or self._form not in _OBJECTS:
            return Problem(_COLUMNS, shown, f"is for JSON objects: {self._found}", self.fix, is_warning=True)
        names = dict.fromkeys(name for each in objects for name in each)
        if not any(field.name in names for field in columns.fields):
            reason = f"names no field of these: {self._found}; their fields: {', '.join(names)[:_SHOWN]}"
            return Problem(_COLUMNS, shown, reason, f"Set {_COLUMNS}={_written(self._proposed())}.", is_warning=True)
        if misfits := misfits_of_objects(objects, columns):
            reason = f"does not fit {self.said}: {'; '.join(misfits)[:_SHOWN]}"
            return Problem(_COLUMNS, shown, reason, "Change it, or errors.tolerance decides.", is_warning=True)
        return rounding_problem(columns, lambda name: [each.get(name) for each in objects], self.said)


def _column(rows: Sequence[pa.StructArray], name: str) -> Iterator[object]:
    """What rows of several schemas have in a column of numbers."""
    for array in rows:
        place = array.type.get_field_index(name)
        if place >= 0 and pa.types.is_float64(array.type.field(place).type):
            yield from array.field(place).to_pylist()
