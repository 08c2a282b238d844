"""Whatever is sent, the answer is never a 500 and never shows a traceback."""

import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.gateway.api.rules import rules

LEFT_OUT = {"/v1/connectors:watch", "/v1/connectors/{connector}/state:watch"}
"""They answer without end."""
TEMPLATES = [
    *sorted({rule.template for rule in rules()} - LEFT_OUT),
    "/connectors/{name}",
    "/connectors/{name}/status",
    "/connectors/{name}/tasks/{task}/status",
    "/connectors/{name}/pause",
    "/connectors/{name}/stop",
]
FIELDS = sorted({field.json_name for rule in rules() for field in rule.method.input_type.fields})
KEYS = st.sampled_from([*FIELDS, "connector.class", "config", "x"]) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["file_source", "1s", "5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
BODIES = st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode())
SEGMENTS = st.sampled_from(["orders", "stop", "0", "a:b"]) | st.text(min_size=1, max_size=8)
PARAMETERS = st.lists(st.tuples(KEYS, st.sampled_from(["1", "true", "x", "", "{}"]) | st.text(max_size=8)), max_size=3)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes, dict[str, str]]:
    path = draw(st.sampled_from(TEMPLATES))
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + quote(draw(SEGMENTS), safe="") + rest.partition("}")[2]
    query = "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in draw(PARAMETERS))
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"]))
    kinds = ["application/json", "application/json; charset=utf-8", "text/plain", ";;;", ""]
    return method, f"{path}?{query}" if query else path, draw(BODIES), {"Content-Type": draw(st.sampled_from(kinds))}


@pytest.mark.slow
async def test_no_request_ends_in_a_500_or_shows_a_traceback(real: tuple[httpx.AsyncClient, Any]) -> None:
    rest, _ = real
    answers: dict[int, int] = {}

    @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(requests())
    async def send(request: tuple[str, str, bytes, dict[str, str]]) -> None:
        method, path, body, headers = request
        answer = await rest.request(method, path, content=body, headers=headers)
        # No executor is there that could look at dead letters: only that may be said so.
        without_executor = answer.status_code == 503 and answer.json().get("reason") == "NO_EXECUTOR"
        assert answer.status_code < 500 or without_executor, (request, answer.text)
        assert "Traceback" not in answer.text
        if answer.status_code >= 400 and method != "HEAD":
            problem: dict[str, Any] = answer.json()
            assert problem.get("status", problem.get("errorCode")) == answer.status_code
        answers[answer.status_code] = answers.get(answer.status_code, 0) + 1

    await run_async(send)
    assert {400, 404, 405} <= set(answers)


async def run_async(test: Any) -> None:
    """Run a Hypothesis test whose body is a coroutine, in the loop that is running."""
    import asyncio

    loop = asyncio.get_running_loop()
    inner = test.hypothesis.inner_test

    def blocking(**arguments: Any) -> None:
        asyncio.run_coroutine_threadsafe(inner(**arguments), loop).result(30)

    test.hypothesis.inner_test = blocking
    await asyncio.to_thread(test)
