"""Which dead letters a command is about."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.commands.connector import UNITS
from rocketconnect_sdk.letters.dead_letters import STAGES

Name = Annotated[str, typer.Argument(help="The connector that failed at them.")]
Since = Annotated[str, typer.Option(help="Only those since then: 30m, 2h, 7d ago, or a time such as 2026-01-31T12:00:00Z.")]
Task = Annotated[int | None, typer.Option(min=0, help="Only those of this task.")]
Stage = Annotated[str, typer.Option(help="Only those of this stage: poll, transform, convert, send or write.")]
Error = Annotated[str, typer.Option(help="Only those of this class of error.")]


def filters(since: str, task: int | None, stage: str, error: str) -> dict[str, Any]:
    """What a request says of them.

    Raises:
        ApiError: WRONG.
    """
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
