"""HTTP answers in the forms of the two APIs."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from services.gateway.problems import Problem


def json_answer(status: int, value: Any, *, kind: str = "application/json", headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON answer."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, dict(headers or {}), kind)


def problem_answer(problem: Problem) -> Response:
    """Return the answer of `/v1` to a refused request: a problem document."""
    return json_answer(problem.status, problem.document(), kind="application/problem+json", headers=problem.headers)
