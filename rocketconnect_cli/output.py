"""What the command line prints: tables for people, JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rocketconnect_cli.api import DEFAULT_URL, Api, ApiError
from rocketconnect_cli.terminal import Terminal, printable
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest

P = ParamSpec("P")
R = TypeVar("R")


class Output(StrEnum):
    """How answers are printed."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table for people, json for scripts.")]
UrlOption = Annotated[str, typer.Option("--url", envvar="ROCKETCONNECT_URL", help="Where REST answers.")]
URL = DEFAULT_URL

_NO_LIMIT = 1_000_000
"""Columns of a terminal that cuts nothing."""

out = Terminal(soft_wrap=True, highlight=False)
err = Terminal(stderr=True, soft_wrap=True, highlight=False)


def emit(output: Output, document: object, table: Callable[[], Table | str | Sequence[Table | str]]) -> None:
    """Prints a document as JSON, or what shows it: a table, or tables and lines."""
    if output is Output.JSON:
        sys.stdout.write(json.dumps(document) + "\n")
        return
    shown = table()
    for part in (shown,) if isinstance(shown, Table | str) else shown:
        if isinstance(part, str):
            out.print(part, markup=False)
        else:
            _print_table(part)


def table_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A plain table, of which a terminal folds the last column alone."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != columns[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    return table


def _print_table(table: Table) -> None:
    """Nothing of it is cut: in a terminal it may be wider than that, for a pipe each row is one line."""
    needed = Measurement.get(out, out.options.update(width=_NO_LIMIT), table)
    if out.is_terminal:
        table.width = max(min(out.width, needed.maximum), needed.minimum)
        out.print(table, soft_wrap=False, crop=False)
        return
    table.width = needed.maximum
    with out.capture() as printed:
        out.print(table, soft_wrap=False, crop=False)
    # The last column is as wide as its longest cell.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in printed.get().splitlines()))


def show_error(error: ApiError) -> None:
    """Says on standard error what went wrong, every problem with its fix on a line of its own."""
    heading, _, rest = str(error).partition(": ")
    # Services put their problems into one sentence, too; here they follow as a list.
    told = any(problem.get("reason", "\0") in rest for problem in error.problems)
    err.print(f"Error: {heading if told else error}", style="red", markup=False)
    for problem in error.problems:
        given = f" (given: {problem['value']!r})" if problem.get("value") else ""
        err.print(f"  {problem.get('key') or 'configuration'}: {problem.get('reason', '')}{given}", markup=False)
        if problem.get("fix"):
            err.print(f"    -> {problem['fix']}", markup=False)


def show_warnings(answer: dict[str, Any]) -> None:
    """Says on standard error what the answer warns of, beside what was done."""
    for warning in answer.get("warnings", []):
        given = f" (given: {warning['value']!r})" if warning.get("value") else ""
        heading = f"Warning: {warning.get('key') or 'configuration'}: {warning.get('reason', '')}{given}"
        err.print(heading, style="yellow", markup=False)
        if warning.get("fix"):
            err.print(f"    -> {warning['fix']}", markup=False)


def show_notes(answer: dict[str, Any]) -> None:
    """Says on standard error what is to be expected of a connector."""
    for note in answer.get("notes", []):
        err.print(f"Note: {note}", markup=False)


def with_api(command: Callable[P, R]) -> Callable[P, R]:
    """Makes errors of the API the exit codes of the command."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ApiError as error:
            if error.problem.get("reason") == "CONNECTOR_NOT_FOUND" and "name" in kwargs:
                # Each service that is asked has its own words for it.
                meant = _meant(str(kwargs.get("url", "")), str(kwargs["name"]))
                detail = f"there is no connector {kwargs['name']!r}; {meant}"
                error = ApiError(error.exit_code, {**error.problem, "detail": detail})
            elif error.problem.get("reason") == "REVISION_NOT_FOUND" and "revision" in kwargs:
                name, number = kwargs["name"], kwargs["revision"]
                detail = f"{name} has no revision {number}; `rocketconnect connector revisions {name}` shows those there are"
                error = ApiError(error.exit_code, {**error.problem, "detail": detail})
            if kwargs.get("output") is Output.JSON:
                sys.stdout.write(json.dumps({"error": error.problem}) + "\n")
            show_error(error)
            raise typer.Exit(int(error.exit_code)) from None

    return run


def _meant(url: str, name: str) -> str:
    """Which connectors are there whose names are near, or how to see all of them."""
    near: list[str] = []
    # What is to be told is known without them.
    with suppress(ApiError), api(url) as client:
        near = nearest(name, [each["name"] for each in client.pages("/v1/connectors", "connectors", {"name": ""})])
    return did_you_mean(near) or "`rocketconnect connector list` shows those there are"


def api(url: str) -> Api:
    """The client for a command."""
    return Api(url)


def without_prefix(value: Any, prefix: str) -> str:
    """An enum value of the API as people read it: STATE_RUNNING is RUNNING."""
    return str(value or "").removeprefix(prefix)
