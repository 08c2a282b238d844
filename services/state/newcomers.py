"""Connectors that were created a moment ago: the config service has them, and its watch has not told of them yet."""

import asyncio
from typing import TYPE_CHECKING

from rocketconnect.config.v1 import config_service_pb2 as pb

from rocketconnect_kit.errors import NotFound, ServiceError, Unavailable
from rocketconnect_kit.serving.status import remote_errors
from services.state.keeper import Keeper

if TYPE_CHECKING:
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub

SETTLE_SECONDS = 3.0
"""How long to wait for the config service's answer, and then for its watch: replicas of it tell within half a second."""


class Newcomers:
    """Lets whoever has just created a connector read its state. For one event loop, any number of callers."""

    def __init__(self, keeper: Keeper, configs: "ConfigServiceAsyncStub") -> None:
        self._keeper = keeper
        self._configs = configs

    async def uid(self, name: str) -> str:
        """Return the uid of a connector, as soon as its state can be told.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND: the config service has none of that name.
            Unavailable: CONFIG_UNAVAILABLE: it is not known here, and the config service does not answer or does not tell.
        """
        try:
            return self._keeper.states.uid(name)
        except NotFound as unknown:
            uid = await self._ask(name, unknown)
        try:
            async with asyncio.timeout(SETTLE_SECONDS), self._keeper.listening(uid) as changed:
                while not self._keeper.states.is_told(uid):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise _unavailable(name, "has it and does not tell of it") from None
        return uid

    async def _ask(self, name: str, unknown: NotFound) -> str:
        try:
            with remote_errors():
                answer = await self._configs.GetConnector(pb.GetConnectorRequest(name=name), timeout=SETTLE_SECONDS)
        except NotFound:
            raise unknown from None
        except ServiceError as error:
            raise _unavailable(name, f"does not answer ({error.message})") from error
        return answer.connector.uid


def _unavailable(name: str, what: str) -> Unavailable:
    message = f"no state of connector {name[:128]!r} is known, and the config service {what}; try again in a moment"
    return Unavailable("CONFIG_UNAVAILABLE", message, connector=name[:128])
