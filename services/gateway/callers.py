"""Who asks over REST, as the files of callers say."""

from collections.abc import Sequence
from pathlib import Path

from rocketconnect_kit.access.gate import HOW, NOT_ALLOWED, NOT_KNOWN
from rocketconnect_kit.access.roles import Role, may_call
from rocketconnect_kit.access.tokens import Identity, Tokens
from services.gateway.problems import Problem, RequestRejected
from services.gateway.routing import Route

_ROLES = {False: (Role.READ, Role.WRITE, Role.SERVICE), True: (Role.WRITE, Role.SERVICE)}
"""By whether a route changes something: who may ask for it, where it is no gRPC method, whose roles count."""


class Callers:
    """Lets in who may ask.

    Args:
        files: Of callers; none: nobody is asked who it is.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._tokens = Tokens(files) if files else None

    def check(self, route: Route, authorization: str | None, certificate: str = "") -> Identity | None:
        """Return who asks; None: nobody is asked.

        Args:
            route: What is asked for.
            authorization: What the header of that name says.
            certificate: The name in the client's certificate, which was verified; "": it showed none.

        Raises:
            RequestRejected: 401 NOT_KNOWN, 403 NOT_ALLOWED.
        """
        if self._tokens is None:
            return None
        who = self._tokens.who(authorization, certificate)
        if who is None:
            what = "is not known" if authorization is None else "shows a token that is not known, or has ended"
            detail = f"who asks {what}; {HOW}"
            raise RequestRejected(Problem(401, NOT_KNOWN, detail, headers={"WWW-Authenticate": 'Bearer realm="rocketconnect"'}))
        if not _may_ask(who.role, route):
            detail = f"{who.name!r} has the role {who.role.value}, which may not ask for this; use a token with the role write"
            raise RequestRejected(Problem(403, NOT_ALLOWED, detail, metadata={"name": who.name, "role": who.role.value}))
        return who


def _may_ask(role: Role, route: Route) -> bool:
    if route.calls:
        # Executors ask the services, and nothing here.
        return role is not Role.WORKER and may_call(role, route.calls)
    return role in _ROLES[route.changes]
