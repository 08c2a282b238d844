"""Something that a source reads, and whether another one reads it, too. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

FILES = "file:"
"""The place of files; their names are their paths."""
OBJECTS = "objects:"
"""The place of objects of stores; their names are their URLs."""

_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class Origin:
    """Something that a source reads. Holds no secret.

    Attributes:
        key: The option that names it.
        place: Where it is, the same for the same place, however a configuration writes it: "mysql://db:3306/".
        name: What is read there; a pattern of names, if it is one.
        is_pattern: In the name * and ? stand for what they stand for in names of files, and ** for directories.
        without: Patterns of names which a pattern does not mean.
        into: Where it goes: a topic, or how the topics of many names are made; empty: the topic of the configuration.
    """

    key: str
    place: str
    name: str
    is_pattern: bool = False
    without: Sequence[str] = ()
    into: str = ""

    def takes(self, name: str) -> bool:
        """Whether something of this name, at the same place, is read by who reads this."""
        if not self.is_pattern:
            return self.name == name
        return _matches(self.name, name) and not any(_matches(pattern, name) for pattern in self.without)

    def overlaps(self, other: "Origin") -> bool:
        """Whether the same would be in the same topic twice.

        Of two patterns that are not the same nobody knows whether a name is meant by both: they do not overlap.
        """
        if (self.place, self.into) != (other.place, other.into):
            return False
        if self.is_pattern and other.is_pattern:
            return self.name == other.name and set(self.without) == set(other.without)
        return other.takes(self.name) if other.is_pattern else self.takes(other.name)

    def in_common(self, others: Iterable["Origin"]) -> "Origin | None":
        """The narrower of this and the first of the others that it overlaps with; None: it overlaps with none."""
        for other in others:
            if self.overlaps(other):
                return other if self.is_pattern else self
        return None


def _matches(pattern: str, name: str) -> bool:
    """Whether a pattern means a name, as globs of files do: each part between slashes for itself."""
    return _match_parts(pattern.split("/"), name.split("/"))


def _match_parts(patterns: Sequence[str], parts: Sequence[str]) -> bool:
    # The places in the parts that the patterns so far may have come to.
    reached = {0}
    for pattern in patterns:
        if pattern == _ANY_DEPTH:
            reached = set(range(min(reached), len(parts) + 1)) if reached else reached
        else:
            reached = {place + 1 for place in reached if place < len(parts) and fnmatchcase(parts[place], pattern)}
    return len(parts) in reached
