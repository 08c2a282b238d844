"""The flights out of a CSV file, through a topic, into Parquet and into lines of JSON."""

import shutil
from pathlib import Path

from demo import flights
from demo.pipelines import HOME, console, transfer
from rocketconnect_cli.instance.running import running

TOPIC = "demo-flights"


def configurations(table: Path, lines: Path, parquet: Path) -> dict[str, dict[str, str]]:
    """The three connectors, sinks first."""
    columns = flights.columns(table)
    json_value = {"value.converter": "json", "value.converter.schemas.enable": "false"}
    return {
        "flights-to-parquet": {
            "connector.class": "file_sink",
            "topics": TOPIC,
            "filename": str(parquet),
            "format": "parquet",
            "columns": columns,
            "flush.rows": "200000",
            "flush.interval": "2s",
            **json_value,
        },
        "flights-to-lines": {"connector.class": "file_sink", "topics": TOPIC, "filename": str(lines), "format": "text"},
        "flights-from-csv": {
            "connector.class": "file_source",
            "topic": TOPIC,
            "filename": str(table),
            "format": "csv",
            "columns": columns,
            "csv.null": flights.NULL,
            **json_value,
        },
    }


def run() -> int:
    """Runs it; 0 when every row is in both outputs once and unchanged."""
    table, outputs = HOME / "flights.csv", HOME / "out"
    lines, parquet = outputs / "flights.jsonl", outputs / "flights.parquet"
    for old in (HOME / "data", outputs):
        shutil.rmtree(old, ignore_errors=True)
    outputs.mkdir(parents=True)
    flights.extract(table)
    wanted = flights.content(flights.of_csv(table))
    console.print(f"Input   {table}: {wanted}")
    console.print("Starting RocketMQ, the services and Spark ...")
    with running(HOME / "data") as ready:
        console.print(f"REST answers at {ready['rest']}, metrics at {ready['metrics']}, the name server at {ready['nameServer']}.")
        seconds = transfer(str(ready["rest"]), configurations(table.absolute(), lines.absolute(), parquet.absolute()), wanted.rows)
    console.print("Everything is stopped. Comparing each row of the outputs with the input ...")
    found = {lines: flights.content(flights.of_lines(lines)), parquet: flights.content(flights.of_parquet(parquet))}
    for path, content in found.items():
        console.print(f"Output  {path}: {content} ({'the same' if content == wanted else 'NOT THE SAME'})", markup=False)
    console.print(
        f"{wanted.rows:,} rows through RocketMQ and Spark into two sinks in {seconds:.1f} s: {wanted.rows / seconds:,.0f} rows/s "
        "(from the creation of the source to the last row in both sinks; without starting, stopping and comparing)"
    )
    return 0 if all(content == wanted for content in found.values()) else 1
