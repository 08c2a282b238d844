"""What an endpoint says when something goes wrong, in our words and by what can be done about it."""

from typing import Any

import grpc

from connectors.rocketmq_grpc.rocketmq.messaging_v2_pb2 import Status
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway

OK = 20000  # of the enum Code of definition.proto, as the others here
SEVERAL = 30000
"""What is asked for has several outcomes, each with a status of its own."""
NOTHING_NEW = 40401
TOPIC_NOT_FOUND = 40402
GROUP_NOT_FOUND = 40403
_FILTER = 40010
_EXPIRED = 40013
_UNKNOWN_CLIENT = 40015
_NOT_HERE = (40400, TOPIC_NOT_FOUND, GROUP_NOT_FOUND)
_REFUSES_US = (40100, 40200, 40300)
_OF_A_MESSAGE = frozenset({40002, 40004, 40005, 40006, 40007, 40009, 40012, 40014, 40016, 41300, 41301, 41302, 43100, 43101})
"""Of these one message is to blame: its tag, its keys, its properties, its size, its type, the time when it is to be delivered."""
_NOT_SPOKEN = (50100, 50500, 50501)
_BUSY = 42900
_UNKNOWN = (50000, 50001)
"""The server does not say what is wrong: it may be ours."""
_OF_THE_SERVER = 50000
_NOT_FOUND = "not found"
"""Of a group, as the conversation of a client says it: it has no status for it."""
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_LARGEST_MESSAGE = 500


class NotThere(SystemAway):
    """The topic or the group is not there; it may come."""


def is_done(status: Status) -> bool:
    """Whether what was asked for is done."""
    return status.code == OK


def blames_message(status: Status) -> bool:
    """Whether a message that was sent can't be taken, and others can."""
    return status.code in _OF_A_MESSAGE


def is_busy(status: Status) -> bool:
    """Whether the same may be asked for a little later."""
    return status.code == _BUSY


def is_unknown_client(status: Status) -> bool:
    """Whether the server does not know who asks: it was not told yet, or has forgotten it."""
    return status.code == _UNKNOWN_CLIENT


def has_come_again(status: Status) -> bool:
    """Whether a message was acknowledged too late: it is given again."""
    return status.code == _EXPIRED


def words_of(status: Status) -> str:
    """What a status says."""
    return f"{status.message[:_LARGEST_MESSAGE] or 'it does not say why'} ({status.code})"


def fault_of(status: Status, place: str, what: str) -> ConnectorError:
    """The error that stands for a status which is none of success.

    Args:
        status: What the endpoint says.
        place: What it is called.
        what: What was asked for.
    """
    msg, code = f"{place}: {what}: {words_of(status)}", status.code
    if code in _REFUSES_US:
        return PermanentError(f"{msg}. Correct access.key and secret.key, or give the user what is missing")
    if code in _NOT_HERE:
        return NotThere(f"{msg}. Create it, or correct its name")
    if code == _FILTER:
        return PermanentError(msg).naming("sql")
    if code == _BUSY:
        return RetriableError(msg)
    if code in _UNKNOWN:
        return RetriableError(msg)
    # The proxy has forgotten us, or another one answers: whoever connects again tells it who we are.
    passes = code == _UNKNOWN_CLIENT or (code >= _OF_THE_SERVER and code not in _NOT_SPOKEN)
    return SystemAway(msg) if passes else PermanentError(msg)


def fault_of_call(error: grpc.RpcError, place: str) -> ConnectorError:
    """The error that stands for a call which has no answer."""
    code, details = _code(error), _details(error)
    msg = f"{place}: {details}"
    if _UNTRUSTED in details:
        fix = "Correct ssl.ca.location, or name in ssl.server.name what the certificate is made out to"
        return PermanentError(f"{msg}. {fix}")
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return PermanentError(f"{msg}. Correct access.key and secret.key")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return PermanentError(f"{msg}. What answers there speaks gRPC, but not RocketMQ's: correct endpoints").naming("endpoints")
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return NotThere(f"{msg}. Create it, or correct its name") if _NOT_FOUND in details else PermanentError(msg)
    if code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL):
        return RetriableError(msg)
    return SystemAway(msg)


def was_cancelled(error: grpc.RpcError) -> bool:
    """Whether we have ended a call ourselves."""
    return _code(error) is grpc.StatusCode.CANCELLED


def _code(error: Any) -> grpc.StatusCode:
    found = error.code() if hasattr(error, "code") else None
    return found if isinstance(found, grpc.StatusCode) else grpc.StatusCode.UNKNOWN


def _details(error: Any) -> str:
    words = error.details() if hasattr(error, "details") else str(error)
    return f"{words or 'no answer'} ({_code(error).name})"[:_LARGEST_MESSAGE]
