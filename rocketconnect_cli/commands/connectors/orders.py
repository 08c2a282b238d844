"""`rocketconnect connector pause | resume | restart | stop`: of connectors that are named, or of all that are chosen."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.chosen import MatchOption, StateOption, chosen
from rocketconnect_cli.commands.connectors.several import ask_each, once
from rocketconnect_cli.commands.dead_letters.unreplayed import check_unreplayed
from rocketconnect_cli.names import completion
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, out, with_api
from rocketconnect_cli.shown import CONNECTOR, bring_back, wanted_state
from rocketconnect_cli.signed import EtagOption, ReasonOption, signed
from rocketconnect_cli.states import State

NamesOrChoice = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME", help="The connectors; or choose with --all, --match, --state.", autocompletion=completion.connectors
    ),
]
_ONE_ETAG = "--etag is that of one connector: give its name alone"
AllOption = Annotated[bool, typer.Option("--all", help="All connectors.")]


def _command(verb: str, does: str) -> Callable[..., None]:
    """The command that gives this order."""

    @with_api
    def command(
        names: NamesOrChoice = None,
        every: AllOption = False,
        match: MatchOption = None,
        states: StateOption = None,
        reason: ReasonOption = "",
        etag: EtagOption = "",
        url: UrlOption = URL,
        output: OutputOption = Output.TABLE,
    ) -> None:
        _give(verb, once(names or []), every, match, states, signed(reason, etag), url, output)

    command.__name__, command.__doc__ = verb, does
    return command


def _give(
    verb: str,
    names: Sequence[str],
    every: bool,
    match: Sequence[str] | None,
    states: Sequence[State] | None,
    body: dict[str, str],
    url: str,
    output: Output,
) -> None:
    if sum((bool(names), every, bool(match or states))) != 1:
        detail = f"which connectors are to {verb}? Give names, or --all, or --match and --state, and one of these ways alone"
        raise ApiError(Exit.WRONG, {"detail": detail})
    if "etag" in body and len(names) != 1:
        raise ApiError(Exit.WRONG, {"detail": _ONE_ETAG})
    with api(url) as client:
        order = partial(_order, client, verb=verb, body=body)
        if len(names) == 1:
            connector = order(names[0])
            emit(output, connector, lambda: _done(names[0], connector))
            return
        found = names or [row["name"] for row in chosen(client, match or [], states or [])]
        if not found and output is Output.TABLE:
            out.print("no connector is as you choose; nothing was changed")
        ask_each(found, order, _done, output, "connectors")


def _order(client: Api, name: str, *, verb: str, body: dict[str, str]) -> dict[str, Any]:
    return dict(client.request("POST", f"{connector_path(name)}:{verb}", body=body, like=CONNECTOR)["connector"])


def remove(names: Sequence[str], body: dict[str, str], url: str, output: Output, *, is_sure: bool) -> None:
    """Remove these connectors, each of them once; `is_sure`: whatever dead letters they have."""
    if "etag" in body and len(names) != 1:
        raise ApiError(Exit.WRONG, {"detail": _ONE_ETAG})
    with api(url) as client:

        def delete(name: str) -> dict[str, Any]:
            if not is_sure:
                check_unreplayed(client, name)
            return dict(client.request("DELETE", connector_path(name), query=body, like=CONNECTOR)["connector"])

        if len(names) == 1:
            connector = delete(names[0])
            emit(output, connector, lambda: _deleted(names[0], connector))
        else:
            ask_each(names, delete, _deleted, output, "connectors")


def _deleted(name: str, connector: dict[str, Any]) -> str:
    return f"{name} deleted; {bring_back(name, connector['uid'])}"


def _done(_: str, connector: dict[str, Any]) -> str:
    return f"{connector['name']} is wanted {wanted_state(connector)}"


pause = _command("pause", "Let connectors move nothing for now: their tasks stay where they are.")
resume = _command("resume", "Let connectors go on, after pause or stop.")
restart = _command("restart", "Stop the tasks of connectors and start them again from their positions.")
stop = _command("stop", "End the tasks of connectors; configurations, revisions and positions stay.")
