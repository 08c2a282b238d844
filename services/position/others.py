"""What the other services say before positions are moved by hand, and what they are told afterwards."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as configs
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.record.v1 import record_pb2
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.in_turn import Channels, NobodyAnswers, Peer, ask_in_turn
from rocketconnect_kit.connector_log import write_lines
from rocketconnect_kit.errors import DeadlineExceeded, FieldProblem, NotFound, ServiceError, Unavailable
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_sdk.configuration.runtime_options import CLASS
from services.position.domain import Holder

if TYPE_CHECKING:
    import grpc.aio

CHECK_SECONDS = 10.0
"""How long one executor may take to say something of positions."""

HOLDER_SECONDS = 1.0
"""How long the cluster service may take to say who holds a task: a task that opens waits for it, and has five seconds."""

NOT_CHECKED = "POSITIONS_NOT_CHECKED"

_PAGE = 1_000
_SPEAKER = "position"

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Offsets and resume information by partition, or why there are none; and the partitions that were left out, and why."""

    positions: Mapping[str, tuple[str, str]]
    problems: Sequence[FieldProblem]
    left_out: Sequence[connector_pb2.Problem]


class Others(Protocol):
    """The other services.

    Raises, all but `tell`:
        Unavailable: POSITIONS_NOT_CHECKED: nobody can say.
    """

    async def owners(self, uid: str) -> Sequence[str]:
        """Return the tasks of a connector that workers hold, for people."""

    async def holder(self, uid: str, task: int) -> Holder:
        """Return who holds a task."""

    async def check(self, name: str, config: Mapping[str, str], positions: Mapping[str, tuple[str, str]]) -> Sequence[FieldProblem]:
        """Return what is wrong with positions: offset and resume information by partition."""

    async def resolve(self, request: executor.ResolvePositionsRequest) -> Resolved:
        """Return the positions of an edge or a time."""

    async def tell(self, uid: str, author: str, why: str, lines: Sequence[str]) -> None:
        """Put a move into the history of a connector, and lines into its log, as far as the config and the state service answer."""


