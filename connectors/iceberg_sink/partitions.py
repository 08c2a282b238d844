"""How a table is partitioned, as people write it. Pure."""

import re
from typing import NamedTuple

DOC = "columns, or days(COLUMN), hours(COLUMN), months(COLUMN), years(COLUMN), bucket(NUMBER, COLUMN), truncate(WIDTH, COLUMN)"
_TERM = re.compile(r"[^,(]+(?:\([^)]*\))?[^,(]*|\(")
_MOMENT = re.compile(r"(year|month|day|hour)s?\(\s*([^(),\s][^(),]*?)\s*\)")
_SIZED = re.compile(r"(bucket|truncate)\(\s*([1-9][0-9]{0,8})\s*,\s*([^(),\s][^(),]*?)\s*\)")
_PLAIN = re.compile(r"[^(),]+")


class Transform(NamedTuple):
    """One part of the partitions of a table.

    Attributes:
        name: identity, year, month, day, hour, bucket or truncate.
        column: Of which it is made.
        width: Of bucket how many there are, of truncate how much is left.
    """

    name: str
    column: str
    width: int = 0


def parse_partitions(text: str) -> tuple[Transform, ...]:
    """The partitions that a text says.

    Raises:
        ValueError: it says none.
    """
    return tuple(_transform(term.strip()) for term in _TERM.findall(text) if term.strip())


def partitions_problem(text: str) -> str | None:
    """What is wrong with such a text."""
    try:
        parse_partitions(text)
    except ValueError as error:
        return str(error)
    return None


def _transform(term: str) -> Transform:
    if found := _MOMENT.fullmatch(term):
        return Transform(found[1], found[2])
    if found := _SIZED.fullmatch(term):
        return Transform(found[1], found[3], int(found[2]))
    if _PLAIN.fullmatch(term):
        return Transform("identity", term)
    msg = f"{term} is none of {DOC}"
    raise ValueError(msg)
