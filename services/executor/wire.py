"""Messages of the protos to and from what the executor works with. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.position.v1 import position_service_pb2 as position_pb
from rocketconnect.record.v1 import record_pb2
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.errors import FieldProblem, InvalidArgument
from rocketconnect_sdk.configuration.runtime_options import STALL_TIMEOUT
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.origins.origin import Origin
from services.executor.contract.answers import (
    Checked,
    Plugin,
    PluginOption,
    PositionsChecked,
    PositionsResolved,
    Previewed,
    PreviewedStep,
    RowDifference,
    ShownRecord,
    TableCompared,
    Verified,
)
from services.executor.contract.assignment import PLAN, Assigned, Key, PlanResult
from services.executor.contract.messages import LogLine
from services.executor.contract.metrics import DriverUse, TaskMetrics
from services.executor.contract.questions import GivenPosition
from services.executor.contract.task import State
from services.executor.hosts.pool import HostView


def assigned(message: cluster.Assignment) -> Assigned:
    """Return an assignment as the life cycle knows it."""
    return Assigned(
        key=Key(message.connector_uid, message.task),
        connector=message.connector,
        revision=message.revision,
        generation=message.generation,
        epoch=message.epoch,
        type=connectors.ConnectorType.Name(message.type).removeprefix("CONNECTOR_TYPE_"),
        config=dict(message.config),
        task_config=dict(message.task_config),
        paused=message.paused,
        revoked=message.revoked,
        settled=message.settled,
    )


def planned(plan: PlanResult, request: cluster.ReportPlanRequest) -> cluster.ReportPlanRequest:
    """Put a plan into the request that reports it."""
    for task in plan.tasks:
        request.tasks.add(config=task)
    if plan.replan_after is not None:
        request.replan_after.CopyFrom(duration(plan.replan_after))
    return request


def stall_after(one: Assigned) -> Duration | None:
    """Return after how long without progress a task is stalled; None: never."""
    if one.key.task == PLAN:
        return None
    try:
        return duration(STALL_TIMEOUT.parse(one.config.get(STALL_TIMEOUT.key, STALL_TIMEOUT.default or "")))
    except ValueError:
        # The task itself refuses this configuration, with all that is wrong with it.
        return None


def state(value: State) -> connectors.State.ValueType:
    """Return the state as the protos name it."""
    return connectors.State.Value(f"STATE_{value.name}")


def fence(value: Assigned) -> position_pb.TaskFence:
    """Return who an assignment lets its owner be at the position service."""
    return position_pb.TaskFence(
        connector_uid=value.key.connector_uid, task=value.key.task, generation=value.generation, epoch=value.epoch
    )


def metrics(value: TaskMetrics) -> states.TaskMetrics:
    """Return the counters of a task."""
    return states.TaskMetrics(
        counted_since=None if value.counted_since is None else timestamp(value.counted_since),
        records_in=value.records_in,
        records_out=value.records_out,
        bytes_in=value.bytes_in,
        bytes_out=value.bytes_out,
        duplicates_skipped=value.duplicates_skipped,
        dead_letters=value.dead_letters,
        records_skipped=value.records_skipped,
        retries=value.retries,
        errors=value.errors,
        batches=value.batches,
        batch_seconds=value.batch_seconds,
        batch_seconds_max=value.batch_seconds_max,
        batch_bounds=value.batch_bounds,
        batch_buckets=value.batch_buckets,
        rate_in=value.rate_in,
        rate_out=value.rate_out,
        commits=value.commits,
        buffered_bytes=value.buffered_bytes,
        lags=[states.QueueLag(queue=lag.queue, messages=lag.messages, position=lag.position) for lag in value.lags],
        source_remaining=value.source_remaining or 0,
        source_remaining_known=value.source_remaining is not None,
        source_remaining_unit=value.source_remaining_unit,
        source_time_left=None if value.source_seconds_left is None else duration(value.source_seconds_left),
        late_skipped=value.late_skipped,
        dropped_in_a_row=value.dropped_in_a_row,
        newest_record=None if value.newest_record is None else timestamp(value.newest_record),
        newest_stored=None if value.newest_stored is None else timestamp(value.newest_stored),
        latencies=value.latencies,
        latency_seconds=value.latency_seconds,
        # Invariant 7: they go with every report, where there is anything to tell.
        latency_bounds=value.latency_bounds if value.latencies else (),
        latency_buckets=value.latency_buckets if value.latencies else (),
        latency_exemplars=[
            states.Exemplar(trace_id=each.trace_id, seconds=each.seconds, time=timestamp(each.time))
            for each in value.latency_exemplars
        ],
        gap_messages=value.gap_messages,
        last_left_out=value.last_left_out,
        spark_ui=value.spark_ui,
        spark_steps=[
            states.SparkStep(step=each.step, count=each.count, seconds=each.seconds, buckets=each.buckets)
            for each in value.spark_steps
        ],
        spark_driver=None if value.spark_driver is None else _spark_driver(value.spark_driver),
        warnings=[states.TaskWarning(time=timestamp(one.time), message=one.message) for one in value.warnings],
        open_batch=None
        if value.open_batch is None
        else states.OpenBatch(
            records=value.open_batch.records,
            since=timestamp(value.open_batch.since),
            due=None if value.open_batch.due is None else timestamp(value.open_batch.due),
        ),
        source_positions=[states.SourcePosition(partition=at.partition, offset=at.offset) for at in value.source_positions],
    )


def _spark_driver(value: DriverUse) -> states.SparkDriver:
    return states.SparkDriver(
        profile=value.profile,
        heap_used_bytes=value.heap_used,
        heap_committed_bytes=value.heap_committed,
        heap_max_bytes=value.heap_max,
        resident_bytes=value.resident,
        gc_seconds=value.gc_seconds,
        gc_runs=value.gc_runs,
        spilled_bytes=value.spilled,
    )


def log(line: LogLine, task: int, worker_id: str) -> states.TaskLog:
    """Return a log line of a task."""
    return states.TaskLog(time=timestamp(line.time), level=line.level, message=line.message, task=task, worker_id=worker_id)


def plugin(value: Plugin) -> connectors.Plugin:
    """Return a plugin as the protos describe it."""
    return connectors.Plugin(
        name=value.name,
        aliases=value.aliases,
        type=connectors.PluginType.Value(f"PLUGIN_TYPE_{value.type}"),
        package=value.package,
        version=value.version,
        summary=value.summary,
        documentation=value.documentation,
        guarantee=value.guarantee,
        engines=value.engines,
        options=map(_option, value.options),
        signals=[
            connectors.Signal(name=signal.name, documentation=signal.doc, arguments=map(_option, signal.arguments))
            for signal in value.signals
        ],
    )


def _option(option: PluginOption) -> connectors.Option:
    return connectors.Option(
        key=option.key,
        type=option.type,
        default_value=option.default,
        required=option.required,
        secret=option.secret,
        documentation=option.doc,
        choices=option.choices,
        aliases=option.aliases,
        minimum=option.minimum,
        maximum=option.maximum,
        group=option.group,
        example=option.example,
    )


def checked(value: Checked) -> executor.ValidateConnectorResponse:
    """Return what a check found."""
    direction = value.direction or "UNSPECIFIED"
    return executor.ValidateConnectorResponse(
        problems=map(_problem, value.problems),
        plugin=value.plugin,
        type=connectors.ConnectorType.Value(f"CONNECTOR_TYPE_{direction}"),
        secret_keys=value.secret_keys,
        targets=None
        if value.targets is None
        else executor.Targets(targets=[executor.Target(key=key, name=name) for key, name in value.targets]),
        warnings=map(_problem, value.warnings),
        notes=value.notes,
        origins=None if value.origins is None else executor.Origins(origins=map(_origin, value.origins), shared=value.is_shared),
    )


def _origin(value: Origin) -> executor.Origin:
    return executor.Origin(
        key=value.key,
        place=value.place,
        name=value.name,
        is_pattern=value.is_pattern,
        without=value.without,
        into=value.into,
    )


def given_positions(positions: Iterable[record_pb2.Position]) -> dict[str, GivenPosition]:
    """Return positions by partition.

    Raises:
        InvalidArgument: POSITION_INVALID with all that are no JSON arrays of integers.
    """
    found: dict[str, GivenPosition] = {}
    problems = []
    for position in positions:
        numbers = _numbers(position.offset)
        if numbers is None:
            fix = "write a JSON array of integers, such as [1048576]"
            problems.append(FieldProblem(position.partition[:200], position.offset[:64], "is not an offset", fix))
        else:
            found[position.partition] = GivenPosition(numbers, position.resume)
    if problems:
        raise InvalidArgument("POSITION_INVALID", ". ".join(map(str, problems))[:4_000], problems)
    return found


def positions_checked(value: PositionsChecked) -> executor.CheckPositionsResponse:
    """Return what a check of positions found."""
    return executor.CheckPositionsResponse(
        problems=map(_problem, value.problems),
        bounds=[
            executor.PartitionBounds(partition=partition, earliest=_offset(earliest), latest=_offset(latest))
            for partition, (earliest, latest) in value.bounds.items()
            if earliest is not None or latest is not None
        ],
    )


def positions_resolved(value: PositionsResolved) -> executor.ResolvePositionsResponse:
    """Return the positions that were found."""
    return executor.ResolvePositionsResponse(
        positions=[
            record_pb2.Position(partition=name, offset=_offset(found.offset), resume=found.resume)
            for name, found in sorted(value.positions.items())
        ],
        problems=map(_problem, value.problems),
        left_out=map(_problem, value.left_out),
    )


def previewed(value: Previewed) -> executor.PreviewConnectorResponse:
    """Return what a preview showed."""
    return executor.PreviewConnectorResponse(
        problems=map(_problem, value.problems),
        plugin=value.plugin,
        records=[
            record_pb2.PreviewedRecord(position=each.position, steps=map(_previewed_step, each.steps)) for each in value.records
        ],
        trouble=value.trouble,
    )


def _previewed_step(step: PreviewedStep) -> record_pb2.PreviewStep:
    found = record_pb2.PreviewStep(name=step.name, plugin=step.plugin, problem=step.problem)
    if step.record is None:
        found.dropped = not step.problem
        return found
    show(step.record, found.record)
    return found


def show(shown: ShownRecord, found: record_pb2.ShownRecord) -> None:
    """Put a record into its message."""
    found.value, found.has_value = shown.value or "", shown.value is not None
    found.key, found.has_key = shown.key or "", shown.key is not None
    found.schema, found.topic = shown.schema, shown.topic
    found.headers.update(shown.headers)
    if shown.time_ms is not None:
        found.time.FromMilliseconds(shown.time_ms)


def verified(value: Verified) -> executor.VerifyConnectorResponse:
    """Return what a comparison found."""
    return executor.VerifyConnectorResponse(
        problems=map(_problem, value.problems),
        tables=map(_table_compared, value.tables),
        differences=map(_row_difference, value.differences),
        next_page_token=value.next_page_token,
        trouble=value.trouble,
    )


def _table_compared(value: TableCompared) -> record_pb2.TableCompared:
    return record_pb2.TableCompared(
        table=value.table, sink=value.sink, target=value.target, rows=value.rows, done=value.done, left_out=value.left_out
    )


def _row_difference(value: RowDifference) -> record_pb2.RowDifference:
    return record_pb2.RowDifference(
        table=value.table,
        sink=value.sink,
        target=value.target,
        key=value.key,
        kind=record_pb2.DifferenceKind.Value(f"DIFFERENCE_KIND_{value.kind}"),
        about=value.about,
        source_digest=value.source_digest,
        sink_digest=value.sink_digest,
        condition=value.condition,
    )


def described(worker_id: str, labels: Mapping[str, str], hosts: Iterable[tuple[HostView, int]]) -> executor.DescribeWorkerResponse:
    """Return a worker with its hosts, each with how often it was started again."""
    return executor.DescribeWorkerResponse(
        worker_id=worker_id,
        labels=labels,
        hosts=[
            executor.HostProcess(
                pid=host.pid,
                profile=host.profile,
                tasks=[f"{one.connector}/{one.key.task}" for _, one in host.runs],
                restarts=restarts,
            )
            for host, restarts in hosts
        ],
    )


def timestamp(seconds: float) -> Timestamp:
    """Return seconds since 1970 UTC as the protos have them."""
    value = Timestamp()
    value.FromNanoseconds(int(seconds * 1e9))
    return value


def duration(seconds: float) -> Duration:
    """Return seconds as the protos have them."""
    value = Duration()
    value.FromTimedelta(timedelta(seconds=seconds))
    return value


def _problem(found: Problem) -> connectors.Problem:
    return connectors.Problem(key=found.key, value=found.value, reason=found.reason, fix=found.fix)


def _offset(numbers: Sequence[int] | None) -> str:
    return "" if numbers is None else json.dumps(list(numbers), separators=(",", ":"))


def _numbers(text: str) -> list[int] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and all(type(item) is int for item in value) else None
