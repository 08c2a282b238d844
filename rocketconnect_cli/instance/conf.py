"""`--conf` of `rocketconnect up`: the file of a worker of another system is read, and what it has no counterpart for is told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from rocketconnect_cli.instance import worker_file
from rocketconnect_cli.output import err

_FLAG = "--conf"

ConfOption = Annotated[
    Path | None,
    typer.Option(
        _FLAG,
        metavar="FILE",
        help="The file of a worker of RocketMQ Connect or Kafka Connect: what has a counterpart is taken, all else is told. "
        "Options win.",
    ),
]


class Settings(NamedTuple):
    """What options and the file say together.

    Attributes:
        rest_port: Where REST answers.
        namesrv: The name servers; "": an embedded RocketMQ.
        environment: What services are told besides. Never shown.
    """

    rest_port: int
    namesrv: str
    environment: Mapping[str, str]


def settings(ctx: typer.Context, conf: Path | None, rest_port: int, namesrv: str) -> Settings:
    """What is started. What the file says otherwise is printed.

    Args:
        ctx: Knows which options were given.
        conf: The file; None: there is none.
        rest_port: As an option, or by default.
        namesrv: As an option; "": not given.

    Raises:
        typer.BadParameter: the file can't be read, or something in it is wrong: all of that.
    """
    if conf is None:
        return Settings(rest_port, namesrv, {})
    try:
        told = worker_file.read(conf)
    except (OSError, ValueError) as error:
        msg = f"{conf} can't be read: {error}. Give the .conf or .properties file that the worker was started with"
        raise typer.BadParameter(msg, param_hint=_FLAG) from None
    if told.problems:
        msg = f"{conf}: {'; '.join(told.problems)}"
        raise typer.BadParameter(msg, param_hint=_FLAG)
    err.print(f"{conf} is read as the file of a worker of {told.system}:", style="dim", markup=False)
    for note in told.notes:
        err.print(f"  {note}", style="dim", markup=False, soft_wrap=True)
    source = ctx.get_parameter_source("rest_port")
    is_given = source is not None and source.name != "DEFAULT"
    return Settings(rest_port if is_given or told.rest_port is None else told.rest_port, namesrv or told.namesrv, told.environment)
