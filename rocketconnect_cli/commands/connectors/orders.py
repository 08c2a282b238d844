"""`rocketconnect connector pause | resume | restart | stop`: of one connector, or of all that are chosen."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.chosen import MatchOption, StateOption, chosen
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, show_error, with_api
from rocketconnect_cli.shown import CONNECTOR, wanted_state
from rocketconnect_cli.signed import EtagOption, ReasonOption, signed
from rocketconnect_cli.states import State

NameOrChoice = Annotated[str, typer.Argument(help="The name of the connector; or choose with --all, --match, --state.")]
AllOption = Annotated[bool, typer.Option("--all", help="All connectors.")]


def _command(verb: str, does: str) -> Callable[..., None]:
    """The command that gives this order."""

    @with_api
    def command(
        name: NameOrChoice = "",
        every: AllOption = False,
        match: MatchOption = None,
        states: StateOption = None,
        reason: ReasonOption = "",
        etag: EtagOption = "",
        url: UrlOption = URL,
        output: OutputOption = Output.TABLE,
    ) -> None:
        _give(verb, name, every, match, states, signed(reason, etag), url, output)

    command.__name__, command.__doc__ = verb, does
    return command


def _give(
    verb: str,
    name: str,
    every: bool,
    match: Sequence[str] | None,
    states: Sequence[State] | None,
    body: dict[str, str],
    url: str,
    output: Output,
) -> None:
    if sum((bool(name), every, bool(match or states))) != 1:
        detail = f"which connectors are to {verb}? Give a name, or --all, or --match and --state, and one of these ways alone"
        raise ApiError(Exit.WRONG, {"detail": detail})
    with api(url) as client:
        if name:
            connector = _order(client, name, verb, body)
            emit(output, connector, lambda: _done(connector))
            return
        if "etag" in body:
            raise ApiError(Exit.WRONG, {"detail": "--etag is that of one connector: give its name"})
        found = [row["name"] for row in chosen(client, match or [], states or [])]
        done, refused = [], []
        for each in found:
            try:
                done.append(_order(client, each, verb, body))
            except ApiError as error:
                if error.exit_code in (Exit.UNAVAILABLE, Exit.TIMEOUT):
                    # Nobody would answer for the others.
                    raise
                refused.append((each, error))

    def lines() -> Iterator[str]:
        yield from map(_done, done)
        if not found:
            yield "no connector is as you choose; nothing was changed"

    failures = [{"name": each, "error": error.problem} for each, error in refused]
    emit(output, {"connectors": done, "refused": failures}, lambda: list(lines()))
    if refused:
        told = "; ".join(f"{each}: {error}" for each, error in refused)
        show_error(ApiError(Exit.FAILED, {"detail": f"{len(refused)} of {len(found)} orders were refused: {told}"}))
        raise typer.Exit(int(refused[0][1].exit_code))


def _order(client: Api, name: str, verb: str, body: dict[str, str]) -> dict[str, Any]:
    return dict(client.request("POST", f"{connector_path(name)}:{verb}", body=body, like=CONNECTOR)["connector"])


def _done(connector: dict[str, Any]) -> str:
    return f"{connector['name']} is wanted {wanted_state(connector)}"


pause = _command("pause", "Let its tasks move nothing for now.")
resume = _command("resume", "Let it go on, after pause or stop.")
restart = _command("restart", "Stop its tasks and start them again from their positions.")
stop = _command("stop", "End its tasks; configuration, revisions and positions stay.")
