"""Messages as the JSON shapes of RocketMQ Connect (its rest.entities). Pure.

Its states are fewer than ours. What a state of ours loses in the mapping stands in front of the trace.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_sdk.translations import classes_of

Json = dict[str, Any]

_CONNECTOR_TYPES = {connectors.CONNECTOR_TYPE_SOURCE: "SOURCE", connectors.CONNECTOR_TYPE_SINK: "SINK"}
_PLUGIN_TYPES = {
    connectors.PLUGIN_TYPE_SOURCE: "SOURCE",
    connectors.PLUGIN_TYPE_SINK: "SINK",
    connectors.PLUGIN_TYPE_CONVERTER: "CONVERTER",
    connectors.PLUGIN_TYPE_TRANSFORM: "TRANSFORMATION",
}
_CONNECTOR_PLUGINS = (connectors.PLUGIN_TYPE_SOURCE, connectors.PLUGIN_TYPE_SINK)
_STATES = {
    connectors.STATE_UNSPECIFIED: "UNASSIGNED",
    connectors.STATE_UNASSIGNED: "UNASSIGNED",
    connectors.STATE_STARTING: "UNASSIGNED",
    connectors.STATE_RUNNING: "RUNNING",
    connectors.STATE_IDLE: "RUNNING",
    connectors.STATE_WAITING: "RUNNING",
    connectors.STATE_STALLED: "FAILED",
    connectors.STATE_PAUSED: "PAUSED",
    connectors.STATE_STOPPED: "DESTROYED",
    connectors.STATE_FAILED: "FAILED",
    connectors.STATE_RESTARTING: "RESTARTING",
}
_SAME_MEANING = (
    connectors.STATE_UNSPECIFIED,
    connectors.STATE_UNASSIGNED,
    connectors.STATE_RUNNING,
    connectors.STATE_PAUSED,
    connectors.STATE_STOPPED,
    connectors.STATE_FAILED,
    connectors.STATE_RESTARTING,
)
_TASK_LISTS = {
    "PENDING": "pendingTasks",
    "RUNNING": "runningTasks",
    "STOPPING": "stoppingTasks",
    "STOPPED": "stoppedTasks",
    "ERROR": "errorTasks",
}
_WORKER_TASK_STATES = {
    connectors.STATE_RUNNING: "RUNNING",
    connectors.STATE_IDLE: "RUNNING",
    connectors.STATE_WAITING: "RUNNING",
    connectors.STATE_PAUSED: "RUNNING",
    connectors.STATE_STOPPED: "STOPPED",
    connectors.STATE_STALLED: "ERROR",
    connectors.STATE_FAILED: "ERROR",
}


def connector_state_info(state: states.ConnectorState) -> Json:
    """Return ConnectorStateInfo: name, connector, tasks, type."""
    return {
        "name": state.connector,
        "connector": _state(state.state, state.trace, state.worker_id),
        "tasks": [task_state(task) for task in _tasks(state)],
        "type": _type(state.type),
    }


def task_state(task: states.TaskState) -> Json:
    """Return TaskState: state, trace, workerId, id."""
    return {**_state(task.state, task.trace, task.worker_id), "id": task.task}


def connector_info(connector: connectors.Connector, state: states.ConnectorState) -> Json:
    """Return ConnectorInfo: name, config, tasks, type."""
    tasks = [{"connector": connector.name, "task": task.task} for task in _tasks(state)]
    return {"name": connector.name, "config": dict(connector.config), "tasks": tasks, "type": _type(connector.type)}


def task_configs(state: states.ConnectorState) -> list[Json]:
    """Return TaskInfo of each task: id, config."""
    return [{"id": {"connector": state.connector, "task": task.task}, "config": dict(task.config)} for task in _tasks(state)]


def allocated_tasks(all_states: Iterable[states.ConnectorState]) -> Mapping[str, list[Json]]:
    """Return the tasks by what their workers do with them: connectorName, config, taskState."""
    lists: dict[str, list[Json]] = {name: [] for name in _TASK_LISTS.values()}
    for state in all_states:
        for task in _tasks(state):
            kind = _WORKER_TASK_STATES.get(task.state, "PENDING")
            lists[_TASK_LISTS[kind]].append({"connectorName": state.connector, "config": dict(task.config), "taskState": kind})
    return lists


def plugin_infos(plugins: Iterable[connectors.Plugin], *, connectors_only: bool) -> Iterator[Json]:
    """Yield PluginInfo (className, type, version) for each plugin, under each name that a configuration may call it by.

    Kinds of plugins that RocketMQ Connect has no name for, such as the one without a topic, are left out.
    """
    for plugin in plugins:
        if plugin.type in (_CONNECTOR_PLUGINS if connectors_only else _PLUGIN_TYPES):
            for name in dict.fromkeys((plugin.name, *plugin.aliases, *classes_of(plugin.name))):
                yield {"className": name, "type": _PLUGIN_TYPES[plugin.type], "version": plugin.version}


def _state(state: "connectors.State.ValueType", trace: str, worker_id: str) -> Json:
    if state not in _SAME_MEANING:
        name = connectors.State.Name(state).removeprefix("STATE_")
        trace = f"{name}: {trace}" if trace else name
    return {"state": _STATES[state], "trace": trace or None, "workerId": worker_id or None}


def _tasks(state: states.ConnectorState) -> Iterator[states.TaskState]:
    # Task -1 is the planning of the connector, which RocketMQ Connect does not know as a task.
    return (task for task in state.tasks if task.task >= 0)


def _type(kind: "connectors.ConnectorType.ValueType") -> str:
    return _CONNECTOR_TYPES.get(kind, "UNKNOWN")
