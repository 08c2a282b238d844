"""Puts the cluster service together: settings, store, coordinator, the watch of the connectors, service."""

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING, cast

import sqlalchemy as sa
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer, add_ClusterServiceServicer_to_server
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.watch import Watch
from rocketconnect_kit.clock import DAY, LONGEST_JUMP
from rocketconnect_kit.leader.election import Election
from rocketconnect_kit.leader.leader_only import TermServicer
from rocketconnect_kit.leader.seat import StoredSeat
from rocketconnect_kit.serving.server import run, serve
from rocketconnect_kit.settings import ElectedSettings, address, load, setting
from rocketconnect_kit.store import database
from services.cluster import wire
from services.cluster.assignment.strategies import STRATEGIES, StrategyName
from services.cluster.coordinator import Coordinator
from services.cluster.decisions.leases import Timing
from services.cluster.decisions.retry import RetryPolicy
from services.cluster.service import ClusterService
from services.cluster.state import Policy
from services.cluster.store import ClusterStore

if TYPE_CHECKING:
    import asyncio

    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub


@dataclass(frozen=True, kw_only=True)
class ClusterSettings(ElectedSettings):
    """The cluster service: workers, leases, plan generations, the assignment and its epochs."""

    config_address: str = address("the config service; several: ip:port,ip:port", needed_because="there the connectors are told")
    heartbeat_seconds: float = setting(1.0, "how often a worker renews its lease", gt=0, le=60)
    lease_seconds: float = setting(5.0, "how long a worker may run on after a renewal", gt=0, le=600)
    send_deadline_seconds: float = setting(2.0, "how long a send may still be under way after that", ge=0, le=600)
    retry_limit: int = setting(10, "consecutive failures after which a task is given up", ge=1, le=1000)
    forget_workers_seconds: float = setting(600.0, "how long a worker that was lost is still listed", ge=0)
    assignment_strategy: StrategyName = setting(
        StrategyName.BALANCED, "how tasks are given to workers: balanced, sticky or consistent_hash"
    )
    rebalance_delay_seconds: float = setting(
        10.0, "how long a worker that was gone has to stay before tasks of others move to it", ge=0, le=3600
    )

    clock_jump_days: float = setting(
        LONGEST_JUMP / DAY,
        "days by which the clock may be ahead of the last epochs; what is more counts as a wrong clock",
        ge=1,
        le=36_500,
    )

    def conflicts(self) -> Iterator[str]:
        """What is wrong with settings together."""
        yield from super().conflicts()
        if self.lease_seconds < 2 * self.heartbeat_seconds:
            yield (
                f"lease_seconds ({self.lease_seconds:g}) must be at least twice heartbeat_seconds ({self.heartbeat_seconds:g}): "
                "otherwise one lost heartbeat ends the lease"
            )

    @property
    def policy(self) -> Policy:
        """How the service decides, as these settings say."""
        timing = Timing(self.lease_seconds, self.heartbeat_seconds, self.send_deadline_seconds)
        return Policy(
            timing,
            RetryPolicy(limit=self.retry_limit),
            STRATEGIES[self.assignment_strategy],
            forget_workers_after=self.forget_workers_seconds,
            rebalance_delay=self.rebalance_delay_seconds,
        )


def main(argv: Sequence[str]) -> int:
    """Run the service until a signal; return the exit code."""
    settings = load(ClusterSettings, argv)
    return run("cluster", settings, partial(_main, settings))


async def _main(settings: ClusterSettings) -> int:
    engine = await database.open_store(settings.database_url("cluster"), "cluster")
    try:
        async with channel(settings.config_address, settings, service="config") as config:
            servicer = TermServicer("cluster", ClusterService)
            lead = partial(_lead, engine, settings, ConfigServiceStub(config), servicer)
            return await serve(
                "cluster",
                partial(add_ClusterServiceServicer_to_server, cast("ClusterServiceServicer", servicer)),
                settings,
                health={"store": partial(database.check, engine)},
                election=Election(StoredSeat(engine, "cluster", settings.leader_lease_seconds), lead),
            )
    finally:
        engine.dispose()


@asynccontextmanager
async def _lead(
    engine: sa.Engine,
    settings: ClusterSettings,
    config: "ConfigServiceAsyncStub",
    servicer: TermServicer[ClusterService],
    term: int,
) -> AsyncIterator["asyncio.Task[None]"]:
    """Decide for as long as the block runs. All that is in memory is made anew; every worker that is known gets a full lease."""
    # A clock that stands still while this machine is suspended: nobody could be heard meanwhile, so with SQLite, where the same
    # replica leads on, all leases would be over at once when it wakes up. Judging them later is the safe side.
    coordinator = Coordinator(
        ClusterStore(engine, term),
        settings.policy,
        time.monotonic,
        SystemRandom(),
        other_clock=partial(database.clock, engine),
        longest_jump=settings.clock_jump_days * DAY,
    )
    watch = Watch(
        "connectors",
        lambda: config.WatchConnectors(config_pb.WatchConnectorsRequest()),
        lambda message: coordinator.tell(wire.connectors_changed(message)),
    )
    async with coordinator.running() as deciding, watch:
        with servicer.term(ClusterService(coordinator, settings.policy.timing)):
            yield deciding
