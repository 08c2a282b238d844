"""What an error of a frontend or a backend means. Pure."""

import re
from enum import Enum

from rocketconnect_sdk.errors import ConnectorError, PermanentError, SystemAway

_SHOWN = 500


class Fault(Enum):
    """What is wrong."""

    AWAY = "does not answer"
    BUSY = "cannot do it now"
    DENIED = "does not let the user do it"
    MISSING = "has no such database or table"
    VALUES = "does not take these rows"
    OTHER = "has refused it"


# The texts differ between versions, and there is no number beside them: so words that all have. The first that fits counts.
_WORDS = (
    (Fault.VALUES, ("too many filtered rows", "DATA_QUALITY", "unqualified data", "quality not good")),
    (Fault.DENIED, ("access denied", "denied to user", "no valid Basic authorization", "unauthorized", "need_password")),
    (Fault.MISSING, ("unknown (database|table)", "table not found", r"(table|database|db)\b.{0,80}(not exist|doesn't exist)")),
    (
        Fault.BUSY,
        (
            *("current running txns", "TOO_MANY_VERSION", r"-235\b", "too many versions", "schema.?change", "cancel+ed"),
            *("timeout", "timed out", "memory.{0,20}(limit|exceed)", "MEM_(LIMIT|ALLOC)", "quorum", "NOT_MASTER", "not master"),
            *(r"no (available |alive )?(backend|be\b|replica)", r"fail\w* (to )?(find|choose|get) .{0,20}backend", "no queryable"),
            *("RPC", "SERVICE_UNAVAILABLE", "connection (reset|refused|closed)", "is not ready"),
        ),
    ),
)
_AWAY_NUMBERS = (2002, 2003, 2006, 2013, 2055)
_DENIED_NUMBERS = (1044, 1045, 1142, 1227)
_MISSING_NUMBERS = (1049, 1051, 1146)
_GATEWAY = (502, 503, 504)


class Refused(Exception):
    """What was said instead of an answer, or that nothing was.

    Attributes:
        fault: What that means.
    """

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(" ".join(said.split())[:_SHOWN])
        self.fault = fault


def refused(text: str, *, status: int = 0, number: int = 0) -> Refused:
    """The error of an answer.

    Args:
        text: What it says.
        status: Of HTTP; 0: there is none.
        number: Of the protocol of MySQL; 0: there is none.
    """
    said = text or f"the answer {status or number}"
    if status in (401, 403) or number in _DENIED_NUMBERS:
        return Refused(Fault.DENIED, said)
    if number in _AWAY_NUMBERS or status in _GATEWAY:
        return Refused(Fault.AWAY, said)
    if number in _MISSING_NUMBERS:
        return Refused(Fault.MISSING, said)
    found = next((fault for fault, words in _WORDS if re.search("|".join(words), said, re.IGNORECASE)), Fault.OTHER)
    return Refused(found, said)


def understood(error: Refused, place: object, user: str) -> ConnectorError:
    """The error that says what a task does about it."""
    where = f"{place}: the server {error.fault.value}: {error}"
    match error.fault:
        case Fault.AWAY | Fault.BUSY:
            return SystemAway(where)
        case Fault.DENIED:
            return PermanentError(f"{where}. Correct user and password, or GRANT the user {user!r} what is missing").naming("user")
        case Fault.MISSING:
            return PermanentError(f"{where}. Make it, or set table.create=true for tables").naming("database")
        case _:
            return PermanentError(where)
