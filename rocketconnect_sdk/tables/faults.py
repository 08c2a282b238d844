"""What an error of a system of tables means, and what a task does about it. Pure."""

from enum import Enum

from rocketconnect_sdk.errors import ConnectorError, PermanentError, SystemAway

_SHOWN = 500


class Fault(Enum):
    """What is wrong."""

    AWAY = "does not answer"
    BUSY = "cannot do it now"
    DENIED = "does not let the user do it"
    MISSING = "has no such database or table"
    THERE = "has it already"
    FENCED = "has refused an owner that was replaced"
    VALUES = "does not take these rows"
    OTHER = "has refused it"


class ServerRejected(Exception):
    """What a server said instead of an answer, or that it said nothing.

    Attributes:
        fault: What that means.
    """

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(said)
        self.fault = fault


def in_short(text: str) -> str:
    """How a text begins, on one line."""
    return " ".join(text.split())[:_SHOWN]


def understood(error: ServerRejected, place: object, user: str, making: str = "Make it") -> ConnectorError:
    """The error that says what a task does about it; `making`: how a database is made that is not there."""
    where = f"{place}: the server {error.fault.value}: {error}"
    match error.fault:
        case Fault.AWAY | Fault.BUSY:
            return SystemAway(where)
        case Fault.FENCED:
            return PermanentError(f"{place}: a newer owner writes there now, so this one stops")
        case Fault.DENIED:
            return PermanentError(f"{where}. Correct user and password, or GRANT the user {user!r} what is missing").naming("user")
        case Fault.MISSING:
            return PermanentError(f"{where}. {making}, or set table.create=true for tables").naming("database")
        case _:
            return PermanentError(where)
