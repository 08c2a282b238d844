"""Whether the gateway lives, and whether it can do its work."""

from collections.abc import Iterator

from starlette.responses import Response

from services.gateway.answers import json_answer, problem_answer
from services.gateway.backends import Backends
from services.gateway.problems import RETRY_AFTER_SECONDS
from services.gateway.routing import Call, Route


def routes(backends: Backends) -> Iterator[Route]:
    """Yield /healthz (it answers) and /readyz (every service that it asks is well)."""

    async def alive(_: Call) -> Response:
        return json_answer(200, {"alive": True})

    async def ready(_: Call) -> Response:
        said = await backends.health()
        well = all(state == "SERVING" for state in said.values())
        headers = {"Cache-Control": "no-store"} | ({} if well else {"Retry-After": str(RETRY_AFTER_SECONDS)})
        return json_answer(200 if well else 503, {"ready": well, "services": said}, headers=headers)

    yield Route("GET", "/healthz", alive, problem_answer, changes=False, summary="this process answers", is_probe=True)
    yield Route("GET", "/readyz", ready, problem_answer, changes=False, summary="the services behind it are well", is_probe=True)
