"""The flights out of a CSV file, through a topic, into a table of Delta Lake and one of Iceberg, which SQL then asks.

The tables are read by `deltalake` and `pyiceberg`, which have no code in common with what writes them, and asked by DuckDB.
"""

import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable
from rich.table import Table

from demo import flights
from demo.pipelines import HOME, console, transfer
from rocketconnect_cli.instance.running import running

TOPIC = "demo-lake"
QUESTION = """
SELECT d.carrier, count(*) AS flights, round(avg(d.dep_delay), 1) AS minutes_late,
       round(100 * avg((i.arr_delay > 60)::int), 1) AS percent_over_an_hour
FROM delta AS d JOIN iceberg AS i USING (year, month, day, carrier, flight, origin, sched_dep_time)
WHERE d.dep_delay IS NOT NULL GROUP BY ALL ORDER BY minutes_late DESC, carrier LIMIT 5
"""


def configurations(table: Path, delta: Path, warehouse: Path) -> dict[str, dict[str, str]]:
    """The three connectors, sinks first: types go with the rows, so only the source names columns."""
    rows = {"value.converter": "arrow", "topics": TOPIC, "flush.rows": "200000", "flush.interval": "2s"}
    return {
        "flights-to-delta": {"connector.class": "delta_sink", "path": str(delta), "partition.by": "month", **rows},
        "flights-to-iceberg": {
            "connector.class": "iceberg_sink",
            "warehouse": str(warehouse),
            "table": "air.flights",
            "partition.by": "month",
            **rows,
        },
        "flights-from-csv": {
            "connector.class": "file_source",
            "topic": TOPIC,
            "filename": str(table),
            "format": "csv",
            "columns": flights.columns(table),
            "csv.null": flights.NULL,
            "value.converter": "arrow",
        },
    }


def run() -> int:
    """Runs it; 0 when every row is in both tables once and unchanged."""
    table, outputs = HOME / "flights.csv", HOME / "lake"
    for old in (HOME / "data", outputs):
        shutil.rmtree(old, ignore_errors=True)
    outputs.mkdir(parents=True)
    flights.extract(table)
    wanted = flights.content(flights.of_csv(table))
    delta, warehouse = outputs.absolute() / "delta", outputs.absolute() / "iceberg"
    console.print(f"Input   {table}: {wanted}")
    console.print("Starting RocketMQ, the services and Spark; the first time Delta Lake and Iceberg are downloaded (60 MB) ...")
    with running(HOME / "data") as ready:
        console.print(f"REST answers at {ready['rest']}, metrics at {ready['metrics']}, the name server at {ready['nameServer']}.")
        seconds = transfer(str(ready["rest"]), configurations(table.absolute(), delta, warehouse), wanted.rows)
    console.print("Everything is stopped. Comparing each row of both tables with the input ...")
    tables = {
        "Delta": rows_of_delta(delta),
        "Iceberg": StaticTable.from_metadata(str(warehouse / "air" / "flights")).scan().to_arrow(),
    }
    found = {name: flights.content(flights.of_arrow(rows)) for name, rows in tables.items()}
    for name, content in found.items():
        console.print(f"{name:7} {content} ({'the same' if content == wanted else 'NOT THE SAME'})", markup=False)
    console.print(
        f"{wanted.rows:,} rows through RocketMQ and Spark into two tables in {seconds:.1f} s: {wanted.rows / seconds:,.0f} rows/s "
        "(from the creation of the source to the last row in both tables; without starting, stopping and comparing)"
    )
    console.print("Which carriers kept their passengers waiting? One question to both tables, joined:")
    console.print(answer(tables["Delta"], tables["Iceberg"]))
    return 0 if all(content == wanted for content in found.values()) else 1


def rows_of_delta(path: Path) -> pa.Table:
    """All rows of a table of Delta Lake, by its own query engine.

    DeltaTable.to_pyarrow_table() leaves threads behind, with which this process may abort when it ends.
    """
    rows = pa.table(QueryBuilder().register("t", DeltaTable(str(path))).execute("SELECT * FROM t").read_all())
    types = ((field.name, pa.string() if field.type == pa.string_view() else field.type) for field in rows.schema)
    return rows.cast(pa.schema(types))


def answer(delta: pa.Table, iceberg: pa.Table) -> Table:
    """What SQL finds in the tables, for people."""
    with duckdb.connect() as session:
        session.register("delta", delta)
        session.register("iceberg", iceberg)
        answer = session.execute(QUESTION)
        shown = Table(*(column[0] for column in answer.description or ()))
        for row in answer.fetchall():
            shown.add_row(*map(str, row))
    return shown
