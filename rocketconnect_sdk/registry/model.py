"""What a registry has, and how it refuses."""

from dataclasses import dataclass

from rocketconnect_sdk.errors import PermanentError, RecordError

COMPATIBILITIES = ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE")
"""What a new version of a schema may change; BACKWARD: whoever knows it can read what was written with the version before."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one is made with.

    Attributes:
        name: As the other one calls it: an Avro type's full name, a file to import.
        subject: Where it is registered.
        version: Its version there.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as registries hold it.

    Attributes:
        kind: AVRO, PROTOBUF or JSON.
        text: The schema.
        references: What it is made with.
    """

    kind: str
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a subject.

    Attributes:
        number: Its number in the subject.
        id: Of its schema, the same in all subjects.
        schema: The schema.
    """

    number: int
    id: int
    schema: RegisteredSchema


class Unknown(RecordError):
    """The registry has no schema of an id: no message with it can be read."""


class Incompatible(PermanentError):
    """The registry does not take a schema because it breaks what its subject promises."""
