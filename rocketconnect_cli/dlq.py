"""The commands `rocketconnect dlq ...`: the dead letters of a connector."""

import base64
import os
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table

from rocketconnect_cli.api import Api, ApiError, Exit, checked_name, connector_path
from rocketconnect_cli.connector import UNITS, age
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, table_of, with_api, without_prefix
from rocketconnect_cli.states import get_state, state_name

app = typer.Typer(no_args_is_help=True, help="Look at dead letters, correct them, and send them again.")

Name = Annotated[str, typer.Argument(help="The connector that failed at them.")]
Id = Annotated[str, typer.Argument(help="The dead letter: broker:queue:offset, as `dlq list` shows it.")]
Since = Annotated[str, typer.Option(help="Only those since then: 30m, 2h, 7d ago, or a time such as 2026-01-31T12:00:00Z.")]
Task = Annotated[int | None, typer.Option(min=0, help="Only those of this task.")]
Stage = Annotated[str, typer.Option(help="Only those of this stage: poll, transform, convert, send or write.")]
Error = Annotated[str, typer.Option(help="Only those of this class of error.")]
STAGES = ("poll", "transform", "convert", "send", "write")
LETTER = {"id": "", "storeTime": "", "task": 0, "stage": "", "error": "", "message": "", "replays": 0}
WAIT_SECONDS = 0.5
UNKNOWN_SECONDS = 15.0


@app.command(name="list")
@with_api
def list_(
    name: Name,
    since: Since = "",
    task: Task = None,
    stage: Stage = "",
    error: Error = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a connector failed at, queue by queue, the oldest first."""
    filters = _filters(since, task, stage, error)
    with api(url) as client:
        letters = client.pages(f"{connector_path(name)}/deadLetters", "deadLetters", LETTER, query=filters)
        rows = list(islice(letters, limit + 1))
    more, rows = len(rows) > limit, rows[:limit]
    emit(output, {"deadLetters": rows, "more": more}, lambda: _table(rows, datetime.now(UTC), more=more))


@app.command()
@with_api
def show(
    name: Name,
    letter_id: Id,
    body: Annotated[bool, typer.Option("--body", help="Write nothing but the body, byte by byte.")] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show everything that is known of a dead letter, as it was edited last."""
    with api(url) as client:
        found = _get(client, name, letter_id)
    if body:
        sys.stdout.buffer.write(base64.b64decode(found["body"]))
        return
    emit(output, found, lambda: _whole(found))


@app.command()
@with_api
def edit(
    name: Name,
    letter_id: Id,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="The new body; - is standard input. None: $EDITOR.")] = None,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a dead letter another body. The original stays; `replay` sends the newest."""
    with api(url) as client:
        before = base64.b64decode(_get(client, name, letter_id)["body"])
        after = _edited(before) if file is None else _read(file)
        if after == before:
            raise ApiError(Exit.WRONG, {"detail": "the body is what it was: nothing is stored."})
        content = {"body": base64.b64encode(after).decode()}
        path = f"{_letter_path(name, letter_id)}:edit"
        letter = client.request("POST", path, body=content, like={"deadLetter": {"id": "", "edition": ""}})["deadLetter"]
    emit(output, letter, lambda: f"{letter['id']} is edited ({letter['edition']}); `rocketconnect dlq replay {name}` sends it")


@app.command()
@with_api
def replay(
    name: Name,
    ids: Annotated[list[str] | None, typer.Argument(help="Which: broker:queue:offset or broker:queue:first-last.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that there are now; the filters choose among them.")] = False,
    since: Since = "",
    task: Task = None,
    stage: Stage = "",
    error: Error = "",
    if_newer: Annotated[
        bool, typer.Option("--if-newer", help="Leave out those of whose key the topic has a newer record, for keyed sinks.")
    ] = False,
    to: Annotated[str, typer.Option("--to", help="Send them to this topic instead of to the connector.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until all are confirmed.")] = False,
    going: Annotated[str, typer.Option("--continue", help="Wait for this replay, which was begun before.")] = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send dead letters again, once each and in their order: to the connector that failed at them."""
    with api(url) as client:
        if going:
            done: dict[str, Any] = {"replay": going}
        else:
            body = {
                **_filters(since, task, stage, error),
                "ids": ids or [],
                "all": every,
                "ifNewer": if_newer,
                "to": to,
                "dryRun": dry_run,
                "requestId": uuid.uuid4().hex,
            }
            like = {"replay": "", "topic": "", "count": "", "cut": ""}
            done = client.request("POST", f"{connector_path(name)}/deadLetters:replay", body=body, like=like)
        if done["replay"] and not no_wait:
            done["done"] = True
            _wait(client, name, done["replay"])
    emit(output, done, lambda: _told(done, dry_run=dry_run))


