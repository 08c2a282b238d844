"""Places in JSON: names with points between them, such as data.items[0]["a.b"]. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

PATH_FIX = (
    'Write names with points between them, such as data.items, [0] for an element of a list, ["a.b"] for a name with a point.'
)
_STEP = re.compile(r"""(?P<name>[^.\[\]"\s][^.\[\]"]*)|\[(?P<index>-?[0-9]{1,9})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""")


class Missing(Exception):
    """There is nothing at a place. The text says where it ends, and what is there."""


class Path:
    """A place in a JSON value; $ and the empty text are the whole of it.

    Args:
        text: As people write it.

    Raises:
        ValueError: it is none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps: list[str | int] = []
        rest = text.removeprefix("$")
        rest = rest.removeprefix(".") if rest != text else rest
        while rest:
            found = _STEP.match(rest)
            if found is None:
                msg = f"is no place in JSON at {rest[:40]!r}"
                raise ValueError(msg)
            name, index, quoted = found.group("name", "index", "quoted")
            self._steps.append(json.loads(quoted) if quoted else int(index) if index else name)
            rest = rest[found.end() :]
            if rest.startswith("."):
                rest = rest[1:]
                if not rest or rest[0] in ".[":
                    msg = "has a point without a name behind it"
                    raise ValueError(msg)

    def of(self, value: Any) -> Any:
        """What is there.

        Raises:
            Missing: nothing.
        """
        for step in self._steps:
            if isinstance(step, int):
                if not isinstance(value, list) or not -len(value) <= step < len(value):
                    raise Missing(self._missing(f"[{step}]", value))
                value = value[step]
            else:
                if not isinstance(value, Mapping) or step not in value:
                    raise Missing(self._missing(step, value))
                value = value[step]
        return value

    def get(self, value: Any) -> Any:
        """What is there; None: nothing."""
        try:
            return self.of(value)
        except Missing:
            return None

    def _missing(self, step: str, value: Any) -> str:
        if isinstance(value, Mapping):
            there = f"an object with {', '.join(sorted(map(str, value))[:10]) or 'no names'}"
        else:
            there = f"a list of {len(value)}" if isinstance(value, list) else f"no object: {json.dumps(value, default=str)[:60]}"
        return f"there is no {step} for {self.text}, but {there}"


def path_problem(text: str) -> str | None:
    """What is wrong with a path; None: nothing."""
    try:
        Path(text)
    except ValueError as error:
        return str(error)
    return None
