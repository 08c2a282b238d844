"""What an error of a frontend or a backend means. Pure."""

import re

from rocketconnect_sdk.tables.faults import Fault, ServerRejected, in_short

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


def refused(text: str, *, status: int = 0, number: int = 0) -> ServerRejected:
    """The error of an answer.

    Args:
        text: What it says.
        status: Of HTTP; 0: there is none.
        number: Of the protocol of MySQL; 0: there is none.
    """
    said = in_short(text) or f"the answer {status or number}"
    if status in (401, 403) or number in _DENIED_NUMBERS:
        return ServerRejected(Fault.DENIED, said)
    if number in _AWAY_NUMBERS or status in _GATEWAY:
        return ServerRejected(Fault.AWAY, said)
    if number in _MISSING_NUMBERS:
        return ServerRejected(Fault.MISSING, said)
    found = next((fault for fault, words in _WORDS if re.search("|".join(words), said, re.IGNORECASE)), Fault.OTHER)
    return ServerRejected(found, said)
