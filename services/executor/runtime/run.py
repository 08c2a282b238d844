"""Chooses what runs a task, and turns whatever ends it into an outcome."""

from __future__ import annotations

import math
import threading
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from rocketconnect_sdk.claim_check.options import MOST
from rocketconnect_sdk.claim_check.options import URL as CLAIM_CHECK
from rocketconnect_sdk.columns.sinks import ArrowSink, DataFrameSink
from rocketconnect_sdk.configuration.connector_options import parse_direct, parse_sink, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS, RELOAD, RESTART, SINK_CLASS, SOURCE_CLASS
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters import converter_class
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.sink import BufferedSink, RecordSink, Sink, SinkTask
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.transforms.chain import make
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import Outcome, State, TaskSpec
from services.executor.runtime import datasets
from services.executor.runtime.direct.loop import DirectRun
from services.executor.runtime.errors.attempts import FENCED, Attempts, Stopped
from services.executor.runtime.errors.outcomes import failed
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.positions.client import Fenced, PositionClient
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.runtime.sink.buffered.engine import BufferedEngine
from services.executor.runtime.sink.columnar.engine import ArrowEngine
from services.executor.runtime.sink.engines import Engine, NativeEngine
from services.executor.runtime.sink.query.start import query_engine
from services.executor.runtime.sink.start import begin as begin_sink
from services.executor.runtime.source.start import begin as begin_source
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.lease import Lease
from services.executor.runtime.task.log import task_log
from services.executor.runtime.task.reporter import Reporter
from services.executor.runtime.task_runtime import TaskRuntime
from services.executor.secrets.renewal import BegunWith, Renewals, why_anew
from services.executor.secrets.resolving import hide

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK_SECONDS = 1.0


class Spark(Protocol):
    """The Spark driver of this process."""

    @property
    def doing(self) -> str:
        """What it does until there is a session, for people."""

    def session(self) -> SparkSession:
        """The session of the profile; may take as long as the start of Spark."""


def run_task(
    spec: TaskSpec,
    control: TaskControl,
    lease: Lease,
    reporter: Reporter,
    endpoints: Endpoints,
    *,
    spark: Spark | None = None,
    renewals: Renewals | None = None,
) -> Outcome:
    """Runs a task for the whole of its life, in the calling thread. Never raises.

    While broker, position service, source or target are away it waits and tries again (State.WAITING).

    Args:
        spec: The task.
        control: What is wanted of it from now on.
        lease: Looked at before every send and every commit.
        reporter: Where it says what it does.
        endpoints: Where the others are.
        spark: Has the session of the profile; only for sinks with engine=spark.
        renewals: Looks whether its secrets have changed; None: nobody does.
    """
    reporter.log("INFO", f"starts with revision {spec.revision}, plan generation {spec.generation}, epoch {spec.epoch}")
    begun = BegunWith(spec.config)
    outcome = _guarded(spec, control, lease, reporter, endpoints, begun, spark=spark, renewals=renewals)
    if control.anew:
        outcome = replace(outcome, anew=control.anew)
    elif outcome.failed and renewals is not None and spec.config.get(RELOAD.key, RESTART) == RESTART:
        # Who logs in with a secret that was changed fails; what it is now is looked at before that counts.
        options = begun.changed()
        outcome = replace(outcome, anew=why_anew(options, outcome.error) if options else "")
    if outcome.error:
        outcome = replace(outcome, error=hide(outcome.error), stack=hide(outcome.stack), anew=hide(outcome.anew))
    if outcome.failed:
        # Whoever tries again counts what is tried again, and leaves out bad records: this one is counted nowhere else.
        reporter.metrics.errors += 1
        reporter.log("ERROR", f"{outcome.error}\n{outcome.stack}".rstrip())
    else:
        reporter.log("INFO", f"stopped{_how(outcome)}")
    # Of one that begins anew its executor says so.
    if not outcome.anew:
        reporter.state(State.FAILED if outcome.failed else State.STOPPED, outcome.error)
    return outcome


def _how(outcome: Outcome) -> str:
    if outcome.clean:
        return "; all that it moved is committed"
    if outcome.error or outcome.fenced:
        return f": {outcome.error or FENCED}"
    return " before all that it moved was committed; who goes on finds out what was"


