"""Schemas as the text of a .proto file, as Confluent's converter for Kafka Connect writes them. Pure.

A struct is a message, within that in which it is a field. An array or map that may be null, and what is null or another array
within an array, is wrapped in a message of its own: Protobuf has no word for it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.converters.protobuf import names
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.wording.counts import counted

_DEEPEST = 30
"""Messages within each other: protoc reads 32."""
_MOST_FIELDS = 18_999
"""The numbers from there on are Protobuf's own."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f]')
_SCALARS: Mapping[Type, str] = {
    Type.BOOLEAN: "bool",
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.UINT8: "uint32",
    Type.UINT16: "uint32",
    Type.UINT32: "uint32",
    Type.UINT64: "uint64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.STRING: "string",
    Type.BYTES: "bytes",
    Type.UUID: "string",
    Type.JSON: "string",
}
_MESSAGES = {Type.DECIMAL: names.DECIMAL, Type.DATE: names.DATE, Type.TIME: names.TIME}
_KEYS = (Type.BOOLEAN, Type.INT32, Type.INT64, Type.UINT32, Type.UINT64, Type.STRING)
"""What the keys of Protobuf's own maps can be."""
_RESERVED = frozenset(
    """
    bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64
    confluent edition enum export extend extensions false google group import inf local map max message nan oneof option optional
    package public repeated required reserved returns rpc service stream syntax to true weak
    """.split()  # noqa: SIM905 - forty lines otherwise
)
"""Words that mean something else where the name of a message stands."""
_FILES = {
    names.DECIMAL: "confluent/type/decimal.proto",
    names.DATE: "google/type/date.proto",
    names.TIME: "google/type/timeofday.proto",
    names.TIMESTAMP: "google/protobuf/timestamp.proto",
}


def to_proto(schema: Schema) -> str:
    """The text of the .proto file of a schema: its first message is what its values are.

    Raises:
        RecordError: it has none.
    """
    try:
        return _Writer().file(schema)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        msg = f"the schema cannot be written as Protobuf: {str(error)[:300]}"
        raise RecordError(msg) from None


@dataclass(slots=True)
class _Message:
    """A message that is written.

    Attributes:
        name: Its name.
        options: Of it.
        taken: Names within it.
        fields: Its fields, as lines.
        nested: Messages within it.
    """

    name: str
    options: str = ""
    taken: set[str] = field(default_factory=set)
    fields: list[str] = field(default_factory=list)
    nested: "list[_Message]" = field(default_factory=list)

    def lines(self, indent: str) -> Iterable[str]:
        """Its text."""
        yield f"{indent}message {self.name} {{"
        if self.options:
            yield f"{indent}  option (confluent.message_meta) = {self.options};"
        yield from (f"{indent}  {line}" for line in self.fields)
        for message in self.nested:
            yield from message.lines(f"{indent}  ")
        yield f"{indent}}}"

    def free(self, wanted: str, ending: str = "") -> str:
        """A name that nothing within it has."""
        wanted = f"{wanted}_" if wanted in _RESERVED else wanted
        number, found = 1, wanted + ending
        while found in self.taken:
            number += 1
            found = f"{wanted}{number}{ending}"
        self.taken.add(found)
        return found


