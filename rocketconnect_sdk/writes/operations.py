"""What records do to a target of keys, documents or messages. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import plainly, text_bytes
from rocketconnect_sdk.record import NO_HEADERS, SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.targets.envelopes import ENVELOPE, NO_DELETION, row_schema
from rocketconnect_sdk.writes.templates import Template, Told, as_text, named

_NONE: Mapping[str, str] = {}
"""Nobody adds to it. NO_HEADERS can't be pickled, as Spark does with operations."""


class Op(Enum):
    """What is done."""

    PUT = "put"
    """The value of a key is this from now on."""
    DELETE = "delete"
    """The key is gone."""
    APPEND = "append"
    """One more, behind all that are there."""


class Form(Enum):
    """How a target takes values."""

    BYTES = "bytes"
    """Text and bytes as they are, anything else as JSON: bytes."""
    OBJECT = "object"
    """A mapping of names to values, of Python's types."""


class Operation(NamedTuple):
    """One change of a target.

    Attributes:
        op: What is done.
        target: The collection, table, list, topic; empty: there is but one.
        key: In the target; empty for Op.APPEND.
        key_value: The same of the type that it has in the record, where it is not put together of several parts.
        value: In the form that the target takes; None for Op.DELETE.
        unchanged: Fields of Op.PUT that keep the value that they have there; the value does not have them.
        more: Other texts of the record, by the name of their template.
        record: Its number in its batch.
        headers: Of a message; see Addressing.messages.
        time_ms: Of a message; None: the record has no time.
    """

    op: Op
    target: str
    key: str
    value: Any
    unchanged: tuple[str, ...] = ()
    more: Mapping[str, str] = _NONE
    record: int = 0
    key_value: Any = ""
    headers: Mapping[str, str] = _NONE
    time_ms: int | None = None

    @property
    def place(self) -> tuple[str, str]:
        """What it changes."""
        return self.target, self.key


@dataclass(frozen=True, slots=True)
class Addressing:
    """How records become operations. Picklable.

    Attributes:
        target: Of each; None: there is but one.
        key: Of each; None: all are appended.
        form: Of values.
        deletes: A record without a value deletes its key; otherwise it is refused.
        partial: A change that leaves out what fields had can be written; otherwise it is refused.
        more: By name other texts that are made of each record that is put or appended.
        values: Makes values of a schema those of Python that the target takes. Raises RecordError where one has no such form.
        schemas: The target wants to know the schemas of what is put or appended; see Connection.prepare.
        messages: All records are appended as messages, with their headers and times: key_value is the key in bytes or None, and so
            is the value. A record without a value is a message without one, and a change envelope is a value as any other.
        made: Makes the operations of a record by what it is filled with and its number in the batch, in the place of everything
            else here but `values`. Raises RecordError: it has none.
    """

    target: Template | None = None
    key: Template | None = None
    form: Form = Form.BYTES
    deletes: bool = False
    partial: bool = False
    more: Mapping[str, Template] = field(default_factory=dict)
    values: Callable[[Sequence[object], Schema | None], Sequence[object]] = plainly
    schemas: bool = False
    messages: bool = False
    made: Callable[[Told, int], Iterable[Operation]] | None = None


def read_operations(batch: SinkBatch, addressing: Addressing) -> tuple[list[Operation], dict[int, str]]:
    """The operations of a batch, in its order, and by index what is wrong with the records that have none.

    Change envelopes (rocketconnect_sdk.changes, Debezium's) are what they say: a row that is put, a key that is deleted; one whose
    row gets another key is both.
    """
    made: list[Operation] = []
    refused: dict[int, str] = {}
    values = _values(batch, addressing, refused)
    addressing = _for_all(batch, addressing)
    for index in range(len(batch)):
        if index in refused:
            continue
        key = None if batch.keys is None else batch.keys[index]
        headers = NO_HEADERS if batch.headers is None else batch.headers[index]
        try:
            time_ms = None if batch.timestamps_ms is None else batch.timestamps_ms[index]
            told = Told(batch.topic, batch.queue, batch.offsets[index], named(key), values[index], headers, time_ms)
            if addressing.made is not None:
                made += [*addressing.made(told, index)]
            elif addressing.messages:
                made.append(_message(told, addressing, index, key))
            else:
                made += _of(told, addressing, index)
        except RecordError as error:
            refused[index] = str(error)
    return made, refused


def schemas_of(batch: SinkBatch, operations: Sequence[Operation]) -> dict[str, Schema]:
    """By target the schema of the rows that are put or appended there, where there is one: of changes that of their rows."""
    schema = None if batch.schema is None else row_schema(batch.schema)
    if schema is None:
        return {}
    return {operation.target: schema for operation in operations if operation.op is not Op.DELETE}


def _for_all(batch: SinkBatch, addressing: Addressing) -> Addressing:
    """With the texts themselves in the place of templates whose text is that of all records of the batch."""
    told = Told(batch.topic, batch.queue, 0, None, None, NO_HEADERS)

    def filled(template: Template) -> Template:
        # Other classes than this one make texts of more than their parts.
        is_shared = type(template) is Template and template.is_shared
        return replace(template, parts=(template.text(told),)) if is_shared else template

    target = addressing.target and filled(addressing.target)
    return replace(addressing, target=target, more={name: filled(template) for name, template in addressing.more.items()})


