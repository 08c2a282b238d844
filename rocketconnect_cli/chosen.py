"""Connectors that are chosen by what they are called and what they do."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

import typer

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.states import State, state_name

STATES = f"States: {', '.join(State).lower()}."
"""For help."""
StateOption = Annotated[
    list[State] | None,
    typer.Option("--state", case_sensitive=False, metavar="STATE", help=f"Those in this state; again for more. {STATES}"),
]
MatchOption = Annotated[
    list[str] | None,
    typer.Option("--match", metavar="GLOB", help="Those with a name like this, such as 'orders-*'; again for more."),
]


def chosen(client: Api, match: Sequence[str], states: Sequence[State]) -> list[dict[str, Any]]:
    """Connectors with their states: those with one of these names and in one of these states; none given: all.

    Raises:
        ApiError: NOT_FOUND, when no connector has such a name, whatever its state is.
    """
    connectors = list(client.pages("/v1/connectors", "connectors", {"name": ""}))
    known = {state["connector"]: state for state in client.pages("/v1/states", "states", {"connector": ""})}
    named = [row for row in connectors if not match or any(fnmatchcase(row["name"], glob) for glob in match)]
    if match and not named:
        detail = f"no connector has a name like {' or '.join(match)}; `rocketconnect connector list` shows those there are"
        raise ApiError(Exit.NOT_FOUND, {"detail": detail})
    rows = [{**row, "state": state_name(known.get(row["name"], {})), "seen": known.get(row["name"], {})} for row in named]
    return [row for row in rows if not states or row["state"] in states]
