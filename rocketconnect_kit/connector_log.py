"""Lines in the log of a connector that no task of it says: a service tells what somebody has done."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.serving.status import remote_errors

if TYPE_CHECKING:
    from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceAsyncStub


DEAD_LETTERS = "dead-letter"
"""Who speaks when an executor tells what somebody has done with dead letters, and not what its tasks do."""


async def write_lines(
    state: "StateServiceAsyncStub", speaker: str, uid: str, lines: Sequence[str], seconds: float | None = None
) -> None:
    """Put lines into the log of a connector, with the present time.

    Args:
        state: the state service.
        speaker: which service says it, such as "position".
        uid: of the connector.
        lines: what it says.
        seconds: how long the call may take; None: that of the channel.

    Raises:
        ServiceError: they are not there, or it is not known.
    """
    now = Timestamp()
    now.FromNanoseconds(time.time_ns())
    request = states.ReportTasksRequest(worker_id=speaker)
    for line in lines:
        request.logs.add(connector_uid=uid, line=states.TaskLog(time=now, level="INFO", message=line, task=-1))
    with remote_errors():
        await state.ReportTasks(request, timeout=seconds)
