"""What the command line prints: tables for people, JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rocketconnect_cli.access.profile import current
from rocketconnect_cli.api import DEFAULT_URL, Access, Api, ApiError
from rocketconnect_cli.names.completion import CONNECTORS
from rocketconnect_cli.terminal import Terminal, printable
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest

P = ParamSpec("P")
R = TypeVar("R")


class Output(StrEnum):
    """How answers are printed."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table for people, json for scripts.")]
UrlOption = Annotated[str, typer.Option("--url", envvar="ROCKETCONNECT_URL", help="The gateway to ask.")]
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
    sys.stdout.flush()
    heading, _, rest = str(error).partition(": ")
    # Services put their problems into one sentence, too; here they follow as a list.
    told = any(problem.get("reason", "\0") in rest for problem in error.problems)
    err.print(f"Error: {heading if told else error}", style="red", markup=False)
    for line in lines_of(error.problems):
        err.print(line, markup=False)


def lines_of(problems: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is wrong with a configuration, every problem with its fix on a line of its own: values may be as long as they want."""
    lines = []
    for problem in problems:
        given = f" (given: {problem['value']!r})" if problem.get("value") else ""
        lines.append(f"  {problem.get('key') or 'configuration'}: {problem.get('reason', '')}{given}")
        if problem.get("fix"):
            lines.append(f"    -> {problem['fix']}")
    return lines


def show_warnings(answer: dict[str, Any]) -> None:
    """Says on standard error what the answer warns of: behind what was done, next to the prompt."""
    # One order also where both go into one file.
    sys.stdout.flush()
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


def in_words(error: ApiError, name: str, url: str = "") -> ApiError:
    """What went wrong with a connector: each service that is asked has its own words for one that is not there.

    Args:
        error: What went wrong.
        name: Of the connector.
        url: Who tells names that may have been meant; empty: none are told.
    """
    if error.problem.get("reason") != "CONNECTOR_NOT_FOUND":
        return error
    meant = did_you_mean(nearest(name, CONNECTORS.names(url))) if url else ""
    detail = f"there is no connector {name!r}; {meant or '`rocketconnect connector list` shows those there are'}"
    return ApiError(error.exit_code, {**error.problem, "detail": detail})


def with_api(command: Callable[P, R]) -> Callable[P, R]:
    """Makes errors of the API the exit codes of the command."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ApiError as error:
            if (named := _named(kwargs)) is not None:
                error = in_words(error, named, str(kwargs.get("url", "")))
            if error.problem.get("reason") == "REVISION_NOT_FOUND" and "revision" in kwargs:
                name, number = kwargs["name"], kwargs["revision"]
                detail = f"{name} has no revision {number}; `rocketconnect connector revisions {name}` shows those there are"
                error = ApiError(error.exit_code, {**error.problem, "detail": detail})
            if kwargs.get("output") is Output.JSON:
                sys.stdout.write(json.dumps({"error": error.problem}) + "\n")
            show_error(error)
            raise typer.Exit(int(error.exit_code)) from None

    return run


def _named(given: Mapping[str, Any]) -> str | None:
    """The one connector that a command was given; None: there is not one."""
    names = given.get("names") or ([given["name"]] if "name" in given else [])
    return str(names[0]) if len(names) == 1 else None


def reached(url: str) -> tuple[str, Access]:
    """Where a command reaches the gateway, and how that lets it in."""
    profile = current()
    return profile.url if profile.url and url == DEFAULT_URL else url, profile.access()


def api(url: str) -> Api:
    """The client for a command."""
    asked, access = reached(url)
    return Api(asked, access, lambda text: err.print(text, markup=False, style="dim"))


def without_prefix(value: Any, prefix: str) -> str:
    """An enum value of the API as people read it: STATE_RUNNING is RUNNING."""
    return str(value or "").removeprefix(prefix)
