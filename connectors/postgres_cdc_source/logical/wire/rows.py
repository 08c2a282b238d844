"""Rows of messages as tuples, by code that is made once for each list of types.

TupleData of https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct, error
from typing import Any

from connectors.postgres_cdc_source.logical.errors import refuse
from connectors.postgres_cdc_source.logical.types import PgType
from connectors.postgres_cdc_source.logical.wire.values import Missing

Row = tuple[Any, ...]
Read = Callable[[bytes, int], tuple[Row, int]]

NULL, UNCHANGED, TEXT, BINARY = b"nutb"
NOT_PLAIN = (ValueError, LookupError, ArithmeticError, error)
"""What quick code raises when a row is to be read carefully."""
_length = Struct(">I").unpack_from


@lru_cache(maxsize=1000)
def quick_reader(types: tuple[PgType, ...]) -> Read:
    """Code that reads the columns of a row, beginning with the first one's kind: the row, and where it ends.

    It raises one of NOT_PLAIN for what it cannot read, and gives an end behind that of the message when that is too short.
    """
    # Each column begins five bytes before `p`, where its text would begin: a kind and four bytes of its length. Short texts are
    # cut out of `s`, the whole message as text, which is quicker than making a text of each.
    lines = ["def read(d, p):", " p += 5", " s = str(d, 'latin-1')" if any(kind.short for kind in types) else ""]
    names: dict[str, object] = {"length": _length, "UNCHANGED": Missing.UNCHANGED}
    for number, kind in enumerate(types):
        value = "s[p:q]" if kind.short else "d[p:q].decode()"
        if kind.convert is not None:
            names[f"c{number}"] = kind.convert
            value = f"c{number}({value})"
        lines += [
            f" if d[p-5] == {TEXT}:",
            "  q = p + d[p-1]" if kind.short else "  q = p + length(d, p-4)[0]",
            f"  v{number} = {value}",
            "  p = q + 5",
            f" elif d[p-5] == {NULL}:",
            f"  v{number} = None",
            "  p += 1",
            f" elif d[p-5] == {UNCHANGED}:",
            f"  v{number} = UNCHANGED",
            "  p += 1",
            " else:",
            "  raise ValueError",
        ]
    lines.append(f" return ({''.join(f'v{number},' for number in range(len(types)))}), p - 5")
    # Only numbers and fixed words are in it: nothing that comes from the server.
    exec("\n".join(lines), names)  # noqa: S102
    read: Read = names["read"]  # type: ignore[assignment]
    return read


def read_carefully(columns: Sequence[tuple[str, PgType]], data: bytes, at: int) -> tuple[Row, int]:
    """The same for any row, column by column.

    Raises:
        BadMessage: says which column is wrong.
    """
    row: list[object] = []
    for name, kind in columns:
        if at >= len(data):
            refuse(f"the row ends before column {name!r}", data, at)
        if data[at] == NULL:
            row.append(None)
            at += 1
        elif data[at] == UNCHANGED:
            row.append(Missing.UNCHANGED)
            at += 1
        else:
            row.append(_value(name, kind, data, at))
            at += 5 + _length(data, at + 1)[0]
    return tuple(row), at


def _value(name: str, kind: PgType, data: bytes, at: int) -> object:
    if data[at] == BINARY:
        refuse(f"column {name!r} is in binary form, which is not asked for (the option binary of pgoutput)", data, at)
    if data[at] != TEXT:
        refuse(f"column {name!r} is of no kind that there is", data, at)
    if at + 5 > len(data) or at + 5 + (length := _length(data, at + 1)[0]) > len(data):
        refuse(f"column {name!r} is longer than the message", data, at)
    try:
        return kind.read(data[at + 5 : at + 5 + length].decode())
    except (ValueError, LookupError, ArithmeticError) as found:
        refuse(f"the value of column {name!r} is none of its type: {str(found)[:200]}", data, at)
