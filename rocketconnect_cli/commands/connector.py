"""The commands `rocketconnect connector ...`."""

import sys
import time
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.api import Api, Exit, checked_name, connector_path
from rocketconnect_cli.chosen import STATES, MatchOption, StateOption, chosen
from rocketconnect_cli.commands.connectors import history, orders, tables
from rocketconnect_cli.commands.connectors.rollback import rollback
from rocketconnect_cli.commands.connectors.several import ask_each, once
from rocketconnect_cli.commands.dead_letters.unreplayed import left_behind
from rocketconnect_cli.documents import configuration, given
from rocketconnect_cli.documents.given import FORMS
from rocketconnect_cli.meant import refuse_words
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import (
    URL,
    Output,
    OutputOption,
    UrlOption,
    api,
    emit,
    err,
    lines_of,
    out,
    show_notes,
    show_warnings,
    with_api,
)
from rocketconnect_cli.shown import (
    CONNECTOR,
    STORED,
    Name,
    Names,
    NewName,
    changed_or_same,
    instant,
    show_connector,
    show_stored,
)
from rocketconnect_cli.signed import EtagOption, ReasonOption, signed
from rocketconnect_cli.states import DONE, State, get_state, state_name, wait_for, whole

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Create, watch and change connectors.")

File = Annotated[Path | None, typer.Option("--file", "-f", help=f"{FORMS}.")]
Pairs = Annotated[
    list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="A key of the configuration; again for more.")
]
FOLLOW_SECONDS = 0.5
WORDS = {"allow_extra_args": True}
"""Of commands that say what words behind the name were meant for."""
SPEAKING = ("position", "dead-letter")
"""The services that have something to say of a connector as a whole: that somebody moved its positions, edited dead letters."""


class Kind(StrEnum):
    """A type of connectors."""

    SOURCE = "source"
    SINK = "sink"
    DIRECT = "direct"


