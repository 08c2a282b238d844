"""Places of an event, as input transformers name them: $.detail.items[0].id. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_STEP = re.compile(r"\.([^.\[\]\s]+)|\[([0-9]{1,9}|\*)\]")
_ALL = "*"
MISSING = object()
"""What stands at a place that an event does not have."""
PATH_FIX = "Write $ for the event, and names and numbers behind it: $.detail.items[0].id, or [*] for all of an array."


@dataclass(frozen=True, slots=True)
class Path:
    """A place.

    Attributes:
        steps: Names of fields, numbers in arrays, and None for all of an array or an object.
    """

    steps: tuple[str | int | None, ...]

    @classmethod
    def read(cls, source: str) -> "Path":
        """Reads one. Raises ValueError: what is wrong with it."""
        if not source.startswith("$"):
            msg = "does not begin with $"
            raise ValueError(msg)
        steps: list[str | int | None] = []
        place = 1
        while place < len(source):
            if (match := _STEP.match(source, place)) is None:
                msg = f"has {source[place : place + 40]!r}, which is neither .NAME, [NUMBER] nor [*]"
                raise ValueError(msg)
            name, number = match.groups()
            steps.append(None if _ALL in (name, number) else name or int(number))
            place = match.end()
        return cls(tuple(steps))

    def find(self, event: Any) -> Any:
        """What stands there, MISSING where nothing does; behind [*] an array of what is found."""
        found = event
        for number, step in enumerate(self.steps):
            if step is None:
                inner = Path(self.steps[number + 1 :])
                each = found.values() if isinstance(found, Mapping) else found if isinstance(found, list | tuple) else ()
                return [one for one in map(inner.find, each) if one is not MISSING]
            if isinstance(step, str):
                found = found.get(step, MISSING) if isinstance(found, Mapping) else MISSING
            else:
                found = found[step] if isinstance(found, list | tuple) and step < len(found) else MISSING
            if found is MISSING:
                break
        return found
