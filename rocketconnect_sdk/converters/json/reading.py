"""JSON without a schema: the one reading that files, converters, sinks and transforms have of it.

An object that has a name twice is refused: the first value would be lost in silence. Names differ by case. Whole numbers are whole
numbers of any size, up to _DIGITS digits. Others are floating point numbers of 64 bits, or decimals where one of these would be
another number. What is beyond such numbers is refused, and so are NaN, half characters, and what is nested too deep.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite

import msgspec
import numpy as np

from rocketconnect_sdk.converters.json.names import AT_ONCE, Data, check_names, data_has_surplus, data_of
from rocketconnect_sdk.errors import RecordError

_DIGITS = 4300
"""So many digits of a number are read: turning them into one takes time that grows with the square of their length."""
_SHORT = 16
"""Of so many characters a number has at most as many digits as 64 bits keep of any."""
_RUN = 8
"""A number of more digits than 64 bits keep of any has so many before its point, or behind it."""
_LEAST, _MOST = 1e-300, 1e300
"""Numbers between these are far from the ends of what 64 bits hold."""
_SHOWN = 40
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_PLACE, _WORD = re.compile(r"\(byte ([0-9]+)\)"), re.compile(rb"NaN|Infinity")
_HALVES = ("Input data was truncated", "surrogate")
"""What msgspec says of half a character, and of other things."""
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What is raised for texts that are no JSON."""


def value_of(text: bytes | str) -> object:
    """The value of a JSON text.

    Raises:
        NotJson: it is no JSON, or holds a number that cannot be read.
        RecordError: an object has a name twice.
    """
    return _checked(text, _decode_exactly)


def decimals_of(text: bytes | str) -> object:
    """The same, with a decimal for each number that is not whole: for who knows its type. Raises as value_of."""
    return _checked(text, _decode_decimals)


def values_of(texts: Sequence[bytes]) -> list[object] | None:
    """The values of many texts at once; None: read each by value_of, for at least one may be bad."""
    found: list[object] = []
    try:
        for begin in range(0, len(texts), AT_ONCE):
            some = texts[begin : begin + AT_ONCE]
            data = data_of(some)
            values = list(map(_decode_exactly if _may_be_rounded(data) else _decode, some))
            if data_has_surplus(data, values, None):
                return None
            found += values
    except UNREADABLE:
        return None
    return found


def check_text(text: bytes | str) -> None:
    """Whether a text that stays as it is is JSON. A name may stand in it twice: nothing is lost of it.

    Raises:
        NotJson: it is none.
    """
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except UNREADABLE as error:
        raise NotJson(why(error, text)) from None


class NotJson(RecordError):
    """A text is no JSON; says why."""


def why(error: BaseException, text: bytes | str) -> str:
    """What to say of what msgspec, or the conversion of numbers, found wrong with a text."""
    raw = text if isinstance(text, bytes) else text.encode(errors="replace")
    match error:
        case RecursionError():
            return "it is nested too deep"
        case UnicodeDecodeError():
            return f"it is no UTF-8: {error.reason} at byte {error.start}"
        case UnicodeEncodeError():
            return f"it has half of a character (a surrogate), U+{ord(error.object[error.start]):04X}, which is no text"
        case msgspec.ValidationError():
            return str(error)[:500].replace("Integer value out of range", f"a whole number has more than {_DIGITS} digits")
        case msgspec.DecodeError():
            return _no_number(error, raw) or _half(error, raw) or str(error)[:500]
    return str(error)[:500]


def _checked(text: bytes | str, decode: Callable[[bytes], object]) -> object:
    try:
        raw = text.encode() if isinstance(text, str) else text
        value = decode(raw)
        check_names(raw, value)
    except UNREADABLE as error:
        raise NotJson(why(error, text)) from None
    return value


def _no_number(error: msgspec.DecodeError, text: bytes) -> str:
    """What to say where reading ended at a word that other programs write for a number; empty: it did not."""
    found = _PLACE.search(str(error))
    word = _WORD.match(text, int(found[1])) if found else None
    if word is None:
        return ""
    name = f"{'-' if text[: word.start()].endswith(b'-') else ''}{word[0].decode()}"
    return f'{name} is none of its numbers; write "{name}"'


def _half(error: msgspec.DecodeError, text: bytes) -> str:
    """What to say of the first half of a character that a text has as an escape; empty: it has none."""
    if not any(each in str(error) for each in _HALVES):
        return ""
    high: tuple[int, bytes] | None = None
    for found in _ESCAPE.finditer(text):
        code = int(found[1], 16) if found[1] else 0
        is_low = 0xDC00 <= code < 0xE000
        if high is not None and is_low and found.start() == high[0] + len(high[1]):
            high = None
            continue
        alone = high or ((found.start(), found[0]) if is_low else None)
        if alone is not None:
            return _half_said(*alone)
        high = (found.start(), found[0]) if 0xD800 <= code < 0xDC00 else None
    return "" if high is None else _half_said(*high)


def _half_said(place: int, escape: bytes) -> str:
    return (
        f"{escape.decode()} at byte {place} is half of a character (a surrogate), and its other half is not beside it: "
        "write both halves, or the character itself"
    )


def _may_be_rounded(data: Data) -> bool:
    """Whether a number may have more digits than 64 bits keep, or be beyond them. False: none has, and none is."""
    points = np.flatnonzero(data == _POINT)
    if len(points) and _have_long_runs(data, points):
        return True
    # A number with an exponent may be of any size, and have its digits without a point.
    return bool(np.any(_is_digit(data[:-1]) & ((data[1:] | _LOWER) == _EXPONENT)))


def _have_long_runs(data: Data, points: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> bool:
    ahead, behind = points[points + _RUN < len(data)], points[points >= _RUN]
    return _have_run(data, ahead, 1) or _have_run(data, behind, -1)


def _have_run(data: Data, points: "np.ndarray[tuple[int], np.dtype[np.intp]]", way: int) -> bool:
    # Short runs end at once where their far end is looked at first.
    for step in range(_RUN, 0, -1):
        points = points[_is_digit(data[points + way * step])]
        if not len(points):
            return False
    return True


def _is_digit(data: Data) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    # What is below "0" is large without a sign.
    return (data - _ZERO) < _TEN


def _number(text: str) -> float | Decimal:
    number = float(text)
    if (len(text) <= _SHORT and _LEAST < abs(number) < _MOST) or repr(number) == text:
        return number
    exact = _decimal(text)
    return number if exact == Decimal(repr(number)) else exact


def _decimal(text: str) -> Decimal:
    if len(text) > _DIGITS:
        msg = f"the number {text[:_SHOWN]}... has more than {_DIGITS} digits"
        raise ValueError(msg)
    exact, number = Decimal(text), float(text)
    if not isfinite(number) or (number == 0 and exact != 0):
        msg = f"the number {text[:_SHOWN]} is beyond those of 64 bits: write it as text"
        raise ValueError(msg)
    return exact


_POINT, _EXPONENT = map(ord, ".e")
_ZERO, _TEN, _LOWER = np.uint8(ord("0")), np.uint8(10), np.uint8(0x20)
_decode = msgspec.json.Decoder().decode
_decode_exactly = msgspec.json.Decoder(float_hook=_number).decode
_decode_decimals = msgspec.json.Decoder(float_hook=_decimal).decode
