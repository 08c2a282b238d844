"""What every demo does: connectors are created on an instance, and followed until all rows are through."""

import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from rocketconnect_cli.api import Api
from rocketconnect_cli.states import counter, get_state, state_name, wait_for

HOME = Path(".demo")
STALL_SECONDS = 180.0
POLL_SECONDS = 0.2


class DemoFailed(Exception):
    """A pipeline FAILED or moves nothing; the text says which and where to look."""


console = Console(highlight=False, soft_wrap=True)


def transfer(url: str, connectors: Mapping[str, Mapping[str, str]], rows: int) -> float:
    """Creates the connectors and shows how far each is.

    Returns: seconds from the creation of the source to the last row in all sinks.

    Args:
        url: The gateway.
        connectors: Configurations by name, the source last.
        rows: How many each has to move.

    Raises:
        DemoFailed: one of them FAILED, or nothing moves.
    """
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
