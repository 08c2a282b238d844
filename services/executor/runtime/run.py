"""Chooses what runs a task, and turns whatever ends it into an outcome."""

from __future__ import annotations

import logging
import traceback
from contextlib import ExitStack
from typing import TYPE_CHECKING

import rocketmq_remoting.errors as rocketmq
from rocketconnect_sdk.connector_options import parse_sink, parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, ConnectorError, PermanentError
from rocketconnect_sdk.loader import find
from rocketconnect_sdk.source import Source
from rocketmq_remoting.client import Client
from services.executor.host.secrets import hide, resolve
from services.executor.runtime.attempts import Attempts, GaveUp, Stopped
from services.executor.runtime.failures import ErrorPolicy, RecordFailed
from services.executor.runtime.positions import Fenced, PositionClient
from services.executor.runtime.source_start import begin as begin_source
from services.executor.runtime.surroundings import Surroundings
from services.executor.runtime.task import Endpoints, Lease, Outcome, Reporter, State, TaskControl, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


_log = logging.getLogger(__name__)


def run(
    spec: TaskSpec,
    control: TaskControl,
    lease: Lease,
    reporter: Reporter,
    endpoints: Endpoints,
    *,
    spark: Callable[[], SparkSession] | None,
) -> Outcome:
    """See services.executor.runtime.task.run_task."""
    outcome = _guarded(spec, control, lease, reporter, endpoints, spark=spark)
    if outcome.error:
        outcome = Outcome(outcome.clean, outcome.failed, outcome.permanent, outcome.fenced, hide(outcome.error))
    if outcome.failed:
        reporter.log("ERROR", outcome.error)
        reporter.state(State.FAILED, outcome.error)
    else:
        reporter.state(State.STOPPED, outcome.error)
    return outcome


def _guarded(
    spec: TaskSpec,
    control: TaskControl,
    lease: Lease,
    reporter: Reporter,
    endpoints: Endpoints,
    *,
    spark: Callable[[], SparkSession] | None,
) -> Outcome:
    try:
        return _run(spec, control, lease, reporter, endpoints, spark=spark)
    except Stopped:
        return Outcome(clean=False, fenced=control.fenced)
    except Fenced as error:
        # Invariant 3: its positions are not its own any more.
        return Outcome(clean=False, fenced=True, error=str(error))
    except (ConfigError, PermanentError, RecordFailed, rocketmq.PermanentError) as error:
        return Outcome(clean=False, failed=True, permanent=True, error=str(error))
    except (GaveUp, ConnectorError, rocketmq.RocketMQError) as error:
        return Outcome(clean=False, failed=True, error=str(error))
    except Exception as error:
        # A defect of a plugin, or of this program: a task must not take its host with it.
        _log.debug("task %s/%s failed", spec.connector, spec.task, exc_info=error)
        where = traceback.extract_tb(error.__traceback__)[-1]
        shown = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        return Outcome(clean=False, failed=True, error=f"unexpected error, a defect of the connector or of RocketConnect: {shown}")


def _run(
    spec: TaskSpec,
    control: TaskControl,
    lease: Lease,
    reporter: Reporter,
    endpoints: Endpoints,
    *,
    spark: Callable[[], SparkSession] | None,
) -> Outcome:
    del spark
    plugin = find(spec.config["connector.class"])
    config = resolve(parse_source(plugin, spec.config) if isinstance(plugin, Source) else parse_sink(plugin, spec.config))
    attempts = Attempts(control, reporter, _seconds(config["errors.retry.timeout"]), config["errors.retry.delay.max.ms"] / 1000)
    context = TaskContext(
        connector=spec.connector,
        connector_uid=spec.connector_uid,
        task=spec.task,
        generation=spec.generation,
        epoch=spec.epoch,
        stopping=control.stopping,
        batch_bytes=config["batch.bytes"],
        batch_records=config["batch.records"],
    )
    with ExitStack() as held:
        client = held.enter_context(Client(endpoints.name_servers, group=f"connect-{spec.connector}"))
        positions = PositionClient(endpoints, spec)
        held.callback(positions.close)
        policy = ErrorPolicy.of(config)
        around = Surroundings(spec, control, lease, reporter, endpoints, config, client, positions, attempts, policy)
        if isinstance(plugin, Source):
            return _source(plugin, around, context, held)
        return Outcome(clean=False)


def _seconds(milliseconds: int) -> float | None:
    return None if milliseconds < 0 else milliseconds / 1000


def _source(plugin: Source, around: Surroundings, context: TaskContext, held: ExitStack) -> Outcome:
    task = plugin.open(around.config, around.spec.task_config, context)
    held.callback(task.close)
    return begin_source(around, task, context).run()
