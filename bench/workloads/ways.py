"""The ways of a batch of lines into Spark and out to a file: how long each takes, and so where to switch."""

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pyarrow as pa

from bench import lines
from bench.measuring.costs import Meter
from bench.measuring.instance import folder
from bench.workload import BenchFailed, Options, Sample, Workload
from connectors.file_sink import FileSink, single
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from services.executor.runtime.sink.spark import batches as spark_batches
from services.executor.runtime.sink.spark.batches import Staging, frame_of
from services.executor.runtime.sink.spark.session import make_session, run_first_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = (100, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 200_000)
"""`--rows` adds a last one."""
WARMING = 5
"""So many rounds are not counted: Java compiles what it runs."""
_ALL = 1 << 40
INTO: Mapping[str, tuple[int, int]] = {"rows of the plan": (_ALL, _ALL), "Arrow": (0, _ALL), "Parquet in memory": (0, 0)}
"""By way: up to how many bytes a batch becomes rows of the plan, and up to how many it goes with the tasks."""
OUT: Mapping[str, tuple[int, int]] = {"rows": (_ALL, _ALL), "Arrow": (0, _ALL), "files of a job": (0, 0)}
"""By way: up to how many rows come to the driver as rows, and up to how many come to it at all."""
PRODUCT = "as the product chooses"
_THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"
_QUEUE = "topic/broker/0"


def run(options: Options) -> Iterator[Sample]:
    """Every way for every size, in turns, and what the product chooses by itself; in a session as the product makes it."""
    session, staging = make_session({}), Staging()
    run_first_jobs(session)
    try:
        with folder() as place:
            made = {rows: _made(place, rows) for rows in (*ROWS, *([options.rows] if options.rows else ()))}
            for number, rows in itertools.product(range(-WARMING, options.repeats), made):
                for into, out in [*itertools.product(INTO, OUT), (PRODUCT, PRODUCT)]:
                    with _only(session, into, out):
                        figures = _write(session, staging, *made[rows])
                    if number >= 0:
                        yield Sample(PRODUCT if into == PRODUCT else f"in as {into}, out as {out}", figures, size=rows)
    finally:
        staging.close()
        session.stop()


@contextmanager
def _only(session: "SparkSession", into: str, out: str) -> Iterator[None]:
    """Has the product choose these ways alone, whatever the batch is."""
    if PRODUCT in (into, out):
        yield
        return
    (plan_bytes, small_bytes), (few_rows, small_rows) = INTO[into], OUT[out]
    before = session.conf.get(_THRESHOLD, "")
    session.conf.set(_THRESHOLD, plan_bytes)
    with (
        mock.patch.object(spark_batches, "SMALL_BYTES", small_bytes),
        mock.patch.multiple(single, FEW_ROWS=few_rows, SMALL_ROWS=small_rows),
    ):
        yield
    session.conf.set(_THRESHOLD, before or "")


def _made(place: Path, rows: int) -> tuple[Path, pa.Table]:
    source = place / f"{rows}.txt"
    lines.write(source, rows)
    return source, pa.table({"value": source.read_text(encoding="ascii").splitlines()})


def _write(session: "SparkSession", staging: Staging, source: Path, table: pa.Table) -> Mapping[str, float]:
    """Appends the batch to a new file as a sink task does, and checks it."""
    rows = table.num_rows
    commit = SinkCommit("test", 0, 1, {_QUEUE: QueuePosition(0)}, {_QUEUE: QueuePosition(rows)}, rows, f"{rows:032x}")
    with folder() as place:
        sink = place / "out.txt"
        task = FileSink().open(parse(FileSink.options, {"filename": str(sink)}), {}, TaskContext())
        task.start()
        meter = Meter([os.getpid()])
        with frame_of(session, table, staging) as frame:
            task.write(frame, commit)
        seconds, costs = meter.seconds, meter.costs()
        found = lines.compare([source], sink)
    if not found.exact or found.rows != rows:
        msg = f"{rows} lines: {found}"
        raise BenchFailed(msg)
    return {"ms": seconds * 1e3, "rows_per_s": rows / seconds, "cpu_ms": sum(cost.cpu_seconds for cost in costs) * 1e3}


WORKLOAD = Workload(
    "A batch of lines of 100 bytes into Spark and out to a file", run, ("ms", "cpu_ms"), ("ms",), "rows a batch", usual=False
)
