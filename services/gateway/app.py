"""The HTTP application: guards, body limit, dispatch, and one place where everything that goes wrong becomes an answer."""

import asyncio
import time
import uuid
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import prometheus_client
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rocketconnect_kit import tracing
from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.tokens import AUTHORIZATION
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.logs import get_logger
from services.gateway.access import Access
from services.gateway.answers import problem_answer
from services.gateway.api.bodies import LIMIT_BYTES
from services.gateway.callers import Callers
from services.gateway.connections import CERTIFICATE
from services.gateway.opening import Opening
from services.gateway.problems import RETRY_AFTER_SECONDS, Problem, RequestRejected, malformed, of_service_error
from services.gateway.routing import Call, Render, RouteTable

BODY_SECONDS = 30.0
MOST_REQUESTS = 500
"""So many are answered at a time, probes not counted."""
AUTHOR_HEADER = "X-RocketConnect-Author"
REASON_HEADER = "X-RocketConnect-Reason"
_DISCARDED_BYTES = 16 * LIMIT_BYTES
_PARAMETERS = 100
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
}

REQUESTS = prometheus_client.Counter(
    "rocketconnect_rest_requests", "REST requests that were answered, by route and HTTP status.", ["method", "route", "status"]
)
SECONDS = prometheus_client.Histogram(
    "rocketconnect_rest_request_duration_seconds",
    "Time to the beginning of the answer of a REST request.",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)

_ENDED = Problem(
    503,
    "DRAINING",
    "the gateway is stopping; whether the request was carried out is not known",
    headers={"Retry-After": str(RETRY_AFTER_SECONDS), "Connection": "close"},
)
_log = get_logger(__name__)


@dataclass(slots=True)
class _Progress:
    """How far a request has come: what its answer looks like and what it is counted as."""

    render: Render = problem_answer
    route: str = "none"
    began: float = field(default_factory=time.perf_counter)


class Gateway:
    """The ASGI application over a table of routes. For any number of requests at once."""

    def __init__(self, table: RouteTable, access: Access, opening: Opening, callers: Callers) -> None:
        self._table = table
        self._callers = callers
        self._opening = opening
        self._access = access
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            msg = f"only HTTP is served, not {scope['type']}"
            raise ValueError(msg)
        progress = _Progress()
        request = Request(scope, receive)
        with tracing.span(f"{request.method} REST", request.headers):
            try:
                response = await self._answer(request, progress)
            except ClientDisconnect:
                # Nobody is left to read an answer.
                return
            except asyncio.CancelledError:
                # Only the end of the server does this: the request has had its time to end, and its caller gets an answer.
                response = progress.render(_ENDED)
        method = request.method if request.method in _METHODS else "other"
        REQUESTS.labels(method, progress.route, str(response.status_code)).inc()
        SECONDS.labels(method, progress.route).observe(time.perf_counter() - progress.began)
        response.headers.update({name: value for name, value in _HEADERS.items() if name not in response.headers})
        await response(scope, receive, send)

    async def _answer(self, request: Request, progress: _Progress) -> Response:
        try:
            return await self._dispatch(request, progress)
        except RequestRejected as refused:
            return progress.render(refused.problem)
        except ServiceError as error:
            return progress.render(self._opening.told(of_service_error(error)))
        except ClientDisconnect:
            raise
        except Exception:
            error_id = uuid.uuid4().hex[:12]
            _log.exception("unexpected error", method=request.method, route=progress.route, error_id=error_id)
            detail = f"internal error of the gateway; its log has the details under error_id={error_id}"
            return progress.render(Problem(500, "INTERNAL", detail, metadata={"error_id": error_id}))

    async def _dispatch(self, request: Request, progress: _Progress) -> Response:
        # Also what belongs to no route is told in the form of the API that was meant.
        progress.render = self._table.render(request.scope["raw_path"]) or problem_answer
        host = request.headers.get("host")
        self._access.check_host(host)
        match = self._table.match(request.method, request.scope["raw_path"])
        progress.render, progress.route = match.route.render, match.route.template
        if match.route.changes:
            self._access.check_origin(request.headers.get("origin"), request.headers.get("sec-fetch-site"), host)
            if request.method == "GET":
                self._access.check_program(request.headers)
        who = None
        if not (match.route.is_probe or match.route.is_public):
            shown = request.scope.get("state", {}).get(CERTIFICATE, "")
            who = self._callers.check(match.route, request.headers.get(AUTHORIZATION), shown)
            # Executors are told for whom they are asked. Each request is answered by a task with variables of its own.
            IDENTITY.set(who)
        query = _query(request.scope["query_string"])
        body = await _body(request)
        if not match.route.is_probe:
            self._check_room()
            if not match.route.is_public:
                await self._opening.check()
        content_type = request.headers.get("content-type", "")
        said = _text(request, AUTHOR_HEADER) or (request.client.host if request.client else "")
        author = said if who is None else who.name
        call = Call(match.path, query, body, content_type, author, _text(request, REASON_HEADER), request.headers)
        self._under_way += 1
        try:
            response = await match.route.handle(call)
        finally:
            self._under_way -= 1
        if match.route.changes:
            _log.info("changed", method=request.method, route=match.route.template, status=response.status_code, **match.path)
        return response

    def _check_room(self) -> None:
        """Refuse what comes while too much is under way: it would wait for longer than its caller does.

        Raises:
            RequestRejected: 503 BUSY.
        """
        if self._under_way >= MOST_REQUESTS:
            detail = f"{MOST_REQUESTS} requests are under way; try again in a moment, or send fewer at a time"
            raise RequestRejected(Problem(503, "BUSY", detail, headers={"Retry-After": str(RETRY_AFTER_SECONDS)}))


def _text(request: Request, header: str) -> str:
    """Return a header as text: names of people are UTF-8, which HTTP hands on byte by byte."""
    value = request.headers.get(header, "")
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def _query(query_string: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_PARAMETERS)
    except UnicodeDecodeError:
        raise malformed("QUERY_ENCODING", "the query is not UTF-8; percent-encode its values as UTF-8") from None
    except ValueError:
        raise malformed("QUERY_TOO_LONG", f"the query has more than {_PARAMETERS} parameters") from None


async def _body(request: Request) -> bytes:
    """Return the whole body.

    Raises:
        RequestRejected: 413 BODY_TOO_LARGE, 408 BODY_TOO_SLOW.
    """
    # Invariant 7: what is beyond the limit is read (a client sends all before it reads the answer) but not kept.
    chunks: list[bytes] = []
    received = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                received += len(chunk)
                if received <= LIMIT_BYTES:
                    chunks.append(chunk)
                elif received > _DISCARDED_BYTES:
                    break
    except TimeoutError:
        detail = f"the body did not arrive in {BODY_SECONDS:g} s"
        raise RequestRejected(Problem(408, "BODY_TOO_SLOW", detail, headers={"Connection": "close"})) from None
    if received > LIMIT_BYTES:
        detail = f"the body has more than {LIMIT_BYTES} bytes; no configuration is that large"
        raise RequestRejected(Problem(413, "BODY_TOO_LARGE", detail, headers={"Connection": "close"}))
    return b"".join(chunks)
