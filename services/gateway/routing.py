"""Which handler a request belongs to, decided on the path as it was sent: %2F in a name is part of the name."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from starlette.responses import Response

from services.gateway.problems import Problem, RequestRejected, malformed

_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has found its route.

    Attributes:
        path: The variables of the path, decoded.
        query: The parameters, decoded, in their order.
        body: The whole body.
        content_type: What it says it is.
        author: Who asks, as the headers say, else its address.
        reason: Why, as the headers say.
        headers: All of them, by name in small letters.
    """

    path: Mapping[str, str]
    query: Sequence[tuple[str, str]]
    body: bytes
    content_type: str
    author: str = ""
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Call], Awaitable[Response]]
Render = Callable[[Problem], Response]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path template, and who answers.

    Attributes:
        method: The HTTP method.
        template: Such as "/v1/connectors/{name}:pause"; a variable is one segment.
        handle: Answers, or raises RequestRejected or a ServiceError.
        render: Turns a problem into the answer of this API.
        changes: It changes something: refused to pages of other sites.
        streams: Its answer has no end of its own.
        summary: One sentence for people.
        is_probe: It asks how this process is, so it is answered at any time.
        is_public: It is the same for everybody and tells nothing of what is moved, so nobody is asked who it is.
        calls: The one gRPC method that it is ("/package.Service/Method"); "": it is none, or several.
    """

    method: str
    template: str
    handle: Handler
    render: Render
    changes: bool
    streams: bool = False
    summary: str = ""
    is_probe: bool = False
    is_public: bool = False
    calls: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods that it answers: HEAD too, where GET changes nothing and ends."""
        return ("GET", "HEAD") if self.method == "GET" and not (self.changes or self.streams) else (self.method,)


@dataclass(frozen=True, slots=True)
class Match:
    """The route of a request, and what its path says."""

    route: Route
    path: Mapping[str, str]


class RouteTable:
    """All routes; literal ones win over ones with variables."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        by_literals = sorted(self.routes, key=lambda route: len(_VARIABLE.findall(route.template)))
        self._patterns = [(_pattern(route.template), route) for route in by_literals]
        self._renders = {_area(route.template.encode()): route.render for route in self.routes}

    def render(self, raw_path: bytes) -> Render | None:
        """Return how the routes of the same API tell problems: those whose path begins alike; None: there are none."""
        return self._renders.get(_area(raw_path))

    def match(self, method: str, raw_path: bytes) -> Match:
        """Return the route of a request.

        Raises:
            RequestRejected: NO_SUCH_PATH (404), METHOD_NOT_ALLOWED (405, with the allowed ones) or PATH_ENCODING (400).
        """
        found = [(match, route) for pattern, route in self._patterns if (match := pattern.fullmatch(raw_path))]
        if not found:
            shown = raw_path[:200].decode("ascii", "replace")
            detail = f"there is nothing at {shown}; /overview and /v1/docs show what there is"
            raise RequestRejected(Problem(404, "NO_SUCH_PATH", detail))
        for match, route in found:
            if method in route.methods:
                return Match(route, {name: _decode(value) for name, value in match.groupdict().items()})
        raise _not_allowed(method, [route for _, route in found])


def _not_allowed(method: str, routes: Sequence[Route]) -> RequestRejected:
    allow = ", ".join(sorted({allowed for route in routes for allowed in route.methods}))
    detail = f"{method[:20]} is not answered here; allowed: {allow}"
    return RequestRejected(Problem(405, "METHOD_NOT_ALLOWED", detail, headers={"Allow": allow}))


def _area(path: bytes) -> bytes:
    return path.split(b"/", 2)[1] if path.startswith(b"/") else b""


def _pattern(template: str) -> re.Pattern[bytes]:
    # In /v1 a colon stands before a verb, so a name that holds one is written with %3A.
    segment = "[^/:]+" if template.startswith("/v1/") else "[^/]+"
    parts = _VARIABLE.split(template)
    text = "".join(f"(?P<{part}>{segment})" if odd % 2 else re.escape(part) for odd, part in enumerate(parts))
    return re.compile(text.encode())


def _decode(value: bytes) -> str:
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        shown = value[:100].decode("ascii", "replace")
        raise malformed("PATH_ENCODING", f"the path is not UTF-8 at {shown!r}; percent-encode names as UTF-8") from None
