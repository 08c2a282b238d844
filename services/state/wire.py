"""Messages to domain and back, pure."""

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster_pb
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as pb

from services.state.core import AssignmentsTold, ConnectorsTold, Reported
from services.state.model import (
    Assignment,
    Connector,
    ConnectorView,
    Key,
    LogLine,
    Report,
    Sample,
    StaleReport,
    State,
    TargetState,
    TaskView,
)

MAXIMUM_TRACE = 16_000
MAXIMUM_MESSAGE = 4_000
MAXIMUM_WORD = 128
_CLASS = "connector.class"
_LAST_SECOND = 253_402_300_799.0

_WANTED = {
    connector_pb2.WANTED_STATE_UNSPECIFIED: TargetState.RUNNING,
    connector_pb2.WANTED_STATE_RUNNING: TargetState.RUNNING,
    connector_pb2.WANTED_STATE_PAUSED: TargetState.PAUSED,
    connector_pb2.WANTED_STATE_STOPPED: TargetState.STOPPED,
}
_STATES = {connector_pb2.State.Value(f"STATE_{state}"): state for state in State}
_NUMBERS = {state: number for number, state in _STATES.items()}
UNDER_WAY = {State.RUNNING, State.IDLE, State.WAITING, State.STALLED, State.PAUSED}
"""The states of a task that looks at its queues and says what it finds."""


def connectors_told(message: config_pb.WatchConnectorsResponse) -> ConnectorsTold:
    """Return the event of an answer of the config service's watch."""
    return ConnectorsTold(message.snapshot, tuple(map(_connector, message.connectors)), tuple(message.deleted_uids))


def assignments_told(message: cluster_pb.WatchAssignmentsResponse) -> AssignmentsTold:
    """Return the event of an answer of the cluster service's watch."""
    removed = tuple(Key(key.connector_uid, key.task) for key in message.removed)
    return AssignmentsTold(message.snapshot, tuple(map(_assignment, message.assignments)), removed)


def reported(request: pb.ReportTasksRequest) -> Reported:
    """Return the event of a worker's report. Texts that are too long are cut, with a mark at the end."""
    reports = tuple(_report(request.worker_id, message) for message in request.reports)
    lines = [
        (message.connector_uid, _log_line(request.worker_id, message.task, line))
        for message in request.reports
        for line in message.logs
    ]
    lines += [(message.connector_uid, _log_line(request.worker_id, message.line.task, message.line)) for message in request.logs]
    return Reported(reports, tuple(lines), request.worker_id, request.receipt)


def refused(value: StaleReport) -> pb.ReportTasksResponse.Refused:
    """Return the message of a refused report."""
    return pb.ReportTasksResponse.Refused(
        connector_uid=value.key.connector_uid, task=value.key.task, epoch=value.epoch, current_epoch=value.current_epoch
    )


def connector_state(view: ConnectorView) -> pb.ConnectorState:
    """Return the message of what a connector shows."""
    return pb.ConnectorState(
        connector=view.connector.name,
        connector_uid=view.connector.uid,
        state=_NUMBERS[view.state],
        trace=view.trace,
        worker_id=view.planner,
        type=connector_pb2.ConnectorType.ValueType(view.connector.type),
        wanted_state=connector_pb2.WantedState.Value(f"WANTED_STATE_{view.connector.wanted}"),
        revision=view.revision,
        plugin=view.connector.plugin,
        tasks=map(_task_state, view.tasks),
    )


def task_log(line: LogLine) -> pb.TaskLog:
    """Return the message of a log line."""
    return pb.TaskLog(time=timestamp(line.time), level=line.level, message=line.message, task=line.task, worker_id=line.worker)


def sample(value: Sample) -> pb.ConnectorSample:
    """Return the message of a sample."""
    return pb.ConnectorSample(
        time=timestamp(value.time),
        state=_NUMBERS[value.state],
        rate_out=value.rate,
        lag=value.lag,
        errors=round(value.errors),
        batch_seconds=value.batch_seconds,
        latency_seconds=value.latency_seconds,
        freshness_seconds=value.freshness_seconds,
    )


