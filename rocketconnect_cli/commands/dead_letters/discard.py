"""`rocketconnect dlq discard`: dead letters that nobody is to be asked about any more."""

import shlex
from typing import Annotated

import typer

from rocketconnect_cli.api import ApiError, Exit, connector_path
from rocketconnect_cli.commands.dead_letters.unreplayed import is_asked
from rocketconnect_cli.letters import Error, Name, Since, Stage, Task, filters
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, with_api
from rocketconnect_cli.signed import author
from rocketconnect_sdk.wording.counts import counted

_LIKE = {"count": "", "topic": ""}


@with_api
def discard(
    name: Name,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="LETTER", help="Which: broker:queue:offset or broker:queue:first-last.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All that there are now and nobody has replayed or given up; the filters choose.")
    ] = False,
    since: Since = "",
    task: Task = None,
    stage: Stage = "",
    error: Error = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give dead letters up: `connector delete` and `topic delete` do not ask about them any more.

    No message is deleted: they stay in their topic until RocketMQ removes them, and `dlq replay` of their ids still sends them.
    """
    if every == bool(ids):
        raise ApiError(Exit.WRONG, {"detail": "give ids, or --all, not both." if every else "give ids, or --all."})
    body = {**filters(since, task, stage, error), "ids": ids or [], "all": every, "author": author()}
    path = f"{connector_path(name)}/deadLetters:discard"
    with api(url) as client:
        if not yes:
            meant = client.request("POST", path, body={**body, "dryRun": True}, like=_LIKE)
            if int(meant["count"]):
                _confirm(name, _letters(meant["count"]))
        done = client.request("POST", path, body=body, like=_LIKE)
    left = f"; they stay in {done['topic']} until RocketMQ removes them"
    nothing = "there is nothing to discard: those letters were replayed or discarded before, or are of another connector"
    emit(output, done, lambda: f"{_letters(done['count'])} discarded{left}" if int(done["count"]) else nothing)


def _confirm(name: str, letters: str) -> None:
    """Asks whether it is meant.

    Raises:
        ApiError: WRONG: somebody says no, or nobody can be asked.
    """
    look = f"`rocketconnect dlq list {shlex.quote(name)}` shows what there is"
    if not is_asked():
        detail = f"{letters} of {name} would be given up, and nobody can be asked here: say --yes. {look}"
        raise ApiError(Exit.WRONG, {"detail": detail})
    if not typer.confirm(f"Give up {letters} of {name}?", err=True):
        raise ApiError(Exit.WRONG, {"detail": f"nothing was discarded; {look}"})


def _letters(count: str) -> str:
    return counted(count, "dead letter")
