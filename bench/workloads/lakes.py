"""Flights out of a topic into tables of Delta Lake, Iceberg and Hudi: appended (beside Spark alone), upserted, row by row."""

import itertools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import compute

from bench import tables
from bench.measuring.costs import Meter, per_million
from bench.measuring.instance import LIMIT_SECONDS, Instance, instance, source_config
from bench.measuring.lakes import LAKES, Hudi, Lake, settings
from bench.measuring.openloop import percentile
from bench.measuring.passage import until_moved
from bench.peers.spark_alone import SparkAlone, spark_alone
from bench.workload import BenchFailed, Options, Sample, Workload
from demo.flights import NULL

ROWS = 10 * tables.ROWS
CHANGED = 10
"""Each of so many rows is changed by the upserts."""
YEAR = 2014
SINGLE_ROWS = 20
POLL_SECONDS = 0.02
_PACKED = {"value.converter": "arrow"}
_runs = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """In turns, from a topic that is full; each from the creation of its connector, whose Spark session is warm."""
    rows = options.rows or ROWS
    with instance() as it, spark_alone(settings(it.folder)) as spark:
        table = it.folder / "flights.csv"
        columns = tables.write(table, rows)
        wanted = tables.read(table, columns)
        it.create("source", _csv(table, columns, "flights", queues=2))
        until_moved(it, "source", rows)
        plain = it.folder / "plain"
        spark.convert(table, plain, columns, NULL)
        compared = [lake(it.folder) for lake in LAKES]
        lakes = [*compared, Hudi(it.folder)]
        changes = _changes(it.folder / "changes.csv", wanted)
        for lake in lakes:
            # Java compiles what it runs for the first time.
            if lake in compared:
                _alone(lake, spark, plain, wanted)
            _append(lake, it, wanted)
        for _ in range(options.repeats):
            for lake in lakes:
                rate = 0.0
                if lake in compared:
                    alone = _alone(lake, spark, plain, wanted)
                    yield alone
                    rate = alone.figures["rows_per_s"]
                yield _append(lake, it, wanted, rate)
                yield from _upsert(lake, it, wanted, changes, columns)
                yield _single(lake, it, table, columns)


def _csv(table: Path, columns: str, topic: str, queues: int = 1) -> dict[str, str]:
    return source_config(table, topic, queues=queues) | {"format": "csv", "columns": columns, "csv.null": NULL} | _PACKED


def _sink(lake: Lake, name: str, topics: str, **options: str) -> dict[str, str]:
    return {"topics": topics, "flush.rows": "500000", "flush.interval": "1s", **lake.sink(name), **_PACKED, **options}


def _changes(path: Path, wanted: pa.Table) -> pa.Table:
    """Writes a part of the rows with another year as CSV; returns all rows as they are behind it."""
    chosen = compute.equal(
        compute.subtract(wanted[tables.COLUMN], compute.multiply(compute.divide(wanted[tables.COLUMN], CHANGED), CHANGED)), 0
    )
    years = compute.if_else(chosen, YEAR, wanted["year"])
    after = wanted.set_column(wanted.column_names.index("year"), "year", years)
    part = after.filter(chosen)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(part.column_names) + "\n")
        for batch in part.to_batches():
            for row in batch.to_pylist():
                file.write(",".join(NULL if value is None else str(value) for value in row.values()) + "\n")
    return after


def _check(lake: Lake, name: str, wanted: pa.Table) -> None:
    if wrong := tables.different(wanted, lake.read(name)):
        msg = f"{lake.title}, {name}: {wrong}"
        raise BenchFailed(msg)


def _alone(lake: Lake, spark: SparkAlone, plain: Path, wanted: pa.Table) -> Sample:
    """The same rows out of Parquet files, by Spark alone."""
    name = f"alone{next(_runs)}"
    meter = Meter([spark.process.pid])
    seconds = spark.convert(plain, lake.target(name), "", NULL, lake.form)
    costs = meter.costs()
    _check(lake, name, wanted)
    figures = {"rows_per_s": len(wanted) / seconds, "files": float(lake.files(name)), **per_million(costs, len(wanted))}
    return Sample(f"{lake.title}, Spark alone, no messages", figures, costs)


