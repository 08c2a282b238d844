"""Messages as the JSON shapes of Kafka Connect (its runtime.rest.entities). Pure.

Its states are fewer than ours: STARTING is UNASSIGNED, IDLE and WAITING are RUNNING, STALLED is FAILED. What a state of ours loses
so stands in front of the trace.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.options import names_secret
from rocketconnect_sdk.plugins.kafka_names import topic_name

Json = dict[str, Any]

_CONNECTOR_TYPES = {connectors.CONNECTOR_TYPE_SOURCE: "source", connectors.CONNECTOR_TYPE_SINK: "sink"}
_PLUGIN_TYPES = {
    connectors.PLUGIN_TYPE_SOURCE: "source",
    connectors.PLUGIN_TYPE_SINK: "sink",
    connectors.PLUGIN_TYPE_CONVERTER: "converter",
    connectors.PLUGIN_TYPE_TRANSFORM: "transformation",
    connectors.PLUGIN_TYPE_PREDICATE: "predicate",
}
_CONNECTOR_PLUGINS = (connectors.PLUGIN_TYPE_SOURCE, connectors.PLUGIN_TYPE_SINK)
_SAME = ("UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING")
_STATES = {
    **{name: name for name in _SAME},
    "UNSPECIFIED": "UNASSIGNED",
    "STARTING": "UNASSIGNED",
    "IDLE": "RUNNING",
    "WAITING": "RUNNING",
    "STALLED": "FAILED",
}
_TOPICS = ("topics", "topic", "connect.topicname", "connect.topicnames", "connect-topicname")
_KINDS = {"bool": "BOOLEAN", "int": "LONG", "float": "DOUBLE", "list": "LIST"}
"""Sizes and durations are texts here, with a unit."""
HIDDEN = "[hidden]"


def status(state: states.ConnectorState) -> Json:
    """Return ConnectorStateInfo."""
    return {
        "name": state.connector,
        "connector": _state(state.state, state.trace, state.worker_id),
        "tasks": [task_status(task) for task in tasks_of(state)],
        "type": _type(state.type),
    }


def task_status(task: states.TaskState) -> Json:
    """Return ConnectorStateInfo.TaskState."""
    return {"id": task.task, **_state(task.state, task.trace, task.worker_id)}


def info(connector: connectors.Connector, state: states.ConnectorState) -> Json:
    """Return ConnectorInfo."""
    tasks = [{"connector": connector.name, "task": task.task} for task in tasks_of(state)]
    return {"name": connector.name, "config": config_of(connector), "tasks": tasks, "type": _type(connector.type)}


def config_of(connector: connectors.Connector) -> dict[str, str]:
    """Return the configuration, with the name in it as there."""
    return {"name": connector.name, **{key: text for key, text in sorted(connector.config.items()) if key != "name"}}


def task_configs(state: states.ConnectorState) -> list[Json]:
    """Return TaskInfo of each task."""
    return [{"id": {"connector": state.connector, "task": task.task}, "config": dict(task.config)} for task in tasks_of(state)]


def topics(connector: connectors.Connector) -> Json:
    """Return the topics that a configuration names, as far as it does."""
    named = [each.strip() for key in _TOPICS for each in connector.config.get(key, "").split(",")]
    return {connector.name: {"topics": list(dict.fromkeys(topic_name(each) for each in named if each))}}


def plugin_infos(plugins: Iterable[connectors.Plugin], *, connectors_only: bool) -> Iterator[Json]:
    """Yield PluginInfo of each plugin. Kinds that Kafka Connect has no name for are left out."""
    for plugin in plugins:
        if plugin.type in (_CONNECTOR_PLUGINS if connectors_only else _PLUGIN_TYPES):
            yield {"class": plugin.name, "type": _PLUGIN_TYPES[plugin.type], "version": plugin.version}


def config_keys(plugin: connectors.Plugin) -> list[Json]:
    """Return ConfigKeyInfo of each option."""
    return [_definition(option, number) for number, option in enumerate(plugin.options, 1)]


def config_infos(
    name: str, options: Sequence[connectors.Option], config: Mapping[str, str], problems: Sequence[FieldProblem]
) -> Json:
    """Return ConfigInfos: each option with its value, and what is wrong with it. Values of secrets are not shown.

    Args:
        name: Of the plugin.
        options: Of it.
        config: What was checked.
        problems: All that is wrong; what belongs to no option is told with connector.class.
    """
    known = {option.key: option for option in options}
    others = [connectors.Option(key=key, type="string") for key in config if key not in known]
    wrong: dict[str, list[str]] = {}
    for problem in problems:
        key = problem.field if problem.field in {*known, *config} else "connector.class"
        wrong.setdefault(key, []).append(f"{problem.reason}. {problem.fix}".strip(" ."))
    listed = [*options, *others]
    if "connector.class" not in {option.key for option in listed}:
        listed.insert(0, connectors.Option(key="connector.class", type="string", required=True))
    configs = [_checked(option, number, config, wrong.get(option.key, [])) for number, option in enumerate(listed, 1)]
    return {"name": name, "error_count": sum(map(len, wrong.values())), "groups": [], "configs": configs}


def tasks_of(state: states.ConnectorState) -> list[states.TaskState]:
    """Return the tasks: -1 is the planning of the connector, which Kafka Connect does not know as a task."""
    return [task for task in state.tasks if task.task >= 0]


def has_failed(state: "connectors.State.ValueType") -> bool:
    """Whether this is FAILED to Kafka Connect."""
    return _mapped(state) == "FAILED"


def _mapped(state: "connectors.State.ValueType") -> str:
    return _STATES[connectors.State.Name(state).removeprefix("STATE_")]


def _state(state: "connectors.State.ValueType", trace: str, worker_id: str) -> Json:
    name = connectors.State.Name(state).removeprefix("STATE_")
    if name not in (*_SAME, "UNSPECIFIED"):
        trace = f"{name}: {trace}" if trace else name
    return {"state": _STATES[name], "worker_id": worker_id, **({"trace": trace} if trace else {})}


def _type(kind: "connectors.ConnectorType.ValueType") -> str:
    return _CONNECTOR_TYPES.get(kind, "unknown")


def _definition(option: connectors.Option, number: int) -> Json:
    return {
        "name": option.key,
        "type": "PASSWORD" if option.secret else _KINDS.get(option.type, "STRING"),
        "required": option.required,
        "default_value": option.default_value or None,
        "importance": "HIGH" if option.required else "MEDIUM",
        "documentation": option.documentation,
        "group": option.group or None,
        "width": "NONE",
        "display_name": option.key,
        "dependents": [],
        "order": number,
        "order_in_group": number,
    }


def _checked(option: connectors.Option, number: int, config: Mapping[str, str], errors: Sequence[str]) -> Json:
    given = config.get(option.key)
    is_secret = option.secret or names_secret(option.key)
    value = HIDDEN if given and is_secret and not given.startswith("${") else given
    told = {"name": option.key, "value": value, "recommended_values": list(option.choices), "errors": list(errors), "visible": True}
    return {"definition": _definition(option, number), "value": told}
