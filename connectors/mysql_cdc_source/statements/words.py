"""The words of a statement, as the server that logged it takes it apart. Pure.

https://dev.mysql.com/doc/refman/8.4/en/comments.html and https://mariadb.com/kb/en/comment-syntax/
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

_ANSI_QUOTES, _NO_BACKSLASH_ESCAPES = 1 << 2, 1 << 20
"""In sql_mode, in the log of MySQL and of MariaDB."""
_SPACE = re.compile(r"\s+|--(?=\s|$)[^\n]*|#[^\n]*")
_VERSIONED = re.compile(r"/\*(M?)!(\d{5,6})?")
_BARE = re.compile(r"[\w$\x80-\U0010ffff]+")
_FIRST_OF_MYSQL_ALONE, _LAST_OF_MYSQL_ALONE = 50_700, 99_999


class Kind(Enum):
    """What a word is."""

    BARE = "bare"
    QUOTED = "quoted"
    TEXT = "text"
    SIGN = "sign"


class Word(NamedTuple):
    """A word.

    Attributes:
        kind: What it is.
        text: Without its quotes.
    """

    kind: Kind
    text: str


class Speech(NamedTuple):
    """How a server takes statements apart.

    Attributes:
        sql_mode: Of the session, as the log has it.
        version: Of the server, as 101106 for 10.11.6.
        mariadb: Whether it is MariaDB.
    """

    sql_mode: int = 0
    version: int = 0
    mariadb: bool = True

    def runs(self, version: int, *, of_mariadb: bool) -> bool:
        """Whether a comment for servers from a version on is a part of the statement."""
        if of_mariadb or not self.mariadb:
            return version <= self.version and (self.mariadb or not of_mariadb)
        return version <= self.version and not _FIRST_OF_MYSQL_ALONE <= version <= _LAST_OF_MYSQL_ALONE


def words(text: str, speech: Speech) -> Iterator[Word]:
    """The words in their order, without comments but those that the server runs; taken apart as far as somebody asks."""
    ansi, escapes = bool(speech.sql_mode & _ANSI_QUOTES), not speech.sql_mode & _NO_BACKSLASH_ESCAPES
    at, end, within = 0, len(text), False
    while at < end:
        sign = text[at]
        if found := _SPACE.match(text, at):
            at = found.end()
        elif found := _VERSIONED.match(text, at):
            if speech.runs(int(found[2] or 0), of_mariadb=bool(found[1])):
                at, within = found.end(), True
            else:
                at = _behind(text, "*/", at + 2)
        elif text.startswith("/*", at):
            at = _behind(text, "*/", at + 2)
        elif within and text.startswith("*/", at):
            at, within = at + 2, False
        elif sign in "'\"`":
            is_name = sign == "`" or (ansi and sign == '"')
            inner, at = _quoted(text, at, escapes=escapes and not is_name)
            yield Word(Kind.QUOTED if is_name else Kind.TEXT, inner)
        elif found := _BARE.match(text, at):
            yield Word(Kind.BARE, found[0])
            at = found.end()
        else:
            yield Word(Kind.SIGN, sign)
            at += 1


def _behind(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _quoted(text: str, start: int, *, escapes: bool) -> tuple[str, int]:
    """What is in quotes, and the place behind them."""
    quote, at, parts, since = text[start], start + 1, [], start + 1
    while at < len(text):
        if escapes and text[at] == "\\":
            at += 2
        elif text[at] != quote:
            at += 1
        elif text.startswith(quote * 2, at):
            parts.append(text[since : at + 1])
            at = since = at + 2
        else:
            break
    return "".join([*parts, text[since:at]]), at + 1
