"""Flights out of a topic into tables of PostgreSQL and MariaDB, inserted or in the place of others; and their own load."""

import itertools
import time
from collections.abc import Iterator

from bench import captured, tables
from bench.captured import TABLE, Database
from bench.measuring.costs import Meter, per_million
from bench.measuring.instance import Instance, folder, instance, source_config
from bench.measuring.passage import until_moved
from bench.workload import BenchFailed, Options, Sample, Workload
from demo.flights import NULL, content

_JSON = {"value.converter": "json"}
_MODES = ("insert", "upsert into an empty table", "upsert of all rows")
_SUNK, _LOADED = "sunk", "loaded"
_runs = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """In turns, from a topic that is full."""
    rows = options.rows or 3 * tables.ROWS
    for start in (captured.postgres, captured.mariadb):
        with folder() as place:
            table = place / "flights.csv"
            columns = tables.write(table, rows)
            with start(table, columns) as database, instance() as it:
                source = source_config(table, "flights", queues=4) | {"format": "csv", "columns": columns, "csv.null": NULL}
                it.create("source", source | _JSON)
                until_moved(it, "source", rows)
                for _ in range(options.repeats):
                    yield from _turn(it, database, rows)


def _turn(it: Instance, database: Database, rows: int) -> Iterator[Sample]:
    wanted = content(database.rows(TABLE))
    for mode in _MODES:
        if mode != _MODES[-1]:
            database.run([f"DROP TABLE IF EXISTS {_SUNK}"])
        sample = _move(it, database, mode, rows)
        if (found := content(database.rows(_SUNK))) != wanted:
            msg = f"{sample.case}: the table has {found}, and the file {wanted}"
            raise BenchFailed(msg)
        yield sample
    yield _load(database, rows)


def _load(database: Database, rows: int) -> Sample:
    """The same rows out of the file, by the database alone, into a table with the same columns and key."""
    like = f"(LIKE {_SUNK} INCLUDING ALL)" if database.quote == '"' else f"LIKE {_SUNK}"
    database.run([f"DROP TABLE IF EXISTS {_LOADED}", f"CREATE TABLE {_LOADED} {like}"])
    begin = time.monotonic()
    database.load(_LOADED)
    seconds = time.monotonic() - begin
    if (found := content(database.rows(_LOADED))) != (wanted := content(database.rows(TABLE))):
        msg = f"the load of {database.title}: the table has {found}, and the file {wanted}"
        raise BenchFailed(msg)
    return Sample(f"{database.title}, its own load", {"rows_per_s": rows / seconds})


def _move(it: Instance, database: Database, mode: str, rows: int) -> Sample:
    name = f"sink{next(_runs)}"
    config = {
        "connector.class": "jdbc_sink",
        "topics": "flights",
        **database.sink,
        "table.name.format": _SUNK,
        "insert.mode": mode.split(maxsplit=1)[0],
        "pk.fields": tables.COLUMN,
        "auto.create": "true",
        **_JSON,
    }
    it.settle()
    meter = Meter([it.root])
    it.create(name, config)
    seconds = until_moved(it, name, rows)
    costs = meter.costs()
    it.delete(name)
    return Sample(f"{database.title}, {mode}", {"rows_per_s": rows / seconds, **per_million(costs, rows)}, costs)


WORKLOAD = Workload(
    "Flights out of a topic into PostgreSQL and MariaDB",
    run,
    ("rows_per_s", "own_cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)
