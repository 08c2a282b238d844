"""Messages to domain and back, pure."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.connector.v1 import connector_pb2

from services.cluster.board import Update
from services.cluster.decisions.events import ConnectorsChanged, Offer, Register, Release, ReportPlan, RequestPlan
from services.cluster.model import PLAN, Connector, Key, TargetState, Worker
from services.cluster.view import AssignmentView

_WANTED = {
    connector_pb2.WANTED_STATE_UNSPECIFIED: TargetState.RUNNING,
    connector_pb2.WANTED_STATE_RUNNING: TargetState.RUNNING,
    connector_pb2.WANTED_STATE_PAUSED: TargetState.PAUSED,
    connector_pb2.WANTED_STATE_STOPPED: TargetState.STOPPED,
}


def register(request: pb.RegisterWorkerRequest) -> Register:
    """Return the event of a request."""
    # An executor that knows of no weight says none.
    weight = request.weight or 1
    send_deadline = request.send_deadline.ToTimedelta().total_seconds()
    plugins = frozenset(request.plugins)
    return Register(
        request.worker_id,
        request.address,
        dict(request.labels),
        plugins,
        weight,
        send_deadline,
        max(0, request.pid),
        request.process,
        frozenset(request.ended_processes),
    )


def offer(request: pb.OfferPluginsRequest) -> Offer:
    """Return the event of a request."""
    return Offer(request.worker_id, request.session, frozenset(request.plugins))


def release(request: pb.ReleaseAssignmentRequest) -> Release:
    """Return the event of a request."""
    key = Key(request.key.connector_uid, request.key.task)
    return Release(
        request.worker_id,
        request.session,
        key,
        request.epoch,
        request.failed,
        request.permanent,
        opened_generation=request.opened_generation,
    )


def report_plan(request: pb.ReportPlanRequest) -> ReportPlan:
    """Return the event of a request."""
    replan_after = seconds(request.replan_after) if request.HasField("replan_after") else None
    tasks = tuple(dict(task.config) for task in request.tasks)
    return ReportPlan(request.worker_id, request.session, request.connector_uid, request.epoch, tasks, replan_after)


def request_plan(request: pb.RequestPlanRequest) -> RequestPlan:
    """Return the event of a request."""
    key = Key(request.key.connector_uid, request.key.task)
    return RequestPlan(request.worker_id, request.session, key, request.epoch)


def connectors_changed(message: config_pb.WatchConnectorsResponse) -> ConnectorsChanged:
    """Return the event of an answer of the config service's watch."""
    return ConnectorsChanged(message.snapshot, tuple(map(_connector, message.connectors)), tuple(message.deleted_uids))


def update(value: Update) -> pb.WatchAssignmentsResponse:
    """Return the message of what a watcher has not seen yet."""
    return pb.WatchAssignmentsResponse(
        snapshot=value.snapshot,
        assignments=map(assignment, value.assignments),
        removed=[pb.AssignmentKey(connector_uid=key.connector_uid, task=key.task) for key in value.removed],
        sequence=value.sequence,
    )


def assignment(view: AssignmentView) -> pb.Assignment:
    """Return the message of an assignment."""
    return pb.Assignment(
        unit=pb.UNIT_PLAN if view.key.task == PLAN else pb.UNIT_TASK,
        connector_uid=view.key.connector_uid,
        connector=view.connector,
        revision=view.revision,
        generation=view.generation,
        task=view.key.task,
        epoch=view.epoch,
        type=connector_pb2.ConnectorType.ValueType(view.type),
        config=view.config,
        task_config=view.task_config,
        paused=view.paused,
        worker_id=view.worker,
        revoked=view.revoked,
        reason=view.reason,
        unowned_state=(
            connector_pb2.STATE_UNSPECIFIED if view.unowned is None else connector_pb2.State.Value(f"STATE_{view.unowned.value}")
        ),
        failures=view.failures,
        settled=view.settled,
    )


def worker(value: Worker, *, lease_until: float | None, alive: bool, tasks: int, plannings: int) -> pb.Worker:
    """Return the message of a worker. `lease_until` is in seconds since 1970; None: its session has ended."""
    message = pb.Worker(
        worker_id=value.id,
        address=value.address,
        labels=value.labels,
        alive=alive,
        tasks=tasks,
        plugins=sorted(value.plugins),
        session=value.session,
        weight=value.weight,
        drained=value.drained,
        plannings=plannings,
        pid=value.pid,
    )
    if lease_until is not None:
        message.lease_until.CopyFrom(timestamp(lease_until))
    return message


def seconds(value: Duration) -> float:
    """Return a duration in seconds."""
    return value.seconds + value.nanos / 1e9


def duration(value: float) -> Duration:
    """Return seconds as a duration."""
    message = Duration()
    message.FromNanoseconds(round(value * 1e9))
    return message


def timestamp(value: float) -> Timestamp:
    """Return seconds since 1970 as a timestamp."""
    message = Timestamp()
    message.FromMicroseconds(round(value * 1e6))
    return message


def _connector(message: connector_pb2.Connector) -> Connector:
    return Connector(
        uid=message.uid,
        name=message.name,
        revision=message.revision,
        config=dict(message.config),
        # A wanted state of a newer version of the API counts as not given.
        wanted=_WANTED.get(message.wanted_state, TargetState.RUNNING),
        type=message.type,
        restarts=message.restarts,
    )
