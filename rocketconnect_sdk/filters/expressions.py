"""RocketMQ's SQL92 expressions over the properties of messages: whether one is written as brokers read it. Pure.

Brokers stop reading where an expression could end, and say nothing of what follows: `n LIKE '%3'` is for them whether the property
n is true, and what nobody meant is left out in silence. Here all of it has to be an expression.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

_TOKENS = re.compile(
    r"(?P<space>\s+|--[^\n\r]*[\n\r]|/\*.*?\*/)"
    r"|(?P<number>\d+\.\d*(?:E[+-]?\d+)?|\.\d+(?:E[+-]?\d+)?|\d+E[+-]?\d+|0|[1-9]\d*L?)"
    r"|(?P<text>'(?:''|[^'])*')"
    r"|(?P<name>[A-Z_$][A-Z0-9_$]*)"
    r"|(?P<sign><>|<=|>=|[=<>(),+-])",
    re.IGNORECASE | re.DOTALL,
)
_WORDS = frozenset({"AND", "BETWEEN", "CONTAINS", "ENDSWITH", "FALSE", "IN", "IS", "NOT", "NULL", "OR", "STARTSWITH", "TRUE"})
_OF_TEXT = ("CONTAINS", "STARTSWITH", "ENDSWITH")
_ORDERED = (">", ">=", "<", "<=")
_HINTS: Mapping[str, str] = {
    "!": "unequal is written <>",
    '"': "texts stand in single quotes, names of properties in none",
    "`": "names of properties stand in no quotes",
    "'": "a text that begins there does not end; a quote in a text is written twice",
    ".": "names of properties have letters, digits, _ and $ alone",
    "LIKE": "there is no LIKE: CONTAINS 'x', STARTSWITH 'x' and ENDSWITH 'x' are there",
    "-": "there is no arithmetic, and names of properties have letters, digits, _ and $ alone",
    "+": "there is no arithmetic",
}
_SHOWN = 40


class _Kind(Enum):
    BOOLEAN = auto()
    PROPERTY = auto()
    VALUE = auto()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    """Of a word in capitals."""
    at: int


class _Unreadable(Exception):
    """Says what is wrong."""


def expression_problem(expression: str) -> str | None:
    """What is wrong with an expression, as far as it can be told without a broker; None: nothing."""
    if not expression.strip():
        return "is empty"
    try:
        _Reader(expression).read()
    except _Unreadable as error:
        return str(error)
    except RecursionError:
        return "has too many brackets or NOTs in each other"
    return None


def _tokens(expression: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(expression):
        match = _TOKENS.match(expression, at)
        if match is None:
            raise _Unreadable(_at(expression, at, "is no part of an expression"))
        kind, text = match.lastgroup or "", match[0]
        if kind == "name" and text.upper() in _WORDS:
            kind, text = "word", text.upper()
        if kind != "space":
            found.append(_Token(kind, text, at))
        at = match.end()
    return found


def _at(expression: str, at: int, what: str) -> str:
    rest = expression[at : at + _SHOWN]
    hint = next((told for begin, told in _HINTS.items() if rest.upper().startswith(begin)), "")
    return f"from character {at + 1} on ({rest}): {what}" + (f"; {hint}" if hint else "")


class _Reader:
    """Reads as the grammar of RocketMQ 5.5 does, one method for each of its rules."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._left = _tokens(expression)[::-1]

    def read(self) -> None:
        """All of it."""
        first = self._peek()
        kind = self._or()
        if self._left:
            self._fail("nothing can follow there, so brokers would read what is before it alone")
        self._boolean(kind, first)

    def _or(self) -> _Kind:
        return self._joined("OR", self._and)

    def _and(self) -> _Kind:
        return self._joined("AND", self._equality)

    def _joined(self, word: str, part: Callable[[], _Kind]) -> _Kind:
        first = self._peek()
        kind = part()
        while self._took(word):
            self._boolean(kind, first)
            first = self._peek()
            self._boolean(part(), first)
            kind = _Kind.BOOLEAN
        return kind

    def _equality(self) -> _Kind:
        kind = self._comparison()
        while True:
            if self._took("=") or self._took("<>"):
                self._comparison()
            elif self._took("IS"):
                self._took("NOT")
                self._take("NULL")
            else:
                return kind
            kind = _Kind.BOOLEAN

    def _comparison(self) -> _Kind:
        kind = self._unary()
        while True:
            negated = self._took("NOT")
            if not negated and any(self._took(sign) for sign in _ORDERED):
                self._unary()
            elif any(self._took(word) for word in _OF_TEXT):
                self._text()
            elif self._took("BETWEEN"):
                self._unary()
                self._take("AND")
                self._unary()
            elif self._took("IN"):
                self._texts()
            elif negated:
                self._fail("CONTAINS, STARTSWITH, ENDSWITH, BETWEEN or IN follows a NOT behind a value")
            else:
                return kind
            kind = _Kind.BOOLEAN

    def _unary(self) -> _Kind:
        if self._took("+") or self._took("-"):
            return self._unary()
        if self._took("NOT"):
            first = self._peek()
            self._boolean(self._unary(), first)
            return _Kind.BOOLEAN
        return self._primary()

    def _primary(self) -> _Kind:
        token = self._peek()
        if token is None:
            self._fail("")
        if self._took("("):
            kind = self._or()
            self._take(")")
            return kind
        if token.kind in ("number", "text", "name"):
            self._left.pop()
            return _Kind.PROPERTY if token.kind == "name" else _Kind.VALUE
        if not any(self._took(word) for word in ("TRUE", "FALSE", "NULL")):
            self._fail("a property or a value is missing there")
        return _Kind.BOOLEAN

    def _texts(self) -> None:
        self._take("(")
        self._text()
        while self._took(","):
            self._text()
        self._take(")")

    def _text(self) -> None:
        token = self._peek()
        if token is None or token.kind != "text":
            self._fail("a text in single quotes is missing there")
        self._left.pop()

    def _peek(self) -> _Token | None:
        return self._left[-1] if self._left else None

    def _took(self, text: str) -> bool:
        token = self._peek()
        if token is None or token.kind not in ("word", "sign") or token.text != text:
            return False
        self._left.pop()
        return True

    def _take(self, text: str) -> None:
        if not self._took(text):
            self._fail(f"{text} is missing there")

    def _boolean(self, kind: _Kind, first: _Token | None) -> None:
        if kind is _Kind.VALUE and first is not None:
            raise _Unreadable(
                _at(self._expression, first.at, "is a value, and true or false is wanted: compare it with a property")
            )

    def _fail(self, what: str) -> NoReturn:
        token = self._peek()
        raise _Unreadable("ends where more has to follow" if token is None else _at(self._expression, token.at, what))
