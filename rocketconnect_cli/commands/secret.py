"""The commands `rocketconnect secret ...`: the keystore. No value ever stands on a command line, or is shown."""

import base64
import os
import secrets
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rocketconnect_cli.api import ApiError, Exit, checked_name
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, table_of, with_api

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Keep secrets, which configurations name as ${keystore:NAME}.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, dots, underscores and hyphens.")]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file of keys; it is made where it is not there.")]
SECRET = {"name": "", "updateTime": ""}
"""What is read of a secret, by example."""
_KEY_BYTES = 32


@app.command(name="set")
@with_api
def set_secret(name: Name, url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Store a secret: what is typed, unseen and twice, or standard input without the line break at its end.

    Tasks that name it see a new value when they are restarted.
    """
    path = _path(name)
    value = typer.prompt("Secret", hide_input=True, confirmation_prompt=True, err=True) if sys.stdin.isatty() else _read()
    with api(url) as client:
        row = client.request("PUT", path, body={"value": value}, like={"secret": SECRET})["secret"]
    emit(output, row, lambda: f"stored; configurations name it as ${{keystore:{name}}}")


@app.command(name="list")
@with_api
def list_secrets(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """List the names of all secrets."""
    with api(url) as client:
        rows = list(client.pages("/v1/secrets", "secrets", SECRET))
    emit(output, {"secrets": rows}, lambda: table_of(("NAME", "STORED"), map(_cells, rows)))


@app.command()
@with_api
def delete(name: Name, url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Remove a secret. Tasks that name it fail when they start the next time."""
    with api(url) as client:
        client.request("DELETE", _path(name), like={})
    emit(output, {"name": name}, lambda: f"{name} is deleted")


@app.command(name="new-key")
def new_key(file: KeyFile) -> None:
    """Put a new key before those in a file of keys, which your account alone can read: it seals from now on, all of them open.

    Give the file as --keystore-keys to the config service and to all executors. Keep a copy elsewhere than that of the store.
    """
    new = base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
    part = file.with_name(f"{file.name}.new")
    try:
        before = file.read_text(encoding="ascii") if file.exists() else ""
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
            opened.write(f"{new}\n{before}")
            opened.flush()
            os.fsync(opened.fileno())
        part.rename(file)
    except OSError as error:
        sys.stderr.write(f"{error.filename or file}: {error.strerror}\n")
        raise typer.Exit(Exit.FAILED) from None
    sys.stdout.write(f"{file} has a new key, which seals from now on\n")


def _read() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ApiError(Exit.WRONG, {"detail": "standard input is not UTF-8 text. Give the secret as text."}) from None


def _path(name: str) -> str:
    return f"/v1/secrets/{quote(checked_name(name, 'a secret'), safe='')}"


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    return row["name"], row.get("updateTime", "")
