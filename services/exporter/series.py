"""What series of tasks are called."""

from collections.abc import Iterable

from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

TASK = ("connector", "task")
"""The labels of a task's series."""

UNDER_WAY = {
    connectors.STATE_RUNNING,
    connectors.STATE_IDLE,
    connectors.STATE_WAITING,
    connectors.STATE_STALLED,
    connectors.STATE_PAUSED,
}
"""In these a task says how far it is from the end; in any other there is no such sample."""

Tasks = Iterable[tuple[states.ConnectorState, states.TaskState]]


def labels_of(connector: states.ConnectorState, task: states.TaskState) -> list[str]:
    """Return the values of TASK."""
    return [connector.connector, "plan" if task.task < 0 else str(task.task)]
