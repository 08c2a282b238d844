"""Regular expressions of Java as those of Python: the same text means the same, or it is refused. Pure."""

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NoReturn

_SPACE = r" \t\n\x0b\f\r"
_LETTERED = {
    "d": "0-9",
    "w": "a-zA-Z_0-9",
    "s": _SPACE,
    "h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\x0b\f\r\x85\u2028\u2029",
}
r"""What stands in brackets for a letter behind a backslash. Python's have more than ASCII, and its \v is one character."""
_NAMED = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": _SPACE,
}
_CATEGORY = re.compile("(?:Is|gc=|general_category=)?(L|M|N|P|S|Z|C|L[ulmto]|M[nce]|N[dlo]|P[cdseifo]|S[mcko]|Z[slp]|C[cf])")
LAST = r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"
NO_BOUNDARY = r"(?!\b)"
"""Not \\B itself: Python's is not in an empty text."""
_PLACES = {"A": r"\A", "z": r"\Z", "Z": LAST, "b": r"\b", "B": NO_BOUNDARY, "R": r"(?>\r\n|[\n\x0b\f\r\x85\u2028\u2029])"}
_LINE_BEGINS = r"(?:(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))(?!\Z))"
_LINE_ENDS = r"(?=\r\n|(?<!\r)\n|[\r\x85\u2028\u2029]|\Z)"
_IN_LINE = r"[^\n\r\x85\u2028\u2029]"
_LINE_END = re.compile(r"[\n\r\x85\u2028\u2029]")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_NAME = "([a-zA-Z][a-zA-Z0-9_]*)"
_OPENS = re.compile(rf"\((?!\?)|\(\?(?:[=!>]|<[=!]|P?<{_NAME}>)")
_NAMED_AGAIN = re.compile(rf"\\k<{_NAME}>")
_SAME_GROUP = re.compile(rf"\(\?P={_NAME}\)")
_PROPERTY = re.compile(r"\\[pP](?:\{([^{}]*)\}|(.))", re.DOTALL)
_TIMES = re.compile(r"\{\d+(?:,\d*)?\}", re.ASCII)
_CODE = re.compile(r"\\(?:x\{([0-9a-fA-F]{1,8})\}|(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})|0([0-3]?[0-7]{1,2})|c(.))", re.DOTALL)
_LOW = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_SAME = {"a": r"\x07", "e": r"\x1b", "t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f"}
_DENIALS = ("(?!", "(?<!")


def as_python(pattern: str, flags: str = "") -> str:
    """The text that re.compile takes with re.ASCII for an expression of Java.

    Args:
        pattern: The expression.
        flags: Those that hold from its beginning, by the letters that (?…) has for them.

    Raises:
        re.error: it is none of Java, or one that Python has no counterpart of.
    """
    return _Translation(pattern, frozenset(flags)).whole()


@dataclass(slots=True)
class _Group:
    """One that is open.

    Attributes:
        flags: Those around it.
        wrapped: Those that were set within stand in a group of their own.
        denied: It is within a negative look-around.
        before: How many groups that capture began before it.
    """

    flags: frozenset[str]
    wrapped: bool = False
    denied: bool = False
    before: int = 0


