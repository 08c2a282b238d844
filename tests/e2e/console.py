"""Runs the commands that a document shows, and compares what they say with what it shows."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

COMMAND = str(Path(sys.executable).with_name("rocketconnect"))
_SECONDS = 1_500
_MARKER = "--- the next command"


class Shown(NamedTuple):
    """A command, and the output that is shown for it; "" where none is."""

    command: str
    output: str


def commands(text: str) -> Iterator[Shown]:
    """Those of all blocks of a console, in their order: `$ ` begins one, which ends where its quotes are closed."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines(keepends=True)
            length = next(length for length in range(1, len(lines) + 1) if _is_whole("".join(lines[:length])))
            yield Shown("".join(lines[:length]).rstrip("\n"), "".join(lines[length:]))


def _is_whole(command: str) -> bool:
    if command.endswith("\\\n"):
        return False
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


def said(shown: Sequence[Shown], url: str, folder: Path, changes: Mapping[str, str] | None = None) -> list[Shown]:
    """What each command says, run one after the other by one shell in a folder that stands for `/tmp`, against an instance.

    Args:
        shown: The commands; the first that fails ends it.
        url: Where REST answers.
        folder: Where they run.
        changes: What stands in commands, and what takes its place, beside `/tmp/` and `.venv/bin/`.

    Raises:
        AssertionError: a command failed; the text has everything that was said.
    """
    # The exit code of a command is there for the next one.
    lines = [f"(code=$?; echo; echo '{_MARKER}'; exit $code)\n{command}" for command, _ in shown]
    script = "\n".join(["shopt -s expand_aliases; set -e", *lines, "echo", ""])
    for old, new in {"/tmp/": f"{folder}/", ".venv/bin/": f"{Path(COMMAND).parent}/", **(changes or {})}.items():
        script = script.replace(old, new)
    # Spark with Hive leaves folders among the temporary files.
    environment = {**os.environ, "ROCKETCONNECT_URL": url, "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={folder}"}
    try:
        shell = subprocess.run(
            ["bash"], input=script, env=environment, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as late:
        msg = f"{late}; it said:\n{(late.stdout or b'').decode()}\n{(late.stderr or b'').decode()}"
        raise AssertionError(msg) from None
    assert shell.returncode == 0, f"{shell.stdout}\n{shell.stderr}"
    answers = [part.removeprefix("\n").removesuffix("\n") for part in shell.stdout.split(_MARKER)[1:]]
    return [Shown(command, answer) for (command, _), answer in zip(shown, answers, strict=True)]


def differing(shown: Sequence[Shown], found: Sequence[Shown]) -> list[tuple[Shown, Shown]]:
    """The commands for which another output is shown than they gave; `...` in what is shown stands for anything,
    a line of it for any number of lines.
    """
    return [(a, b) for a, b in zip(shown, found, strict=True) if a.output and not _shows(a.output, b.output)]


def _shows(shown: str, output: str) -> bool:
    parts = re.split(r"(^\.\.\.\n|\.\.\.)", shown, flags=re.MULTILINE)
    pattern = "".join({"...\n": r"(?:.*\n)?", "...": ".*"}.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(pattern, output, re.DOTALL) is not None
