"""The commands `rocketconnect worker ...`."""

import time
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.api import Api, ApiError, Exit, checked_name
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, table_of, with_api

app = typer.Typer(cls=Commands, no_args_is_help=True, help="List executors, and take one out of work without stopping anything.")

WorkerId = Annotated[str, typer.Argument(metavar="WORKER", help="Its id, as `rocketconnect worker list` shows it.")]
POLL_SECONDS = 0.5
WORKER = {"workerId": ""}
"""What is read of a worker, by example; whatever has its default may be left out."""


@app.command(name="list")
@with_api
def list_workers(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """List the executors: whether they live and take work, how many tasks they hold, what can be asked of them."""
    with api(url) as client:
        workers = list(client.pages("/v1/workers", "workers", WORKER))
    columns = ("WORKER", "ADDRESS", "PID", "STATE", "WEIGHT", "TASKS", "LABELS")
    emit(output, {"workers": workers}, lambda: table_of(columns, map(_cells, workers)))


@app.command()
@with_api
def drain(
    worker: WorkerId,
    force: Annotated[bool, typer.Option("--force", help="Also when nobody else can take what it runs: that stops.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Until it holds nothing.")] = True,
    timeout: Annotated[float, durations.option("How long to wait; the drain goes on after that.", default="10m")] = 600.0,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Let an executor get nothing new and move its tasks to others, one after the other. It lasts until `undrain`.

    Exit code 2 when nobody else can take what it runs, 6 when it still holds something after the timeout.
    """
    path = _path(worker)
    with api(url) as client:
        row = client.request("POST", f"{path}:drain", body={"force": force}, like={"worker": WORKER})["worker"]
        if wait:
            row = _wait(client, row, timeout)
    emit(output, row, lambda: f"{worker} is {_state(row)}" + (f": it holds {_left(row)}" if _holds(row) else ""))


@app.command()
@with_api
def undrain(worker: WorkerId, url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Let an executor that was drained take work again."""
    with api(url) as client:
        row = client.request("POST", f"{_path(worker)}:undrain", body={}, like={"worker": WORKER})["worker"]
    emit(output, row, lambda: f"{worker} is {_state(row)}")


def _wait(client: Api, row: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Tell how many are left, until the worker holds nothing; return it as it is then."""
    worker, deadline, told = row["workerId"], time.monotonic() + timeout, 0
    while _holds(row):
        if not row.get("drained"):
            raise ApiError(Exit.FAILED, {"detail": f"{worker} is not drained any more: somebody has undrained it."})
        if time.monotonic() > deadline:
            detail = f"{worker} still holds {_left(row)} after {timeout:g} s. They go on moving: see `rocketconnect worker list`."
            raise ApiError(Exit.TIMEOUT, {"detail": detail})
        if _holds(row) != told:
            told = _holds(row)
            err.print(f"{worker} still holds {_left(row)}", style="dim", markup=False)
        time.sleep(POLL_SECONDS)
        rows = (each for each in client.pages("/v1/workers", "workers", WORKER) if each["workerId"] == worker)
        row = next(rows, {**WORKER, "workerId": worker})
    return row


def _path(worker: str) -> str:
    return f"/v1/workers/{quote(checked_name(worker, 'a worker'), safe='')}"


def _holds(row: dict[str, Any]) -> int:
    return int(row.get("tasks", 0)) + int(row.get("plannings", 0))


def _left(row: dict[str, Any]) -> str:
    counts = ((int(row.get("tasks", 0)), "task"), (int(row.get("plannings", 0)), "planning"))
    return " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def _state(row: dict[str, Any]) -> str:
    if row.get("drained"):
        return "draining" if _holds(row) else "drained"
    return "alive" if row.get("alive") else "gone"


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    state = _state(row) + (", gone" if row.get("drained") and not row.get("alive") else "")
    labels = ", ".join(f"{name}={value}" for name, value in sorted(row.get("labels", {}).items()))
    # 64-bit numbers are texts in JSON.
    pid = int(row.get("pid", 0)) or "-"
    return row["workerId"], row.get("address", ""), pid, state, row.get("weight", 1), row.get("tasks", 0), labels
