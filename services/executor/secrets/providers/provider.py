"""What finds the secrets of one kind."""

from typing import Protocol


class Unresolved(Exception):
    """A reference stands for nothing here, or for what connectors may not read.

    Neither the texts nor the errors before it hold anything of what was read (invariant 6).

    Attributes:
        reason: What is wrong, for people; goes on from the reference.
        fix: What to do about it.
        is_sure: The place where it should be was read, and it is not there: a task would find no more.
    """

    def __init__(self, *, reason: str, fix: str, is_sure: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
        self.is_sure = is_sure


class Provider(Protocol):
    """Finds the secrets of one kind. Made anew for each configuration, and used by one thread."""

    def look_up(self, name: str) -> str:
        """The secret of a name, as it stands in the reference behind the kind.

        What the operator does not let connectors read is refused before anything is looked at, and whether it is there is not told.

        Raises:
            Unresolved: there is none.
            SystemAway: that can't be told now; whoever tries again may learn it.
        """
