"""What hosts print, line by line and within bounds, for the log of the executor."""

import asyncio
import time
from collections.abc import Callable
from typing import IO

from rocketconnect_sdk.wording.counts import counted

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
        while data := await _read(reader, throttle):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                throttle.line(line.decode("utf-8", "backslashreplace").rstrip())
            if len(rest) >= LONGEST_LINE:
                throttle.line(rest.decode("utf-8", "backslashreplace"))
                rest = b""
        if rest:
            throttle.line(rest.decode("utf-8", "backslashreplace"))
        throttle.tell_dropped()
    finally:
        transport.close()


async def _read(reader: asyncio.StreamReader, throttle: "Throttle") -> bytes:
    while throttle.dropped:
        try:
            async with asyncio.timeout(1):
                return await reader.read(LONGEST_LINE)
        except TimeoutError:
            throttle.tell_dropped()
    return await reader.read(LONGEST_LINE)


class Throttle:
    """Lets so many lines a second through, and tells how many it did not."""

    def __init__(self, tell: Callable[[str], None], lines_a_second: int, clock: Callable[[], float]) -> None:
        self._tell = tell
        self._limit = lines_a_second
        self._clock = clock
        self._second = clock()
        self._told = 0
        self.dropped = 0
        """How many lines were dropped and not told of yet."""

    def line(self, text: str) -> None:
        """Pass a line on, or count it."""
        self._look()
        if text and self._passes():
            self._tell(text)

    def passes(self) -> bool:
        """Whether one more line goes through, which whoever asks tells itself; else it is counted."""
        self._look()
        return self._passes()

    def _look(self) -> None:
        now = self._clock()
        if now - self._second >= 1:
            self.tell_dropped()
            self._second, self._told = now, 0

    def _passes(self) -> bool:
        if self._told < self._limit:
            self._told += 1
            return True
        self.dropped += 1
        return False

    def tell_dropped(self) -> None:
        """Tell how many lines were dropped since this was told last."""
        if self.dropped:
            self._tell(f"{counted(self.dropped, 'more line', 'was', 'were')} not logged: more than {self._limit} came in a second")
        self.dropped = 0
