"""Puts the config service together: settings, store, executors, service."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc.aio
from rocketconnect.config.v1.config_service_pb2_grpc import add_ConfigServiceServicer_to_server
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import add_KeystoreServiceServicer_to_server

from rocketconnect_kit.sealing import Keys
from rocketconnect_kit.serving.server import run, serve
from rocketconnect_kit.settings import StoreSettings, load, setting
from rocketconnect_kit.store import database
from services.config.feed import ChangeFeed
from services.config.forgetting.rows import ForgettingStore
from services.config.forgetting.sweeping import Forgetting
from services.config.keystore.service import KeystoreService, seal_anew
from services.config.keystore.store import SecretStore
from services.config.predecessors.warning import GrpcPositions, Predecessors
from services.config.replays.others import GrpcOthers
from services.config.service import ConfigService
from services.config.store import ConfigStore
from services.config.validation.executors import GrpcExecutors


@dataclass(frozen=True, kw_only=True)
class ConfigSettings(StoreSettings):
    """The config service: connector configurations, their revisions, the wanted state, the plugins, the keystore."""

    keystore_keys: Path | None = setting(
        None, "a file of keys, which its secrets are sealed with; none: there is no keystore", check=Keys.read
    )
    forget_deleted_days: float = setting(
        365.0, "how long a deleted connector can be adopted; then it is forgotten, with its positions; 0: never", ge=0
    )


def main(argv: Sequence[str]) -> int:
    """Run the service until a signal; return the exit code."""
    settings = load(ConfigSettings, argv)
    return run("config", settings, partial(_main, settings))


async def _main(settings: ConfigSettings) -> int:
    engine = await database.open_store(settings.database_url("config"), "config")
    store = ConfigStore(engine, now=lambda: time.time_ns() // 1_000)
    executors = GrpcExecutors(settings)
    # A SQLite file has one writer, this process; behind PostgreSQL other replicas write too.
    feed = ChangeFeed(store.sequence if engine.dialect.name == "postgresql" else None)
    positions = GrpcPositions(settings)
    others = GrpcOthers(settings)
    service = ConfigService(store, executors, feed, Predecessors(store, positions, executors), others)
    secrets = SecretStore(engine, now=lambda: time.time_ns() // 1_000)
    keys = Keys.read(settings.keystore_keys) if settings.keystore_keys else None
    keystore = KeystoreService(secrets, keys, store, executors)

    def add_services(server: grpc.aio.Server) -> None:
        add_ConfigServiceServicer_to_server(service, server)
        add_KeystoreServiceServicer_to_server(keystore, server)

    try:
        if keys:
            await asyncio.to_thread(seal_anew, secrets, keys)
        forgetting = Forgetting(ForgettingStore(engine), positions, settings.forget_deleted_days, lambda: time.time_ns() // 1_000)
        async with feed.running(), forgetting.running():
            return await serve(
                "config",
                add_services,
                settings,
                health={"store": partial(database.check, engine)},
                on_stop=[executors.close, positions.close, others.close],
            )
    finally:
        engine.dispose()
