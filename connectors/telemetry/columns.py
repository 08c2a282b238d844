"""The columns that spans, points and log records of OTLP have in common, and how they are made."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from connectors.telemetry.attributes import json_of, text_in
from rocketconnect_sdk.schema import OPTIONAL_STRING, Schema, Type, Unit, timestamp

JSON = Schema(Type.JSON, optional=True)
TIME = timestamp(Unit.NANOSECONDS, optional=True)
LONG = Schema(Type.INT64)
OPTIONAL_LONG = Schema(Type.INT64, optional=True)
OPTIONAL_INT = Schema(Type.INT32, optional=True)
OPTIONAL_DOUBLE = Schema(Type.FLOAT64, optional=True)

SHARED = (
    ("service_name", OPTIONAL_STRING),
    ("resource", JSON),
    ("resource_dropped_attributes", LONG),
    ("resource_schema_url", OPTIONAL_STRING),
    ("scope_name", OPTIONAL_STRING),
    ("scope_version", OPTIONAL_STRING),
    ("scope_attributes", JSON),
    ("scope_dropped_attributes", LONG),
    ("scope_schema_url", OPTIONAL_STRING),
)


class Item(NamedTuple):
    """A thing that becomes a row.

    Attributes:
        make: Makes its own columns. Raises Unfit.
        size: Of it in bytes.
        time: The time of the record, in nanoseconds since 1970; 0: not known.
    """

    make: Callable[[], dict[str, object]]
    size: int
    time: int


@dataclass(frozen=True, slots=True)
class Signal:
    """A kind of telemetry.

    Attributes:
        thing: What a row is.
        schema: Of its rows.
        request: The class of what is sent.
        response: The class of the answer.
        rejected: The field of the answer that says how many are not taken.
        places: The fields of what is sent, of a resource and of a scope that lead to what is in them.
        items: What becomes rows, of one that is in a scope.
    """

    thing: str
    schema: Schema
    request: type[Any]
    response: type[Any]
    rejected: str
    places: tuple[str, str, str]
    items: Callable[[Any], Iterator[Item]]

    def walk(self, request: Any) -> Iterator[tuple["Shared", Item]]:
        """All that becomes rows, with what they share."""
        resources, scopes, in_scope = self.places
        for of_resource in getattr(request, resources):
            for of_scope in getattr(of_resource, scopes):
                shared = Shared(of_resource, of_scope)
                for each in getattr(of_scope, in_scope):
                    for item in self.items(each):
                        yield shared, item


class Shared:
    """What all in a scope share."""

    def __init__(self, of_resource: Any, of_scope: Any) -> None:
        self._of_resource, self._of_scope = of_resource, of_scope
        self.size = of_resource.resource.ByteSize() + of_scope.scope.ByteSize()

    @cached_property
    def columns(self) -> dict[str, object]:
        """Its columns. Raises Unfit."""
        resource, scope = self._of_resource.resource, self._of_scope.scope
        return {
            "service_name": text_in(resource.attributes, "service.name"),
            "resource": json_of(resource.attributes),
            "resource_dropped_attributes": resource.dropped_attributes_count,
            "resource_schema_url": self._of_resource.schema_url or None,
            "scope_name": scope.name or None,
            "scope_version": scope.version or None,
            "scope_attributes": json_of(scope.attributes),
            "scope_dropped_attributes": scope.dropped_attributes_count,
            "scope_schema_url": self._of_scope.schema_url or None,
        }


def hexadecimal(identity: bytes) -> str | None:
    """An id; None: there is none."""
    return identity.hex() or None