def _guarded(
    spec: TaskSpec,
    control: TaskControl,
    lease: Lease,
    reporter: Reporter,
    endpoints: Endpoints,
    begun: BegunWith,
    *,
    spark: Spark | None,
    renewals: Renewals | None,
) -> Outcome:
    try:
        return _run(spec, control, lease, reporter, endpoints, begun, spark=spark, renewals=renewals)
    except Stopped:
        return Outcome(clean=False, fenced=control.fenced)
    except Fenced as error:
        # Invariant 3: its positions are not its own any more.
        return Outcome(clean=False, fenced=True, error=str(error), opened_generation=error.opened_generation)
    except Exception as error:  # a defect of a plugin must not take the host with it
        return failed(error, clean=False)


def _run(
    spec: TaskSpec,
    control: TaskControl,
    lease: Lease,
    reporter: Reporter,
    endpoints: Endpoints,
    begun: BegunWith,
    *,
    spark: Spark | None,
    renewals: Renewals | None,
) -> Outcome:
    direct = spec.config[CLASS.key] == DIRECT
    parsed: tuple[Config, ...]
    if direct:
        parsed = parse_direct(spec.config)
    else:
        plugin = find(spec.config[CLASS.key])
        parsed = (parse_source(plugin, spec.config) if isinstance(plugin, Source) else parse_sink(plugin, spec.config),)
    retrying = parsed[0]
    attempts = Attempts(control, reporter, _seconds(retrying["errors.retry.timeout"]), retrying["errors.retry.delay.max.ms"] / 1000)
    attempts.beginning = True
    config, *ends = attempts.insist("looking up secrets", lambda: begun.resolved(parsed))
    reporter.doing("opening its plugin")
    endpoints = with_user_of(config, endpoints)
    context = TaskContext(
        connector=spec.connector,
        connector_uid=spec.connector_uid,
        task=spec.task,
        generation=spec.generation,
        epoch=spec.epoch,
        stopping=control.stopping,
        buffer_bytes=config.get("buffer.bytes", TaskContext().buffer_bytes),
        log=task_log(reporter, f"{spec.connector}/{spec.task}"),
        stores=True,
        replan=reporter.ask_for_plan,
    )
    with ExitStack() as held:
        if renewals is not None and config[RELOAD.key] == RESTART:
            held.enter_context(renewals.following(begun, spec.secrets_rest, control.begin_anew))
        client = held.enter_context(connect(endpoints, f"connect-{spec.connector}"))
        context.topics = held.enter_context(closing(RocketMQTopics(client)))
        positions = PositionClient(endpoints, spec)
        held.callback(positions.close)
        policy = ErrorPolicy.of(config, spec.connector)
        lease = lease if config["on.isolation"] == "pause" else _without_end()
        chain = make(config.raw)
        held.callback(chain.close)
        runtime = TaskRuntime(spec, control, lease, reporter, endpoints, config, client, positions, attempts, policy, chain)
        if direct:
            source_config, sink_config = ends
            return _direct(runtime, source_config, sink_config, context, held)
        if isinstance(plugin, Source):
            return _source(plugin, runtime, context, held)
        return _sink(plugin, runtime, context, held, spark)


def _without_end() -> Lease:
    """What on.isolation=continue goes by: it stops when it is fenced, and at no other time."""
    lease = Lease()
    lease.renew(math.inf)
    return lease


def _direct(runtime: TaskRuntime, source_config: Config, sink_config: Config, context: TaskContext, held: ExitStack) -> Outcome:
    source, sink = find(runtime.config[SOURCE_CLASS.key]), find(runtime.config[SINK_CLASS.key])
    if not isinstance(source, Source) or not isinstance(sink, RecordSink):
        msg = "a direct connector needs a source and a sink that runs natively"
        raise PermanentError(msg)
    if runtime.endpoints.lineage:
        runtime.reporter.metrics.datasets = datasets.of_direct(source, source_config, sink, sink_config)
    reading = source.open(source_config, runtime.spec.task_config, context)
    held.callback(reading.close)
    writing = sink.open(sink_config, {}, context)
    held.callback(writing.close)
    return DirectRun(runtime, reading, writing, context).run()


