"""A server that takes part, and is killed."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, Signals
from typing import Self

from tests.server_process import Server


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A server, as whoever runs it wants to know it.

    Attributes:
        name: What it is called among what is killed.
        command: Runs it; it dies with the thread that starts it.
        is_ready: Whether it answers.
        remove: Removes its data, once nobody runs it.
        make: Makes what has to be there before anybody writes, once it answers.
        stop: A second way to end it, beside SIGKILL.
        folder: Where it runs; None: where this process does.
    """

    name: str
    command: Callable[[], Sequence[str]]
    is_ready: Callable[[], bool]
    remove: Callable[[], object]
    make: Callable[[], None] = _nothing
    stop: Signals = SIGKILL
    folder: Path | None = None

    @classmethod
    def of(cls, name: str, server: Server) -> Self:
        """One of the servers of the tests, which is only killed."""
        return cls(
            name,
            server.command,
            server.answers,
            lambda: shutil.rmtree(server.folder, ignore_errors=True),
            folder=server.runs_in,
        )
