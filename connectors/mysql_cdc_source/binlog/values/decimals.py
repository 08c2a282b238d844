"""DECIMAL: groups of nine digits in four bytes, shorter ones at both ends in fewer.

https://dev.mysql.com/doc/refman/8.4/en/precision-math-decimal-characteristics.html
"""

from collections.abc import Callable
from decimal import Decimal

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent

_SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def size_of(precision: int, scale: int) -> int:
    """How many bytes a DECIMAL(precision, scale) has.

    Raises:
        MalformedEvent: there is none of so many digits.
    """
    if scale > precision or precision > 65 or precision == 0:
        msg = f"a column says that it is DECIMAL({precision},{scale}); it has 1 to 65 digits, of which some are behind the point"
        raise MalformedEvent(msg)
    whole = precision - scale
    return whole // 9 * 4 + _SIZES[whole % 9] + scale // 9 * 4 + _SIZES[scale % 9]


def parts_of(precision: int, scale: int) -> list[tuple[int, int, int]]:
    """The groups of digits of a DECIMAL(precision, scale): the places of their bytes, and how many numbers a group can be."""
    groups, at = [], 0
    whole = precision - scale
    for digits in [whole % 9, *[9] * (whole // 9), *[9] * (scale // 9), scale % 9]:
        if digits:
            groups.append((at, at + _SIZES[digits], 10**digits))
            at += _SIZES[digits]
    return groups


def decimal(precision: int, scale: int) -> Callable[[bytes], Decimal]:
    """Reads DECIMAL(precision, scale), exactly.

    Raises:
        MalformedEvent: there is none of so many digits; and from the function that it gives: the bytes are none.
    """
    at, groups = size_of(precision, scale), parts_of(precision, scale)
    flip, sign = (1 << 8 * at) - 1, 1 << 8 * at - 1
    limit = 10**scale

    def read(raw: bytes) -> Decimal:
        packed = int.from_bytes(raw, "big")
        minus = "" if packed & sign else "-"
        packed = packed ^ sign if packed & sign else packed ^ flip ^ sign
        raw, digits = packed.to_bytes(at, "big"), 0
        for start, end, most in groups:
            group = int.from_bytes(raw[start:end], "big")
            if group >= most:
                msg = f"a DECIMAL({precision},{scale}) has more digits than that"
                raise MalformedEvent(msg)
            digits = digits * most + group
        if not scale:
            return Decimal(f"{minus}{digits}" if digits else "0")
        before, behind = divmod(digits, limit)
        return Decimal(f"{minus if digits else ''}{before}.{behind:0{scale}}")

    return read