class GrpcOthers:
    """The other services over gRPC (see `Others`)."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._cluster = channel(settings.cluster_address, settings) if settings.cluster_address else None
        self._state = channel(settings.state_address, settings) if settings.state_address else None
        self._config = channel(settings.config_address, settings, service="config") if settings.config_address else None
        self._executors = Channels(settings)

    async def close(self) -> None:
        """Close all channels."""
        await self._executors.close()
        for opened in (self._cluster, self._state, self._config):
            if opened is not None:
                await opened.close()

    async def owners(self, uid: str) -> Sequence[str]:
        """See `Others`."""
        what = "whether the tasks of the connector have ended"
        stub = ClusterServiceStub(self._asked(what))
        found: list[str] = []
        request = cluster.ListAssignmentsRequest(page_size=_PAGE)
        while True:
            with _not_known(what), remote_errors():
                answer = await stub.ListAssignments(request)
            found += [
                f"task {each.task} on {each.worker_id}"
                for each in answer.assignments
                if each.connector_uid == uid and each.unit == cluster.UNIT_TASK and each.worker_id
            ]
            request.page_token = answer.next_page_token
            if not request.page_token:
                return found

    async def holder(self, uid: str, task: int) -> Holder:
        """See `Others`."""
        what = "whose the task is"
        request = cluster.GetAssignmentRequest(key=cluster.AssignmentKey(connector_uid=uid, task=task))
        try:
            with _not_known(what), remote_errors():
                answer = await ClusterServiceStub(self._asked(what)).GetAssignment(request, timeout=HOLDER_SECONDS)
        except NotFound:
            return Holder()
        return Holder(answer.assignment.worker_id, answer.assignment.generation, answer.assignment.epoch)

    async def check(self, name: str, config: Mapping[str, str], positions: Mapping[str, tuple[str, str]]) -> Sequence[FieldProblem]:
        """See `Others`."""
        request = executor.CheckPositionsRequest(
            name=name,
            config=config,
            positions=[
                record_pb2.Position(partition=partition, offset=offset, resume=resume)
                for partition, (offset, resume) in positions.items()
            ],
        )

        async def ask(peer: Peer) -> executor.CheckPositionsResponse:
            with remote_errors():
                stub = ExecutorServiceStub(await self._executors.to(peer.address))
                return await stub.CheckPositions(request, timeout=CHECK_SECONDS)

        what = "whether the positions are possible"
        with _not_known(what):
            answer = await ask_in_turn(await self._capable(config, what), ask)
        return [_problem(found) for found in answer.problems]

    async def resolve(self, request: executor.ResolvePositionsRequest) -> Resolved:
        """See `Others`."""

        async def ask(peer: Peer) -> executor.ResolvePositionsResponse:
            with remote_errors():
                stub = ExecutorServiceStub(await self._executors.to(peer.address))
                return await stub.ResolvePositions(request, timeout=CHECK_SECONDS)

        what = "which positions these are"
        with _not_known(what):
            answer = await ask_in_turn(await self._capable(request.config, what), ask)
        positions = {position.partition: (position.offset, position.resume) for position in answer.positions}
        return Resolved(positions, [_problem(found) for found in answer.problems], list(answer.left_out))

    async def tell(self, uid: str, author: str, why: str, lines: Sequence[str]) -> None:
        """See `Others`."""
        await asyncio.gather(self._record(uid, author, why), self._write_log(uid, lines))

    async def _record(self, uid: str, author: str, why: str) -> None:
        if self._config is None:
            return
        request = configs.RecordPositionsMoveRequest(connector_uid=uid, author=author, reason=why)
        try:
            with remote_errors():
                await ConfigServiceStub(self._config).RecordPositionsMove(request)
        except ServiceError as error:
            _log.warning("the history of the connector does not show what was moved", uid=uid, cause=error.message)

    async def _write_log(self, uid: str, lines: Sequence[str]) -> None:
        if self._state is None:
            return
        try:
            await write_lines(StateServiceStub(self._state), _SPEAKER, uid, lines)
        except ServiceError as error:
            _log.warning("the log of the connector does not show what was moved", uid=uid, cause=error.message)

    def _asked(self, what: str) -> "grpc.aio.Channel":
        if self._cluster is None:
            why = "this service has no address of the cluster service: give it --cluster-address (ROCKETCONNECT_CLUSTER_ADDRESS)"
            raise not_checked(what, why)
        return self._cluster

    async def _capable(self, config: Mapping[str, str], what: str) -> Sequence[Peer]:
        """Return the living workers that offer the plugin of a configuration."""
        stub = ClusterServiceStub(self._asked(what))
        peers: list[Peer] = []
        request = cluster.ListWorkersRequest(page_size=_PAGE)
        while True:
            with remote_errors():
                answer = await stub.ListWorkers(request)
            peers += [
                Peer(worker.worker_id, worker.address)
                for worker in answer.workers
                if worker.alive and worker.address and config.get(CLASS.key, "") in worker.plugins
            ]
            request.page_token = answer.next_page_token
            if not request.page_token:
                break
        if not peers:
            raise not_checked(what, f"no living executor offers the plugin {config.get(CLASS.key, '')!r}")
        return peers


def not_checked(what: str, why: str) -> Unavailable:
    """Return the error of a question that nobody can answer now."""
    message = (
        f"nobody can say {what}: {why}; try again when that is mended, or move the positions without asking "
        "(unchecked, --unchecked)"
    )
    return Unavailable(NOT_CHECKED, message)


@contextmanager
def _not_known(what: str) -> Iterator[None]:
    """Make silence of those that are asked the error of a question that nobody can answer."""
    try:
        yield
    except NobodyAnswers as silence:
        raise not_checked(what, str(silence)) from silence
    except (Unavailable, DeadlineExceeded) as error:
        if error.reason == NOT_CHECKED:
            raise
        raise not_checked(what, error.message) from error


def _problem(found: connector_pb2.Problem) -> FieldProblem:
    return FieldProblem(found.key, found.value, found.reason, found.fix)