def _values(batch: SinkBatch, addressing: Addressing, refused: dict[int, str]) -> Sequence[object]:
    try:
        return addressing.values(batch.values, batch.schema)
    except RecordError:
        found: list[object] = []
        for index, value in enumerate(batch.values):
            try:
                found += addressing.values([value], batch.schema)
            except RecordError as error:
                refused[index] = str(error)
                found.append(None)
        return found


def _of(told: Told, addressing: Addressing, index: int) -> Iterable[Operation]:
    change = _envelope(told.value)
    if change is not None:
        return _changed(told, addressing, index, change)
    if told.value is None:
        return (_deletion(told, addressing, index, None),)
    return (_written(told, addressing, index, ()),)


def _changed(told: Told, addressing: Addressing, index: int, change: Mapping[str, Any]) -> Iterator[Operation]:
    op, before, after = change.get("op"), change.get("before"), change.get("after")
    if op == "d":
        yield _deletion(told, addressing, index, before)
    elif op in ("c", "u", "r") and isinstance(after, Mapping):
        unchanged = tuple(sorted(map(str, change.get("unchanged") or ())))
        if unchanged and not addressing.partial:
            msg = f"the change leaves out what {', '.join(unchanged)} had, and only whole values can be written"
            raise RecordError(msg)
        row = {name: value for name, value in after.items() if name not in unchanged}
        written = _written(told._replace(value=row), addressing, index, unchanged)
        if (gone := _left_behind(told, addressing, before, written)) is not None:
            if unchanged:
                msg = f"the change gives its row another key and leaves out what {', '.join(unchanged)} had"
                raise RecordError(msg)
            yield gone
        yield written
    elif op == "t":
        msg = "the change is a truncation, which is not made here: delete what is there by hand, and leave the record out"
        raise RecordError(msg)
    else:
        msg = f"the change has the op {op!r} and not the row that belongs to it"
        raise RecordError(msg)


def _message(told: Told, addressing: Addressing, index: int, key: object) -> Operation:
    value = None if told.value is None else text_bytes(told.value)
    key_value = None if key is None else text_bytes(key)
    more = {name: template.text(told) for name, template in addressing.more.items()} if addressing.more else _NONE
    target, _, _ = _address(told, addressing)
    headers = dict(told.headers) if told.headers else _NONE
    return Operation(Op.APPEND, target, "", value, (), more, index, key_value, headers, told.time_ms)


def _envelope(value: object) -> Mapping[str, Any] | None:
    """A change envelope; None: the value is none. Of text only what may be one is read."""
    if isinstance(value, str):
        if not value.startswith("{") or '"before"' not in value or '"after"' not in value:
            return None
        value = named(value)
    return value if isinstance(value, Mapping) and value.keys() >= ENVELOPE else None


def _address(told: Told, addressing: Addressing) -> tuple[str, str, Any]:
    """The target, the key as text, and the key."""
    of_target, of_key = addressing.target, addressing.key
    target = "" if of_target is None else of_target.text(told)
    value = "" if of_key is None else of_key.value(told)
    key = value if isinstance(value, str) else as_text(value)
    if target and key:
        return target, key, value
    for template, text in ((of_target, target), (of_key, key)):
        if template is not None and not text:
            msg = f"the record has nothing where {template.source} looks for a name"
            raise RecordError(msg)
    return target, key, value


def _written(told: Told, addressing: Addressing, index: int, unchanged: tuple[str, ...]) -> Operation:
    op = Op.APPEND if addressing.key is None else Op.PUT
    value = _object(told.value) if addressing.form is Form.OBJECT else text_bytes(told.value)
    more = {name: template.text(told) for name, template in addressing.more.items()} if addressing.more else _NONE
    target, key, key_value = _address(told, addressing)
    return Operation(op, target, key, value, unchanged, more, index, key_value)


def _deletion(told: Told, addressing: Addressing, index: int, row: object) -> Operation:
    if addressing.key is None:
        msg = "the record says that something is gone, and there are no keys here: leave such records out by a transform"
        raise RecordError(msg)
    if not addressing.deletes:
        raise RecordError(NO_DELETION.partition(" Set it")[0] + " Set it to delete by key")
    target, key, key_value = _address(told._replace(value=row), addressing)
    return Operation(Op.DELETE, target, key, None, record=index, key_value=key_value)


def _left_behind(told: Told, addressing: Addressing, before: object, written: Operation) -> Operation | None:
    """The deletion of the key that a row had before a change, where it was another one, and is told."""
    if addressing.key is None or not isinstance(before, Mapping):
        return None
    key = told.key
    if isinstance(key, Mapping):
        if any(before.get(name) is None for name in key):
            return None
        key = {name: before[name] for name in key}
    try:
        target, text, value = _address(told._replace(key=key, value=before), addressing)
    except RecordError:
        # What was before may be told in part, and then not under another key.
        return None
    gone = Operation(Op.DELETE, target, text, None, record=written.record, key_value=value)
    return None if gone.place == written.place else gone


def _object(value: object) -> Mapping[str, Any]:
    found = named(value)
    if not isinstance(found, Mapping):
        msg = "the value has no fields: it is neither a row nor a JSON object"
        raise RecordError(msg)
    return found


def field_values(value: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The fields of an object for a target of any bytes, without nulls: bytes as they are, others as as_text has them."""
    there = ((str(name), each) for name, each in value.items() if each is not None)
    return {name: each if isinstance(each, bytes) else as_text(each) for name, each in there}
