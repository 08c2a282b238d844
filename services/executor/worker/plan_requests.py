"""Tasks that ask for a new plan of their connector: brought to the cluster service."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster

from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import PASSING, decode
from services.executor.contract.assignment import Assigned, Key

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub

_CALL_SECONDS = 5.0
_PAUSE_SECONDS = 1.0
"""A task that asks at each poll is one request in so long."""

_log = get_logger(__name__)


class PlanRequests:
    """Tells what tasks ask, tried for as long as they are ours. For the thread of the loop.

    Args:
        stub: The cluster service.
        worker_id: Whose tasks they are.
        session_of: Gives the session in which this worker holds an assignment; 0: it does not any more.
    """

    def __init__(self, stub: "ClusterServiceAsyncStub", worker_id: str, session_of: Callable[[Assigned], int]) -> None:
        self._stub = stub
        self._worker_id = worker_id
        self._session_of = session_of
        self._asked: dict[Key, Assigned] = {}
        self._new = asyncio.Event()
        self._told = False

    def add(self, assigned: Assigned) -> None:
        """A task asks."""
        self._asked[assigned.key] = assigned
        self._new.set()

    async def run(self) -> None:
        """Tell, until cancelled."""
        while True:
            await self._new.wait()
            self._new.clear()
            asked, self._asked = self._asked, {}
            for assigned in asked.values():
                await self._tell(assigned)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _tell(self, assigned: Assigned) -> None:
        session = self._session_of(assigned)
        if not session:
            # Who has it now sees for itself what there is.
            return
        key = cluster.AssignmentKey(connector_uid=assigned.key.connector_uid, task=assigned.key.task)
        request = cluster.RequestPlanRequest(worker_id=self._worker_id, session=session, key=key, epoch=assigned.epoch)
        try:
            await self._stub.RequestPlan(request, timeout=_CALL_SECONDS)
        except grpc.RpcError as error:
            cause = decode(error)
            if cause.code in PASSING:
                if not self._told:
                    _log.warning("can't ask for a new plan, trying on", connector=assigned.connector, cause=cause.message)
                self._told = True
                if assigned.key not in self._asked:
                    self.add(assigned)
            else:
                _log.info("no new plan is made for a task that asked", connector=assigned.connector, cause=cause.message)
        else:
            self._told = False
