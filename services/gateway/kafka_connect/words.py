"""What is wrong, in the words and the form of Kafka Connect. Pure."""

from starlette.responses import Response

from rocketconnect_kit.errors import NotFound
from services.gateway.answers import json_answer
from services.gateway.problems import Problem, RequestRejected


def render(problem: Problem) -> Response:
    """Return ErrorMessage. The values that were given follow the words, since there is no other place for them."""
    given = ", ".join(f"{each.field}={each.value}" for each in problem.problems if each.value)
    message = f"{problem.detail} (given: {given})" if given else problem.detail
    return json_answer(problem.status, {"error_code": problem.status, "message": message}, headers=problem.headers)


def bad_request(reason: str, message: str) -> RequestRejected:
    """Return what to raise for a request that can't be meant."""
    return RequestRejected(Problem(400, reason, message))


def no_connector(name: str) -> NotFound:
    """Return what to raise where there is no connector of a name."""
    return NotFound("CONNECTOR_NOT_FOUND", f"Connector {name} not found", connector=name)


def no_plugin(name: str) -> NotFound:
    """Return what to raise where no executor has a plugin."""
    message = f"Unknown plugin {name}: no executor offers it; /kafka-connect/connector-plugins lists those that are offered"
    return NotFound("PLUGIN_NOT_FOUND", message, plugin=name)
