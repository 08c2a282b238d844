"""What the registry of the tests holds, and what it refuses: as Confluent's does, in memory."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fastavro

from rocketconnect_sdk.converters.protobuf.files import FileDescriptor, compiled
from tests.registry import protobuf_compatibility
from tests.registry.avro_compatibility import conflicts

LEVELS = ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE")


class Refused(Exception):
    """An answer that is an error.

    Attributes:
        code: The registry's; its first three digits are the status of HTTP.
        reason: For people.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Held:
    """A schema: its type, its text, and (name, subject, version) of what it refers to."""

    kind: str
    text: str
    references: tuple[tuple[str, str, int], ...] = ()

    @property
    def compared(self) -> object:
        """What is the same of schemas that differ in blanks alone."""
        text = self.text if self.kind == "PROTOBUF" else json.dumps(json.loads(self.text))
        return self.kind, text, self.references


@dataclass(slots=True)
class Store:
    """All subjects."""

    schemas: list[Held] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    level: str = "BACKWARD"

    def by_id(self, number: int) -> Held:
        """The schema of an id."""
        if not 0 < number <= len(self.schemas):
            raise Refused(40403, f"Schema {number} not found")
        return self.schemas[number - 1]

    def version(self, subject: str, which: str) -> tuple[int, int]:
        """The number and the id of a version."""
        ids = self.subjects.get(subject)
        if not ids:
            raise Refused(40401, f"Subject '{subject}' not found.")
        if which not in ("latest", "-1") and not (which.isdigit() and 0 < int(which) <= len(ids)):
            raise Refused(40402, f"Version {which} not found.")
        number = len(ids) if which in ("latest", "-1") else int(which)
        return number, ids[number - 1]

    def find(self, subject: str, schema: Held) -> tuple[int, int]:
        """The version and id that a schema has in a subject."""
        self._check(schema)
        if not self.subjects.get(subject):
            raise Refused(40401, f"Subject '{subject}' not found.")
        for number, its_id in enumerate(self.subjects[subject], 1):
            if self.by_id(its_id).compared == schema.compared:
                return number, its_id
        raise Refused(40403, "Schema not found")

    def register(self, subject: str, schema: Held) -> int:
        """The id of a schema that the subject has from now on."""
        try:
            return self.find(subject, schema)[1]
        except Refused as error:
            if error.code not in (40401, 40403):
                raise
        level = self.levels.get(subject, self.level)
        before = self.subjects.get(subject, [])
        if why := self.against(schema, before if "TRANSITIVE" in level else before[-1:], level):
            raise Refused(
                409, f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {why}'
            )
        known = [other.compared for other in self.schemas]
        if schema.compared not in known:
            self.schemas.append(schema)
            known.append(schema.compared)
        number = known.index(schema.compared) + 1
        self.subjects.setdefault(subject, []).append(number)
        return number

    def against(self, schema: Held, ids: Sequence[int], level: str) -> list[str]:
        """Why a schema can't follow others. Of Avro and Protobuf what they say is compared, of JSON that it is JSON alone."""
        self._check(schema)
        found: list[str] = []
        for held in map(self.by_id, ids) if level != "NONE" else ():
            if held.kind != schema.kind:
                found.append(f"the type changes from {held.kind} to {schema.kind}")
            elif schema.kind == "PROTOBUF":
                found += protobuf_compatibility.conflicts(self.file(schema), self.file(held))
            elif schema.kind == "AVRO":
                new, old = json.loads(schema.text), json.loads(held.text)
                if "FORWARD" not in level:
                    found += conflicts(new, old)
                if "BACKWARD" not in level:
                    found += conflicts(old, new)
        return found

    def set_level(self, subject: str, level: str) -> None:
        """Sets what versions may change; an empty subject: of all that say nothing else."""
        if level not in LEVELS:
            raise Refused(42203, f"Invalid compatibility level {level!r}")
        if subject:
            self.levels[subject] = level
        else:
            self.level = level

    def file(self, schema: Held) -> FileDescriptor:
        """The descriptor of a Protobuf schema."""
        references: dict[str, str] = {}
        self._refer(schema, references)
        return compiled(schema.text, references)

    def _refer(self, schema: Held, found: dict[str, str]) -> None:
        for name, subject, version in schema.references:
            referred = self.by_id(self.version(subject, str(version))[1])
            self._refer(referred, found)
            found[name] = referred.text

    def _check(self, schema: Held) -> None:
        if schema.kind not in ("AVRO", "JSON", "PROTOBUF"):
            raise Refused(42201, f"Invalid schema type {schema.kind}")
        try:
            if schema.kind == "AVRO":
                named: dict[str, Any] = {}
                for _, subject, version in schema.references:
                    fastavro.parse_schema(json.loads(self.by_id(self.version(subject, str(version))[1]).text), named_schemas=named)
                fastavro.parse_schema(json.loads(schema.text), named_schemas=named)
            elif schema.kind == "JSON":
                json.loads(schema.text)
            else:
                self.file(schema)
        except Refused:
            raise
        except Exception as error:
            raise Refused(42201, f"Invalid schema {schema.text[:200]}: {error}") from None


def held(body: Mapping[str, Any]) -> Held:
    """The schema of a request."""
    references = tuple((one["name"], one["subject"], one["version"]) for one in body.get("references") or ())
    return Held(body.get("schemaType") or "AVRO", body["schema"], references)


def shown(schema: Held) -> dict[str, object]:
    """A schema as it is answered."""
    form: dict[str, object] = {"schema": schema.text}
    if schema.kind != "AVRO":
        form["schemaType"] = schema.kind
    if schema.references:
        form["references"] = [
            {"name": name, "subject": subject, "version": version} for name, subject, version in schema.references
        ]
    return form
