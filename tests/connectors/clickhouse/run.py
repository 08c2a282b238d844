"""Runs of tasks of clickhouse_sink."""

from collections.abc import Mapping
from typing import Any

from connectors.clickhouse.sink import ClickHouseSink
from rocketconnect_sdk.conformance import runs
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.tables.task import TableTask

Run = runs.Run[TableTask]


def opened(options: Mapping[str, str], **of_task: Any) -> Run:
    """A task; what else is given is its own: see runs.run_of."""
    sink = ClickHouseSink()
    return runs.run_of(sink.open, parse(sink.options, options), **of_task)
