"""The terminal, which what others wrote must not steer: a message, a log line or an error may hold its control sequences."""

import re
from typing import Any

from rich.console import Console
from rich.text import Text

_STEERING = re.compile(
    # All controls but a tab and the end of a line, what turns the direction of writing, and halves of characters.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Terminal(Console):
    """Rich's console, to which any text may be given. Takes what that takes, and makes no pictures of names between colons."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """See Console; what would steer the terminal is shown as an escape."""
        return super().render_str(printable(text), **options)


def printable(text: str) -> str:
    r"""The text with each character that steers a terminal as its escape, such as \x1b."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_json(text: str) -> str:
    r"""The same of JSON, which stays the same JSON: such as \u001b."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
