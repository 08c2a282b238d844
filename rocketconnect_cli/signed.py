"""Who makes a change and why, as the command line says it with each request that changes something."""

import getpass
import os
import socket
from typing import Annotated

import typer

AUTHOR_VARIABLE = "ROCKETCONNECT_AUTHOR"
LONGEST_AUTHOR = 128

ReasonOption = Annotated[str, typer.Option("--reason", "-m", help=f"Why, for the history. {AUTHOR_VARIABLE} says who.")]
EtagOption = Annotated[str, typer.Option("--etag", help="Refuse when somebody else changed it since this etag was read.")]


def signed(reason: str, etag: str = "") -> dict[str, str]:
    """What a request that changes something says beside the change: author, reason, and an etag when there is one."""
    return {"author": author(), "reason": reason, **({"etag": etag} if etag else {})}


def author() -> str:
    """What the environment says; else user@host."""
    said = os.environ.get(AUTHOR_VARIABLE, "").strip()
    if said:
        return said
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        # A container's user may have a number only.
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"[:LONGEST_AUTHOR]