class _Writer:
    """Writes one file; knows what it has to import."""

    def __init__(self) -> None:
        self._imports: set[str] = set()

    def file(self, schema: Schema) -> str:
        package, name = _full_name(schema) if schema.type is Type.STRUCT else ("", names.UNNAMED)
        full = f"{package}.{name}" if package else name
        if schema.type is Type.STRUCT:
            message = self._struct(schema, name, full, 1, {names.OPTIONAL: "true"} if schema.optional else {})
        else:
            message = self._wrapper(schema, name, full, 1)
        lines = ['syntax = "proto3";', *([f"package {package};"] if package else [])]
        body = list(message.lines(""))
        return "\n".join([*lines, *(f'import "{name}";' for name in sorted(self._imports)), "", *body, ""])

    def _struct(self, schema: Schema, name: str, full: str, depth: int, marks: dict[str, str] | None = None) -> _Message:
        _check_depth(depth)
        if len(schema.fields) > _MOST_FIELDS:
            msg = f"a struct of {counted(schema.fields, 'field')}, and Protobuf has at most {_MOST_FIELDS}"
            raise RecordError(msg)
        said = _said(replace(schema, name="")) | (marks or {})
        if schema.name != ("" if full == names.UNNAMED else full):
            said[names.NAME] = schema.name
        message = _Message(name, self._meta(schema.doc, said))
        idents = _idents([one.name for one in schema.fields])
        message.taken.update(idents)
        for number, (ident, one) in enumerate(zip(idents, schema.fields, strict=True), 1):
            given = {names.FIELD: one.name} if ident != one.name else {}
            message.fields.append(self._field(message, ident, one.schema, number, full, depth, given))
        return message

    def _wrapper(self, schema: Schema, name: str, full: str, depth: int) -> _Message:
        """A message that stands for its only field."""
        _check_depth(depth)
        message = _Message(name, self._meta("", {names.WRAPPER: "true"}), {names.VALUE})
        message.fields.append(self._field(message, names.VALUE, schema, 1, full, depth, {}))
        return message

    def _field(
        self, message: _Message, ident: str, schema: Schema, number: int, full: str, depth: int, said: dict[str, str]
    ) -> str:
        """The line of a field.

        Args:
            message: In which it is; gets the messages that are made for it.
            ident: Its name there.
            schema: Of its values.
            number: Its number.
            full: The message's name with its package.
            depth: Of the message.
            said: What its options say in any case.
        """
        title = ident[:1].upper() + ident[1:]
        if schema.type in (Type.ARRAY, Type.MAP) and schema.optional:
            name = self._wrapped(message, f"{title}Value", replace(schema, optional=False), full, depth)
            return self._line(name, ident, number, "", said)
        if schema.type is Type.ARRAY:
            items = _part(schema.items)
            if _is_direct(items):
                kind, params = self._element(message, title, items, full, depth)
            else:
                kind, params = self._wrapped(message, f"{title}Item", items, full, depth), {}
            return self._line(f"repeated {kind}", ident, number, schema.doc, said | params | _said(schema))
        if schema.type is Type.MAP:
            return self._line(self._map(message, ident, schema, full, depth), ident, number, schema.doc, said | _said(schema))
        kind, params = self._element(message, title, schema, full, depth)
        said = said | params
        if schema.type is Type.STRUCT:
            return self._line(kind, ident, number, "", said | ({} if schema.optional else {names.REQUIRED: "true"}))
        said |= _said(schema)
        if kind in _FILES:
            said |= {} if schema.optional else {names.REQUIRED: "true"}
        elif schema.optional:
            kind = f"optional {kind}"
        return self._line(kind, ident, number, schema.doc, said)

    def _wrapped(self, message: _Message, wanted: str, schema: Schema, full: str, depth: int) -> str:
        """The name of a wrapper within a message."""
        name = message.free(wanted)
        message.nested.append(self._wrapper(schema, name, f"{full}.{name}", depth + 1))
        return name

    def _map(self, message: _Message, ident: str, schema: Schema, full: str, depth: int) -> str:
        """The type of a map: Protobuf's own, or a list of entries."""
        keys, items = _part(schema.keys), _part(schema.items)
        made_by_protoc = "".join(part[:1].upper() + part[1:] for part in ident.split("_")) + names.ENTRY
        if (
            keys == Schema(keys.type)
            and keys.type in _KEYS
            and (items.type is Type.STRUCT or not _params(items))
            and _is_direct(items)
            and made_by_protoc not in message.taken
        ):
            message.taken.add(made_by_protoc)
            kind, _ = self._element(message, ident[:1].upper() + ident[1:], items, full, depth)
            return f"map<{_SCALARS[keys.type]}, {kind}>"
        _check_depth(depth + 1)
        name = message.free(ident[:1].upper() + ident[1:], names.ENTRY)
        entry = _Message(name, taken={names.KEY, names.VALUE})
        for number, (part, its) in enumerate(((names.KEY, keys), (names.VALUE, items)), 1):
            if its.type in (Type.ARRAY, Type.MAP) and not its.optional:
                # Nothing in an entry is repeated: it would be no entry to a reader.
                kind = self._wrapped(entry, f"{part.title()}Value", its, f"{full}.{name}", depth + 1)
                entry.fields.append(self._line(kind, part, number, "", {names.REQUIRED: "true"}))
            else:
                entry.fields.append(self._field(entry, part, its, number, f"{full}.{name}", depth + 1, {}))
        message.nested.append(entry)
        return f"repeated {name}"

    def _element(self, message: _Message, title: str, schema: Schema, full: str, depth: int) -> tuple[str, dict[str, str]]:
        """The type of a single value that is not null, and what it does not say."""
        if schema.type is Type.STRUCT:
            last = schema.name.rpartition(".")[2]
            wanted = last if _NAME.fullmatch(last) else title
            # A message of this name with a key and a value would be the entry of a map.
            name = message.free(f"{wanted}_" if wanted.endswith(names.ENTRY) else wanted)
            message.nested.append(self._struct(schema, name, f"{full}.{name}", depth + 1))
            return name, {}
        if schema.type in (Type.ARRAY, Type.MAP):
            msg = "an array or map that is no field"
            raise RecordError(msg)
        kind = _kind(schema)
        if kind in _FILES:
            self._imports.add(_FILES[kind])
        return kind, _params(schema)

    def _line(self, kind: str, ident: str, number: int, doc: str, said: Mapping[str, str]) -> str:
        options = self._meta(doc, said)
        return f"{kind} {ident} = {number}{f' [(confluent.field_meta) = {options}]' if options else ''};"

    def _meta(self, doc: str, said: Mapping[str, str]) -> str:
        parts = [f"doc: {_quoted(doc)}"] if doc else []
        if said:
            parts.append("params: [" + ", ".join(f"{{key: {_quoted(k)}, value: {_quoted(v)}}}" for k, v in said.items()) + "]")
        if parts:
            self._imports.add("confluent/meta.proto")
        return f"{{{', '.join(parts)}}}" if parts else ""


