"""Puts the state service together: settings, store, keeper, the two watches, service."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import sqlalchemy as sa
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster_pb
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceServicer, add_StateServiceServicer_to_server

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.watch import Watch
from rocketconnect_kit.leader.election import Election
from rocketconnect_kit.leader.leader_only import TermServicer
from rocketconnect_kit.leader.seat import StoredSeat
from rocketconnect_kit.serving.server import run, serve
from rocketconnect_kit.settings import ElectedSettings, address, load, setting
from rocketconnect_kit.store import database
from services.state import wire
from services.state.keeper import Keeper
from services.state.model import Moment
from services.state.newcomers import Newcomers
from services.state.service import StateService
from services.state.store import StateStore

if TYPE_CHECKING:
    import asyncio

    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub


@dataclass(frozen=True, kw_only=True)
class StateSettings(ElectedSettings):
    """The state service: what connectors and tasks really do."""

    config_address: str = address("the config service; several: ip:port,ip:port", needed_because="there the connectors are told")
    cluster_address: str = address("the cluster service; several: ip:port,ip:port", needed_because="there the assignments are told")
    lease_seconds: float = setting(5.0, "how long a worker that reports nothing is still believed to run its tasks", gt=0, le=600)


def main(argv: Sequence[str]) -> int:
    """Run the service until a signal; return the exit code."""
    settings = load(StateSettings, argv)
    return run("state", settings, partial(_main, settings))


async def _main(settings: StateSettings) -> int:
    engine = await database.open_store(settings.database_url("state"), "state")
    try:
        async with (
            channel(settings.config_address, settings, service="config") as config,
            channel(settings.cluster_address, settings, service="cluster") as cluster,
        ):
            servicer = TermServicer("state", StateService)
            told_by = ConfigServiceStub(config), ClusterServiceStub(cluster)
            lead = partial(_lead, engine, settings.lease_seconds, *told_by, servicer)
            return await serve(
                "state",
                partial(add_StateServiceServicer_to_server, cast("StateServiceServicer", servicer)),
                settings,
                health={"store": partial(database.check, engine)},
                election=Election(StoredSeat(engine, "state", settings.leader_lease_seconds), lead),
            )
    finally:
        engine.dispose()


@asynccontextmanager
async def _lead(
    engine: sa.Engine,
    lease: float,
    configs: "ConfigServiceAsyncStub",
    clusters: "ClusterServiceAsyncStub",
    servicer: TermServicer[StateService],
    term: int,
) -> AsyncIterator["asyncio.Task[None]"]:
    """Keep the states for as long as the block runs. All that is in memory is made anew, from the store and the reports."""
    keeper = Keeper(StateStore(engine, term), lease, lambda: Moment(time.monotonic(), time.time()))
    connectors = Watch(
        "connectors",
        lambda: configs.WatchConnectors(config_pb.WatchConnectorsRequest()),
        lambda message: keeper.tell(wire.connectors_told(message)),
    )
    assignments = Watch(
        "assignments",
        lambda: clusters.WatchAssignments(cluster_pb.WatchAssignmentsRequest()),
        lambda message: keeper.tell(wire.assignments_told(message)),
    )
    async with keeper.running() as keeping, connectors, assignments:
        with servicer.term(StateService(keeper, Newcomers(keeper, configs))):
            yield keeping
