"""The `/v1` API: one route for each annotated RPC, nothing by hand."""

import json
from collections.abc import AsyncIterator, Iterator

from google.protobuf.message import Message
from starlette.responses import Response, StreamingResponse

from rocketconnect_kit.errors import ServiceError
from services.gateway.answers import problem_answer
from services.gateway.api import transcode
from services.gateway.api.rules import Rule, rules
from services.gateway.backends import Backends
from services.gateway.orders.signing import identify, sign
from services.gateway.problems import of_service_error
from services.gateway.routing import Call, Handler, Route

NDJSON = "application/x-ndjson"


def routes(backends: Backends) -> Iterator[Route]:
    """Yield the routes of all annotated RPCs."""
    for rule in rules():
        handle = _watch(rule, backends) if rule.streams else _unary(rule, backends)
        calls = f"/{rule.method.containing_service.full_name}/{rule.method.name}"
        changes = rule.verb != "GET"
        yield Route(rule.verb, rule.template, handle, problem_answer, changes=changes, streams=rule.streams, calls=calls)


def _unary(rule: Rule, backends: Backends) -> Handler:
    async def handle(call: Call) -> Response:
        request = transcode.request(rule, call)
        identify(request)
        sign(request, call.author, call.reason)
        answer = await backends.unary(rule.method, request, reads=rule.verb == "GET")
        return Response(transcode.reply(answer), 200, media_type="application/json")

    return handle


def _watch(rule: Rule, backends: Backends) -> Handler:
    """One JSON object a line. The first answer is awaited, so that what is refused at once has its right status."""

    async def handle(call: Call) -> Response:
        answers = backends.stream(rule.method, transcode.request(rule, call))
        first = await anext(answers, None)
        return StreamingResponse(_lines(first, answers), 200, media_type=NDJSON, headers={"Cache-Control": "no-store"})

    return handle


async def _lines(first: Message | None, rest: AsyncIterator[Message]) -> AsyncIterator[bytes]:
    """A stream that can't go on ends with a line `{"error": problem}`."""
    if first is None:
        return
    yield transcode.reply(first) + b"\n"
    try:
        async for answer in rest:
            yield transcode.reply(answer) + b"\n"
    except ServiceError as error:
        yield json.dumps({"error": of_service_error(error).document()}).encode() + b"\n"