@app.command(context_settings=WORDS)
@with_api
def create(
    context: typer.Context,
    name: NewName,
    file: File = None,
    pairs: Pairs = None,
    paused: Annotated[bool, typer.Option("--paused", help="Create it paused.")] = False,
    adopt_uid: Annotated[
        str,
        typer.Option(
            metavar="UID",
            help="Bring back the deleted connector with this uid: its positions, and without -f and -s its last configuration.",
        ),
    ] = "",
    adopt: Annotated[bool, typer.Option("--adopt", help="The same with the last deleted connector of this name.")] = False,
    request_id: Annotated[
        str, typer.Option(metavar="ID", help="An id for this create: given again, it creates nothing twice.")
    ] = "",
    reason: ReasonOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a configuration and create a connector, or bring a deleted one back.

    `rocketconnect plugins list` shows what the key connector.class may be, and `plugins show` the other keys of each.
    """
    refuse_words(context.args)
    config = given.read(file, pairs or [])[1] if file or pairs or not (adopt_uid or adopt) else None
    wanted = "WANTED_STATE_PAUSED" if paused else "WANTED_STATE_RUNNING"
    asked = {"name": checked_name(name), "requestId": request_id, "wantedState": wanted, **signed(reason)}
    with api(url) as client:
        adopt_uid = adopt_uid or (history.last_uid(client, name) if adopt else "")
        asked["adoptUid"] = adopt_uid
        body = {**asked, "config": history.last_config(client, name, adopt_uid) if config is None else config}
        show_stored(client.request("POST", "/v1/connectors", body=body, like=CONNECTOR), output)


@app.command(context_settings=WORDS)
@with_api
def update(
    context: typer.Context,
    name: Name,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help=f"Replaces the whole configuration. {FORMS}; --set goes on top.")
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="Changes a key, again for more: the other keys stay as they are."),
    ] = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove this key; again for more.")] = None,
    reason: ReasonOption = "",
    etag: EtagOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change keys of a connector's configuration (--set, --unset) or replace all of it (--file): its next revision."""
    refuse_words(context.args)
    path, pairs, unset = connector_path(name), pairs or [], unset or []
    replacing = given.read(file, pairs)[1] if file or not (pairs or unset) else None
    with api(url) as client:
        stored = client.request("GET", path, like=STORED)["connector"]
        if replacing is None:
            # Of two who change different keys at the same time neither takes back what the other did.
            config, etag = configuration.changed(stored["config"], pairs, unset), etag or stored["etag"]
        else:
            config = configuration.changed(replacing, [], unset)
        left = left_behind(client, name, stored["config"], config)
        body = {"config": config, **signed(reason, etag)}
        answer = changed_or_same(client, name, lambda: client.request("PUT", path, body=body, like=CONNECTOR))
        show_stored({**answer, "warnings": [*answer.get("warnings", []), *left]}, output)


@app.command(name="list")
@with_api
def list_connectors(
    match: MatchOption = None,
    states: StateOption = None,
    kinds: Annotated[
        list[Kind] | None,
        typer.Option(
            "--type", case_sensitive=False, metavar="TYPE", help="Only those of this type: source, sink or direct; again for more."
        ),
    ] = None,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """List connectors with their states: all, or those that the options choose."""
    with api(url) as client:
        found = [row for row in chosen(client, match or [], states or []) if not kinds or tables.kind(row) in kinds]
    seen = {row["name"]: row.pop("seen") for row in found}
    for row in found:
        tasks = seen[row["name"]].get("tasks", [])
        row |= {"errors": whole(tasks, "errors")}
        row |= {"deadLetters": whole(tasks, "deadLetters"), "dropped": whole(tasks, "recordsSkipped")}
    emit(output, {"connectors": found}, lambda: tables.connectors(found, seen))


@app.command()
@with_api
def get(name: Name, url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Show a connector's configuration."""
    with api(url) as client:
        show_connector(client.request("GET", connector_path(name), like=CONNECTOR)["connector"], output)


@app.command()
@with_api
def status(
    name: Name,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C.")] = False,
    every: Annotated[float, durations.option("With --watch: the time between two looks.", "--every", default="2s")] = 2.0,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a connector and its tasks do. Exit code 1 when it is FAILED; with --watch 0, after Ctrl-C."""
    with api(url) as client:
        state = get_state(client, name)
        try:
            while watch:
                _show_again(state, output)
                time.sleep(every)
                state = get_state(client, name)
        except KeyboardInterrupt:
            raise typer.Exit(int(Exit.OK)) from None
    emit(output, state, lambda: tables.state(state, datetime.now(UTC)))
    if state_name(state) == "FAILED":
        raise typer.Exit(int(Exit.FAILED))


def _show_again(state: dict[str, Any], output: Output) -> None:
    """In the place of what was shown before, in a terminal; else behind it."""
    if output is Output.TABLE:
        out.clear()
        out.print(datetime.now().astimezone().isoformat(" ", "seconds"), markup=False)
    emit(output, state, lambda: tables.state(state, datetime.now(UTC)))
    sys.stdout.flush()


app.command()(orders.pause)
app.command()(orders.resume)
app.command()(orders.restart)
app.command()(orders.stop)


@app.command()
@with_api
def delete(
    names: Names,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, whatever dead letters nobody has replayed.")] = False,
    reason: ReasonOption = "",
    etag: EtagOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Remove connectors; their revisions and positions stay, and `create --adopt-uid` brings them back."""
    orders.remove(once(names), signed(reason, etag), url, output, is_sure=yes)


@app.command()
@with_api
def signal(
    name: Name,
    signal: Annotated[str, typer.Argument(metavar="SIGNAL", help="What its source takes: see `rocketconnect plugins show`.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="What goes with it.")] = None,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell the running tasks of a connector something, such as to read tables anew, and show what they say."""
    body = {"signal": signal, "arguments": configuration.changed({}, arguments or [], [])}
    with api(url) as client:
        answer = client.request("POST", f"{connector_path(name)}:signal", body=body, like={"answers": [{}]})
    emit(output, answer, lambda: [f"task {each.get('task', 0)}: {each.get('text', '')}" for each in answer["answers"]])


app.command()(rollback)
app.command()(history.revisions)
app.command(name="history")(history.history)
app.command()(history.diff)


@app.command()
@with_api
def validate(
    file: File = None,
    pairs: Pairs = None,
    connector: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="NAME",
            help="That of the connector that it is for: what it writes is not taken for another's. Default: that of the file.",
        ),
    ] = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a configuration and store nothing. Exit code 2 when something is wrong with it."""
    name, config = given.read(file, pairs or [])
    body = {"config": config, **({"name": connector or name} if connector or name else {})}
    with api(url) as client:
        answer = client.request("POST", "/v1/connectors:validate", body=body, like={"problems": [{}]})
    problems = answer["problems"]
    emit(output, answer, lambda: ["What is wrong with it:", *lines_of(problems)] if problems else "nothing is wrong with it")
    show_warnings(answer)
    show_notes(answer)
    if problems:
        raise typer.Exit(int(Exit.WRONG))


@app.command()
@with_api
def wait(
    names: Names,
    states: Annotated[
        list[State] | None,
        typer.Option(
            "--state",
            case_sensitive=False,
            metavar="STATE",
            help=f"Wait for this state; again for more. {STATES} Default: running, idle.",
        ),
    ] = None,
    timeout: Annotated[
        float, durations.option("How long to wait, for all of them together; longer than flush.interval of a sink.", default="1m")
    ] = 60.0,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Wait until connectors are in a state, and say what each is in now. Exit code 1 when one FAILED, 6 when the time is over."""
    until = time.monotonic() + timeout
    goal = states or DONE
    told: dict[str, str] = {}

    def tell(name: str, state: dict[str, Any]) -> bool:
        line = f"{name} is {state_name(state)}" + (f": {why}" if (why := state.get("trace", "")) else "")
        # The one that ends the wait is told as its end.
        is_end = state_name(state) in goal or (state_name(state) == State.FAILED and State.STOPPED not in goal)
        if not is_end and told.get(name) != line:
            told[name] = line
            err.print(line, markup=False, style="dim")
        # Scripts get the reason where it ends.
        return not is_end and output is Output.TABLE

    with api(url) as client:

        def look(name: str) -> dict[str, Any]:
            return wait_for(client, name, goal, max(0.0, until - time.monotonic()), partial(tell, name), altogether=timeout)

        if len(named := once(names)) == 1:
            state = look(named[0])
            emit(output, state, lambda: _reached(named[0], state))
        else:
            ask_each(named, look, _reached, output, "states", going_on=(Exit.TIMEOUT,))


def _reached(name: str, state: dict[str, Any]) -> str:
    why = f": {trace}" if (trace := state.get("trace", "")) else ""
    return "\n".join([f"{name} is {state_name(state)}{why}", *tables.open_batches(state.get("tasks", []), datetime.now(UTC))])


@app.command()
@with_api
def logs(
    name: Name,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", help="So many of the last lines.", min=1, max=1000)] = 100,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what the tasks of a connector logged: starts, stops, warnings, errors."""
    with api(url) as client:
        token = _print_logs(client, name, {"pageSize": lines}, output)
        try:
            while follow:
                time.sleep(FOLLOW_SECONDS)
                token = _print_logs(client, name, {"pageSize": 1000, "pageToken": token}, output)
        except KeyboardInterrupt:
            raise typer.Exit(int(Exit.OK)) from None


def _print_logs(client: Api, name: str, query: dict[str, str | int], output: Output) -> str:
    answer = client.request("GET", f"{connector_path(name)}/logs", query=query, like={"logs": [{}], "nextPageToken": ""})
    # What a worker says late, because it was stopped or could not reach anybody, stands where it belongs.
    for line in sorted(answer["logs"], key=lambda line: instant(line.get("time", ""))):
        text = f"{line.get('time', '')} {line.get('level', ''):7} {_speaker(line)}: {line.get('message', '')}"
        emit(output, line, lambda text=text: text)  # type: ignore[misc]
    return str(answer["nextPageToken"])


def _speaker(line: dict[str, Any]) -> str:
    task, worker = line.get("task", 0), line.get("workerId", "")
    if task < 0:
        return f"{worker} service" if worker in SPEAKING else f"plan {worker}"
    return f"task {task} {worker}".rstrip()
