"""Between HTTP and messages: path, query and body become a request; a reply becomes JSON. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from rocketconnect_kit.errors import FieldProblem
from services.gateway.api import bodies
from services.gateway.api.rules import Rule
from services.gateway.problems import malformed
from services.gateway.routing import Call

_SHOWN = 100
_NEVER_NEEDED = ("etag", "author", "reason", "dry_run", "unchecked")
"""Fields that a change has beside what it is about."""


def request(rule: Rule, call: Call) -> Message:
    """Return the request message of a call.

    Raises:
        RequestRejected: 400 with every part that is wrong, 415.
    """
    descriptor = rule.method.input_type
    problems: list[FieldProblem] = []
    members = _body(rule, call)
    problems += _given_twice(rule, members, call.path)
    if rule.body == "*":
        problems += [_not_a_parameter(name) for name, _ in call.query]
    else:
        members |= _query(descriptor, call.query, rule, problems)
    members |= call.path
    problems += _check(descriptor, members, "")
    if problems:
        raise malformed("REQUEST_MALFORMED", "; ".join(map(str, problems)), problems)
    message = GetMessageClass(descriptor)()
    json_format.ParseDict(members, message)
    return message


def reply(message: Message) -> bytes:
    """Return a message as JSON: lowerCamelCase, every field present, 64-bit integers as strings (protobuf's own mapping)."""
    members = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def _body(rule: Rule, call: Call) -> dict[str, Any]:
    if not rule.body:
        if call.body:
            raise malformed("BODY_NOT_EXPECTED", f"{rule.verb} takes no body here; use query parameters")
        return {}
    bodies.require_json(call.content_type)
    said = {*rule.variables, *_NEVER_NEEDED}
    if not call.body and rule.body == "*" and said >= set(rule.method.input_type.fields_by_name):
        # The path says it all: `curl -X POST .../connectors/name:pause` needs no {}.
        return {}
    value = bodies.parse(call.body)
    if rule.body != "*":
        return {rule.body: value}
    if not isinstance(value, dict):
        raise malformed("BODY_NOT_AN_OBJECT", f"the body is {_kind(value)}; send a JSON object")
    return value


def _given_twice(rule: Rule, members: dict[str, Any], path: Mapping[str, str]) -> list[FieldProblem]:
    problems = []
    for name in rule.variables:
        json_name = rule.method.input_type.fields_by_name[name].json_name
        for key in {name, json_name} & set(members):
            value = members.pop(key)
            if value != path[name]:
                fix = "leave it out of the body, or send the same"
                problems.append(FieldProblem(key, _show(value), f"the path says {path[name][:_SHOWN]!r}", fix))
    return problems


def _not_a_parameter(name: str) -> FieldProblem:
    return FieldProblem(name[:_SHOWN], "", "is not a parameter of this path", "put it into the body, or leave it out")


def _query(descriptor: Descriptor, query: Sequence[tuple[str, str]], rule: Rule, problems: list[FieldProblem]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    taken = {*rule.variables, rule.body}
    for name, text in query:
        field = _field(descriptor, name)
        if field is None or field.name in taken or _nested(field):
            problems.append(_not_a_parameter(name))
        elif field.is_repeated:
            members.setdefault(field.json_name, []).append(_from_text(field, text))
        elif field.json_name in members:
            problems.append(FieldProblem(name, _show(text), "is given twice", "give it once"))
        else:
            members[field.json_name] = _from_text(field, text)
    return members


def _nested(field: FieldDescriptor) -> Descriptor | None:
    # Protobuf's own messages (times, durations) are written as one value.
    message = field.message_type
    return None if message is None or message.file.package == "google.protobuf" else message


def _from_text(field: FieldDescriptor, text: str) -> Any:
    # Numbers, enums and times are read from text by protobuf's mapping itself; only truth values are not.
    if field.type == FieldDescriptor.TYPE_BOOL and text in ("true", "false"):
        return text == "true"
    return text


def _check(descriptor: Descriptor, members: Mapping[str, Any], prefix: str) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    for key, value in members.items():
        where = f"{prefix}{key[:_SHOWN]}"
        field = _field(descriptor, key)
        if field is None:
            names = ", ".join(each.json_name for each in descriptor.fields)
            # Invariant 6: a misplaced value may be a secret.
            problems.append(FieldProblem(where, "", "is not a field here", f"use {names}" if names else "leave it out"))
        elif field.name in seen:
            problems.append(FieldProblem(where, _show(value), "is given twice, in both spellings", "give it once"))
        else:
            seen.add(field.name)
            problems += _check_field(field, value, where)
    return problems


def _check_field(field: FieldDescriptor, value: Any, where: str) -> list[FieldProblem]:
    if value is None:
        return []
    if _map_value(field):
        if not isinstance(value, dict):
            return [FieldProblem(where, _show(value), f"is {_kind(value)}", "send an object of keys and values")]
        return [problem for key, item in value.items() for problem in _leaf(field, {key: item}, item, f"{where}.{key[:_SHOWN]}")]
    if not field.is_repeated:
        return _check_one(field, value, where)
    if not isinstance(value, list):
        return [FieldProblem(where, _show(value), f"is {_kind(value)}", "send an array")]
    return [problem for index, item in enumerate(value) for problem in _check_one(field, item, f"{where}[{index}]")]


def _check_one(field: FieldDescriptor, value: Any, where: str) -> list[FieldProblem]:
    message = _nested(field)
    if message is None:
        return _leaf(field, [value] if field.is_repeated else value, value, where)
    if not isinstance(value, dict):
        return [FieldProblem(where, _show(value), f"is {_kind(value)}", "send an object")]
    return _check(message, value, f"{where}.")


def _leaf(field: FieldDescriptor, wrapped: Any, value: Any, where: str) -> list[FieldProblem]:
    """Let protobuf's own mapping judge a single value, so that what passes here passes as a whole."""
    in_map = _map_value(field)
    target = in_map or field
    fits = target.enum_type is None or _names_a_value(target.enum_type, value)
    try:
        json_format.ParseDict({field.json_name: wrapped}, _parent(field))
    except json_format.ParseError:
        fits = False
    if fits:
        return []
    reason = f"is {_kind(value)}" if target.cpp_type == FieldDescriptor.CPPTYPE_STRING else "is not understood"
    # Invariant 6: a value of a configuration may be a secret.
    return [FieldProblem(where, "" if in_map else _show(value), reason, f"send {_expected(target)}")]


def _names_a_value(enum: EnumDescriptor, value: Any) -> bool:
    if isinstance(value, str):
        return value in enum.values_by_name or (value.isdecimal() and int(value[:10]) in enum.values_by_number)
    return isinstance(value, int) and not isinstance(value, bool) and value in enum.values_by_number


def _field(descriptor: Descriptor, key: str) -> FieldDescriptor | None:
    found: FieldDescriptor | None = descriptor.fields_by_camelcase_name.get(key) or descriptor.fields_by_name.get(key)
    return found


def _map_value(field: FieldDescriptor) -> FieldDescriptor | None:
    """Return the field of a map's values; None when the field is no map."""
    entry = field.message_type
    return entry.fields_by_name["value"] if entry is not None and entry.GetOptions().map_entry else None


def _parent(field: FieldDescriptor) -> Message:
    message = field.containing_type
    if message is None:
        msg = f"{field.full_name} is an extension, which no request has"
        raise TypeError(msg)
    return GetMessageClass(message)()


def _expected(field: FieldDescriptor) -> str:
    if field.enum_type is not None:
        return "one of " + ", ".join(value.name for value in field.enum_type.values)
    if field.message_type is not None:
        examples = {"Duration": 'a duration such as "1.5s"', "Timestamp": 'a time such as "2026-01-31T12:00:00Z"'}
        return examples.get(field.message_type.name, "an object")
    kinds = {FieldDescriptor.CPPTYPE_STRING: "a string", FieldDescriptor.CPPTYPE_BOOL: "true or false"}
    return kinds.get(field.cpp_type, "a number that fits")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _show(value: Any) -> str:
    # Only a scalar is repeated: what is nested may hold anything.
    return json.dumps(value, ensure_ascii=False)[:_SHOWN] if isinstance(value, str | int | float | bool) else ""