class _Translation:
    def __init__(self, pattern: str, flags: frozenset[str]) -> None:
        self._pattern, self._at = pattern, 0
        self._made: list[str] = []
        self._count = 0
        self._captures = False
        """Whether there is a group that captures in what a repeat that comes next would repeat."""
        self._is_repeated = False
        self._open = [_Group(frozenset())]
        self._flags = frozenset[str]()
        self._set(flags)

    def whole(self) -> str:
        while self._at < len(self._pattern):
            self._next(self._pattern[self._at])
        if len(self._open) > 1:
            self._refuse("a ( that no ) closes")
        return "".join([*self._made, ")" if self._open[0].wrapped else ""])

    def _refuse(self, what: str) -> NoReturn:
        raise re.error(what, self._pattern, self._at)

    def _take(self, count: int, made: str) -> None:
        self._at += count
        self._made.append(made)

    def _next(self, sign: str) -> None:
        if sign not in "{*+?":
            self._captures = self._is_repeated = False
        match sign:
            case "\\":
                self._escaped()
            case "[":
                self._brackets()
            case "(":
                self._begin()
            case ")":
                self._end()
            case "|":
                # Flags hold for all alternatives behind them.
                self._take(1, f")|{_opened(self._flags)}" if self._open[-1].wrapped else "|")
            case ".":
                self._take(1, "(?s:.)" if "s" in self._flags else _IN_LINE)
            case "^":
                self._take(1, _LINE_BEGINS if "m" in self._flags else r"\A")
            case "$":
                self._take(1, _LINE_ENDS if "m" in self._flags else LAST)
            case "{" | "*" | "+" | "?":
                self._repeat(sign)
            case "#" if "x" in self._flags:
                end = _LINE_END.search(self._pattern, self._at)
                self._at = end.start() if end else len(self._pattern)
            case _:
                self._take(1, "" if "x" in self._flags and sign in " \t\n\x0b\f\r" else re.escape(sign))

    def _repeat(self, sign: str) -> None:
        times = _TIMES.match(self._pattern, self._at)
        if sign == "{" and times is None:
            self._refuse(r"a { that no number of times follows (the sign itself is \{)")
        if sign == "+" and self._is_repeated and self._captures:
            self._refuse(
                "a group in what + repeats for good, in which Java keeps what it tried, has no counterpart here: write (?:…)"
            )
        self._is_repeated = True
        self._take(len(times[0]) if times else 1, times[0] if times else sign)

    def _set(self, flags: frozenset[str]) -> None:
        """From here to the end of the group these flags hold."""
        if unknown := sorted(flags - {*"imsuxU"}):
            self._refuse(f"the flag {unknown[0]}, which has no counterpart here")
        group = self._open[-1]
        if group.wrapped:
            self._made.append(")")
        self._flags, group.wrapped = flags, flags != group.flags
        if group.wrapped:
            self._made.append(_opened(flags))

    def _begin(self) -> None:
        text, at = self._pattern, self._at
        if found := _SAME_GROUP.match(text, at):
            self._take(len(found[0]), f"(?P={found[1]})")
        elif found := _FLAGS.match(text, at):
            flags = (self._flags | {*found[1]}) - {*(found[2] or "")}
            if found[3] == ":":
                self._enter(len(found[0]), "(?:")
            else:
                self._at += len(found[0])
            self._set(flags)
        elif found := _OPENS.match(text, at):
            captures = found[0] == "(" or found[1] is not None
            if captures and self._open[-1].denied:
                self._refuse(
                    "a group within (?!…) or (?<!…), in which Java keeps what it tried, has no counterpart here: write (?:…)"
                )
            self._count += captures
            self._enter(len(found[0]), f"(?P<{found[1]}>" if found[1] else found[0], captures=captures)
        else:
            self._refuse(f"{text[at : at + 4]}, which begins no group of Java")

    def _enter(self, count: int, made: str, *, captures: bool = False) -> None:
        self._take(count, made)
        denied = self._open[-1].denied or made in _DENIALS
        self._open.append(_Group(self._flags, denied=denied, before=self._count - captures))

    def _end(self) -> None:
        if len(self._open) == 1:
            self._refuse("a ) that closes no (")
        group = self._open.pop()
        self._take(1, "))" if group.wrapped else ")")
        self._flags, self._captures = group.flags, self._count > group.before

    def _escaped(self) -> None:
        text, at = self._pattern, self._at
        sign = text[at + 1 : at + 2]
        made = self._character()
        made = self._shorthand(sign) if made is None else made
        if made is not None:
            self._made.append(made)
        elif sign in _PLACES and text[at + 2 : at + 3] != "{":
            if sign in "bB" and self._flags & {*"uU"}:
                self._refuse(f"\\{sign} with the flag u or U: write out the characters")
            self._take(2, _PLACES[sign])
        elif found := _NAMED_AGAIN.match(text, at):
            self._take(len(found[0]), f"(?P={found[1]})")
        elif sign and sign in "123456789":
            end = at + 2
            while text[end : end + 1].isascii() and text[end : end + 1].isdigit() and int(text[at + 1 : end + 1]) <= self._count:
                end += 1
            self._take(end - at, f"(?:\\{text[at + 1 : end]})")
        else:
            self._refuse(f"\\{sign}, which has no counterpart here" if sign else "a \\ at the end")

    def _shorthand(self, sign: str) -> str | None:
        """What a letter behind a backslash, or a property, stands for outside of brackets."""
        of = self._some(sign)
        if of is None:
            return None
        return f"[{'^' if sign.isupper() else ''}{of}]"

    def _some(self, sign: str) -> str | None:
        """The characters that a letter behind a backslash, or a property, means, in lower case; None: it is neither."""
        found = _PROPERTY.match(self._pattern, self._at)
        if found is None and sign.lower() not in _LETTERED:
            return None
        if self._flags & {*"uU"} and (found or sign.lower() in "dws"):
            self._refuse(f"\\{sign} with the flag u or U: write out the characters")
        if found is None:
            self._at += 2
            return _LETTERED[sign.lower()]
        name = found[1] or found[2]
        if name in ("Lower", "Upper", "Lu", "Ll", "Lt") and "i" in self._flags:
            self._refuse(f"{found[0]} with the flag i, which means other things to other versions of Java")
        if name in _NAMED:
            of = _NAMED[name]
        elif category := _CATEGORY.fullmatch(name):
            of = _of_category(category[1])
        else:
            self._refuse(f"{found[0]}, which has no counterpart here: write out the characters")
        self._at += len(found[0])
        return of

    def _character(self) -> str | None:
        """A single character that a backslash begins."""
        text, at = self._pattern, self._at
        sign = text[at + 1 : at + 2]
        if sign == "Q":
            end = text.find("\\E", at)
            quoted = text[at + 2 : end if end >= 0 else len(text)]
            self._at += len(quoted) + (4 if end >= 0 else 2)
            return re.escape(quoted)
        if found := _CODE.match(text, at):
            self._at = found.end()
            return self._of_code(found)
        if sign in _SAME or (sign and not (sign.isascii() and sign.isalnum())):
            self._at += 2
            return _SAME.get(sign) or re.escape(sign)
        return None

    def _of_code(self, found: "re.Match[str]") -> str:
        if found[4]:
            return re.escape(chr(ord(found[4]) ^ 64))
        code = int(found[3], 8) if found[3] else int(found[1] or found[2][1:], 16)
        if 0xD800 <= code < 0xDC00 and (low := _LOW.match(self._pattern, self._at)):
            self._at = low.end()
            code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if code > sys.maxunicode or 0xD800 <= code < 0xE000:
            self._refuse(f"{found[0]}, which is no character")
        return re.escape(chr(code))

    def _brackets(self) -> None:
        text = self._pattern
        begin = "[^" if text.startswith("[^", self._at) else "["
        self._take(len(begin), begin)
        first = self._at
        while (sign := text[self._at : self._at + 1]) != "]" or self._at == first:
            if not sign:
                self._refuse("a [ that no ] closes")
            if sign == "\\":
                self._made.append(self._in_brackets())
            elif sign == "[" or text.startswith("&&", self._at):
                self._refuse(
                    f"{sign} within brackets, which joins or intersects: write out the characters (the sign itself is \\{sign})"
                )
            elif "x" in self._flags and sign in " \t\n\x0b\f\r#":
                self._refuse("white space or # within brackets, with the flag x: write \\ before it")
            else:
                self._take(1, sign if sign == "-" else re.escape(sign))
        self._take(1, "]")

    def _in_brackets(self) -> str:
        sign = self._pattern[self._at + 1 : self._at + 2]
        if (made := self._character()) is not None:
            return made
        negated = {"D": r"\D", "W": r"\W", "S": r"\S"}
        if sign in negated and not self._flags & {*"uU"}:
            self._at += 2
            return negated[sign]
        made = None if sign.isupper() else self._some(sign)
        if made is None:
            self._refuse(f"\\{sign} within brackets, which has no counterpart here: write out the characters")
        return made


def _opened(flags: frozenset[str]) -> str:
    return f"(?{'u' if flags & {*'uU'} else 'a'}{'i' if 'i' in flags else '-i'}:"


@lru_cache(maxsize=64)
def _of_category(name: str) -> str:
    """The characters of a general category of Unicode, as they stand in brackets."""
    codes = (code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(name))
    runs = ([code for _, code in run] for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]))
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)