def is_state(number: int) -> bool:
    """Return whether the number of an enum value is a state that is known here."""
    return number in _STATES


def timestamp(value: float) -> Timestamp:
    """Return seconds since 1970 as a timestamp."""
    message = Timestamp()
    message.FromMicroseconds(round(value * 1e6))
    return message


def seconds_of(value: Timestamp) -> float:
    """Return a timestamp in seconds since 1970; one that no clock can show becomes the nearest that can be shown."""
    return min(max(value.seconds + value.nanos / 1e9, 0.0), _LAST_SECOND)


def _task_state(view: TaskView) -> pb.TaskState:
    return pb.TaskState(
        task=view.task,
        state=_NUMBERS[view.state],
        trace=view.trace,
        worker_id=view.worker,
        epoch=view.epoch,
        generation=view.generation,
        since=timestamp(view.since) if view.since is not None else None,
        last_progress=timestamp(view.last_progress) if view.last_progress is not None else None,
        metrics=shown_metrics(view),
        restarts=view.restarts,
        config=view.config,
    )


def shown_metrics(view: TaskView) -> pb.TaskMetrics:
    """Return what a task shows of its counters."""
    metrics = pb.TaskMetrics.FromString(view.metrics)
    if view.state not in UNDER_WAY:
        # What was measured a moment ago is not true any more when nobody measures: no lag is shown then, not that of the last run.
        metrics.ClearField("rate_in")
        metrics.ClearField("rate_out")
        metrics.ClearField("buffered_bytes")
        metrics.ClearField("lags")
        metrics.ClearField("open_batch")
        metrics.ClearField("source_remaining")
        metrics.ClearField("source_remaining_known")
        metrics.ClearField("source_remaining_unit")
        metrics.ClearField("source_time_left")
        metrics.ClearField("spark_ui")
        metrics.ClearField("spark_driver")
    return metrics


def _connector(message: connector_pb2.Connector) -> Connector:
    # A wanted state of a newer version of the API counts as not given.
    wanted = _WANTED.get(message.wanted_state, TargetState.RUNNING)
    plugin = _cut(message.config.get(_CLASS, ""), MAXIMUM_WORD)
    return Connector(message.uid, message.name, message.revision, wanted, message.type, plugin)


def _assignment(message: cluster_pb.Assignment) -> Assignment:
    return Assignment(
        key=Key(message.connector_uid, message.task),
        worker=message.worker_id,
        epoch=message.epoch,
        generation=message.generation,
        revision=message.revision,
        revoked=message.revoked,
        config=dict(message.task_config),
        unowned=_STATES.get(message.unowned_state, State.UNASSIGNED),
        reason=message.reason,
        failures=message.failures,
        settled=message.settled,
    )


def _report(worker: str, message: pb.TaskReport) -> Report:
    return Report(
        key=Key(message.connector_uid, message.task),
        worker=worker,
        generation=message.generation,
        epoch=message.epoch,
        state=_STATES[message.state],
        trace=_cut(message.trace, MAXIMUM_TRACE),
        since=seconds_of(message.since) if message.HasField("since") else None,
        last_progress=seconds_of(message.last_progress) if message.HasField("last_progress") else None,
        has_work=message.has_work,
        restarts=message.restarts,
        stall_after=message.stall_after.ToNanoseconds() / 1e9 if message.HasField("stall_after") else None,
        metrics=message.metrics.SerializeToString(deterministic=True),
    )


def _log_line(worker: str, task: int, message: pb.TaskLog) -> LogLine:
    return LogLine(
        sequence=0,
        time=seconds_of(message.time),
        level=_cut(message.level, 16),
        message=_cut(message.message, MAXIMUM_MESSAGE),
        task=task,
        worker=_cut(message.worker_id, MAXIMUM_WORD) or worker,
    )


def _cut(text: str, length: int) -> str:
    # A store that keeps text as UTF-8 refuses the null character.
    text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return text if len(text) <= length else text[: length - 1] + "…"
