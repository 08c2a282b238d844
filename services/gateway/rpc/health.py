"""How the gateway, and each service behind it, says over gRPC that it is well."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Any

from grpc_health.v1 import health_pb2, health_pb2_grpc

from rocketconnect_kit.errors import NotFound

LOOK_SECONDS = 2.0
"""So old what is told may be: however many ask, services are asked no more often."""

_STATES = health_pb2.HealthCheckResponse


class Health(health_pb2_grpc.HealthServicer):
    """Answers for "" (all services are well) and for each gRPC service (the one that answers it is).

    Args:
        ask: Returns what each service says of itself, by its name.
        answered_by: The service that answers each gRPC service, by the full name of that.
        monotonic: The clock, in seconds.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[Mapping[str, str]]],
        answered_by: Mapping[str, Collection[str]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._answered_by = answered_by
        self._monotonic = monotonic
        self._known: Mapping[str, str] = {}
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Any) -> health_pb2.HealthCheckResponse:
        """Answer once.

        Raises:
            NotFound: nobody answers a gRPC service of this name here.
        """
        del context
        well = await self._is_well(request.service)
        if well is None:
            msg = f"no service {request.service[:128]!r} is answered here"
            raise NotFound("SERVICE_NOT_FOUND", msg)
        return _answer(well)

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Answer at once, and whenever it is another answer."""
        del context
        last = None
        while True:
            answer = _answer(await self._is_well(request.service))
            if answer != last:
                last = answer
                yield answer
            await asyncio.sleep(LOOK_SECONDS)

    async def _is_well(self, service: str) -> bool | None:
        """None: nobody answers it here."""
        if service and service not in self._answered_by:
            return None
        async with self._lock:
            if self._monotonic() >= self._until:
                self._known = await self._ask()
                self._until = self._monotonic() + LOOK_SECONDS
        needed = self._answered_by[service] if service else self._known
        return all(self._known.get(each) == "SERVING" for each in needed)


def _answer(well: bool | None) -> health_pb2.HealthCheckResponse:
    state = _STATES.SERVICE_UNKNOWN if well is None else _STATES.SERVING if well else _STATES.NOT_SERVING
    return health_pb2.HealthCheckResponse(status=state)
