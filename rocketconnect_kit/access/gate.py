"""The gate in front of a server's methods: who calls is known, and may call."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from rocketconnect_kit.access.asking import ASKED_BY, asker
from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role, is_open, may_call
from rocketconnect_kit.access.signing import WrongCall, is_signed, signer_of
from rocketconnect_kit.access.tokens import AUTHORIZATION, Identity, Tokens
from rocketconnect_kit.errors import PermissionDenied, Unauthenticated
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext

NOT_KNOWN = "NOT_KNOWN"
NOT_ALLOWED = "NOT_ALLOWED"
HOW = "show a token of the file of callers (--token, ROCKETCONNECT_TOKEN; `rocketconnect token create` makes one)"


class Gate(AroundCalls):
    """Lets in who is in the file of callers, to what its role may call.

    A service that asks for somebody says so (see `asking`), and is let in to no more than that one may call.

    Args:
        tokens: Who may call; None: nobody is asked who it is.

    Attributes:
        address: Where this server is reached, for which calls are signed; "": it takes none that is.
    """

    def __init__(self, tokens: Tokens | None) -> None:
        self._tokens = tokens
        self.address = ""

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:
        """See AroundCalls.

        Raises:
            Unauthenticated: NOT_KNOWN.
            PermissionDenied: NOT_ALLOWED.
        """
        if is_open(method):
            yield
            return
        who = self._caller(self._tokens, method, context) if self._tokens is not None else None
        said = _said(context, ASKED_BY)
        if said is not None and (who is None or who.role is Role.SERVICE):
            who = asker(said)
            if who is None:
                msg = f"for whom {method} is asked cannot be understood; use services of one version"
                raise PermissionDenied(NOT_ALLOWED, msg)
            _check(who, method)
        # Each call is answered by a task with variables of its own: nobody sees it behind the call.
        IDENTITY.set(who)
        left = who.seconds_left(datetime.now(UTC)) if streaming and who is not None else None
        async with _ending(method, left):
            yield

    def _caller(self, tokens: Tokens, method: str, context: ServicerContext) -> Identity:
        shown = _said(context, AUTHORIZATION)
        if shown is not None and is_signed(shown) and self.address:
            try:
                who = signer_of(shown, method, _said(context, ASKED_BY) or "", self.address, tokens.signer, time.time())
            except WrongCall as error:
                msg = f"who calls {method} is not known: {error}"
                raise Unauthenticated(NOT_KNOWN, msg) from None
        elif (known := tokens.who(shown, caller(context).proved)) is not None:
            who = known
        else:
            msg = f"who calls {method} is not known; {HOW}"
            raise Unauthenticated(NOT_KNOWN, msg)
        _check(who, method)
        return who


def may_use_secrets() -> bool:
    """Whether who makes the call that is being answered gets what it asks for with secrets, and from hosts, that it names.

    True also where nobody is asked who calls. Who only reads names none; nor does a worker, which has what it was given of both.
    """
    who = IDENTITY.get()
    return who is None or who.role in (Role.WRITE, Role.SERVICE)


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


@asynccontextmanager
async def _ending(method: str, seconds: float | None) -> AsyncIterator[None]:
    """End a stream with the token that it was called with; None: that has no end."""
    try:
        async with asyncio.timeout(seconds) as end:
            yield
    except TimeoutError:
        if not end.expired():
            raise
        msg = f"the token with which {method} was called has ended; {HOW}"
        raise Unauthenticated(NOT_KNOWN, msg) from None


def _check(who: Identity, method: str) -> None:
    if not may_call(who.role, method):
        msg = f"{who.name!r} has the role {who.role.value}, which may not call {method}; use a token with another role"
        raise PermissionDenied(NOT_ALLOWED, msg, name=who.name, role=who.role.value)


def _said(context: ServicerContext, name: str) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == name:
            return value if isinstance(value, str) else ""
    return None
