"""Tells who creates a connector of the deleted one that had its name and did the same work."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import FieldProblem, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from services.config import wire
from services.config.domain import ConnectorType, Deleted, Worker
from services.config.predecessors.sameness import same_work
from services.config.store import ConfigStore
from services.config.validation.executors import Verdict

POSITIONS_SECONDS = 2.0
"""How long a create waits for the position service at most: what it says is told, and decides nothing else."""

_OWN = "~"
"""How partitions begin that are no part of what is read: notes of tasks."""
_UNREAD = ("", "[0]")
_TOLD = 3
_SHOWN = 100

_log = get_logger(__name__)


class Positions(Protocol):
    """What the position service says."""

    async def of_uid(self, uid: str) -> Mapping[str, str] | None:
        """Return offsets by partition, of those that were begun, as far as they fit on a page; None: nobody says."""


class GrpcPositions:
    """The position service over gRPC (see `Positions`)."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._channel = channel(settings.position_address, settings, service="position") if settings.position_address else None

    async def of_uid(self, uid: str) -> Mapping[str, str] | None:
        """Return offsets by partition (see `Positions`)."""
        if self._channel is None:
            return None
        request = pb.ListPositionsRequest(connector_uid=uid)
        try:
            with remote_errors():
                answer = await PositionServiceStub(self._channel).ListPositions(request, timeout=POSITIONS_SECONDS)
        except ServiceError as error:
            _log.info("where a deleted connector was is not known", uid=uid, cause=error.message)
            return None
        return {
            each.partition: each.offset
            for each in answer.positions
            if not each.partition.startswith(_OWN) and each.offset not in _UNREAD
        }

    async def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close()


class Predecessors:
    """Looks for the deleted connector of a name, and for what it has done."""

    def __init__(self, store: ConfigStore, positions: Positions) -> None:
        self._store = store
        self._positions = positions

    async def warnings(
        self, name: str, config: Mapping[str, str], verdict: Verdict, workers: Sequence[Worker]
    ) -> Sequence[FieldProblem]:
        """Return what is to be told of a configuration of this name; nothing where one lives, or none did the same work.

        Args:
            name: The name.
            config: The configuration.
            verdict: What an executor says of it.
            workers: Who offers plugins now.
        """
        document = next((worker.plugins[verdict.plugin] for worker in workers if verdict.plugin in worker.plugins), None)
        before = None if document is None else await asyncio.to_thread(self._store.last_deleted, name)
        if document is None or before is None:
            return ()
        if not same_work(before.connector.config, config, wire.plugin(document), before.targets, verdict.targets):
            return ()
        positions = await self._positions.of_uid(before.connector.uid)
        # Whoever never stored a position has done nothing that would be done twice.
        return () if positions is not None and not positions else (_warning(before, positions),)


def _warning(before: Deleted, positions: Mapping[str, str] | None) -> FieldProblem:
    connector = before.connector
    when = datetime.fromtimestamp(before.delete_time // 1_000_000, UTC).isoformat(" ").replace("+00:00", "Z")
    if connector.type is ConnectorType.SINK:
        done, again = "wrote to the same target", "writes its records there again"
    else:
        done, again = "read the same into the same topic", "sends its records again"
    one = f"a connector of this name (uid {connector.uid}, deleted at {when})"
    reason = f"{one} {done}{_until(positions)}: this one begins anew and {again}"
    quoted = shlex.quote(connector.name)
    fix = (
        f"To go on from there: `rocketconnect connector create {quoted} --adopt-uid {connector.uid}` (adopt_uid over REST); "
        f"where this one is created already, `rocketconnect connector delete {quoted}` first."
    )
    return FieldProblem("name", "", reason, fix)


def _until(positions: Mapping[str, str] | None) -> str:
    if not positions:
        return ""
    told = [f"{partition} {offset}"[:_SHOWN] for partition, offset in sorted(positions.items())[:_TOLD]]
    more = len(positions) - len(told)
    return f" up to {', '.join(told)}" + (f" and {more} more" if more else "")
