"""What is in the topic of a source beside what it would write. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.columns.inference import inferred_fields
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.schema import WHOLE, Schema, Type
from rocketconnect_sdk.wording.counts import counted
from services.executor.host.jobs.forms import Content, Form, content_of
from services.executor.host.jobs.judging import Read
from services.executor.host.jobs.sources.written import Written

_SHOWN = 500
_NAMES = 20
_OBJECTS = (Form.OBJECT, Form.UNTYPED)
_LINES = (Form.TEXT, Form.JSON, Form.OBJECT, Form.CHANGE)
_NUMBERS = (*WHOLE, Type.FLOAT32, Type.FLOAT64, Type.DECIMAL)
_WRITING: Mapping[Form, str] = {
    Form.PACKED: "value.converter=arrow",
    Form.ENVELOPE: "value.converter=json and value.converter.schemas.enable=true",
    Form.UNTYPED: "value.converter=json and value.converter.schemas.enable=true",
    Form.REGISTERED: "the value.converter (avro, json_schema or protobuf) of what is there",
    Form.CHANGE: "value.converter=json and value.converter.schemas.enable=false",
    Form.OBJECT: "value.converter=json and value.converter.schemas.enable=false",
    Form.JSON: "value.converter=json and value.converter.schemas.enable=false",
    Form.TEXT: "value.converter=string",
}
"""The options under which a source writes such messages."""
_AT_FORMS = "reads the one does not read the other"
_AT_COLUMNS = "takes the one fails at the other, leaves fields out or widens its table for both, as its schema.evolution says"


@dataclass(frozen=True, slots=True)
class There:
    """A message of the topic.

    Attributes:
        read: The message, as the converter of the source takes it.
        uid: That of the connector that has sent it; empty: no connector has.
    """

    read: Read
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Around:
    """Who writes and reads the topic, as far as it is known.

    Attributes:
        name: Of the source.
        names: The names of connectors by their uids.
        readers: Sinks that read it.
    """

    name: str
    names: Mapping[str, str]
    readers: Sequence[str] = ()

    def owners(self, uids: Iterable[str]) -> str:
        """Who has sent messages, for people."""
        found = dict.fromkeys(self._owner(uid) for uid in uids)
        return " and ".join(list(found)[:_NAMES])

    def _owner(self, uid: str) -> str:
        if not uid:
            return "programs that are no connectors"
        name = self.names.get(uid)
        if name is None:
            return f"a connector that is not there any more (uid {uid})"
        return "this connector" if name == self.name else f"the connector {name}"


def compare(topic: str, there: Sequence[There], written: Written, around: Around, reads: Sequence[Read]) -> Problem | None:
    """What a source is to be warned of: messages of another form, or with other columns, than it would write; None: there are none.

    Args:
        topic: The topic.
        there: Its newest messages.
        written: What the source would write.
        around: Whose they are.
        reads: What its converter makes of `written.bodies`.
    """
    contents = [_content(each.read) for each in there]
    others = [place for place, content in enumerate(contents) if written.forms and content.form not in written.forms]
    # Lines of text, and of JSON, may be of any kind: where some are as they would be written, so are the others.
    are_lines = len(others) < len(contents) and all(contents[place].form in _LINES for place in others)
    if others and not are_lines:
        return _of_forms(topic, there, contents, others, written, around)
    differing, said = _columns_of(there, contents, written, reads)
    if not said:
        return None
    whose = around.owners(there[place].uid for place in differing)
    reason = f"has messages with other columns, written by {whose}, than this source writes: {said[:_SHOWN]}"
    reason += _readers(around, _AT_COLUMNS)
    fix = "Set topic to another one, which has sinks of its own, or let the source write the columns that are there."
    return Problem("topic", topic, reason, fix, is_warning=True)


def _content(read: Read) -> Content:
    # To find out that a message is packed takes as long as to unpack it.
    return content_of(read.body) if read.packed is None else Content(Form.PACKED)


def _of_forms(
    topic: str, there: Sequence[There], contents: Sequence[Content], others: Sequence[int], written: Written, around: Around
) -> Problem:
    counts = Counter(contents[place].form for place in others)
    found = ", ".join(form.value if len(counts) == 1 else f"{count} {form.value}" for form, count in counts.most_common())
    newest = "the newest message holds" if len(there) == 1 else f"the newest {counted(there, 'message')} hold"
    if len(others) < len(there):
        newest = f"{len(others)} of {newest}"
    whose = around.owners(there[place].uid for place in others)
    would = " or ".join(form.value for form in Form if form in written.forms)
    reason = f"has messages of another form: {newest} {found}, written by {whose}; with {written.said} this source writes {would}"
    fix = "Set topic to another one, which has sinks of its own"
    most = counts.most_common(1)[0][0]
    fix += f", or {_WRITING[most]}, which writes what is there." if most in _WRITING else "."
    return Problem("topic", topic, reason + _readers(around, _AT_FORMS), fix, is_warning=True)


def _readers(around: Around, meets: str) -> str:
    """Who reads the topic, and what a sink does there that meets both kinds of messages."""
    if not around.readers:
        return f"; a sink that {meets}"
    more = "" if len(around.readers) <= _NAMES else f" and {len(around.readers) - _NAMES} more"
    names = ", ".join(around.readers[:_NAMES])
    verb = "reads" if len(around.readers) == 1 else "read"
    return f"; {names}{more} {verb} this topic, and a sink that {meets}"


def _columns_of(
    there: Sequence[There], contents: Sequence[Content], written: Written, reads: Sequence[Read]
) -> tuple[Sequence[int], str]:
    """The messages with other columns than those that would be written, and how they differ; empty: they do not."""
    rows = _types(each.schema for each in reads)
    if not rows and written.schema is not None and written.forms == {Form.REGISTERED}:
        # Only a registry could say which types they get.
        rows = dict.fromkeys((field.name for field in written.schema.fields), "")
    if not rows:
        return _fields_of(contents, written, reads)
    of_schemas = {each.read.schema: _difference(_types([each.read.schema]), rows) for each in there if each.read.is_row}
    differing = [place for place, each in enumerate(there) if of_schemas.get(each.read.schema)]
    return differing, next(filter(None, of_schemas.values()), "")


def _types(schemas: Iterable[Schema | None]) -> dict[str, str]:
    """By name what the columns of rows are."""
    known = dict.fromkeys(schema for schema in schemas if schema is not None and schema.type is Type.STRUCT)
    return {field.name: type_name(field.schema) for schema in known for field in schema.fields}


def _fields_of(contents: Sequence[Content], written: Written, reads: Sequence[Read]) -> tuple[Sequence[int], str]:
    """The same of JSON objects without a schema, which may lack fields: that some are missing counts where rows have them all."""
    ours = [fields for each in reads if (fields := _content(each).fields) is not None]
    places = [place for place, content in enumerate(contents) if content.form in _OBJECTS and content.fields is not None]
    found = _kinds(contents[place].fields or {} for place in places)
    mine = _kinds(ours)
    if not found or not mine:
        return (), ""
    common = found.keys() & mine.keys()
    if written.schema is None and common:
        found, mine = {name: found[name] for name in common}, {name: mine[name] for name in common}
    said = _difference(found, mine)
    return (places, said) if said else ((), "")


def _kinds(objects: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """By name what fields hold, as coarse as JSON tells it; empty: nothing but nulls."""
    given = list(objects)
    valued = {name for each in given for name, value in each.items() if value is not None}
    kinds = {field.name: _kind(field.schema) for field in inferred_fields(given).fields}
    return {name: kind if name in valued else "" for name, kind in kinds.items()}


def _kind(schema: Schema) -> str:
    if schema.type in _NUMBERS:
        return "a number"
    return {Type.BOOLEAN: "true or false", Type.JSON: "an object or a list"}.get(schema.type, "text")


def _difference(there: Mapping[str, str], mine: Mapping[str, str]) -> str:
    """How the columns that are there differ from those that would be written, for people; empty: they do not."""
    absent = [name for name in there if name not in mine]
    new = [name for name in mine if name not in there]
    changed = [
        f"{name} is {there[name]} there, and would be {mine[name]}"
        for name in there
        if name in mine and there[name] and mine[name] and there[name] != mine[name]
    ]
    said = [f"only those have {_listed(absent)}"] if absent else []
    said += [f"only this source has {_listed(new)}"] if new else []
    return "; ".join([*said, *changed])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
