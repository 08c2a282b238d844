r"""Texts with asterisks, each of which stands for any characters, or none. Pure.

Finding them takes time that grows with the text alone: nothing is tried twice. `\*` is an asterisk, and `\\` a backslash.
"""

from dataclasses import dataclass

_ESCAPED = ("*", "\\")


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A text with asterisks.

    Attributes:
        parts: The texts between the asterisks, in their order: one of them: it has no asterisk.
    """

    parts: tuple[str, ...]

    @classmethod
    def read(cls, source: str) -> "Wildcard":
        """Reads one. Raises ValueError: what is wrong with it."""
        parts, part, place = list[str](), "", 0
        while place < len(source):
            letter = source[place]
            if letter == "\\":
                part += _escaped(source, place)
                place += 1
            elif letter == "*":
                if source[place + 1 : place + 2] == "*":
                    msg = f"has two asterisks side by side, at {place + 1}"
                    raise ValueError(msg)
                parts.append(part)
                part = ""
            else:
                part += letter
            place += 1
        return cls((*parts, part))

    def takes(self, text: str) -> bool:
        """Whether it stands for a text."""
        first, last = self.parts[0], self.parts[-1]
        if len(self.parts) == 1:
            return text == first
        end = len(text) - len(last)
        place = len(first)
        if end < place or not text.startswith(first) or not text.endswith(last):
            return False
        for part in self.parts[1:-1]:
            # The first place that fits leaves the most room for the others.
            if (found := text.find(part, place, end)) < 0:
                return False
            place = found + len(part)
        return True


def _escaped(source: str, place: int) -> str:
    letter = source[place + 1 : place + 2]
    if letter not in _ESCAPED or not letter:
        msg = f"has a backslash at {place + 1} before what is neither an asterisk nor a backslash"
        raise ValueError(msg)
    return letter
