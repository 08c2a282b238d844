"""What every suite asks of the options of a connector."""

from collections.abc import Sequence

from rocketconnect_sdk.options import NAME, Option


def check_documented(options: Sequence[Option]) -> None:
    """Every option says what it is for, under a key that can be read."""
    for option in options:
        assert option.doc.strip(), f"{option.key} has no doc"
        own = option.key.replace(NAME, ".")
        assert own == own.lower(), f"{option.key} is not lower case"
