"""The configuration that a client posts, as RocketMQ Connect's clients write it. Pure."""

import json
from typing import Any

from rocketconnect_kit.errors import FieldProblem
from services.gateway.api import bodies
from services.gateway.problems import Problem, RequestRejected, malformed

_FIX = "send a string, a number, or true or false"


def configuration(text: bytes) -> dict[str, str]:
    """Return the configuration in a JSON object. Numbers, truth values and objects count as their text, as there.

    Raises:
        RequestRejected: 400, with the words of RocketMQ Connect first; every value that can't be used is named.
    """
    if not text.strip():
        raise malformed("BODY_MISSING", "Failed! query param 'config' is required ")
    try:
        value = bodies.parse(text, numbers_as_text=True)
    except RequestRejected as refused:
        raise _malformed(refused.problem) from None
    if not isinstance(value, dict):
        raise _malformed(Problem(400, "BODY_NOT_AN_OBJECT", "send a JSON object of keys and values"))
    problems = [problem for key, item in value.items() if (problem := _problem(key, item))]
    if problems:
        raise _malformed(Problem(400, "CONFIG_INVALID", "; ".join(map(str, problems)), problems))
    return {key: _text(item) for key, item in value.items()}


def _malformed(problem: Problem) -> RequestRejected:
    return malformed(problem.reason, f"Failed! query param 'config' is malformed: {problem.detail}", problem.problems)


def _problem(key: str, value: Any) -> FieldProblem | None:
    kinds = {type(None): "is null", list: "is an array"}
    reason = kinds.get(type(value))
    return FieldProblem(key[:200], "", reason, _FIX) if reason else None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        # Options of some of its connectors are objects: the indexes of Elasticsearch, the plugin of an adapter.
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value
