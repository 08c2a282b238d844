"""The OpenAPI 3.1 document of `/v1`, made from descriptors and the comments of the protos. Pure.

`make proto` writes it to openapi.json beside this module, which is what the gateway shows: comments are not part of generated code.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet

from services.gateway.api.rules import Rule, rules

Json = dict[str, Any]

_INTEGER_64 = {"type": "string", "format": "int64", "pattern": "^-?[0-9]+$"}
_SCALARS: Mapping[int, Json] = {
    FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.CPPTYPE_UINT32: {"type": "integer", "format": "int64", "minimum": 0},
    FieldDescriptor.CPPTYPE_INT64: _INTEGER_64,
    FieldDescriptor.CPPTYPE_UINT64: _INTEGER_64,
    FieldDescriptor.CPPTYPE_DOUBLE: {"type": "number", "format": "double"},
    FieldDescriptor.CPPTYPE_FLOAT: {"type": "number", "format": "float"},
}
_WELL_KNOWN: Mapping[str, Json] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?s$", "examples": ["1.5s"]},
}
_PROBLEM: Json = {
    "description": "Why a request was refused (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "reason", "metadata", "problems"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What is wrong and what to do."},
        "reason": {"type": "string", "description": "Stable, for programs: CONNECTOR_NOT_FOUND."},
        "metadata": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "The changing parts of the detail.",
        },
        "problems": {
            "type": "array",
            "description": "Every part of the request that is wrong.",
            "items": {
                "type": "object",
                "required": ["key", "value", "reason", "fix"],
                "properties": {
                    "key": {"type": "string", "description": "The field or the option."},
                    "value": {"type": "string", "description": "What was given; hidden for secrets."},
                    "reason": {"type": "string", "description": "What is wrong with it."},
                    "fix": {"type": "string", "description": "What to do."},
                },
            },
        },
    },
}


def document(files: FileDescriptorSet) -> Json:
    """Return the document.

    Args:
        files: All protos with their source information (`protoc --include_source_info --include_imports`).
    """
    return _Document(comments(files)).build(rules())


def comments(files: FileDescriptorSet) -> dict[str, str]:
    """Return the leading comment of each message, field, enum, value, service and RPC, by its full name."""
    found: dict[str, str] = {}
    for file in files.file:
        said = {tuple(place.path): " ".join(place.leading_comments.split()) for place in file.source_code_info.location}
        found |= {f"{file.package}.{name}": said.get(path, "") for name, path in _names(file)}
    return found


def _names(file: FileDescriptorProto) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the names in a file and their paths in its source information, which are the field numbers of descriptor.proto."""
    for index, service in enumerate(file.service):
        yield service.name, (6, index)
        for number, method in enumerate(service.method):
            yield f"{service.name}.{method.name}", (6, index, 2, number)
    for index, enum in enumerate(file.enum_type):
        yield from _enum_names(enum, (5, index))
    for index, message in enumerate(file.message_type):
        yield from _message_names(message, "", (4, index))


