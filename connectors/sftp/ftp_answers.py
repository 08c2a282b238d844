"""What servers of FTP say of files: facts of MLSD and MLST, and lines of LIST in the forms that are found. Pure."""

import re
from dataclasses import dataclass

from connectors.objects.files import Status

_DATE = r"(?:[A-Za-z]{3}\s+\d{1,2}|\d{1,2}\s+[A-Za-z]{3})\s+(?:\d{1,2}:\d\d|\d{4})|\d{4}-\d\d-\d\d\s+\d\d:\d\d"
_UNIX = re.compile(rf"([-dlbcps])\S{{9,10}}\s+(?:\d+\s+)?(?:\S+\s+){{1,2}}\d+\s+(?:{_DATE}) (.+)")
_DOS = re.compile(r"\d\d-\d\d-\d{2,4}\s+\d\d:\d\d(?:AM|PM)?\s+(<DIR>|\d+) +(.+)")
_TIME = re.compile(r"\d{14}")
FACTS = ("type", "size", "modify", "unique")
"""What is asked for, where it can be chosen."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What is in a folder.

    Attributes:
        name: Its name.
        is_folder: It is one.
        status: Of a file; None: it has to be asked for.
        identity: Of a folder, the same by whatever way it was reached; empty: the server does not say.
    """

    name: str
    is_folder: bool
    status: Status | None = None
    identity: str = ""


def of_facts(name: str, facts: dict[str, str]) -> Listed | None:
    """What MLSD or MLST says; None: it is neither a file nor a folder in the one that was listed."""
    kind = facts.get("type", "").lower()
    if kind == "dir":
        return Listed(name, True, identity=facts.get("unique", ""))
    if kind != "file":
        return None
    size, time = facts.get("size", ""), facts.get("modify", "")
    if not size.isdecimal() or not _TIME.match(time):
        return Listed(name, False)
    return Listed(name, False, status_of(name, int(size), time, facts.get("unique", "")))


def status_of(name: str, size: int, time: str, identity: str = "") -> Status:
    """A file. Fractions of a second not all answers of a server have."""
    return Status(name, False, size, f"{time[:14]}-{size:x}{identity and f'-{identity}'}")


def of_line(line: str) -> Listed | None:
    """What a line of LIST says; None: no file and no folder. Links are left out: nobody knows what they lead to."""
    if found := _UNIX.fullmatch(line):
        kind, name = found[1], found[2]
        return Listed(name, kind == "d") if kind in "-d" and name not in (".", "..") else None
    if found := _DOS.fullmatch(line):
        return Listed(found[2], found[1] == "<DIR>")
    return None
