"""The paths of Kafka Connect's REST API and who answers each."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from rocketconnect_sdk.plugins.kafka import VERSION
from rocketconnect_sdk.version import __version__
from services.gateway.answers import json_answer
from services.gateway.backends import Backends
from services.gateway.kafka_connect import posted
from services.gateway.kafka_connect.connectors import Connectors, Stored
from services.gateway.kafka_connect.loggers import Loggers
from services.gateway.kafka_connect.plugins import Plugins
from services.gateway.kafka_connect.positions import Offsets
from services.gateway.kafka_connect.words import bad_request, render
from services.gateway.lookups.lookups import Lookups
from services.gateway.orders import warned
from services.gateway.problems import Problem, RequestRejected
from services.gateway.routing import Call, Handler, Route

PREFIX = "/kafka-connect"
_ONE = "/connectors/{name}"
_PARTS = ("info", "status")


def routes(backends: Backends) -> Iterator[Route]:
    """Yield all routes."""
    lookups = Lookups(backends)
    connectors = Connectors(backends, lookups)
    offsets, plugins, loggers = Offsets(backends, connectors), Plugins(backends, lookups), Loggers(backends)
    for path, handle, summary in (*_reads(connectors), *_other_reads(offsets, plugins, loggers)):
        yield Route("GET", f"{PREFIX}{path}", handle, render, changes=False, summary=summary)
    for method, path, handle, summary in (*_changes(connectors), *_orders(connectors), *_other_changes(offsets, plugins, loggers)):
        yield Route(method, f"{PREFIX}{path}", handle, render, changes=True, summary=summary)


def _reads(connectors: Connectors) -> Iterator[tuple[str, Handler, str]]:
    yield "", _version, "the version of Kafka Connect whose paths these are"
    yield "/", _version, "the same"
    yield "/connectors", _list(connectors), "names; ?expand=info, ?expand=status: more of each"
    yield _ONE, _answer(lambda call: connectors.info(_name(call))), "configuration and tasks"
    yield f"{_ONE}/config", _answer(lambda call: connectors.config(_name(call))), "the configuration"
    yield f"{_ONE}/status", _answer(lambda call: connectors.status(_name(call))), "what it and its tasks do"
    yield f"{_ONE}/tasks", _answer(lambda call: connectors.tasks(_name(call))), "what each task was given"
    status = _answer(lambda call: connectors.task_status(_name(call), _task(call)))
    yield f"{_ONE}/tasks/{{task}}/status", status, "what one task does"
    yield f"{_ONE}/topics", _answer(lambda call: connectors.topics(_name(call))), "the topics that its configuration names"


def _other_reads(offsets: Offsets, plugins: Plugins, loggers: Loggers) -> Iterator[tuple[str, Handler, str]]:
    yield f"{_ONE}/offsets", _answer(lambda call: offsets.of(_name(call))), "where it is"
    listed = _answer(lambda call: plugins.all(connectors_only=_flag(call, "connectorsOnly", default=True)))
    yield "/connector-plugins", listed, "plugins; ?connectorsOnly=false: of all kinds"
    yield "/connector-plugins/{plugin}/config", _answer(lambda call: plugins.config(call.path["plugin"])), "options of a plugin"
    yield "/admin/loggers", _answer(lambda _: loggers.all()), "levels of loggers"
    yield "/admin/loggers/{logger}", _answer(lambda call: loggers.of(call.path["logger"])), "the level of a logger"


def _changes(connectors: Connectors) -> Iterator[tuple[str, str, Handler, str]]:
    async def create(call: Call) -> Response:
        name, config, state = posted.request(posted.parsed(call))
        return _stored(name, await connectors.create(name, config, state, call))

    async def put(call: Call) -> Response:
        name = _name(call)
        return _stored(name, await connectors.put(name, posted.configuration(posted.parsed(call), name), call))

    async def patch(call: Call) -> Response:
        name = _name(call)
        return _stored(name, await connectors.patch(name, posted.changes(posted.parsed(call), name), call))

    yield "POST", "/connectors", create, "create"
    yield "PUT", f"{_ONE}/config", put, "create or update"
    yield "PATCH", f"{_ONE}/config", patch, "change keys"
    yield "DELETE", _ONE, _done(204, lambda call: connectors.delete(_name(call), call)), "delete; its revisions stay"


def _orders(connectors: Connectors) -> Iterator[tuple[str, str, Handler, str]]:
    async def restart(call: Call) -> Response:
        only_failed = _flag(call, "onlyFailed", default=False)
        said = await connectors.restart(_name(call), call, only_failed=only_failed)
        return json_answer(202, said) if only_failed or _flag(call, "includeTasks", default=False) else Response(None, 204)

    async def restart_task(call: Call) -> Response:
        await connectors.task_status(_name(call), _task(call))
        await connectors.restart(_name(call), call)
        return Response(None, 204)

    yield "PUT", f"{_ONE}/pause", _done(202, lambda call: connectors.pause(_name(call), call)), "pause"
    yield "PUT", f"{_ONE}/resume", _done(202, lambda call: connectors.resume(_name(call), call)), "resume"
    yield "PUT", f"{_ONE}/stop", _done(204, lambda call: connectors.stop(_name(call), call)), "stop"
    yield "POST", f"{_ONE}/restart", restart, "restart, with all tasks; ?onlyFailed=true: where something has failed"
    yield "POST", f"{_ONE}/tasks/{{task}}/restart", restart_task, "restart, with all tasks of the connector"


def _other_changes(offsets: Offsets, plugins: Plugins, loggers: Loggers) -> Iterator[tuple[str, str, Handler, str]]:
    async def validate(call: Call) -> Response:
        value = posted.parsed(call)
        config = posted.configuration(value)
        found, told = await plugins.validate(call.path["plugin"], str(value.get("name") or ""), config)
        return json_answer(200, found, headers=warned.headers(told))

    async def alter(call: Call) -> Response:
        return json_answer(200, await offsets.alter(_name(call), posted.parsed(call, numbers_as_text=False), call))

    async def set_level(call: Call) -> Response:
        scope = next((value for name, value in call.query if name == "scope"), "worker")
        names = await loggers.set(call.path["logger"], posted.parsed(call))
        return Response(None, 204) if scope == "cluster" else json_answer(200, names)

    async def no_tracking(_: Call) -> Response:
        raise RequestRejected(Problem(403, "NO_TRACKING", "Topic tracking is disabled: topics are those that configurations name."))

    yield "PATCH", f"{_ONE}/offsets", alter, "move it"
    yield "DELETE", f"{_ONE}/offsets", _answer(lambda call: offsets.reset(_name(call), call)), "forget where it is"
    yield "PUT", f"{_ONE}/topics/reset", no_tracking, "refused: topics are not tracked"
    yield "PUT", "/connector-plugins/{plugin}/config/validate", validate, "check a configuration"
    yield "PUT", "/admin/loggers/{logger}", set_level, "set the level of a logger in all processes"


async def _version(_: Call) -> Response:
    # Clients decide by it which paths there are.
    return json_answer(200, {"version": VERSION, "commit": f"rocketconnect-{__version__}", "kafka_cluster_id": ""})


def _list(connectors: Connectors) -> Handler:
    async def handle(call: Call) -> Response:
        parts = [value for name, value in call.query if name == "expand" and value in _PARTS]
        return json_answer(200, await connectors.expanded(parts) if parts else await connectors.names())

    return handle


def _answer(ask: Callable[[Call], Awaitable[Any]]) -> Handler:
    async def handle(call: Call) -> Response:
        return json_answer(200, await ask(call))

    return handle


def _done(status: int, order: Callable[[Call], Awaitable[None]]) -> Handler:
    async def handle(call: Call) -> Response:
        await order(call)
        return Response(None, status)

    return handle


def _name(call: Call) -> str:
    return call.path["name"]


def _task(call: Call) -> int:
    text = call.path["task"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise bad_request("TASK_INVALID", f"{text[:100]!r} is no number of a task; tasks are numbered 0, 1, 2")
    return int(text)


def _flag(call: Call, key: str, *, default: bool) -> bool:
    given = [value for name, value in call.query if name == key]
    return given[-1].lower() == "true" if given else default


def _stored(name: str, stored: Stored) -> Response:
    """ConnectorInfo. What is told beside it is a header: some clients refuse members that they do not know."""
    told = warned.headers(stored.warnings)
    if not stored.is_new:
        return json_answer(200, stored.info, headers=told)
    return json_answer(201, stored.info, headers={"Location": f"{PREFIX}/connectors/{quote(name, safe='')}", **told})
