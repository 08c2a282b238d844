"""Which dead letters a command is about."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.moments import moment
from rocketconnect_cli.names import completion
from rocketconnect_sdk.letters.dead_letters import STAGES

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The connector that failed at them.", autocompletion=completion.connectors)
]
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
        "since": moment(since, datetime.now(UTC), zone=None).isoformat() if since else "",
        "task": task,
        "stage": f"STAGE_{stage.upper()}" if stage else "",
        "error": error,
    }
    return {key: value for key, value in given.items() if value not in ("", None)}
