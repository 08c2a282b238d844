"""What the gateway tells callers of themselves. Pure, but for who makes the request that is being answered."""

from datetime import UTC, datetime

from rocketconnect.access.v1 import access_service_pb2 as pb

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role, may_call
from services.gateway.api.rules import rules

_ROLES = {Role.READ: pb.ROLE_READ, Role.WRITE: pb.ROLE_WRITE, Role.SERVICE: pb.ROLE_SERVICE}


def told() -> pb.GetCallerResponse:
    """Return who makes the request that is being answered, and what it may call here. No worker gets so far."""
    who = IDENTITY.get()
    methods = dict.fromkeys(f"{rule.method.containing_service.full_name}/{rule.method.name}" for rule in rules())
    if who is None:
        return pb.GetCallerResponse(methods=methods)
    may = [method for method in methods if may_call(who.role, f"/{method}")]
    answer = pb.GetCallerResponse(name=who.name, role=_ROLES[who.role], methods=may)
    if who.until is not None:
        answer.expire_time.FromDatetime(who.until)
    return answer


def seconds_left() -> float:
    """Return for how long who makes the request that is being answered is known yet; infinite: for good."""
    who = IDENTITY.get()
    left = None if who is None else who.seconds_left(datetime.now(UTC))
    return float("inf") if left is None else left