def _message_names(message: DescriptorProto, prefix: str, path: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    name = f"{prefix}{message.name}"
    yield name, path
    for index, field in enumerate(message.field):
        yield f"{name}.{field.name}", (*path, 2, index)
    for index, nested in enumerate(message.nested_type):
        yield from _message_names(nested, f"{name}.", (*path, 3, index))


def _enum_names(enum: EnumDescriptorProto, path: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield enum.name, path
    for index, value in enumerate(enum.value):
        yield f"{enum.name}.{value.name}", (*path, 2, index)


class _Document:
    """Collects the schemas that paths refer to."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self._said = said
        self._schemas: dict[str, Json] = {"Problem": _PROBLEM}

    def build(self, all_rules: Sequence[Rule]) -> Json:
        paths: dict[str, Json] = {}
        for rule in all_rules:
            paths.setdefault(rule.template, {})[rule.verb.lower()] = self._operation(rule)
        services = {rule.method.containing_service for rule in all_rules}
        tags = [{"name": each.name, "description": self._said[each.full_name]} for each in services]
        return {
            "openapi": "3.1.0",
            "info": {"title": "RocketConnect", "version": "v1", "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
            "servers": [{"url": "/"}],
            "tags": sorted(tags, key=lambda tag: tag["name"]),
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": dict(sorted(self._schemas.items()))},
        }

    def _operation(self, rule: Rule) -> Json:
        said = self._said[rule.method.full_name]
        kind = "application/x-ndjson" if rule.streams else "application/json"
        operation: Json = {
            "operationId": f"{rule.method.containing_service.name}_{rule.method.name}",
            "tags": [rule.method.containing_service.name],
            "summary": said.split(". ")[0].rstrip("."),
            "description": said,
            "parameters": [*self._path_parameters(rule), *self._query_parameters(rule)],
            "responses": {
                "200": {
                    "description": "One answer a line, for as long as the caller listens." if rule.streams else "The answer.",
                    "content": {kind: {"schema": self._reference(rule.method.output_type)}},
                },
                "default": {
                    "description": "Refused.",
                    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                },
            },
        }
        if rule.body:
            schema = self._body_schema(rule)
            operation["requestBody"] = {"required": bool(schema["properties"]), "content": {"application/json": {"schema": schema}}}
        return operation

    def _path_parameters(self, rule: Rule) -> Iterator[Json]:
        for name in rule.variables:
            field = rule.method.input_type.fields_by_name[name]
            yield {"name": name, "in": "path", "required": True, **self._described(field)}

    def _query_parameters(self, rule: Rule) -> Iterator[Json]:
        if rule.body != "*":
            for field in rule.method.input_type.fields:
                if field.name not in (*rule.variables, rule.body):
                    yield {"name": field.json_name, "in": "query", **self._described(field)}

    def _described(self, field: FieldDescriptor) -> Json:
        return {"description": self._said[field.full_name], "schema": self._field(field)}

    def _body_schema(self, rule: Rule) -> Json:
        fields = [field for field in rule.method.input_type.fields if field.name not in rule.variables]
        properties = {field.json_name: self._property(field) for field in fields}
        return {"type": "object", "additionalProperties": False, "properties": properties}

    def _property(self, field: FieldDescriptor) -> Json:
        return {**self._field(field), "description": self._said[field.full_name]}

    def _field(self, field: FieldDescriptor) -> Json:
        message = field.message_type
        if message is not None and message.GetOptions().map_entry:
            return {"type": "object", "additionalProperties": self._single(message.fields_by_name["value"])}
        single = self._single(field)
        return {"type": "array", "items": single} if field.is_repeated else single

    def _single(self, field: FieldDescriptor) -> Json:
        if field.message_type is not None:
            return _WELL_KNOWN.get(field.message_type.full_name) or self._reference(field.message_type)
        if field.enum_type is not None:
            return self._enum(field.enum_type)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return {"type": "string", "contentEncoding": "base64"}
        return dict(_SCALARS[field.cpp_type])

    def _reference(self, message: Descriptor) -> Json:
        name = _schema_name(message)
        if name not in self._schemas:
            # Noted first, filled after: a message may hold itself.
            schema: Json = {"type": "object", "description": self._said[message.full_name]}
            self._schemas[name] = schema
            schema["properties"] = {field.json_name: self._property(field) for field in message.fields}
        return {"$ref": f"#/components/schemas/{name}"}

    def _enum(self, enum: EnumDescriptor) -> Json:
        name = _schema_name(enum)
        lines = [f"- {value.name}: {self._said[f'{enum.full_name}.{value.name}']}" for value in enum.values]
        self._schemas[name] = {
            "type": "string",
            "enum": [value.name for value in enum.values],
            "description": "\n".join([self._said[enum.full_name], "", *lines]),
        }
        return {"$ref": f"#/components/schemas/{name}"}


def _schema_name(kind: Descriptor | EnumDescriptor) -> str:
    # "rocketconnect.state.v1.TaskState" -> "state.TaskState": the version is that of the whole document.
    _, area, _, name = kind.full_name.split(".", 3)
    return f"{area}.{name}"


if __name__ == "__main__":
    described = FileDescriptorSet.FromString(Path(sys.argv[1]).read_bytes())
    sys.stdout.write(json.dumps(document(described)))
