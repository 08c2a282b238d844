"""Log sequence numbers: places in the write-ahead log, as whole numbers of bytes.

https://www.postgresql.org/docs/current/datatype-pg-lsn.html
"""

import re

LARGEST = (1 << 64) - 1
_FORM = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_lsn(text: str) -> int:
    """The number that a text such as 16/B374D848 stands for.

    Raises:
        ValueError: it stands for none.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        msg = f"{text[:40]!r} is no log sequence number such as 16/B374D848"
        raise ValueError(msg)
    return int(found[1], 16) << 32 | int(found[2], 16)


def format_lsn(lsn: int) -> str:
    """The text of a number, as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
