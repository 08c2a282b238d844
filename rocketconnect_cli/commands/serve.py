"""`rocketconnect serve SERVICE`: one service alone, as a container runs it."""

import runpy
import sys
from typing import Annotated

import typer

from rocketconnect_cli.api import Exit
from rocketconnect_cli.extras import advice
from rocketconnect_cli.instance.topology import SERVICES
from rocketconnect_cli.output import err


def serve(
    context: typer.Context,
    service: Annotated[str, typer.Argument(metavar="SERVICE", help=f"One of {', '.join(SERVICES)}.", show_default=False)],
) -> None:
    """Run one service alone. Its settings are environment variables ROCKETCONNECT_* and flags: `serve SERVICE --help`."""
    if service in ("-h", "--help"):
        typer.echo(context.get_help())
        raise typer.Exit
    if service not in SERVICES:
        err.print(f"Error: there is no service {service!r}. Give one of {', '.join(SERVICES)}.", style="red", markup=False)
        raise typer.Exit(int(Exit.WRONG))
    # The service reads its flags itself, and names itself in its messages.
    sys.argv = [f"rocketconnect serve {service}", *context.args]
    try:
        runpy.run_module(f"services.{service}", run_name="__main__")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("services"):
            raise
        need = f"the service {service} needs the package {error.name}: {advice(service)}"
        err.print(f"Error: {need}", style="red", markup=False)
        raise typer.Exit(int(Exit.WRONG)) from None
