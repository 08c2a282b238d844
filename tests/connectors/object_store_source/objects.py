"""Objects to read, and what a task makes of them."""

import io
import logging
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from connectors.object_store_source import ObjectStoreSource
from connectors.object_store_source.task import ObjectSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import SourceTask
from tests.connectors.stores import known

_SECONDS = 180.0
LOG = logging.getLogger("objects")


class KnownSource(ObjectStoreSource):
    """With the secrets that tests refer to."""

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> ObjectSourceTask:
        return super().open(known(config), task, context)


def rows(begin: int, end: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": None if number % 3 == 0 else f"ü {number}"} for number in range(begin, end)]


def packed(values: list[dict[str, Any]], schema: pa.Schema | None = None, group: int = 10) -> bytes:
    """A Parquet object."""
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(values, schema), sink, row_group_size=group)
    return sink.getvalue()


def opened(options: Mapping[str, str], *, share: str = "0/1", batch: int = 10_000, columns: bool = False) -> SourceTask:
    """A task that was not started."""
    context = TaskContext(batch_records=batch, columns=columns, log=LOG)
    return KnownSource().open(parse(KnownSource.options, options), {"share": share}, context)


def read(task: SourceTask, positions: dict[str, Position], into: list[object] | None = None) -> list[object]:
    """Reads until nothing comes; positions are moved."""
    found = [] if into is None else into
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        given = batches_of(task.poll())
        for batch in given:
            assert positions.get(batch.partition, Position((0, 0))).offset <= (batch.offsets[0] if batch.offsets else batch.end)
            found += batch.values
            positions[batch.partition] = Position(batch.end or batch.offsets[-1])
        if not given and (task.finished or task.caught_up):
            return found
    raise AssertionError(f"still reading after {_SECONDS} s: {found}")
