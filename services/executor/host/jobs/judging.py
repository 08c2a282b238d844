"""What the newest messages of a topic say of the configuration of a sink that takes rows. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from rocketconnect_sdk.columns.declared import type_name, write_columns
from rocketconnect_sdk.columns.inference import inferred_fields
from rocketconnect_sdk.columns.objects import rows_of_values
from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.schema import Schema, Type, struct

_CONVERTER = "value.converter"
_COLUMNS = "columns"
_ENVELOPED = "value.converter.schemas.enable"
_REGISTERED = 5
"""The bytes before a message with the id of its schema: a zero, and the id."""
_SHOWN = 1000
_GIVEN = 200
_NO_ROWS_FIX = (
    "Rows come from a source that has types: give both ends of the topic value.converter=arrow, and a file_source of CSV "
    "format=csv with columns=infer. For one column with the whole of each value, set transforms=row, "
    "transforms.row.type=hoist_field and transforms.row.field=value."
)
_CHANGES_FIX = "Give both ends of the topic a value.converter that carries types: json with schemas.enable=true, arrow or avro."
_CHANGE = {"before", "after", "op"}


class Form(Enum):
    """What a message is, in words."""

    PACKED = "rows that value.converter=arrow packed"
    ENVELOPE = "JSON with its schema in each message"
    REGISTERED = "values with the id of a schema in a registry"
    CHANGE = "changes of tables as JSON without a schema"
    OBJECT = "JSON objects without a schema"
    JSON = "JSON values that are no objects"
    TEXT = "text"
    BYTES = "bytes that are no text"


@dataclass(frozen=True, slots=True)
class Read:
    """A message, and what the converter of the sink makes of it.

    Attributes:
        body: Its bytes; at least one.
        value: What it holds.
        schema: Of the value.
        refusal: Why the converter does not read it; empty: it does.
    """

    body: bytes
    value: object = None
    schema: Schema | None = None
    refusal: str = ""

    @property
    def is_row(self) -> bool:
        """Whether it is a row with types."""
        return self.schema is not None and self.schema.type is Type.STRUCT


@dataclass(frozen=True, slots=True)
class Given:
    """The configuration of the sink, as far as it says what becomes of messages.

    Attributes:
        raw: As people gave it.
        converter: The name of the converter of values.
        columns: What its option of that name says; None: nothing.
        needs_types: It is refused when neither that option nor the converter gives types.
        may_change: Transforms make other records of what is read.
        is_tolerant: Bad records are left out.
        takes: Whether columns may have a type.
    """

    raw: Mapping[str, str]
    converter: str
    columns: Schema | None = None
    needs_types: bool = False
    may_change: bool = False
    is_tolerant: bool = False
    takes: Callable[[Schema], bool] = lambda _: True


def form_of(body: bytes) -> Form:
    """What the bytes of a message are."""
    if body[0] == 0 and len(body) > _REGISTERED:
        return Form.REGISTERED
    if is_packed(body):
        return Form.PACKED
    value = _json(body)
    if value is _NOTHING:
        return Form.TEXT if _is(body.decode, UnicodeDecodeError) else Form.BYTES
    if not isinstance(value, dict):
        return Form.JSON
    if value.keys() == {"schema", "payload"} and isinstance(value["schema"], dict):
        return Form.ENVELOPE
    return Form.CHANGE if value.keys() >= _CHANGE else Form.OBJECT


def judge(topics: Mapping[str, Sequence[Read]], given: Given) -> list[Problem]:
    """What is to be said of the newest messages of each topic; nothing where the sink gets rows of them, or there are none."""
    objects = [value for messages in topics.values() for message in messages if (value := _object(message.body)) is not None]
    judged = (_judge(_About(topic, messages, given, objects)) for topic, messages in topics.items() if messages)
    return [problem for problem in judged if problem is not None]


def _judge(about: "_About") -> Problem | None:
    given, messages = about.given, about.messages
    refused = [message for message in messages if message.refusal]
    if len(refused) == len(messages):
        reason = f"reads none of {about.said}: {refused[0].refusal[:_SHOWN]}"
        return Problem(_CONVERTER, given.converter, reason, about.fix, is_warning=given.is_tolerant)
    if refused:
        reason = f"does not read {len(refused)} of {about.said}: {refused[0].refusal[:_SHOWN]}"
        fix = "What becomes of such records, errors.tolerance says."
        return Problem(_CONVERTER, given.converter, reason, fix, is_warning=True)
    if given.may_change or all(message.is_row for message in messages):
        return None
    return about.types_problem() if given.columns is None else about.columns_problem(given.columns)


class _About:
    """What is said of messages."""

    def __init__(self, topic: str, messages: Sequence[Read], given: Given, objects: Sequence[dict[str, Any]]) -> None:
        self.given = given
        self.messages = messages
        forms_of_all = Counter(form_of(message.body) for message in messages)
        self._form = forms_of_all.most_common(1)[0][0]
        self._proposed = struct([(each.name, each.schema) for each in inferred_fields(objects).fields if given.takes(each.schema)])
        newest = "the newest message" if len(messages) == 1 else f"the newest {len(messages)} messages"
        forms = ", ".join(form.value if len(forms_of_all) == 1 else f"{count} {form.value}" for form, count in forms_of_all.items())
        self.said = f"{newest} of `{topic}` ({forms})"
        self._found = f"{newest} of `{topic}` {'holds' if len(messages) == 1 else 'hold'} {forms}"

    @property
    def fix(self) -> str:
        """The options under which the sink gets rows of such messages."""
        match self._form:
            case Form.PACKED:
                return self._set({_CONVERTER: "arrow"})
            case Form.ENVELOPE:
                is_off = self.given.raw.get(_ENVELOPED, "true") != "true"
                return self._set({_CONVERTER: "json", **({_ENVELOPED: "true"} if is_off else {})})
            case Form.OBJECT:
                reads = not any(message.refusal for message in self.messages)
                plain = {} if reads else {_CONVERTER: "json", _ENVELOPED: "false"}
                columns = {} if self.given.columns is not None else {_COLUMNS: write_columns(self._proposed)}
                return self._set(plain | columns)
            case Form.REGISTERED:
                return (
                    "Set value.converter to the one that the source of the topic has (avro, json_schema or protobuf), and "
                    "value.converter.schema.registry.url."
                )
            case Form.CHANGE:
                return _CHANGES_FIX
            case _:
                return _NO_ROWS_FIX

    def _set(self, options: Mapping[str, str]) -> str:
        said = f"Set {' and '.join(f'{key}={value}' for key, value in options.items())}"
        name = options.get(_CONVERTER, self.given.converter)
        old = [key for key in self.given.raw if key.startswith(f"{_CONVERTER}.") and key not in options]
        return f"{said}, and leave out {', '.join(old)}." if old and name != self.given.converter else f"{said}."

    def types_problem(self) -> Problem:
        """What is wrong without columns: the values have no types."""
        is_warning = not self.given.needs_types
        if self._form is not Form.OBJECT:
            return Problem(_CONVERTER, self.given.converter, f"gives no types: {self._found}", self.fix, is_warning=is_warning)
        fields = ", ".join(f"{field.name} {type_name(field.schema)}" for field in self._proposed.fields)
        reason = f"is not given, and values have no types: {self._found}; their fields: {fields[:_SHOWN]}"
        fix = f"{self.fix} Without it a table that is there has to say the types." if is_warning else self.fix
        return Problem(_COLUMNS, "", reason, fix, is_warning=is_warning)

    def columns_problem(self, columns: Schema) -> Problem | None:
        """What is wrong with the columns that are given."""
        shown = write_columns(columns)[:_GIVEN]
        if self._form is not Form.OBJECT:
            return Problem(_COLUMNS, shown, f"is for JSON objects: {self._found}", self.fix, is_warning=True)
        objects = [value for message in self.messages if (value := _object(message.body)) is not None]
        names = dict.fromkeys(name for each in objects for name in each)
        if not any(field.name in names for field in columns.fields):
            reason = f"names no field of these: {self._found}; their fields: {', '.join(names)[:_SHOWN]}"
            return Problem(_COLUMNS, shown, reason, f"Set {_COLUMNS}={write_columns(self._proposed)}.", is_warning=True)
        try:
            rows_of_values(objects, columns)
        except RecordError as error:
            reason = f"does not fit {self.said}: {str(error)[:_SHOWN]}"
            return Problem(_COLUMNS, shown, reason, "Change it, or errors.tolerance decides.", is_warning=True)
        return None


_NOTHING = object()


def _json(body: bytes) -> Any:
    """The JSON that bytes are; _NOTHING: they are none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NOTHING


def _object(body: bytes) -> dict[str, Any] | None:
    """A JSON object without a schema; None: it is something else."""
    return _json(body) if form_of(body) is Form.OBJECT else None


def _is(read: Callable[[], object], wrong: type[Exception]) -> bool:
    try:
        read()
    except wrong:
        return False
    return True
