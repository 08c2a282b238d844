"""Runs the demo: `python -m demo`."""

import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from demo import flights
from rocketconnect_cli.api import Api, ApiError
from rocketconnect_cli.instance.running import InstanceFailed, running
from rocketconnect_cli.states import counter, get_state, state_name, wait_for

HOME = Path(".demo")
TOPIC = "demo-flights"
STALL_SECONDS = 180.0
POLL_SECONDS = 0.2


class DemoFailed(Exception):
    """A pipeline FAILED or moves nothing; the text says which and where to look."""


console = Console(highlight=False, soft_wrap=True)


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


def main() -> int:
    """Runs it; 0 when every row is there once and unchanged."""
    try:
        return _run()
    except KeyboardInterrupt:
        console.print("Interrupted; everything is stopped. Run it again at any time.")
        return 130
    except (DemoFailed, InstanceFailed, ApiError, FileNotFoundError) as error:
        console.print(f"The demo failed: {error}", style="red", markup=False)
        return 1


def _run() -> int:
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
        seconds = _transfer(str(ready["rest"]), configurations(table.absolute(), lines.absolute(), parquet.absolute()), wanted.rows)
    console.print("Everything is stopped. Comparing each row of the outputs with the input ...")
    found = {lines: flights.content(flights.of_lines(lines)), parquet: flights.content(flights.of_parquet(parquet))}
    for path, content in found.items():
        console.print(f"Output  {path}: {content} ({'the same' if content == wanted else 'NOT THE SAME'})", markup=False)
    console.print(
        f"{wanted.rows:,} rows through RocketMQ and Spark into two sinks in {seconds:.1f} s: {wanted.rows / seconds:,.0f} rows/s "
        "(from the creation of the source to the last row in both sinks; without starting, stopping and comparing)"
    )
    return 0 if all(content == wanted for content in found.values()) else 1


def _transfer(url: str, connectors: Mapping[str, Mapping[str, str]], rows: int) -> float:
    """Creates the connectors, shows how far each is; seconds from the creation of the source to the last row in both sinks."""
    columns = (
        TextColumn("{task.description:20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Api(url) as api, Progress(*columns, console=console) as progress:
        bars = {name: progress.add_task(name, total=rows, state="") for name in connectors}
        *sinks, source = connectors
        for name in sinks:
            api.request("POST", "/v1/connectors", body={"name": name, "config": connectors[name]})
        for name in sinks:
            wait_for(api, name, ("RUNNING", "IDLE"), STALL_SECONDS)
        begin = time.monotonic()
        api.request("POST", "/v1/connectors", body={"name": source, "config": connectors[source]})
        _follow(api, progress, bars, rows)
        return time.monotonic() - begin


def _follow(api: Api, progress: Progress, bars: Mapping[str, TaskID], rows: int) -> None:
    moved = dict.fromkeys(bars, 0)
    last = time.monotonic()
    while min(moved.values()) < rows:
        for name, bar in bars.items():
            state = get_state(api, name)
            now = sum(counter(task, "recordsOut") for task in state.get("tasks", []))
            last = time.monotonic() if now > moved[name] else last
            moved[name] = now
            progress.update(bar, completed=now, state=state_name(state))
            if state_name(state) == "FAILED":
                msg = f"{name} is FAILED: {state.get('trace', '')}"
                raise DemoFailed(msg)
        if time.monotonic() - last > STALL_SECONDS:
            msg = f"nothing has moved for {STALL_SECONDS:g} s: {moved}; see the logs in {HOME / 'data' / 'logs'}"
            raise DemoFailed(msg)
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
