"""What the command line prints: tables for people, JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from rocketconnect_cli.api import DEFAULT_URL, Api, ApiError

P = ParamSpec("P")
R = TypeVar("R")


class Output(StrEnum):
    """How answers are printed."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table for people, json for scripts.")]
UrlOption = Annotated[str, typer.Option("--url", envvar="ROCKETCONNECT_URL", help="Where REST answers.")]
URL = DEFAULT_URL

out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def emit(output: Output, document: object, table: Callable[[], Table | str]) -> None:
    """Prints a document as JSON, or the table that shows it."""
    if output is Output.JSON:
        sys.stdout.write(json.dumps(document) + "\n")
        return
    shown = table()
    out.print(shown, markup=not isinstance(shown, str))


def table_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A plain table."""
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    return table


def show_error(error: ApiError) -> None:
    """Says on standard error what went wrong, every problem with its fix on a line of its own."""
    err.print(f"Error: {error}", style="red", markup=False)
    for problem in error.problems:
        given = f" (given: {problem['value']!r})" if problem.get("value") else ""
        err.print(f"  {problem.get('key') or 'configuration'}: {problem.get('reason', '')}{given}", markup=False)
        if problem.get("fix"):
            err.print(f"    -> {problem['fix']}", markup=False)


def with_api(command: Callable[P, R]) -> Callable[P, R]:
    """Makes errors of the API the exit codes of the command."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ApiError as error:
            if kwargs.get("output") is Output.JSON:
                sys.stdout.write(json.dumps({"error": error.problem}) + "\n")
            show_error(error)
            raise typer.Exit(int(error.exit_code)) from None

    return run


def api(url: str) -> Api:
    """The client for a command."""
    return Api(url)


def without_prefix(value: Any, prefix: str) -> str:
    """An enum value of the API as people read it: STATE_RUNNING is RUNNING."""
    return str(value or "").removeprefix(prefix)
