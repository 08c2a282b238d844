"""The options of CSV that several connectors have."""

from rocketconnect_sdk.options import Config, Option

_KEY = "csv.delimiter"
_DOC = "The character between fields; \\t for a tab."
_TAB = "\\t"
_NO_CHARACTER = "is not one character"
_TAKEN = '"\r\n'


def _problem(text: str) -> str | None:
    return None if text == _TAB or (len(text) == 1 and text not in _TAKEN) else _NO_CHARACTER


READ_DELIMITER = Option(
    _KEY,
    _DOC,
    default=",",
    check=_problem,
    fix="Give one character other than a quote and a line break, or \\t for a tab.",
)
"""Of what reads CSV. See delimiter_of."""

WRITTEN_DELIMITER = Option(
    _KEY,
    _DOC,
    default=",",
    check=lambda text: _problem(text) if text.isascii() else _NO_CHARACTER,
    fix="Give one ASCII character other than a quote and a line break, or \\t for a tab.",
)
"""Of what writes CSV. See delimiter_of."""


def delimiter_of(config: Config) -> str:
    """The character itself that csv.delimiter names."""
    return "\t" if config[_KEY] == _TAB else str(config[_KEY])
