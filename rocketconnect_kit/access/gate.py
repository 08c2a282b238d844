"""The gate in front of a server's methods: who calls is known, and may call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role, is_open, may_call
from rocketconnect_kit.access.tokens import AUTHORIZATION, Tokens
from rocketconnect_kit.errors import PermissionDenied, Unauthenticated
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext

NOT_KNOWN = "NOT_KNOWN"
NOT_ALLOWED = "NOT_ALLOWED"
HOW = "show a token of the file of callers (--token, ROCKETCONNECT_TOKEN; `rocketconnect token create` makes one)"


class Gate(AroundCalls):
    """Lets in who is in the file of callers, to what its role may call.

    Args:
        tokens: Who may call.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:
        """See AroundCalls.

        Raises:
            Unauthenticated: NOT_KNOWN.
            PermissionDenied: NOT_ALLOWED.
        """
        del streaming
        if is_open(method):
            yield
            return
        who = self._tokens.who(_shown(context), caller(context).proved)
        if who is None:
            msg = f"who calls {method} is not known; {HOW}"
            raise Unauthenticated(NOT_KNOWN, msg)
        if not may_call(who.role, method):
            msg = f"{who.name!r} has the role {who.role.value}, which may not call {method}; use a token with another role"
            raise PermissionDenied(NOT_ALLOWED, msg, name=who.name, role=who.role.value)
        # Each call is answered by a task with variables of its own: nobody sees it behind the call.
        IDENTITY.set(who)
        yield


def check_worker(worker_id: str) -> bool:
    """Refuse a worker that speaks for another one.

    Returns:
        Whether it is known that this worker calls. False: nobody is asked who calls, or who calls may speak for every worker.

    Raises:
        PermissionDenied: NOT_ALLOWED.
    """
    who = IDENTITY.get()
    if who is None or who.role is not Role.WORKER:
        return False
    if not worker_id or not fnmatchcase(worker_id, who.name):
        msg = f"the caller is known as the worker {who.name!r}, which may not speak for {worker_id[:128]!r}"
        raise PermissionDenied(NOT_ALLOWED, msg, name=who.name, role=who.role.value)
    return True


def _shown(context: ServicerContext) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == AUTHORIZATION:
            return value if isinstance(value, str) else ""
    return None
