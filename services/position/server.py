"""Puts the position service together: settings, store, the watch of connectors, service."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from rocketconnect.config.v1 import config_service_pb2
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.position.v1.position_service_pb2_grpc import add_PositionServiceServicer_to_server

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.watch import Watch
from rocketconnect_kit.clock import boot_nanoseconds
from rocketconnect_kit.serving.server import run, serve
from rocketconnect_kit.settings import StoreSettings, load
from rocketconnect_kit.store import database
from services.position.directory import Directory
from services.position.others import GrpcOthers
from services.position.service import PositionService
from services.position.store import PositionStore


@dataclass(frozen=True, kw_only=True)
class PositionSettings(StoreSettings):
    """The position service: where each connector is, and who may say so."""


def main(argv: Sequence[str]) -> int:
    """Run the service until a signal; return the exit code."""
    settings = load(PositionSettings, argv)
    return run("position", settings, partial(_main, settings))


async def _main(settings: PositionSettings) -> int:
    engine = await database.open_store(settings.database_url("position"), "position")
    store = PositionStore(engine, now=lambda: time.time_ns() // 1_000, elapsed=lambda: boot_nanoseconds() // 1_000)
    directory = Directory()
    others = GrpcOthers(settings)
    try:
        async with following(directory, settings) as connected:
            service = PositionService(store, directory, connected, others)
            return await serve(
                "position",
                partial(add_PositionServiceServicer_to_server, service),
                settings,
                # Without the config service positions are still committed, so its health is not ours.
                health={"store": partial(database.check, engine)},
            )
    finally:
        await others.close()
        await asyncio.to_thread(store.close)
        engine.dispose()


@asynccontextmanager
async def following(directory: Directory, settings: StoreSettings) -> AsyncIterator[Callable[[], bool]]:
    """Keep the directory up to date while the block runs; give what tells whether it is."""
    if not settings.config_address:
        yield lambda: False
        return
    async with channel(settings.config_address, settings, service="config") as opened:
        stub = ConfigServiceStub(opened)
        request = config_service_pb2.WatchConnectorsRequest()
        async with Watch("connectors", lambda: stub.WatchConnectors(request), directory.apply) as watch:
            yield lambda: watch.connected
