"""Who did what with dead letters, for the log of the connector that failed at them."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.status import remote_errors

if TYPE_CHECKING:
    from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceAsyncStub

_WORKER_ID = "dead-letter"
_SECONDS = 5.0

_log = get_logger(__name__)


class Journal:
    """Tells the state service. That it is away stops nobody: then only this process has logged it."""

    def __init__(self, state: "StateServiceAsyncStub") -> None:
        self._state = state

    async def tell(self, uid: str, lines: Sequence[str]) -> None:
        """Put lines into the log of a connector."""
        now = Timestamp()
        now.FromNanoseconds(time.time_ns())
        request = states.ReportTasksRequest(worker_id=_WORKER_ID)
        for line in lines:
            _log.info(line, connector_uid=uid)
            request.logs.add(connector_uid=uid, line=states.TaskLog(time=now, level="INFO", message=line, task=-1))
        try:
            with remote_errors():
                await self._state.ReportTasks(request, timeout=_SECONDS)
        except ServiceError as error:
            _log.warning("the log of the connector does not show what was done with its dead letters", uid=uid, cause=error.message)
