"""What other services say and hear of replays: who holds the task of one, and that one was ordered."""

from typing import Protocol

from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.connector_log import DEAD_LETTERS, write_lines
from rocketconnect_kit.errors import DeadlineExceeded, NotFound, PermissionDenied, ServiceError, Unavailable
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings

_SECONDS = 2.0

_log = get_logger(__name__)


class Others(Protocol):
    """The other services."""

    async def check_holder(self, request: pb.FinishReplayRequest) -> None:
        """Return if the worker holds the task that it says it has run, as it says.

        Raises:
            PermissionDenied: NOT_ASSIGNED.
            Unavailable: HOLDER_NOT_KNOWN.
        """

    async def tell(self, uid: str, line: str) -> None:
        """Put a line into the log of a connector, if the state service answers."""


class GrpcOthers:
    """The other services over gRPC (see `Others`)."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._cluster = channel(settings.cluster_address, settings, service="cluster") if settings.cluster_address else None
        self._state = channel(settings.state_address, settings, service="state") if settings.state_address else None

    async def close(self) -> None:
        """Close all channels."""
        for opened in (self._cluster, self._state):
            if opened is not None:
                await opened.close()

    async def check_holder(self, request: pb.FinishReplayRequest) -> None:
        """See `Others`."""
        held = await self._held(request)
        said = (cluster.UNIT_TASK, request.worker_id, request.generation, request.epoch)
        # Who plans a replay has sent nothing of it.
        if held is None or (held.unit, held.worker_id, held.generation, held.epoch) != said:
            message = (
                f"task {request.task} of connector {request.connector_uid}, generation {request.generation}, epoch "
                f"{request.epoch}, is not assigned to the worker {request.worker_id!r}; only who holds the task of a replay ends it"
            )
            raise PermissionDenied("NOT_ASSIGNED", message, connector_uid=request.connector_uid, task=str(request.task))

    async def tell(self, uid: str, line: str) -> None:
        """See `Others`."""
        if self._state is None:
            return
        try:
            await write_lines(StateServiceStub(self._state), DEAD_LETTERS, uid, [line], _SECONDS)
        except ServiceError as error:
            _log.warning("the log of the connector does not show its replay", uid=uid, cause=error.message)

    async def _held(self, request: pb.FinishReplayRequest) -> cluster.Assignment | None:
        if self._cluster is None:
            why = "this service has no address of the cluster service: give it --cluster-address (ROCKETCONNECT_CLUSTER_ADDRESS)"
            raise Unavailable("HOLDER_NOT_KNOWN", f"nobody can say whose the task is: {why}")
        key = cluster.AssignmentKey(connector_uid=request.connector_uid, task=request.task)
        try:
            with remote_errors():
                answer = await ClusterServiceStub(self._cluster).GetAssignment(
                    cluster.GetAssignmentRequest(key=key), timeout=_SECONDS
                )
        except NotFound:
            return None
        except (Unavailable, DeadlineExceeded) as error:
            raise Unavailable("HOLDER_NOT_KNOWN", f"nobody can say whose the task is: {error.message}; try again") from error
        return answer.assignment
