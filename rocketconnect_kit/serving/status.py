"""The one place that knows gRPC status: domain errors become statuses on the server and errors again on the client."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from rocketconnect_kit import errors
from rocketconnect_kit.errors import FieldProblem, InvalidArgument, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext

DOMAIN = "rocketconnect"

_log = get_logger(__name__)
_BY_CODE: dict[str, type[ServiceError]] = {
    kind.code: kind
    for kind in (
        errors.InvalidArgument,
        errors.NotFound,
        errors.AlreadyExists,
        errors.Aborted,
        errors.FailedPrecondition,
        errors.Unavailable,
        errors.ResourceExhausted,
        errors.DeadlineExceeded,
        errors.Unauthenticated,
        errors.PermissionDenied,
        errors.Internal,
    )
}
PASSING = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "INTERNAL", "UNKNOWN"})
"""Codes of what a call may fail with that can succeed when it is tried again."""

# Who cancels a call himself sees no error of it: a server that drains has dropped it, and another one may take it.
_BY_CODE["CANCELLED"] = errors.Unavailable


def encode(error: ServiceError) -> status_pb2.Status:
    """Return the rich status of a domain error: ErrorInfo with its reason, and BadRequest with all its problems."""
    status = status_pb2.Status(code=code_pb2.Code.Value(error.code), message=error.message)
    _add(status, error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata))
    if isinstance(error, InvalidArgument) and error.problems:
        bad = error_details_pb2.BadRequest()
        for problem in error.problems:
            bad.field_violations.add(field=problem.field, description=str(problem))
        _add(status, bad)
        # BadRequest has no place for value and fix, so each problem also travels whole, in the same order.
        for problem in error.problems:
            info = error_details_pb2.ErrorInfo(reason="FIELD_PROBLEM", domain=DOMAIN)
            info.metadata.update(field=problem.field, value=problem.value, reason=problem.reason, fix=problem.fix)
            _add(status, info)
    return status


def decode(error: grpc.RpcError) -> ServiceError:
    """Return the domain error behind what a stub raised (synchronous or asynchronous), reason and problems included.

    An error that no service of ours made (a lost connection, a foreign server) has its code's name as its reason.
    """
    if not isinstance(error, grpc.Call | grpc.aio.AioRpcError):
        return errors.Internal("INTERNAL", f"not an answer of a server: {error!r}")
    code, details = error.code(), error.details() or ""
    # Both kinds have what from_call reads; its types name only the synchronous one.
    status = rpc_status.from_call(cast("grpc.Call", error))
    infos: list[error_details_pb2.ErrorInfo] = []
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            infos.append(info)
    kind = _BY_CODE.get(code.name, errors.Internal)
    if not infos:
        return kind(code.name, details or f"the call ended with {code.name}")
    first, rest = infos[0], infos[1:]
    if kind is not InvalidArgument:
        return kind(first.reason, details, **dict(first.metadata))
    problems = [FieldProblem(**dict(info.metadata)) for info in rest if info.reason == "FIELD_PROBLEM"]
    return InvalidArgument(first.reason, details, problems, **dict(first.metadata))


@contextmanager
def remote_errors() -> Iterator[None]:
    """Around calls of a stub: what they raise comes out as a `ServiceError`."""
    try:
        yield
    except grpc.RpcError as error:
        raise decode(error) from error


class ServiceErrorInterceptor(AroundCalls):
    """Turns what a handler raises into a rich status; what it did not mean to raise into INTERNAL with an id of the log."""

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:  # noqa: ARG002
        """Answer with the status of the error that the handler raised."""
        try:
            yield
        except ServiceError as error:
            await _abort(context, error)
        except grpc.aio.AbortError:
            raise
        except grpc.RpcError as error:
            # A call to another service failed and the handler had no better answer: its status is ours.
            await _abort(context, decode(error))
        except Exception:
            error_id = uuid.uuid4().hex[:12]
            _log.exception("unexpected error", method=method, error_id=error_id)
            message = f"internal error in {method}; its log has the details under error_id={error_id}"
            hidden = errors.Internal("INTERNAL", message, error_id=error_id)
            await _abort(context, hidden)


async def _abort(context: ServicerContext, error: ServiceError) -> None:
    status = rpc_status.to_status(encode(error))
    trailing = tuple(status.trailing_metadata)
    if isinstance(error, errors.Unavailable) and not isinstance(error, errors.ReplicaUnavailable):
        # A channel repeats UNAVAILABLE by itself, which is right for a lost connection. Here a service has answered with a
        # reason: whether and when to ask again is the caller's decision.
        trailing += (("grpc-retry-pushback-ms", "-1"),)
    await context.abort(status.code, status.details, trailing)


def _add(status: status_pb2.Status, detail: error_details_pb2.ErrorInfo | error_details_pb2.BadRequest) -> None:
    packed = any_pb2.Any()
    packed.Pack(detail)
    status.details.append(packed)
