"""The commands `rocketconnect dlq ...`: the dead letters of a connector."""

import base64
import os
import shlex
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table

from rocketconnect_cli.api import Api, ApiError, Exit, checked_name, connector_path
from rocketconnect_cli.commands.dead_letters import packed
from rocketconnect_cli.commands.dead_letters.discard import discard
from rocketconnect_cli.commands.dead_letters.replay import replay
from rocketconnect_cli.letters import Error, Name, Since, Stage, Task, filters
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, table_of, with_api, without_prefix
from rocketconnect_cli.shown import age
from rocketconnect_cli.signed import author
from rocketconnect_sdk.letters.dead_letters import REPLAY_TOPIC

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Look at dead letters, correct them, send them again, or give them up.")

Id = Annotated[str, typer.Argument(metavar="LETTER", help="The dead letter: broker:queue:offset, as `dlq list` shows it.")]
LETTER = {"id": "", "storeTime": "", "task": 0, "stage": "", "error": "", "message": "", "replays": 0}


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
    asked = filters(since, task, stage, error)
    with api(url) as client:
        letters = client.pages(f"{connector_path(name)}/deadLetters", "deadLetters", LETTER, query=asked)
        rows = list(islice(letters, limit + 1))
    more, rows = len(rows) > limit, rows[:limit]
    chosen = " that these filters choose" if asked else ""
    none = (
        f"There are none{chosen} in the topic that errors.deadletterqueue.topic.name of {name} names now. "
        f"Those in a topic that it named before are shown when it names that one again."
    )
    emit(output, {"deadLetters": rows, "more": more}, lambda: _table(rows, datetime.now(UTC), more=more) if rows else [none])


@app.command()
@with_api
def show(
    name: Name,
    letter_id: Id,
    body: Annotated[bool, typer.Option("--body", help="Write nothing but the body, byte by byte.")] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Of packed rows, write nothing but their JSON, as `dlq edit --file` takes it.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show everything that is known of a dead letter, as it was edited last."""
    if body and rows:
        raise ApiError(Exit.WRONG, {"detail": "--body and --rows are two ways to write it: give one of them."})
    with api(url) as client:
        found = _get(client, name, letter_id)
    if body:
        sys.stdout.buffer.write(base64.b64decode(found["body"]))
    elif rows:
        sys.stdout.write(f"{packed.document(found)}\n")
    else:
        emit(output, found, lambda: _whole(found))


@app.command()
@with_api
def edit(
    name: Name,
    letter_id: Id,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="The new text or body, or the JSON of packed rows; - is standard input. Without it an editor opens "
            "($VISUAL, $EDITOR).",
        ),
    ] = None,
    whole: Annotated[bool, typer.Option("--body", help="Edit the body byte by byte, in the form of the topic's messages.")] = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take the body also when the connector could make no record of it.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a dead letter another body, which must become a record. The original stays; `replay` sends the newest.

    What a source could not read is edited as the source reads it, a line of a file as a line, and becomes a message as others do.
    Packed rows (value.converter=arrow) are edited as JSON; their types and keys stay.
    """
    with api(url) as client:
        found = _get(client, name, letter_id)
        is_rows = packed.is_packed(found) and not whole
        before = packed.document(found).encode() if is_rows else base64.b64decode(found["body"])
        after = _edited(before, ".json" if is_rows else "") if file is None else _read(file)
        if after.strip() == before.strip() if is_rows else after == before:
            raise ApiError(Exit.WRONG, {"detail": f"{'the rows are' if is_rows else 'the body is'} as before: nothing is stored."})
        name_given = "record" if not whole and _is_unread(found) else "body"
        given = {"rows": packed.text_of(after)} if is_rows else {name_given: base64.b64encode(after).decode()}
        content = {**given, "author": author(), "unchecked": unchecked}
        path = f"{_letter_path(name, letter_id)}:edit"
        try:
            letter = client.request("POST", path, body=content, like={"deadLetter": {"id": "", "edition": ""}})["deadLetter"]
        except ApiError:
            if file is None:
                err.print(f"What was written is kept in {_kept(after)}; `--file` takes it from there.", markup=False)
            raise
    emit(
        output,
        letter,
        lambda: f"{letter['id']} is edited ({letter['edition']}); `rocketconnect dlq replay {name} {letter['id']}` sends it",
    )


app.command()(replay)
app.command()(discard)


def _letter_path(name: str, letter_id: str) -> str:
    return f"{connector_path(name)}/deadLetters/{quote(checked_name(letter_id), safe='')}"


def _get(client: Api, name: str, letter_id: str) -> dict[str, Any]:
    return client.request("GET", _letter_path(name, letter_id), like={"deadLetter": LETTER, "body": "", "trace": ""})


def _is_unread(found: dict[str, Any]) -> bool:
    """Whether a source could not read it, and nobody has corrected it yet."""
    letter = found["deadLetter"]
    is_of_source = "source.partition" in found.get("notes", {})
    return is_of_source and letter["stage"] == "STAGE_POLL" and not letter.get("edition")


def _read(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise ApiError(Exit.WRONG, {"detail": f"{file} can't be read: {error.strerror}."}) from None


def _kept(body: bytes) -> str:
    """A file with it, for its owner alone."""
    handle, path = tempfile.mkstemp(prefix="dead-letter-")
    with os.fdopen(handle, "wb") as kept:
        kept.write(body)
    return path


def _edited(before: bytes, ending: str) -> bytes:
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"body{ending}"
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
        replayed = _replayed(row, now)
        said = row["message"].partition("\n")[0]
        again = row.get("cameBackFrom") or (f"copy of {row['copyOf']}" if row.get("copyOf") else "-")
        return (
            row["id"],
            age(row["storeTime"], now),
            task,
            stage,
            row["replays"],
            again,
            edited,
            replayed,
            row["error"] or "-",
            said,
        )

    table = table_of(("ID", "AGE", "TASK", "STAGE", "REPLAYS", "WAS", "EDITED", "REPLAYED", "ERROR", "MESSAGE"), map(cells, rows))
    return [table, *(["There are more: --limit, or --since, shows others."] if more else [])]


def _replayed(row: dict[str, Any], now: datetime) -> str:
    if row.get("discardedTime"):
        return f"discarded {age(row['discardedTime'], now)}"
    if not row.get("replayedTime"):
        return "-"
    to = row["replayedTo"]
    return age(row["replayedTime"], now) + ("" if to.startswith(REPLAY_TOPIC) else f" to {to}")


def _whole(found: dict[str, Any]) -> list[Table | str]:
    letter = found["deadLetter"]
    rows = [(key, value) for key, value in letter.items() if value is not False and value != ""]
    rows += [(f"property {key}", value) for key, value in sorted(found.get("properties", {}).items())]
    rows += [(f"note {key}", value) for key, value in sorted(found.get("notes", {}).items())]
    shown = packed.shown(found) or [base64.b64decode(found["body"]).decode(errors="backslashreplace")]
    if _is_unread(found):
        shown = ["What the source could not read:", *shown]
    return [table_of(("WHAT", "IS"), rows), *(["", found["trace"]] if found["trace"] else []), "", *shown]
