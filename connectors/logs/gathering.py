"""Lines that are one record together: a stack trace, JSON over several lines. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gathering:
    """Which lines are one record.

    Attributes:
        starts: Found in the first line of each record; None: `continues` tells.
        continues: Found in each line that goes on with the one before.
        most_lines: So many lines a record has at most; what goes on behind them is another one.
        most_bytes: The same of bytes.
    """

    starts: re.Pattern[str] | None
    continues: re.Pattern[str] | None
    most_lines: int
    most_bytes: int

    def spans(self, lines: Sequence[bytes], tail: int, *, last: bool) -> Iterator[tuple[int, int]]:
        """From which line to which each record goes, of lines the first of which begins one. What may go on still is left out.

        From the beginning of a record the same lines become the same records, wherever reading has begun.

        Args:
            lines: Whole ones.
            tail: How many bytes of the next line are there already.
            last: No other line comes.
        """
        begin, size = 0, 0
        for number, line in enumerate(lines):
            is_full = number - begin >= self.most_lines or size + len(line) + 1 > self.most_bytes
            if number > begin and (is_full or self._begins(line)):
                yield begin, number
                begin, size = number, 0
            size += len(line) + 1
        is_full = len(lines) - begin >= self.most_lines or size + tail > self.most_bytes
        if begin < len(lines) and (last or is_full):
            yield begin, len(lines)

    def _begins(self, line: bytes) -> bool:
        text = line.removesuffix(b"\r").decode("utf-8", "replace")
        if self.starts is not None:
            return self.starts.search(text) is not None
        return self.continues is None or self.continues.search(text) is None
