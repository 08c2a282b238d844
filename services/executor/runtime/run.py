"""Chooses what runs a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from services.executor.runtime.task import Endpoints, Lease, Outcome, Reporter, TaskControl, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


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
    raise NotImplementedError
