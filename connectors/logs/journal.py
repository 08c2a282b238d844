"""The journal of systemd as journalctl tells it."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from rocketconnect_sdk.errors import PermanentError, SystemAway

CURSOR = "__CURSOR"
_TIME = "__REALTIME_TIMESTAMP"
_PIECE = 1 << 18
_LONGEST = 64 << 20
_END_SECONDS = 10.0
_SAID = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a journal.

    Attributes:
        cursor: Its place.
        fields: As the journal has them; those that are no text are bytes, and those that come again lists.
        time_ms: Since 1970.
        size: Of its line in bytes.
    """

    cursor: str
    fields: dict[str, Any]
    time_ms: int
    size: int


class Journal:
    """A running journalctl. It ends with its pipe, so also when this process is killed.

    Args:
        words: What it is told, beside the form of its output.

    Raises:
        PermanentError: there is no journalctl on this machine.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - see close
        command = ["journalctl", "--output=json", "--all", "--no-pager", "--quiet", *words]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said)
        except FileNotFoundError as error:
            self._said.close()
            msg = "journalctl is not there on the machine that the task runs on: keep it by worker.labels where systemd is"
            raise PermanentError(msg) from error
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        self._out = self._process.stdout
        os.set_blocking(self._out.fileno(), False)
        self._data = b""

    def read(self, size: int) -> list[Entry]:
        """The entries that are there now, of about so many bytes.

        Raises:
            SystemAway: it has ended.
        """
        is_over = False
        while len(self._data) < size or (b"\n" not in self._data and len(self._data) < _LONGEST):
            try:
                piece = os.read(self._out.fileno(), _PIECE)
            except BlockingIOError:
                break
            if not piece:
                is_over = True
                break
            self._data += piece
        entries = list(self._whole())
        if is_over and not entries:
            raise SystemAway(self._ended())
        return entries

    def _whole(self) -> Iterator[Entry]:
        lines, newline, self._data = self._data.rpartition(b"\n")
        for line in lines.split(b"\n") if newline else ():
            if line:
                yield _entry(line)

    def _ended(self) -> str:
        code = self._process.wait(_END_SECONDS)
        self._said.seek(0)
        said = " ".join(self._said.read(_SAID).decode(errors="replace").split())
        return f"journalctl has ended with {code}: {said or 'it says nothing'}"

    def close(self) -> None:
        """Ends it. Never raises."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._out.close()
        self._said.close()


def _entry(line: bytes) -> Entry:
    fields = {name: _value(value) for name, value in json.loads(line).items()}
    cursor, time_us = fields.pop(CURSOR), int(fields.pop(_TIME))
    return Entry(cursor, fields, time_us // 1000, len(line))


def _value(value: Any) -> Any:
    """Bytes that are no text come as a list of numbers, and a field that comes again as a list of its values."""
    if not isinstance(value, list):
        return value
    return bytes(value) if value and all(isinstance(each, int) for each in value) else [_value(each) for each in value]
