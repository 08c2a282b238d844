"""The paths of RocketMQ Connect's REST API and who answers each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from starlette.responses import Response

from services.gateway.answers import json_answer
from services.gateway.compat.connectors import Connectors
from services.gateway.compat.posted import configuration
from services.gateway.lookups.lookups import Moved
from services.gateway.orders import warned
from services.gateway.problems import Problem, RequestRejected, malformed
from services.gateway.routing import Call, Handler, Render, Route

_NOT_IMPLEMENTED = "This function has not been implemented yet"


def routes(connectors: Connectors, *, status: Literal["truth", "200"], changing_gets: bool) -> Iterator[Route]:
    """Yield all routes.

    Args:
        connectors: What answers.
        status: "200" answers with 200 always and leaves the truth to the body, as RocketMQ Connect did.
        changing_gets: Answer GET requests that change something; otherwise they are refused with 405.
    """
    render = _render(status)
    for path, handle, summary in _reads(connectors):
        yield Route("GET", path, handle, render, changes=False, summary=summary)
    yield Route("POST", "/connectors/{name}", _post(connectors), render, changes=True, summary="create or update")
    for path, handle, summary in _changes(connectors):
        allow = "POST" if path == "/connectors/{name}" else ""
        yield Route("GET", path, handle if changing_gets else _switched_off(allow), render, changes=True, summary=summary)


def _reads(connectors: Connectors) -> Iterator[tuple[str, Handler, str]]:
    yield "/getClusterInfo", _answer(lambda _: connectors.workers()), "ids of the living workers"
    yield "/connectors/list", _answer(lambda _: connectors.everything()), "status and configuration of all connectors"
    yield "/allocated/connectors", _answer(lambda _: connectors.allocated_connectors()), "configurations by connector"
    yield "/allocated/tasks", _answer(lambda _: connectors.allocated_tasks()), "tasks by what is done with them"
    yield "/connectors/{name}/config", _answer(lambda call: connectors.info(call.path["name"])), "the configuration"
    yield "/connectors/{name}/status", _answer(lambda call: connectors.status(call.path["name"])), "what it and its tasks do"
    yield "/connectors/{name}/tasks", _answer(lambda call: connectors.tasks(call.path["name"])), "what each task was given"
    yield (
        "/connectors/{name}/tasks/{task}/status",
        _answer(lambda call: connectors.task_status(call.path["name"], _task_number(call.path["task"]))),
        "what one task does",
    )
    yield "/plugin/list", _answer(lambda _: connectors.plugins(connectors_only=False)), "all plugins"
    yield "/plugin/list/connectors", _answer(lambda _: connectors.plugins(connectors_only=True)), "connector plugins"
    yield "/plugin/config", _not_implemented, "not implemented, as there"
    yield "/plugin/config/validate", _not_implemented, "not implemented, as there"


def _changes(connectors: Connectors) -> Iterator[tuple[str, Handler, str]]:
    yield "/connectors/{name}", _get_create(connectors), "create or update: ?config=JSON"
    yield "/connectors/{name}/stop", _answer(lambda call: connectors.stop(call.path["name"], call)), "delete; its revisions stay"
    yield "/connectors/{name}/pause", _answer(lambda call: connectors.pause(call.path["name"], call)), "pause"
    yield "/connectors/{name}/resume", _answer(lambda call: connectors.resume(call.path["name"], call)), "resume"
    yield "/connectors/stop/all", _answer(connectors.stop_all), "delete all"
    yield "/connectors/pause/all", _answer(connectors.pause_all), "pause all"
    yield "/connectors/resume/all", _answer(connectors.resume_all), "resume all"
    yield "/plugin/reload", _answer(lambda _: connectors.reload_plugins()), "look for plugins again"


def _answer(ask: Callable[[Call], Any]) -> Handler:
    async def handle(call: Call) -> Response:
        return _ok(await ask(call))

    return handle


def _post(connectors: Connectors) -> Handler:
    async def handle(call: Call) -> Response:
        return _stored(await connectors.put(call.path["name"], configuration(call.body), call))

    return handle


def _get_create(connectors: Connectors) -> Handler:
    async def handle(call: Call) -> Response:
        given = [value for name, value in call.query if name == "config"]
        return _stored(await connectors.put(call.path["name"], configuration(given[-1].encode() if given else b""), call))

    return handle


def _switched_off(allow: str) -> Handler:
    async def handle(call: Call) -> Response:  # noqa: ARG001
        detail = (
            "GET requests that change something are switched off here, as anybody can have a browser send one; use POST or the "
            "/v1 paths, have callers show tokens, or set ROCKETCONNECT_COMPAT_GET=true"
        )
        raise RequestRejected(Problem(405, "METHOD_NOT_ALLOWED", detail, headers={"Allow": allow}))

    return handle


async def _not_implemented(call: Call) -> Response:  # noqa: ARG001
    raise malformed("NOT_IMPLEMENTED", _NOT_IMPLEMENTED)


def _ok(body: Any) -> Response:
    return json_answer(
        200, {"status": 200, "body": list(body) if isinstance(body, Sequence) and not isinstance(body, str) else body}
    )


def _stored(stored: Moved) -> Response:
    """The configuration in the place where RocketMQ Connect has it, and beside it what is told, which its clients pass over."""
    body: dict[str, object] = {"status": 200, "body": stored.config}
    if stored.warnings:
        told = ("key", "value", "reason", "fix")
        body["warnings"] = [{name: getattr(each, name) for name in told} for each in stored.warnings]
    return json_answer(200, body, headers=warned.headers(stored.warnings))


def _render(status: Literal["truth", "200"]) -> Render:
    def render(problem: Problem) -> Response:
        shown = 200 if status == "200" else problem.status
        # There is no other place for them here, so the values that were given follow the words.
        given = ", ".join(f"{each.field}={each.value}" for each in problem.problems if each.value)
        message = f"{problem.detail} (given: {given})" if given else problem.detail
        return json_answer(shown, {"errorCode": problem.status, "message": message}, headers=problem.headers)

    return render


def _task_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise malformed("TASK_INVALID", f'For input string: "{text[:100]}"; tasks are numbered 0, 1, 2')
    return int(text)
