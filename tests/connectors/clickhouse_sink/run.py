"""Runs of tasks of clickhouse_sink."""

from collections.abc import Mapping
from typing import Any

from connectors.clickhouse_sink import ClickHouseSink
from connectors.clickhouse_sink.task import ClickHouseTask
from rocketconnect_sdk.options import parse
from tests.connectors import runs

Run = runs.Run[ClickHouseTask]


def opened(options: Mapping[str, str], **of_task: Any) -> Run:
    """A task; what else is given is its own: see runs.run_of."""
    sink = ClickHouseSink()
    return runs.run_of(sink.open, parse(sink.options, options), **of_task)
