"""What series of tasks are called."""

from collections.abc import Iterable

from rocketconnect.state.v1 import state_service_pb2 as states

TASK = ("connector", "task")
"""The labels of a task's series."""

Tasks = Iterable[tuple[states.ConnectorState, states.TaskState]]


def labels_of(connector: states.ConnectorState, task: states.TaskState) -> list[str]:
    """Return the values of TASK."""
    return [connector.connector, "plan" if task.task < 0 else str(task.task)]