def _append(lake: Lake, it: Instance, wanted: pa.Table, alone: float = 0.0) -> Sample:
    name = f"append{next(_runs)}"
    it.settle()
    meter = Meter([it.root])
    it.create(name, _sink(lake, name, "flights"))
    until_moved(it, name, len(wanted))
    seconds, costs = meter.seconds, meter.costs()
    it.delete(name)
    _check(lake, name, wanted)
    rate = len(wanted) / seconds
    share: Mapping[str, float] = {"of_spark_alone": rate / alone} if alone else {}
    figures = {"rows_per_s": rate, **share, "files": float(lake.files(name)), **per_million(costs, len(wanted))}
    return Sample(f"{lake.title}, append", figures, costs)


def _upsert(lake: Lake, it: Instance, wanted: pa.Table, changed: pa.Table, columns: str) -> Iterator[Sample]:
    """All rows into an empty table, then a part of them in the place of what is there."""
    number = next(_runs)
    name, topic, source = f"upsert{number}", f"changes{number}", f"changes{number}"
    it.settle()
    meter = Meter([it.root])
    upsert = {"insert.mode": "upsert", "pk.fields": tables.COLUMN}
    it.create(name, _sink(lake, name, f"flights,{topic}", **upsert))
    until_moved(it, name, len(wanted))
    seconds, costs = meter.seconds, meter.costs()
    figures = {"rows_per_s": len(wanted) / seconds, **per_million(costs, len(wanted))}
    yield Sample(f"{lake.title}, upsert into an empty table", figures, costs)
    _check(lake, name, wanted)
    it.settle()
    rows = -(-len(wanted) // CHANGED)
    meter = Meter([it.root])
    it.create(source, _csv(it.folder / "changes.csv", columns, topic))
    until_moved(it, name, len(wanted) + rows)
    seconds, costs = meter.seconds, meter.costs()
    it.delete(source, name)
    _check(lake, name, changed)
    figures = {"rows_per_s": rows / seconds, "files": float(lake.files(name)), **per_million(costs, rows)}
    yield Sample(f"{lake.title}, upsert of each tenth row", figures, costs)


def _single(lake: Lake, it: Instance, table: Path, columns: str) -> Sample:
    """How long after it was written to the file a row is in the table, at rest."""
    number = next(_runs)
    name, source, file = f"single{number}", f"line{number}", it.folder / f"line{number}.csv"
    with table.open(encoding="utf-8") as lines:
        header, *rows = itertools.islice(lines, SINGLE_ROWS + 2)
    file.write_text(header + rows[0], encoding="utf-8")
    it.create(source, _csv(file, columns, source))
    it.create(name, _sink(lake, name, source))
    delays: list[float] = []
    for count, row in enumerate(rows[1:], start=2):
        _until_there(lake, it, name, count - 1)
        it.settle()
        begin = time.monotonic()
        with file.open("a", encoding="utf-8") as lines:
            lines.write(row)
        _until_there(lake, it, name, count)
        delays.append(time.monotonic() - begin)
    it.delete(source, name)
    return Sample(
        f"{lake.title}, one row at rest, flush.interval=1s", {"p50_ms": percentile(delays, 0.5) * 1e3, "max_ms": max(delays) * 1e3}
    )


def _until_there(lake: Lake, it: Instance, name: str, rows: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while lake.count(name) < rows:
        if time.monotonic() > deadline:
            msg = f"{lake.title}: row {rows} is not in the table after {LIMIT_SECONDS:g} s; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)


WORKLOAD = Workload(
    "Flights, 19 columns and a row number, packed, out of a topic into Delta Lake, Iceberg and Hudi",
    run,
    ("rows_per_s", "of_spark_alone", "p50_ms", "max_ms", "files", "own_cpu_s_per_million", "cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)