def _wait(client: Api, name: str, replay_name: str) -> None:
    """Until all is confirmed; then the connector that did it is removed."""
    try:
        begun = time.monotonic()
        while True:
            try:
                state = get_state(client, replay_name)
            except ApiError as error:
                # The state service hears of a new connector a moment later than the one who made it.
                if error.exit_code is not Exit.NOT_FOUND or time.monotonic() - begun > UNKNOWN_SECONDS:
                    raise _gone(replay_name, error) from None
                time.sleep(WAIT_SECONDS)
                continue
            left = sum(int(each.get("metrics", {}).get("sourceRemaining", 0)) for each in state.get("tasks", []))
            if state_name(state) == "FAILED":
                trace = state.get("trace", "")
                detail = (
                    f"the replay can't go on: {trace}. Mend it and `rocketconnect connector restart {replay_name}`, or delete it."
                )
                raise ApiError(Exit.FAILED, {"detail": detail})
            if state_name(state) == "IDLE" and not left:
                break
            if err.is_terminal:
                err.print(f"\r{left} left ", end="")
            time.sleep(WAIT_SECONDS)
    except KeyboardInterrupt:
        err.print(
            f"\nThe replay goes on. Wait for it again with `rocketconnect dlq replay {name} --continue {replay_name}`, "
            f"or end it with `rocketconnect connector delete {replay_name}`."
        )
        raise typer.Exit(int(Exit.TIMEOUT)) from None
    client.request("DELETE", connector_path(replay_name))


def _gone(replay_name: str, error: ApiError) -> ApiError:
    if error.exit_code is not Exit.NOT_FOUND:
        return error
    return ApiError(Exit.NOT_FOUND, {"detail": f"there is no replay {replay_name!r}: it is done, or somebody has deleted it."})


def _told(done: dict[str, Any], *, dry_run: bool) -> str:
    cut = int(done.get("cut", 0))
    rest = f"; {cut} of them can't be sent, because they are cut: edit them first" if cut else ""
    if "topic" not in done:
        return f"{done['replay']} is done"
    said = f"{done['count']} dead letter{'s' if int(done['count']) != 1 else ''} to {done['topic']}{rest}"
    if dry_run:
        return f"would send {said}"
    if not done["replay"]:
        return "there is nothing to send"
    if "done" in done:
        return f"sent {said}"
    return f"{done['replay']} sends {said}; `rocketconnect connector status {done['replay']}` shows it, delete it when it is IDLE"


def _filters(since: str, task: int | None, stage: str, error: str) -> dict[str, Any]:
    if stage and stage not in STAGES:
        raise ApiError(Exit.WRONG, {"detail": f"{stage!r} is no stage: use one of {', '.join(STAGES)}."})
    given = {
        "since": _time(since) if since else "",
        "task": task,
        "stage": f"STAGE_{stage.upper()}" if stage else "",
        "error": error,
    }
    return {key: value for key, value in given.items() if value not in ("", None)}


def _time(text: str) -> str:
    lengths = dict(UNITS)
    if text[:-1].isdecimal() and text[-1:] in lengths:
        return (datetime.now(UTC) - timedelta(seconds=int(text[:-1]) * lengths[text[-1]])).isoformat()
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        detail = f"{text!r} is no time: write 30m, 2h or 7d, or a time such as 2026-01-31T12:00:00Z."
        raise ApiError(Exit.WRONG, {"detail": detail}) from None


def _letter_path(name: str, letter_id: str) -> str:
    return f"{connector_path(name)}/deadLetters/{quote(checked_name(letter_id), safe='')}"


def _get(client: Api, name: str, letter_id: str) -> dict[str, Any]:
    return client.request("GET", _letter_path(name, letter_id), like={"deadLetter": LETTER, "body": "", "trace": ""})


def _read(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise ApiError(Exit.WRONG, {"detail": f"{file} can't be read: {error.strerror}."}) from None


def _edited(before: bytes) -> bytes:
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "body"
        file.write_bytes(before)
        try:
            code = subprocess.run([*editor, str(file)], check=False).returncode
        except OSError as error:
            detail = f"the editor {editor[0]} can't be started ({error.strerror}). Set EDITOR, or give --file."
            raise ApiError(Exit.WRONG, {"detail": detail}) from None
        if code:
            raise ApiError(Exit.FAILED, {"detail": f"the editor ended with {code}: nothing is stored."})
        return file.read_bytes()


def _table(rows: list[dict[str, Any]], now: datetime, *, more: bool) -> list[Table | str]:
    def cells(row: dict[str, Any]) -> tuple[object, ...]:
        task = row["task"] if row["task"] >= 0 else "-"
        stage = without_prefix(row["stage"], "STAGE_").lower().replace("unspecified", "-")
        edited = "yes" if row.get("edition") else "cut" if row.get("cut") else "-"
        said = row["message"].partition("\n")[0]
        return row["id"], age(row["storeTime"], now), task, stage, row["replays"], edited, row["error"] or "-", said

    table = table_of(("ID", "AGE", "TASK", "STAGE", "REPLAYS", "EDITED", "ERROR", "MESSAGE"), map(cells, rows))
    return [table, *(["There are more: --limit, or --since, shows others."] if more else [])]


def _whole(found: dict[str, Any]) -> list[Table | str]:
    letter = found["deadLetter"]
    rows = [(key, value) for key, value in letter.items() if value is not False and value != ""]
    rows += [(f"property {key}", value) for key, value in sorted(found.get("properties", {}).items())]
    rows += [(f"note {key}", value) for key, value in sorted(found.get("notes", {}).items())]
    body = base64.b64decode(found["body"]).decode(errors="backslashreplace")
    return [table_of(("WHAT", "IS"), rows), *(["", found["trace"]] if found["trace"] else []), "", body]
