"""Flights out of a topic into a table of PostgreSQL by Spark, inserted, or in the place of others; beside PostgreSQL's own load."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.rows import TupleRow, dict_row

from bench import tables
from bench.measuring.costs import Meter, per_million
from bench.measuring.instance import LIMIT_SECONDS, Instance, instance, source_config
from bench.workload import BenchFailed, Options, Sample, Workload
from demo.flights import NULL, content, of_csv
from rocketconnect_cli.states import counter, get_state
from tests.servers.postgres import Postgres

POLL_SECONDS = 0.1
_PART = 1 << 20
_JSON = {"value.converter": "json"}
_MODES = ("insert", "upsert into an empty table", "upsert of all rows")
_runs = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """In turns, from a topic that is full."""
    rows = options.rows or 3 * tables.ROWS
    server = Postgres(fsync="off")
    with instance() as it, server.running("bench") as url, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as target:
        table = it.folder / "flights.csv"
        columns = tables.write(table, rows)
        source = source_config(table, "flights", queues=4) | {"format": "csv", "columns": columns, "csv.null": NULL, **_JSON}
        it.create("source", source)
        _wait(it, "source", rows)
        wanted = content(of_csv(table))
        for _ in range(options.repeats):
            for mode in _MODES:
                if mode != _MODES[-1]:
                    target.execute("DROP TABLE IF EXISTS flights")
                yield _move(it, server.port, mode, rows)
                with target.cursor(row_factory=dict_row) as cursor:
                    found = content(cursor.execute("SELECT * FROM flights"))
                if found != wanted:
                    msg = f"{mode}: the table has {found}, and the file {wanted}"
                    raise BenchFailed(msg)
            yield _load(target, table, rows)


def _load(target: "psycopg.Connection[TupleRow]", table: Path, rows: int) -> Sample:
    """The same rows out of the file, by PostgreSQL alone, into a table with the same key."""
    target.execute("DROP TABLE IF EXISTS loaded")
    target.execute("CREATE TABLE loaded (LIKE flights INCLUDING ALL)")
    begin = time.monotonic()
    with (
        table.open("rb") as file,
        target.cursor() as cursor,
        cursor.copy(f"COPY loaded FROM STDIN (FORMAT csv, HEADER, NULL '{NULL}')".encode()) as copy,
    ):
        while part := file.read(_PART):
            copy.write(part)
    seconds = time.monotonic() - begin
    found = target.execute(
        "SELECT (SELECT count(*) FROM loaded), (SELECT count(*) FROM (TABLE loaded EXCEPT TABLE flights) AS other)"
    )
    if (counts := found.fetchone()) != (rows, 0):
        msg = f"the load of PostgreSQL: rows, and rows that differ from the sink's: {counts}"
        raise BenchFailed(msg)
    return Sample("PostgreSQL, its own load", {"rows_per_s": rows / seconds})


def _move(it: Instance, port: int, mode: str, rows: int) -> Sample:
    name = f"sink{next(_runs)}"
    config = {
        "connector.class": "jdbc_sink",
        "engine": "spark",
        "topics": "flights",
        "connection.url": f"postgresql://127.0.0.1:{port}/bench",
        "user": "postgres",
        "insert.mode": mode.split(maxsplit=1)[0],
        "pk.fields": tables.COLUMN,
        "auto.create": "true",
        **_JSON,
    }
    it.settle()
    meter = Meter([it.root])
    it.create(name, config)
    seconds = _wait(it, name, rows)
    costs = meter.costs()
    it.delete(name)
    return Sample(mode, {"rows_per_s": rows / seconds, **per_million(costs, rows)}, costs)


def _wait(it: Instance, name: str, rows: int) -> float:
    """Until so many records are through; the seconds from when the task began to read.

    Raises:
        BenchFailed: they are not, or a task was started again, so that what it counts is not all.
    """
    began, deadline = 0.0, time.monotonic() + LIMIT_SECONDS
    while True:
        tasks = get_state(it.api, name).get("tasks", [])
        now = time.monotonic()
        if any(task.get("restarts") for task in tasks):
            msg = f"{name}: a task was started again; {it.states()}"
            raise BenchFailed(msg)
        if not began and any(counter(task, "recordsIn") for task in tasks):
            began = now
        if sum(counter(task, "recordsOut") for task in tasks) >= rows:
            return now - began
        if now > deadline:
            msg = f"{name}: not all of {rows:,} rows came through; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)


WORKLOAD = Workload(
    "Flights out of a topic into PostgreSQL, by Spark",
    run,
    ("rows_per_s", "own_cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)
