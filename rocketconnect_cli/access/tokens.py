"""The commands `rocketconnect token ...`: the file that says who may call, on this machine; no service is asked."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import Output, OutputOption, emit, err, table_of, with_api
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.signing import public_key
from rocketconnect_kit.access.tokens import Identity, Known, end_text, key_line, line, new_token, parse
from rocketconnect_sdk.wording.counts import counted

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Say who may call the gateway and the services, and as what.")

FileOption = Annotated[Path, typer.Option("--file", help="The file that services are given as --tokens-files.")]
_CALLERS = Path("callers")
_PRIVATE = 0o600


@app.command()
@with_api
def create(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Who shows it, for the history; of a worker its id, in which * stands for anything."),
    ],
    role: Annotated[
        Role, typer.Option(help="read: look at everything. write: order as well. service, worker: RocketConnect's own processes.")
    ] = Role.READ,
    lasts: Annotated[float | None, durations.option("From then on nobody is let in by it.", "--lasts", least=1)] = None,
    file: FileOption = _CALLERS,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a token, write its hash into the file, and print it: once, as nothing keeps it.

    Services notice by themselves. To take a token back, delete its line; with the role service it has two, the second one for
    executors, which know by it what is signed with the token.
    """
    token = new_token()
    try:
        until = None if lasts is None else datetime.now(UTC) + timedelta(seconds=lasts)
        text = line(name, role, token, until)
    except ValueError as error:
        raise ApiError(Exit.WRONG, {"detail": f"{error}."}) from None
    except OverflowError:
        raise ApiError(Exit.WRONG, {"detail": "--lasts is too long. Leave it out, and the token lasts for good."}) from None
    if role is Role.SERVICE:
        text += key_line(name, role, _public_key(token), until)
    there = _read(file)
    if any(each.name == name for each in (*there.by_digest.values(), *there.by_certificate.values())):
        err.print(f"{file} has another line for {name}: delete it to take that token back.", style="yellow", markup=False)
    _add(file, text)
    ends = {} if until is None else {"until": end_text(until)}
    emit(output, {"name": name, "role": role.value, "token": token, "file": str(file), **ends}, lambda: token)


@app.command()
@with_api
def key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the service, as the file has it.")],
    token_file: Annotated[Path, typer.Argument(metavar="TOKEN_FILE", help="The file with its token.")],
    file: FileOption = _CALLERS,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the line by which executors know what a service signs with a token that there is; nobody else has a use for it."""
    try:
        token = token_file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no token"
        raise ApiError(Exit.WRONG, {"detail": f"{token_file}: {why}. Give the file with the token of the service."}) from None
    if not token:
        raise ApiError(Exit.WRONG, {"detail": f"{token_file} is empty. Give the file with the token of the service."})
    try:
        text = key_line(name, Role.SERVICE, _public_key(token))
    except ValueError as error:
        raise ApiError(Exit.WRONG, {"detail": f"{error}."}) from None
    _add(file, text)
    emit(output, {"name": name, "role": Role.SERVICE.value, "line": text.strip(), "file": str(file)}, text.strip)


def _public_key(token: str) -> str:
    try:
        return public_key(token)
    except ImportError:
        detail = "keys of services need the package cryptography. Install rocketconnect[service], or cryptography, and repeat this."
        raise ApiError(Exit.FAILED, {"detail": detail}) from None


def _add(file: Path, text: str) -> None:
    try:
        # A file is made for its owner alone, and a line is written at once: services may be reading.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _PRIVATE)
        with os.fdopen(descriptor, "ab") as opened:
            opened.write((_line_end(file) + text).encode())
    except OSError as error:
        raise ApiError(Exit.FAILED, {"detail": f"{file}: {error.strerror}. Give another file with --file."}) from None


@app.command(name="list")
@with_api
def list_tokens(file: FileOption = _CALLERS, output: OutputOption = Output.TABLE) -> None:
    """List who may call, and as what; and what is wrong with the file."""
    known = _read(file)
    kinds = (("token", known.by_digest), ("signature", known.by_key), ("certificate", known.by_certificate))
    callers = [_shown(each, kind) for kind, found in kinds for each in found.values()]
    rows = [(each["name"], each["role"], each["shows"], each.get("until", "")) for each in callers]
    shown = {"callers": callers, "problems": list(known.problems)}
    emit(output, shown, lambda: table_of(("NAME", "ROLE", "SHOWS", "UNTIL"), rows))
    if known.problems:
        detail = f"{file}: {counted(known.problems, 'line')} let nobody in: {'; '.join(known.problems)}."
        raise ApiError(Exit.WRONG, {"detail": detail})


def _shown(who: Identity, shows: str) -> dict[str, str]:
    ends = {} if who.until is None else {"until": end_text(who.until)}
    return {"name": who.name, "role": who.role.value, "shows": shows, **ends}


def _read(file: Path) -> Known:
    try:
        return parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Known({}, {}, {})
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ApiError(Exit.WRONG, {"detail": f"{file}: {why}. Give the file of callers with --file."}) from None


def _line_end(file: Path) -> str:
    """Return what has to stand before a new line: an end, where the last one has none."""
    text = file.read_bytes() if file.exists() else b""
    return "" if not text or text.endswith(b"\n") else "\n"