def _awaited(spark: Spark, runtime: TaskRuntime) -> SparkSession:
    """The session; a start that takes its time holds up nobody who is to end, and goes on for the others."""
    control = runtime.control
    answer: Future[SparkSession] = Future()

    def ask() -> None:
        try:
            answer.set_result(spark.session())
        except BaseException as error:  # raised again in the task
            answer.set_exception(error)

    answer.add_done_callback(lambda _: control.wake())
    threading.Thread(target=ask, name="wait for spark", daemon=True).start()
    while not answer.done():
        runtime.reporter.state(State.STARTING, spark.doing)
        if control.wait(_LOOK_SECONDS):
            raise Stopped
    runtime.reporter.state(State.STARTING)
    return answer.result()


def _seconds(milliseconds: int) -> float | None:
    return None if milliseconds < 0 else milliseconds / 1000


def _source(plugin: Source, runtime: TaskRuntime, context: TaskContext, held: ExitStack) -> Outcome:
    if runtime.endpoints.lineage:
        runtime.reporter.metrics.datasets = datasets.of_source(plugin, runtime.config, runtime.endpoints.name_servers)
    if runtime.config[CLAIM_CHECK.key]:
        # What does not fit into a message is stored beside the topic.
        context.max_record_bytes = runtime.config[MOST.key]
    context.columns = converter_class(runtime.config["value.converter"]).wants_columns
    task = plugin.open(runtime.config, runtime.spec.task_config, context)
    held.callback(task.close)
    return begin_source(runtime, task, context, datasets.systems_of_source(plugin, runtime.config)).run()


def _sink(plugin: Sink, runtime: TaskRuntime, context: TaskContext, held: ExitStack, spark: Spark | None) -> Outcome:
    if runtime.endpoints.lineage:
        runtime.reporter.metrics.datasets = datasets.of_sink(plugin, runtime.config, runtime.endpoints.name_servers)
    engine, task = _engine(plugin, runtime, context, held, spark)
    if (settings := QuerySettings.of(runtime.config)) is not None:
        engine = query_engine(engine, settings, runtime)
        held.callback(engine.close)
    at = datasets.systems_of_sink(plugin, runtime.config)
    while True:
        running = begin_sink(runtime, task, engine, context, at)
        outcome = running.run()
        if not running.begins_anew or outcome.failed or runtime.control.stopping.is_set():
            return outcome


def _engine(
    plugin: Sink, runtime: TaskRuntime, context: TaskContext, held: ExitStack, spark: Spark | None
) -> tuple[Engine, SinkTask]:
    name = f"{runtime.spec.connector}-{runtime.spec.task}-{runtime.spec.epoch}"
    task_config = runtime.spec.task_config
    if isinstance(plugin, BufferedSink):
        buffered = plugin.open(runtime.config, task_config, context)
        held.callback(buffered.close)
        return BufferedEngine(buffered, headers=plugin.wants_headers), buffered
    if isinstance(plugin, ArrowSink):
        tables = plugin.open(runtime.config, task_config, context)
        held.callback(tables.close)
        return ArrowEngine(tables, tables.columns or plugin.columns), tables
    if runtime.config["engine"] == "native":
        if not isinstance(plugin, RecordSink):
            msg = f"{plugin.name} writes with Spark: set engine=spark"
            raise PermanentError(msg)
        native = plugin.open(runtime.config, task_config, context)
        held.callback(native.close)
        return NativeEngine(native, name, headers=plugin.wants_headers, whole=plugin.whole_messages), native
    if spark is None:
        msg = "this host has no Spark: engine=spark needs a worker that runs Spark"
        raise PermanentError(msg)
    from services.executor.runtime.sink.spark.engines import DataFrameEngine, RecordsOnSparkEngine
    from services.executor.runtime.sink.spark.steps import Steps

    context.spark = session = _awaited(spark, runtime)
    runtime.reporter.metrics.spark_ui = session.sparkContext.uiWebUrl or ""
    steps = Steps(runtime.reporter.metrics)
    if isinstance(plugin, RecordSink):
        records = plugin.open(runtime.config, task_config, context)
        held.callback(records.close)
        on_spark = RecordsOnSparkEngine(records, session, name, steps, headers=plugin.wants_headers)
        held.callback(on_spark.close)
        return on_spark, records
    if not isinstance(plugin, DataFrameSink):
        msg = f"{plugin.name} is no kind of sink that runs here"
        raise PermanentError(msg)
    frames = plugin.open(runtime.config, task_config, context)
    held.callback(frames.close)
    engine = DataFrameEngine(frames, session, name, frames.columns or plugin.columns, steps)
    held.callback(engine.close)
    return engine, frames
