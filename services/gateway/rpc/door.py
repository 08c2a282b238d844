"""Who makes a call over gRPC, as the files of callers say: the same as over REST."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.gate import HOW, NOT_ALLOWED, NOT_KNOWN
from rocketconnect_kit.access.roles import Role, is_open, may_call
from rocketconnect_kit.access.tokens import AUTHORIZATION, Identity, Tokens
from rocketconnect_kit.errors import PermissionDenied, Unauthenticated
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext
from services.gateway.rpc.peers import Peer, Peers


class Door(AroundCalls):
    """Lets in who is in the file of callers, to what its role may call.

    For whom a caller says that it asks counts for nothing here: the gateway itself says that to the services.

    Args:
        tokens: Who may call; None: nobody is asked who it is.
        peers: Whose connections were passed on.
    """

    def __init__(self, tokens: Tokens | None, peers: Peers) -> None:
        self._tokens = tokens
        self._peers = peers

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:
        """See AroundCalls.

        Raises:
            Unauthenticated: NOT_KNOWN.
            PermissionDenied: NOT_ALLOWED.
        """
        del streaming
        peer = self._peers.of(context.peer())
        if peer is None:
            # Another process of this machine has found the port behind the gateway's.
            msg = f"who calls {method} has not come through the gateway's port; call that one"
            raise Unauthenticated(NOT_KNOWN, msg)
        if not is_open(method):
            # Each call is answered by a task with variables of its own: nobody sees it behind the call.
            IDENTITY.set(self._caller(self._tokens, method, context, peer) if self._tokens is not None else None)
        yield

    def _caller(self, tokens: Tokens, method: str, context: ServicerContext, peer: Peer) -> Identity:
        who = tokens.who(_shown(context), peer.certificate)
        if who is None:
            msg = f"who calls {method} is not known; {HOW}"
            raise Unauthenticated(NOT_KNOWN, msg)
        # Executors ask the services, and nothing here.
        if who.role is Role.WORKER or not may_call(who.role, method):
            msg = f"{who.name!r} has the role {who.role.value}, which may not call {method} here; use a token with another role"
            raise PermissionDenied(NOT_ALLOWED, msg, name=who.name, role=who.role.value)
        return who


def _shown(context: ServicerContext) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == AUTHORIZATION:
            return value if isinstance(value, str) else ""
    return None
