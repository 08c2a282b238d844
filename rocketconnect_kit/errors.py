"""Errors that domain code raises; nothing here knows gRPC.

One class for each thing that a caller can do about it, named by its canonical code::

    ServiceError
    ├── InvalidArgument      correct the request: every problem is named at once
    ├── NotFound             it is not there
    ├── AlreadyExists        it is there already
    ├── Aborted              read again and try again: somebody else was faster
    ├── FailedPrecondition   bring the system into another state first
    ├── Unavailable          try again after a while
    │   └── ReplicaUnavailable   try again at once: another replica answers, or this one soon; channels do so by themselves
    ├── ResourceExhausted    too much: fewer, smaller, or later
    ├── DeadlineExceeded     it took too long
    ├── Unauthenticated      say who you are
    ├── PermissionDenied     you may not
    └── Internal             a defect on the side that answered
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """Something wrong with one field of a request: which, its value (hidden for secrets), what is wrong, what to do."""

    field: str
    value: str
    reason: str
    fix: str

    def __str__(self) -> str:
        """Return the problem as one line for people."""
        where = f"{self.field}: " if self.field else ""
        return f"{where}{self.reason}; {self.fix}" if self.fix else f"{where}{self.reason}"


class ServiceError(Exception):
    """An answer that is not the one asked for.

    Attributes:
        code: the canonical gRPC code, by name.
        reason: stable, UPPER_SNAKE, part of the API.
        message: what is wrong and how to put it right.
        metadata: the changing parts of the message, for programs.
    """

    code: ClassVar[str] = "UNKNOWN"

    def __init__(self, reason: str, message: str, **metadata: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = metadata


class InvalidArgument(ServiceError):
    """The request can't be right, whatever the state of the system; `problems` names all that is wrong with it."""

    code = "INVALID_ARGUMENT"

    def __init__(self, reason: str, message: str, problems: Sequence[FieldProblem] = (), **metadata: str) -> None:
        super().__init__(reason, message, **metadata)
        self.problems = tuple(problems)


class NotFound(ServiceError):
    """What the request names is not there."""

    code = "NOT_FOUND"


class AlreadyExists(ServiceError):
    """What the request would make is there already."""

    code = "ALREADY_EXISTS"


class Aborted(ServiceError):
    """What the caller knew is no longer so: read again, decide again."""

    code = "ABORTED"


class FailedPrecondition(ServiceError):
    """The system is in a state in which this is refused; the same request is refused again until that changes."""

    code = "FAILED_PRECONDITION"


class Unavailable(ServiceError):
    """Something needed is away for now; the same request may succeed later."""

    code = "UNAVAILABLE"


class ReplicaUnavailable(Unavailable):
    """This replica of the service does not answer now, another one may at once.

    As with a connection that was lost, a call that was running has been carried out or not.
    """


class ResourceExhausted(ServiceError):
    """A limit was met: a quota, a full disk, too many at once."""

    code = "RESOURCE_EXHAUSTED"


class DeadlineExceeded(ServiceError):
    """The answer did not come in time; whether the request was carried out is not known."""

    code = "DEADLINE_EXCEEDED"


class Unauthenticated(ServiceError):
    """The caller did not prove who it is."""

    code = "UNAUTHENTICATED"


class PermissionDenied(ServiceError):
    """The caller is known and may not do this."""

    code = "PERMISSION_DENIED"


class Internal(ServiceError):
    """A defect of the service that answered; its log has the details under the id in the message."""

    code = "INTERNAL"