def _full_name(schema: Schema) -> tuple[str, str]:
    """The package and the name of the message of a whole value."""
    *package, last = schema.name.split(".")
    if all(_NAME.fullmatch(part) and part not in _RESERVED for part in (*package, last)):
        return ".".join(package), last
    return "", _ident(last) if schema.name and _ident(last) not in _RESERVED else names.UNNAMED


def _idents(wanted: Sequence[str]) -> list[str]:
    """Names of fields as Protobuf allows them: none twice, neither here nor in the JSON that Protobuf makes of messages."""
    taken: set[str] = set()
    # What can keep its name does.
    in_order = sorted(range(len(wanted)), key=lambda index: _ident(wanted[index]) != wanted[index])
    by_index: dict[int, str] = {}
    for index in in_order:
        number, ident = 1, _ident(wanted[index])
        while _json_name(ident) in taken:
            number += 1
            ident = f"{_ident(wanted[index])}x{number}"
        taken.add(_json_name(ident))
        by_index[index] = ident
    return [by_index[index] for index in range(len(wanted))]


def _json_name(ident: str) -> str:
    return re.sub(r"_+([A-Za-z0-9]?)", lambda match: match[1].upper(), ident)


def _ident(name: str) -> str:
    """A name as Confluent's converter writes it: other characters by their bytes."""
    if _NAME.fullmatch(name):
        return name
    found = re.sub(r"[^A-Za-z0-9_]", "_", quote(name, safe=""))
    return found if _NAME.fullmatch(found) and not found.startswith("_") else f"x{found}"


def _is_direct(schema: Schema) -> bool:
    """Whether values in an array or map need no wrapper: they are never null, and nothing is said of their type."""
    if schema.type is Type.STRUCT:
        return not schema.optional
    return schema.type not in (Type.ARRAY, Type.MAP) and not schema.optional and not schema.doc and not _said(schema)


def _kind(schema: Schema) -> str:
    if schema.type is Type.TIMESTAMP:
        return names.TIMESTAMP if schema.zone else "int64"
    return _MESSAGES.get(schema.type) or _SCALARS[schema.type]


def _params(schema: Schema) -> dict[str, str]:
    """What the type that Protobuf has for it does not say."""
    match schema.type:
        case Type.INT8 | Type.INT16:
            return {names.CONNECT_TYPE: schema.type.value}
        case Type.UINT8 | Type.UINT16 | Type.UUID | Type.JSON:
            return {names.TYPE: schema.type.value}
        case Type.DECIMAL:
            return {names.PRECISION: str(schema.precision), names.SCALE: str(schema.scale)}
        case Type.TIME:
            return {names.UNIT: schema.unit.value}
        case Type.TIMESTAMP:
            return {**({} if schema.zone else {names.TYPE: schema.type.value}), names.UNIT: schema.unit.value}
    return {}


def _said(schema: Schema) -> dict[str, str]:
    """What is said of a schema, but for its type and documentation."""
    said = {names.NAME: schema.name} if schema.name else {}
    if schema.version is not None:
        said[names.VERSION] = str(schema.version)
    if schema.parameters:
        said[names.PARAMETERS] = json.dumps(schema.parameters, ensure_ascii=False)
    if schema.default is not None:
        said[names.DEFAULT] = _default(schema)
    return said


def _default(schema: Schema) -> str:
    if schema.type in (Type.STRUCT, Type.ARRAY, Type.MAP):
        msg = f"a {type_name(schema)} has a default, which has no form in Protobuf"
        raise RecordError(msg)
    try:
        return Values(replace(schema, default=None, optional=False)).encode(schema.default).decode()
    except RecordError as error:
        msg = f"the default of a {type_name(schema)} cannot be written: {error}"
        raise RecordError(msg) from None


def _check_depth(depth: int) -> None:
    if depth > _DEEPEST:
        msg = f"a schema of more than {_DEEPEST} messages in each other"
        raise RecordError(msg)


def _quoted(text: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return f"\\{match[0]}" if match[0] in '\\"' else f"\\{ord(match[0]):03o}"

    text.encode()
    return '"' + _ESCAPED.sub(escaped, text) + '"'


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        msg = "the schema of an array needs items, that of a map keys and items"
        raise RecordError(msg)
    return schema
