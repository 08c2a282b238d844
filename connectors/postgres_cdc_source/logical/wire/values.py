"""What stands where there is no value of Python's own."""

from dataclasses import dataclass
from enum import Enum


class Missing(Enum):
    """Why a row has no value for a column. Never None, which is null."""

    UNCHANGED = "unchanged"
    """Of an update: a large value that is stored apart (TOAST) and is what it was before. The server does not send it."""
    ABSENT = "absent"
    """Of an old row that is only a key: the column is not part of it."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """A date, time, timestamp or interval that Python has no value for: infinite, before Christ, after the year 9999, 24:00:00.

    Attributes:
        text: As PostgreSQL writes it: "-infinity", "0044-03-15 BC".
    """

    text: str

    def __str__(self) -> str:
        """As PostgreSQL writes it."""
        return self.text

    @property
    def is_infinite(self) -> bool:
        """Before or behind all others."""
        return self.text in ("infinity", "-infinity")
