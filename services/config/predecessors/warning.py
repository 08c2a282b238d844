"""Looks for what to tell who creates a connector: of a deleted one that did the same work."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb2
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import FieldProblem, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.targets.owned import Target
from services.config import wire
from services.config.domain import ConnectorType, Deleted, Worker
from services.config.predecessors.sameness import same_work, shares_topics
from services.config.predecessors.telling import warning_of
from services.config.store import ConfigStore
from services.config.validation.executors import Executors, Verdict

POSITIONS_SECONDS = 2.0
"""How long a create waits for the position service at most: what it says is told, and decides nothing else."""

FORGETTING_SECONDS = 60.0

_OWN = "~"
"""How partitions begin that are no part of what is read: notes of tasks."""
_UNREAD = ("", "[0]")

_log = get_logger(__name__)


class Positions(Protocol):
    """What the position service says."""

    async def of_uid(self, uid: str) -> Mapping[str, str] | None:
        """Return offsets by partition, of those that were begun, as far as they fit on a page; None: nobody says."""

    async def newest_revision(self, uid: str) -> int:
        """Return the highest revision that tasks ran; 0: none is known, or nobody says."""


class GrpcPositions:
    """The position service over gRPC (see `Positions`)."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._channel = channel(settings.position_address, settings, service="position") if settings.position_address else None

    async def of_uid(self, uid: str) -> Mapping[str, str] | None:
        """Return offsets by partition (see `Positions`)."""
        answer = await self._listed(pb.ListPositionsRequest(connector_uid=uid))
        if answer is None:
            return None
        return {
            each.partition: each.offset
            for each in answer.positions
            if not each.partition.startswith(_OWN) and each.offset not in _UNREAD
        }

    async def newest_revision(self, uid: str) -> int:
        """Return the highest revision that tasks ran (see `Positions`)."""
        answer = await self._listed(pb.ListPositionsRequest(connector_uid=uid, page_size=1))
        return 0 if answer is None else answer.newest_revision

    async def forget(self, uids: Sequence[str]) -> bool:
        """Forget connectors; see `forgetting.sweeping.Positions`."""
        if self._channel is None:
            return False
        with remote_errors():
            await PositionServiceStub(self._channel).ForgetPositions(
                pb.ForgetPositionsRequest(connector_uids=uids), timeout=FORGETTING_SECONDS
            )
        return True

    async def _listed(self, request: pb.ListPositionsRequest) -> pb.ListPositionsResponse | None:
        if self._channel is None:
            return None
        try:
            with remote_errors():
                answer: pb.ListPositionsResponse = await PositionServiceStub(self._channel).ListPositions(
                    request, timeout=POSITIONS_SECONDS
                )
        except ServiceError as error:
            _log.info("where a connector was is not known", uid=request.connector_uid, cause=error.message)
            return None
        return answer

    async def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close()


class Predecessors:
    """Looks for deleted connectors that did the same work, and for what they have done."""

    def __init__(self, store: ConfigStore, positions: Positions, executors: Executors) -> None:
        self._store = store
        self._positions = positions
        self._executors = executors

    async def warnings(
        self, name: str, config: Mapping[str, str], verdict: Verdict, workers: Sequence[Worker]
    ) -> Sequence[FieldProblem]:
        """Return what is to be told of a configuration of this name; nothing where no deleted one did the same work.

        Args:
            name: The name.
            config: The configuration.
            verdict: What an executor says of it.
            workers: Who offers plugins now.
        """
        found = await self._found(name, config, verdict, workers)
        for before, common in found:
            positions = await self._positions.of_uid(before.connector.uid)
            # Whoever never stored a position has done nothing that would be done twice.
            if positions is None:
                return (warning_of(name, before, common, {}),)
            if positions and (there := await self._still_there(before, positions, workers)):
                return (warning_of(name, before, common, there),)
        return ()

    async def read_by(self, uid: str) -> Mapping[str, str] | None:
        """Return how far a connector came (see `Positions.of_uid`)."""
        return await self._positions.of_uid(uid)

    async def newest_revision(self, uid: str) -> int:
        """Return the highest revision that tasks of a connector ran (see `Positions`).

        It is above the one that is stored here when this store was put back from a backup. A number that came a second time, of
        another configuration, would be taken for the first one: queue maps and the ends of revisions are kept by it.
        """
        return await self._positions.newest_revision(uid)

    async def _found(
        self, name: str, config: Mapping[str, str], verdict: Verdict, workers: Sequence[Worker]
    ) -> Sequence[tuple[Deleted, Origin | Target | None]]:
        """Return the deleted ones that did the same: of the same name first, then the one that was deleted last."""
        found: list[tuple[Deleted, Origin | Target | None]] = []
        if verdict.reads is not None and not verdict.reads.is_shared:
            readers = await asyncio.to_thread(self._store.former_readers, verdict.reads, name)
            found = [(each.deleted, each.common) for each in readers]
        before = await asyncio.to_thread(self._store.last_deleted, name)
        is_known = verdict.reads is not None and before is not None and before.origins is not None
        if before is not None and not is_known and self._is_same(before, config, verdict, workers):
            found.append((before, None))
        if verdict.targets:
            writers = await asyncio.to_thread(self._store.former_writers, verdict.targets, name)
            found += [each for each in writers if shares_topics(each[0].connector.config, config)]
        return sorted(found, key=lambda each: each[0].connector.name != name)

    @staticmethod
    def _is_same(before: Deleted, config: Mapping[str, str], verdict: Verdict, workers: Sequence[Worker]) -> bool:
        document = next((worker.plugins[verdict.plugin] for worker in workers if verdict.plugin in worker.plugins), None)
        return document is not None and same_work(
            before.connector.config, config, wire.plugin(document), before.targets, verdict.targets
        )

    async def _still_there(self, before: Deleted, positions: Mapping[str, str], workers: Sequence[Worker]) -> Mapping[str, str]:
        """Return the positions without those in what is not there any more: a file that another one took the place of."""
        capable = [worker for worker in workers if worker.plugin(before.connector.config.get(CLASS.key, "")) is not None]
        if before.connector.type is not ConnectorType.SOURCE or not capable:
            return positions
        request = executor_pb2.CheckPositionsRequest(name=before.connector.name, config=before.connector.config)
        for partition, offset in positions.items():
            request.positions.add(partition=partition, offset=offset)
        try:
            answer = await self._executors.check_positions(capable[0].address, request)
        except ServiceError as error:
            _log.info("whether a deleted connector would read on is not known", uid=before.connector.uid, cause=error.message)
            return positions
        there = {each.partition for each in answer.bounds}
        gone = {each.key for each in answer.problems} - there
        return {partition: offset for partition, offset in positions.items() if partition not in gone}
