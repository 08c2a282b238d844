"""What hosts print, line by line and within bounds, for the log of the executor."""

import asyncio
import time
from collections.abc import Callable
from typing import IO

LINES_A_SECOND = 200
LONGEST_LINE = 8192


async def copy_lines(pipe: IO[bytes], tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
    """Give every line to `tell` until the pipe ends, then close it.

    Long lines are cut into several; lines that exceed the rate are counted, and their number is told.
    """
    reader = asyncio.StreamReader(limit=2 * LONGEST_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    throttle = Throttle(tell, LINES_A_SECOND, clock)
    rest = b""
    try:
        while data := await reader.read(LONGEST_LINE):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                throttle.line(line.decode("utf-8", "backslashreplace").rstrip())
            if len(rest) >= LONGEST_LINE:
                throttle.line(rest.decode("utf-8", "backslashreplace"))
                rest = b""
        if rest:
            throttle.line(rest.decode("utf-8", "backslashreplace"))
    finally:
        transport.close()


class Throttle:
    """Lets so many lines a second through, and tells how many it did not."""

    def __init__(self, tell: Callable[[str], None], lines_a_second: int, clock: Callable[[], float]) -> None:
        self._tell = tell
        self._limit = lines_a_second
        self._clock = clock
        self._second = clock()
        self._told = 0
        self._dropped = 0

    def line(self, text: str) -> None:
        """Pass a line on, or count it."""
        now = self._clock()
        if now - self._second >= 1:
            if self._dropped:
                self._tell(f"{self._dropped} more lines were not logged: more than {self._limit} came in a second")
            self._second, self._told, self._dropped = now, 0, 0
        if not text:
            return
        if self._told < self._limit:
            self._told += 1
            self._tell(text)
        else:
            self._dropped += 1
