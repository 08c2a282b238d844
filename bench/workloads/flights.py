"""A table: CSV -> messages -> Parquet by Spark, beside Spark alone reading and writing the same file."""

import itertools
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from bench import tables
from bench.measuring.costs import Cost, Meter, per_million
from bench.measuring.instance import LIMIT_SECONDS, Instance, instance, settle, source_config
from bench.peers.spark_alone import SparkAlone, spark_alone
from bench.workload import BenchFailed, Options, Sample, Workload
from demo.flights import NULL

POLL_SECONDS = 0.05
FORMS: Mapping[str, Mapping[str, str]] = {
    "JSON": {"value.converter": "json", "value.converter.schemas.enable": "false"},
    "packed Arrow": {"value.converter": "arrow"},
}
"""How rows are written in messages; as large as these are, the type of the topic makes little difference."""

_runs = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """In turns."""
    rows = options.rows or tables.ROWS
    with instance() as it, spark_alone() as spark:
        table = it.folder / "flights.csv"
        columns = tables.write(table, rows)
        # Java compiles what it runs for the first time.
        _alone(spark, it.folder, table, columns, rows)
        move(it, table, columns, rows, FORMS["JSON"])
        for _ in range(options.repeats):
            alone, costs = _alone(spark, it.folder, table, columns, rows)
            yield Sample("Spark alone, no messages", alone, costs)
            for form, config in FORMS.items():
                figures, costs = move(it, table, columns, rows, config)
                share = {"of_spark_alone": figures["rows_per_s"] / alone["rows_per_s"]}
                yield Sample(f"{form} messages", {**figures, **share}, costs)


def _alone(spark: SparkAlone, place: Path, table: Path, columns: str, rows: int) -> tuple[dict[str, float], list[Cost]]:
    target = place / f"alone{next(_runs)}"
    meter = Meter([spark.process.pid])
    seconds = spark.convert(table, target, columns, NULL)
    costs = meter.costs()
    _check(table, columns, target, "Spark alone")
    return _figures(table, rows, seconds, costs), costs


def move(
    it: Instance,
    table: Path,
    columns: str,
    rows: int,
    form: Mapping[str, str],
    spark: Mapping[str, str] | None = None,
    others: Collection[int] = (),
) -> tuple[dict[str, float], list[Cost]]:
    """Moves a table through a topic of its own into Parquet files, and checks them; `spark` and `others` as in files.move.

    Raises:
        BenchFailed: the output is not the input.
    """
    number = next(_runs)
    topic, target = f"flights{number}", it.folder / f"flights{number}"
    names = f"parquet{number}", f"csv{number}"
    sink = {"connector.class": "file_sink", "topics": topic, "filename": str(target), "format": "parquet", "columns": columns}
    sink |= {"topic.queues": "1", "flush.rows": "200000", "flush.interval": "1s", **form}
    sink |= spark or {}
    source = source_config(table, topic) | {"format": "csv", "columns": columns, "csv.null": NULL, **form}
    it.create_running(names[0], sink)
    roots = [it.root, *others]
    settle(roots)
    meter = Meter(roots)
    it.create(names[1], source)
    while tables.rows_in(target) < rows:
        if meter.seconds > LIMIT_SECONDS:
            msg = f"{tables.rows_in(target):,} of {rows:,} rows arrived within {LIMIT_SECONDS:g} s; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)
    seconds, costs = meter.seconds, meter.costs()
    it.delete(*names)
    _check(table, columns, target, topic)
    return _figures(table, rows, seconds, costs), costs


def _figures(table: Path, rows: int, seconds: float, costs: list[Cost]) -> dict[str, float]:
    return {"rows_per_s": rows / seconds, "mb_per_s": table.stat().st_size / seconds / 1e6, **per_million(costs, rows)}


def _check(table: Path, columns: str, target: Path, what: str) -> None:
    if wrong := tables.difference(table, columns, target):
        msg = f"{what}: {wrong}"
        raise BenchFailed(msg)
    tables.remove(target)


WORKLOAD = Workload(
    "Flights, 19 columns and a row number, CSV -> messages -> Parquet by Spark",
    run,
    ("rows_per_s", "of_spark_alone", "mb_per_s", "own_cpu_s_per_million", "cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
)
