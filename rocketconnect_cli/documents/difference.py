"""What is different between two configurations. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A key that is not the same in both. Secrets are references, so values may be shown.

    Attributes:
        key: The key.
        old: Its value before; None: it was not there.
        new: Its value after; None: it is not there any more.
    """

    key: str
    old: str | None
    new: str | None

    def lines(self) -> Iterator[str]:
        """As people read it: what goes with "-", what comes with "+"."""
        for sign, value in (("-", self.old), ("+", self.new)):
            if value is not None:
                yield f"{sign} {self.key} = {shown(value)}"

    def document(self) -> dict[str, str | None]:
        """As scripts read it."""
        return {"key": self.key, "old": self.old, "new": self.new}

    def __str__(self) -> str:
        """The key, with "+" when it came, "-" when it went."""
        return {True: "+", False: ""}[self.old is None] + {True: "-", False: ""}[self.new is None] + self.key


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> list[KeyChange]:
    """All keys that are not the same in both, by name."""
    keys = sorted({*old, *new})
    return [KeyChange(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]


def shown(value: str) -> str:
    """A value on one line; one that would be taken for another is quoted."""
    plain = value and value == value.strip() and value.isprintable()
    return value if plain else repr(value)
