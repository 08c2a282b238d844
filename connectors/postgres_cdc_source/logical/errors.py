"""What is wrong with bytes from the server."""

from typing import NoReturn

from rocketconnect_sdk.errors import PermanentError

_SHOWN = 64


class BadMessage(PermanentError):
    """Bytes that are no message of the protocol, or a value that is none of its type. Reading them again gives the same."""


def refuse(what: str, data: bytes, at: int = 0) -> NoReturn:
    """Raises BadMessage, with the bytes from a place in the message; they can be values, so only the first are shown."""
    msg = (
        f"{what} (byte {at} of {len(data)}; from there: {data[at : at + _SHOWN].hex(' ')}). This is no pgoutput of protocol "
        "version 1 or 2; check that nothing between here and the server changes the bytes, and report it with the server's version"
    )
    raise BadMessage(msg) from None
