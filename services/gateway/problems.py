"""What is wrong with a request, as an answer: problem documents (RFC 9457) and the one table from gRPC codes to HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, ServiceError, Unavailable

RETRY_AFTER_SECONDS = 2

# The mapping that google.rpc.Code publishes; nothing else decides on a status.
HTTP_STATUS: Mapping[str, int] = {
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A refused request.

    Attributes:
        status: The HTTP status.
        reason: Stable, UPPER_SNAKE, part of the API.
        detail: What is wrong and what to do, for people.
        problems: Every part of the request that is wrong.
        metadata: The changing parts of the detail, for programs.
        headers: Of the answer: Allow, Retry-After.
    """

    status: int
    reason: str
    detail: str
    problems: Sequence[FieldProblem] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the members of its `application/problem+json` document."""
        return {
            "type": f"urn:rocketconnect:problem:{self.reason}",
            "title": _title(self.status),
            "status": self.status,
            "detail": self.detail,
            "reason": self.reason,
            "metadata": dict(self.metadata),
            "problems": [
                {"key": each.field, "value": each.value, "reason": each.reason, "fix": each.fix} for each in self.problems
            ],
        }


class RequestRejected(Exception):
    """Ends a request with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def malformed(reason: str, detail: str, problems: Sequence[FieldProblem] = ()) -> RequestRejected:
    """Return what to raise for a request that can't be read."""
    return RequestRejected(Problem(400, reason, detail, problems))


def of_service_error(error: ServiceError) -> Problem:
    """Return the problem for an answer of a service that is not the one asked for."""
    problems = error.problems if isinstance(error, InvalidArgument) else ()
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if isinstance(error, Unavailable) else {}
    return Problem(HTTP_STATUS.get(error.code, 500), error.reason, error.message, problems, error.metadata, headers)


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        # 499 is no standard status; it is what google.rpc.Code says of CANCELLED.
        return "Client Closed Request"
