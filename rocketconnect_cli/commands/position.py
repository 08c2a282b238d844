"""The commands `rocketconnect position ...`: where a connector is, and moving it."""

import json
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.documents.exported import OFFSET, Exported, read_exported
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import (
    URL,
    Output,
    OutputOption,
    UrlOption,
    api,
    emit,
    err,
    out,
    table_of,
    with_api,
    without_prefix,
)
from rocketconnect_cli.shown import Name, local_time, offset_alone
from rocketconnect_cli.signed import author, signed
from rocketconnect_cli.states import POLL_SECONDS
from rocketconnect_sdk.wording.counts import counted

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Show and move where a connector is in each source partition or queue.")

Restart = Annotated[
    bool,
    typer.Option("--restart", help="Stop the connector first if it is not STOPPED, and want what it was before when it is done."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would change.")]
Unchecked = Annotated[
    bool,
    typer.Option("--unchecked", help="Do not ask whether the positions are possible, nor whether the tasks have ended."),
]
ENDING_SECONDS = 120.0
"""How long --restart waits for the tasks of a connector to end."""

_NUMBER = re.compile(r"-?\d+", re.ASCII)
_CHANGES = {"changes": [{"partition": ""}]}
_CONNECTOR = {"connector": {"name": "", "uid": "", "wantedState": ""}}
_COMMANDS = {"alter": "set", "reset": "reset", "import": "import"}
_LONGEST_REASON = 300
_RESUMING = {"RUNNING": "resume", "PAUSED": "pause"}


@app.command()
@with_api
def get(
    name: Name,
    every: Annotated[bool, typer.Option("--all", help="Also the rows that the runtime keeps for itself (~task/...).")] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show where a connector is in each source partition or queue."""
    with api(url) as client:
        rows = _positions(client, name, every=every)
    cells = ((row["partition"], row["offset"], row.get("incarnation", 0), local_time(row.get("updateTime", ""))) for row in rows)
    emit(output, {"positions": rows}, lambda: table_of(("PARTITION", "OFFSET", "INCARNATION", "COMMITTED"), cells))


@app.command(name="set")
@with_api
def set_positions(
    name: Name,
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="PARTITION=OFFSET", help="Where to go on: the offset of the next record, 17 or [17]."),
    ] = None,
    to_time: Annotated[
        str, typer.Option(help="To the first record stored at or after this time, such as 2026-01-31T10:00:00Z.")
    ] = "",
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record that is still there.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Behind the last record that is there now.")] = False,
    by: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Of a sink: so many messages on in each queue that has a position, no further than its end; negative: back.",
        ),
    ] = 0,
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partition", "-p", metavar="PARTITION", help="With --to-... and --by: only this one; again for more. Default: all."
        ),
    ] = None,
    resumes: Annotated[
        list[str] | None,
        typer.Option(
            "--resume",
            metavar="PARTITION=JSON",
            help="What the source needs beside the offset of a partition that is named: a JSON object, or @FILE that holds it.",
        ),
    ] = None,
    restart: Restart = False,
    dry_run: DryRun = False,
    unchecked: Unchecked = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move positions of a stopped connector: to offsets, a time or an end, or by so many. What is read again is delivered again."""
    body = _alteration(places or [], resumes or [], to_time, to_earliest, to_latest, by, partitions or [])
    if to_time and datetime.fromisoformat(to_time) > datetime.now(UTC):
        err.print(f"{to_time} is in the future: that is behind the last record there is now", style="yellow", markup=False)
    _move(url, name, "alter", body, by=by, restart=restart, dry_run=dry_run, unchecked=unchecked, output=output)


@app.command()
@with_api
def reset(
    name: Name,
    restart: Restart = False,
    dry_run: DryRun = False,
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Do not ask whether the tasks have ended.")] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Forget all positions of a stopped connector: it begins as if it were new."""
    _move(url, name, "reset", {}, restart=restart, dry_run=dry_run, unchecked=unchecked, output=output)


@app.command(name="export")
@with_api
def export_positions(
    name: Name,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Where to write. Default: standard output.")] = None,
    url: UrlOption = URL,
) -> None:
    """Write all positions as JSON, with what `import` needs to put them back. Stop the connector first for those of one moment."""
    with api(url) as client:
        connector = client.request("GET", connector_path(name), like=_CONNECTOR)["connector"]
        exported = Exported.of(connector, _positions(client, name, every=False), datetime.now(UTC))
    text = json.dumps(exported.document(), indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    try:
        file.write_text(text)
    except OSError as error:
        raise ApiError(Exit.FAILED, {"detail": f"{file} can't be written: {error.strerror}"}) from None
    out.print(f"{counted(exported.positions, 'position')} of {name} written to {file}", markup=False)


@app.command(name="import")
@with_api
def import_positions(
    name: Name,
    file: Annotated[Path, typer.Option("--file", "-f", help="What `export` wrote; - is standard input.")],
    restart: Restart = False,
    dry_run: DryRun = False,
    unchecked: Unchecked = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put back exactly the positions that were exported from this connector; all others are forgotten."""
    exported = read_exported(file, name)
    body = {"connectorUid": exported.uid, "positions": [dict(position) for position in exported.positions]}
    _move(url, name, "import", body, restart=restart, dry_run=dry_run, unchecked=unchecked, output=output)


def _alteration(
    places: Sequence[str],
    resumes: Sequence[str],
    to_time: str,
    to_earliest: bool,
    to_latest: bool,
    by: int,
    partitions: Sequence[str],
) -> dict[str, object]:
    """What to ask for; every problem of the arguments at once."""
    problems: list[dict[str, str]] = []
    ways = [bool(places), bool(to_time), to_earliest, to_latest, bool(by)]
    if sum(ways) != 1:
        reason = "is not said" if not any(ways) else "is said in more than one way"
        fix = "Give one of PARTITION=OFFSET, --to-time, --to-earliest, --to-latest and --by."
        problems.append({"key": "where to go", "reason": reason, "fix": fix})
    if partitions and places:
        problems.append({"key": "--partition", "reason": "goes with --to-... and --by alone", "fix": "Leave it out."})
    positions = [_place(place, problems) for place in places]
    for text in resumes:
        _add_resume(text, positions, problems)
    body: dict[str, object] = {"positions": positions} if places else {"partitions": list(partitions)}
    if to_time:
        body["toTime"] = _rfc3339(to_time, problems)
    elif to_earliest or to_latest or by:
        # By how much is counted within what there is: up to that end.
        body["to"] = "EDGE_EARLIEST" if to_earliest or by < 0 else "EDGE_LATEST"
    if problems:
        raise ApiError(Exit.WRONG, {"detail": "the arguments are wrong", "problems": problems})
    return body


def _place(text: str, problems: list[dict[str, str]]) -> dict[str, str]:
    # Names of partitions may hold "=", offsets do not.
    partition, separator, offset = text.rpartition("=")
    offset = offset.strip()
    if not separator or not partition:
        fix = "Write the partition, = and the offset of the next record: hello/broker-0/3=17."
        problems.append({"key": text, "reason": "is not of the form PARTITION=OFFSET", "fix": fix})
    elif not (_NUMBER.fullmatch(offset) or OFFSET.fullmatch(offset)):
        fix = "Write the offset of the next record as a number, 17, or as `position get` shows it, [17]."
        problems.append({"key": partition, "value": offset, "reason": "the offset is not a number", "fix": fix})
    return {"partition": partition, "offset": f"[{offset}]" if _NUMBER.fullmatch(offset) else offset}


def _add_resume(text: str, positions: Sequence[dict[str, str]], problems: list[dict[str, str]]) -> None:
    """Adds what goes beside an offset to the position of its partition. It may be a secret: no problem shows it."""
    meant = [position for position in positions if text.startswith(f"{position['partition']}=")]
    if not meant:
        fix = "Write --resume PARTITION=JSON, of a partition that is given as PARTITION=OFFSET."
        problems.append({"key": "--resume", "reason": "names no partition that is moved to an offset", "fix": fix})
        return
    # Names of partitions may hold "=".
    position = max(meant, key=lambda each: len(each["partition"]))
    given = text.removeprefix(f"{position['partition']}=")
    if given.startswith("@"):
        try:
            given = Path(given[1:]).read_text()
        except (OSError, UnicodeDecodeError) as error:
            reason = f"{given[1:]} can't be read: {error.strerror if isinstance(error, OSError) else 'it is no UTF-8'}"
            problems.append({"key": position["partition"], "reason": reason, "fix": "Name a file that holds the JSON object."})
            return
    position["resume"] = given.strip()


def _rfc3339(text: str, problems: list[dict[str, str]]) -> str:
    try:
        time_ = datetime.fromisoformat(text)
    except ValueError:
        time_ = None
    if time_ is None or time_.tzinfo is None:
        reason = "is not a time" if time_ is None else "has no time zone"
        fix = "Write it as 2026-01-31T10:00:00Z, or with another zone: 2026-01-31T10:00:00+01:00."
        problems.append({"key": "--to-time", "value": text, "reason": reason, "fix": fix})
        return ""
    return time_.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _move(
    url: str,
    name: str,
    verb: str,
    body: Mapping[str, object],
    *,
    by: int = 0,
    restart: bool,
    dry_run: bool,
    unchecked: bool,
    output: Output,
) -> None:
    path = f"{connector_path(name)}/positions:{verb}"
    asked = {**body, "unchecked": unchecked, "author": author()}
    with api(url) as client:
        if by:
            _check_sink(client, name)

        def move(dry: bool) -> dict[str, Any]:
            if not by:
                return client.request("POST", path, body={**asked, "dryRun": dry}, like=_CHANGES)
            to_end = client.request("POST", path, body={**asked, "dryRun": True}, like=_CHANGES)
            positions = _moved_by(by, to_end["changes"])
            if not positions:
                return {"changes": []}
            own = {"positions": positions, "unchecked": unchecked, "author": author(), "dryRun": dry}
            return client.request("POST", path, body=own, like=_CHANGES)

        if dry_run or not restart:
            answer = move(dry_run)
        else:
            # Whatever is wrong with it is found before anything is stopped.
            move(True)
            with _stopped(client, name, _why(verb, {"by": by} if by else body)):
                answer = move(False)
    emit(output, answer, lambda: _changes_table(answer, dry_run=dry_run))


def _check_sink(client: Api, name: str) -> None:
    """Raises ApiError, WRONG, unless a connector is a sink: of queues alone the offsets count messages."""
    kind = client.request("GET", connector_path(name), like=_CONNECTOR)["connector"].get("type")
    if kind != "CONNECTOR_TYPE_SINK":
        fix = "Give PARTITION=OFFSET, as `position get` shows them, or one of --to-time, --to-earliest and --to-latest."
        problem = {"key": "--by", "reason": f"{name} is no sink: its offsets count no messages", "fix": fix}
        raise ApiError(Exit.WRONG, {"detail": "the arguments are wrong", "problems": [problem]})


def _moved_by(by: int, to_end: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The positions so many messages on or back, of those that have one, as changes to an end show them; no further than there."""
    moved = []
    for change in to_end:
        if change.get("fromOffset") and change.get("toOffset"):
            begin, end = (int(change[key].strip("[]")) for key in ("fromOffset", "toOffset"))
            place = min(begin + by, end) if by > 0 else max(begin + by, end)
            # One that is not within the queue any more is left where it is.
            if (place - begin) * by > 0:
                moved.append({"partition": change["partition"], "offset": f"[{place}]"})
    return moved


def _why(verb: str, body: Mapping[str, Any]) -> str:
    """The reason of the stop and of what follows it, for the history of the connector."""
    told = [f"{each['partition']}={each['offset']}" for each in body.get("positions", [])] if verb == "alter" else []
    more = [f"{word} {body[key]}" for key, word in (("toTime", "to"), ("to", "to"), ("by", "by")) if body.get(key)]
    moved = textwrap.shorten(", ".join([*told, *more]), _LONGEST_REASON, placeholder=" ...")
    return f"position {_COMMANDS[verb]} --restart" + (f": {moved}" if moved else "")


@contextmanager
def _stopped(client: Api, name: str, why: str) -> Iterator[None]:
    """Stops a connector and waits until its tasks have ended; afterwards it is wanted as before. Both is signed, with the reason.

    Raises:
        ApiError: with the state in which things are, and how to go on.
    """
    path = connector_path(name)
    wanted = without_prefix(client.request("GET", path, like=_CONNECTOR)["connector"]["wantedState"], "WANTED_STATE_")
    back = _RESUMING.get(wanted, "")
    now = f"{name} is wanted {wanted} as before" if not back else f"whether {name} is wanted STOPPED now is not known"
    did = "nothing was changed"
    try:
        if back:
            client.request("POST", f"{path}:stop", body=signed(why), like=_CONNECTOR)
            now = f"{name} is wanted STOPPED now"
        _wait_until_ended(client, name)
        did = f"whether its positions were changed is not known (`rocketconnect position get {name}` shows them)"
        try:
            yield
        except ApiError as error:
            if error.exit_code in (Exit.WRONG, Exit.NOT_FOUND, Exit.CONFLICT):
                did = "its positions were not changed"
            raise
        did = "its positions were changed"
        if back:
            client.request("POST", f"{path}:{back}", body=signed(why), like=_CONNECTOR)
    except (ApiError, KeyboardInterrupt) as error:
        cause = error if isinstance(error, ApiError) else ApiError(Exit.INTERRUPTED, {"detail": "interrupted"})
        then = f"; `rocketconnect connector {back} {name}` makes it {wanted} again" if back else ""
        raise ApiError(cause.exit_code, {**cause.problem, "detail": f"{cause} - {now}, and {did}{then}."}) from None


def _wait_until_ended(client: Api, name: str, clock: Callable[[], float] = time.monotonic) -> None:
    """Waits until no worker holds a task of the connector; of the planning nothing has to be waited for."""
    deadline = clock() + ENDING_SECONDS
    while True:
        held = [
            each
            for each in client.pages("/v1/assignments", "assignments", {"connector": ""})
            if each["connector"] == name and each.get("unit") == "UNIT_TASK" and each.get("workerId")
        ]
        if not held:
            return
        if clock() > deadline:
            holders = ", ".join(f"task {each.get('task', 0)} on {each['workerId']}" for each in held[:5])
            raise ApiError(Exit.TIMEOUT, {"detail": f"{name} has not ended after {ENDING_SECONDS:g} s: {holders}"})
        time.sleep(POLL_SECONDS)


def _changes_table(answer: Mapping[str, Any], *, dry_run: bool) -> list[Table | str]:
    cells = [(change["partition"], change.get("fromOffset") or "-", change.get("toOffset") or "-") for change in answer["changes"]]
    left = [f"left as it is: {each.get('key', '')}: {each.get('reason', '')}" for each in answer.get("leftOut", [])]
    shown: list[Table | str] = [table_of(("PARTITION", "FROM", "TO"), cells) if cells else "nothing changes"]
    alone = [offset_alone(partition) for partition in answer.get("offsetAlone", [])]
    return [*shown, *left, *alone, *(["nothing was changed: this is a dry run"] if dry_run else [])]


def _positions(client: Api, name: str, *, every: bool) -> list[dict[str, Any]]:
    pages = client.pages(f"{connector_path(name)}/positions", "positions", {"partition": "", "offset": ""})
    return [row for row in pages if every or not row["partition"].startswith("~")]
