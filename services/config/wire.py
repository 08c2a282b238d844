"""Messages to domain and back, pure."""

from collections.abc import Iterable, Mapping

from google.protobuf import json_format
from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb2

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.origins.origin import Origin
from services.config.domain import Change, Changes, Cleanup, CleanupOutcome, Connector, ConnectorType, Draft, Revision, WantedState
from services.config.origins.reads import Reads

_WANTED = {
    connector_pb2.WANTED_STATE_UNSPECIFIED: WantedState.RUNNING,
    connector_pb2.WANTED_STATE_RUNNING: WantedState.RUNNING,
    connector_pb2.WANTED_STATE_PAUSED: WantedState.PAUSED,
    connector_pb2.WANTED_STATE_STOPPED: WantedState.STOPPED,
}
_TYPE_PREFIX = "CONNECTOR_TYPE_"


def draft(request: pb.CreateConnectorRequest, config: dict[str, str]) -> Draft:
    """Return the connector to create, with this configuration. A wanted state of a newer version of the API counts as not given."""
    wanted = _WANTED.get(request.wanted_state, WantedState.RUNNING)
    return Draft(request.name, config, wanted, request.request_id, request.adopt_uid, request.apply_set)


def connector(value: Connector) -> connector_pb2.Connector:
    """Return the message of a connector."""
    return connector_pb2.Connector(
        name=value.name,
        uid=value.uid,
        revision=value.revision,
        etag=value.etag,
        config=value.config,
        wanted_state=connector_pb2.WantedState.Value(f"WANTED_STATE_{value.wanted_state}"),
        type=type_value(value.type),
        create_time=timestamp(value.create_time),
        update_time=timestamp(value.update_time),
        restarts=value.restarts,
        apply_set=value.apply_set,
    )


def revision(value: Revision) -> connector_pb2.Revision:
    """Return the message of a revision."""
    return connector_pb2.Revision(
        connector_uid=value.connector_uid,
        connector=value.connector,
        revision=value.revision,
        config=value.config,
        create_time=timestamp(value.create_time),
        change=change(value.change),
    )


def change(value: Change) -> connector_pb2.Change:
    """Return the message of an entry of the history."""
    return connector_pb2.Change(
        connector_uid=value.connector_uid,
        connector=value.connector,
        action=connector_pb2.Action.Value(f"ACTION_{value.action}"),
        revision=value.revision,
        of_revision=value.of_revision,
        author=value.author,
        on_behalf_of=value.on_behalf_of,
        reason=value.reason,
        time=timestamp(value.time),
    )


def changes(value: Changes, *, snapshot: bool) -> pb.WatchConnectorsResponse:
    """Return the message of a watch."""
    return pb.WatchConnectorsResponse(
        snapshot=snapshot,
        connectors=map(connector, value.connectors),
        deleted_uids=value.deleted_uids,
        sequence=value.sequence,
    )


def cleanup(value: Cleanup) -> pb.Cleanup:
    """Return the message of what is left to do behind a deleted connector."""
    return pb.Cleanup(
        connector_uid=value.connector_uid,
        connector=value.connector,
        config=value.config,
        delete_time=timestamp(value.delete_time),
    )


def cleanup_outcome(value: "pb.CleanupOutcome.ValueType") -> CleanupOutcome:
    """Return the outcome; one that is not said, or of a newer version of the API, counts as failed."""
    names = {number: name.removeprefix("CLEANUP_OUTCOME_") for name, number in pb.CleanupOutcome.items()}
    name = names.get(value, "FAILED")
    return CleanupOutcome.FAILED if name == "UNSPECIFIED" else CleanupOutcome(name)


def named(value: Connector) -> executor_pb2.NamedConnector:
    """Return a connector as executors are told of it."""
    return executor_pb2.NamedConnector(name=value.name, config=value.config)


def verified(value: executor_pb2.VerifyConnectorResponse) -> pb.VerifyConnectorResponse:
    """Return what an executor found out about tables."""
    return pb.VerifyConnectorResponse(
        problems=value.problems,
        tables=value.tables,
        differences=value.differences,
        next_page_token=value.next_page_token,
        trouble=value.trouble,
    )


def problem(value: FieldProblem) -> connector_pb2.Problem:
    """Return the message of a problem."""
    return connector_pb2.Problem(key=value.field, value=value.value, reason=value.reason, fix=value.fix)


def plugin_documents(plugins: Iterable[connector_pb2.Plugin]) -> dict[str, str]:
    """Return the plugins as stored: name to JSON, with the names that the protos use."""
    return {plugin.name: json_format.MessageToJson(plugin, preserving_proto_field_name=True, indent=None) for plugin in plugins}


def plugin(document: str) -> connector_pb2.Plugin:
    """Return a stored plugin; what a newer version of the service has added to it is left out."""
    return json_format.Parse(document, connector_pb2.Plugin(), ignore_unknown_fields=True)


def connector_names(documents: Mapping[str, str]) -> list[str]:
    """Return the names of the stored plugins that a connector can be of."""
    kinds = (connector_pb2.PLUGIN_TYPE_SOURCE, connector_pb2.PLUGIN_TYPE_SINK, connector_pb2.PLUGIN_TYPE_DIRECT)
    return [name for name, document in documents.items() if plugin(document).type in kinds]


def plugin_aliases(plugins: Iterable[connector_pb2.Plugin]) -> dict[str, str]:
    """Return the plugins' other names: alias to name."""
    return {alias: plugin.name for plugin in plugins for alias in plugin.aliases}


def merged_plugins(newest_first: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the plugins of several workers by name, sorted; the newest report describes one that several offer."""
    merged: dict[str, str] = {}
    for plugins in newest_first:
        merged = {**plugins, **merged}
    return dict(sorted(merged.items()))


def connector_type(value: "connector_pb2.ConnectorType.ValueType") -> ConnectorType:
    """Return the direction; one of a newer version of the API counts as not known."""
    names = {number: name for name, number in connector_pb2.ConnectorType.items()}
    return ConnectorType(names.get(value, "CONNECTOR_TYPE_UNSPECIFIED").removeprefix(_TYPE_PREFIX))


def reads(value: executor_pb2.Origins) -> Reads:
    """Return what a source reads."""
    found = [Origin(each.key, each.place, each.name, each.is_pattern, list(each.without), each.into) for each in value.origins]
    return Reads(found, value.shared)


def type_value(value: ConnectorType) -> "connector_pb2.ConnectorType.ValueType":
    """Return the number of a direction."""
    return connector_pb2.ConnectorType.Value(f"{_TYPE_PREFIX}{value}")


def timestamp(microseconds: int) -> Timestamp:
    """Return the message of a time."""
    made = Timestamp()
    made.FromMicroseconds(microseconds)
    return made
