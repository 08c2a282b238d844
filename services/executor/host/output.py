"""What plugin code prints: without secrets, and whole lines at a time."""

import io
import sys
import threading
from typing import Any

from services.executor.secrets.resolving import hide

_LONGEST = 8192
"""Characters that are held back at most while a line has no end."""


class _Cleaned(io.TextIOBase):
    """A text stream that hides secrets in every line and passes it on."""

    def __init__(self, out: io.TextIOWrapper) -> None:
        self._out = out
        self._held = ""
        self._lock = threading.RLock()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._out.encoding

    @property
    def buffer(self) -> Any:
        """What code writes here as bytes is not looked at."""
        return self._out.buffer

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._out.fileno()

    def write(self, text: str) -> int:
        with self._lock:
            self._held += text
            # A secret is hidden only when it is whole, so nothing but whole lines leaves.
            end = len(self._held) if len(self._held) > _LONGEST else self._held.rfind("\n") + 1
            if end:
                self._out.write(hide(self._held[:end]))
                self._out.flush()
                self._held = self._held[end:]
        return len(text)

    def flush(self) -> None:
        self._out.flush()

    def end_line(self) -> None:
        with self._lock:
            self._out.write(hide(self._held))
            self._held = ""
            self._out.flush()


def clean_output() -> None:
    """From now on hide secrets in what Python code of this process writes to standard output and standard error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
            setattr(sys, name, _Cleaned(stream))


def flush_output() -> None:
    """Write out what has no line end yet: before the process ends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Cleaned):
            stream.end_line()
