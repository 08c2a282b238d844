"""What a statement of the log does to rows, of which the log has none. Pure.

With binlog_format=ROW the log has the rows that statements insert, update and delete, and statements that define things. Some of
these change rows all the same: TRUNCATE, partitions that are dropped, columns of another type. In a session with another format
all statements are there in the place of their rows.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from connectors.mysql_cdc_source.statements.words import Kind, Speech, Word, words
from connectors.mysql_cdc_source.tables import Name

ALL_TABLES = ""
"""In the place of the table: all of a database."""
_END = Word(Kind.SIGN, "")
_NEITHER = frozenset(
    [
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
        "START",
        "XA",
        "FLUSH",
        "GRANT",
        "REVOKE",
        "SET",
        "LOCK",
        "UNLOCK",
        "ANALYZE",
        "CHECK",
        "OPTIMIZE",
    ]
)
_MODIFIERS = frozenset(["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "QUICK"])
_CHANGES = frozenset(["INSERT", "REPLACE", "UPDATE", "DELETE"])
_RUNS_OTHERS = frozenset(["SELECT", "DO", "CALL", "EXECUTE", "VALUES"])
"""What is logged because of functions that it calls, which may change any table."""
_NO_COLUMNS = frozenset(["INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "PARTITION", "PERIOD", "CONSTRAINT"])
_GIVES_VALUES = frozenset(["NOT", "AS", "GENERATED", "AUTO_INCREMENT", "SERIAL", "PRIMARY", "TIMESTAMP"])
_OTHER_ROWS = frozenset(["TRUNCATE", "EXCHANGE", "DISCARD", "IMPORT", "MODIFY", "CHANGE", "CONVERT"])


class Told(NamedTuple):
    """Rows are others than the log's rows say.

    Attributes:
        name: Of which table; None: nobody knows. Without the name of a table: of all in the database.
        what: By which statement, in its keywords: no values are in it.
    """

    name: Name | None
    what: str


class Effects(NamedTuple):
    """What a statement does.

    Attributes:
        emptied: The table of which it removes all rows.
        told: What else becomes of rows.
        defines: Whether it may have changed definitions.
    """

    emptied: Name | None = None
    told: tuple[Told, ...] = ()
    defines: bool = False


def effects_of(text: str, schema: str, speech: Speech) -> Effects:
    """What a statement does.

    Args:
        text: The statement.
        schema: The database that it runs in.
        speech: How the server takes it apart.
    """
    return _statement(_Reader(words(text, speech), schema))


class _Reader:
    """Reads words in turn."""

    def __init__(self, source: Iterator[Word], schema: str) -> None:
        self._source = source
        self._held: list[Word] = []
        self._schema = schema

    def peek(self, further: int = 0) -> Word:
        while len(self._held) <= further:
            self._held.append(next(self._source, _END))
        return self._held[further]

    def next(self) -> Word:
        word = self.peek()
        del self._held[0]
        return word

    @property
    def ended(self) -> bool:
        return self.peek() == _END or self.peek() == Word(Kind.SIGN, ";")

    def key(self, further: int = 0) -> str:
        """The next word as a keyword; empty: it is none."""
        return _key(self.peek(further))

    def take(self, *keys: str) -> bool:
        """Whether these keywords come next; they are passed then."""
        if any(self.key(place) != key for place, key in enumerate(keys)):
            return False
        for _ in keys:
            self.next()
        return True

    def pass_any(self, keys: frozenset[str]) -> None:
        while self.key() in keys:
            self.next()

    def name(self) -> Name | None:
        """Of a table; None: there is none here."""
        if self.peek().kind not in {Kind.BARE, Kind.QUOTED}:
            return None
        first = self.next().text
        if self.peek() == _POINT and self.peek(1).kind in {Kind.BARE, Kind.QUOTED}:
            self.next()
            return Name(first, self.next().text)
        return Name(self._schema, first)

    def names(self) -> list[Name]:
        """Names with commas between them."""
        found = []
        while (name := self.name()) is not None:
            found.append(name)
            if self.peek().text != ",":
                break
            self.next()
        return found

    def rest(self) -> list[Word]:
        found = []
        while not self.ended:
            found.append(self.next())
        return found

    def pass_wait(self) -> None:
        if self.take("WAIT"):
            self.next()
        else:
            self.take("NOWAIT")

    def sources(self, *ends: str) -> list[Name]:
        """The tables that are joined, up to one of these keywords or the end. Those of queries within are left out."""
        found, wanted, depth = [], True, 0
        while not self.ended and not (depth == 0 and self.key() in ends):
            word = self.peek()
            if word.text == "(" and word.kind is Kind.SIGN and self.key(1) in {"SELECT", "WITH", "VALUES"}:
                self._pass_parentheses()
                wanted = False
            elif wanted and word.kind is not Kind.SIGN and (name := self.name()) is not None:
                found.append(name)
                wanted = False
            else:
                if word.kind is Kind.SIGN:
                    depth += {"(": 1, ")": -1}.get(word.text, 0)
                wanted = wanted or (word.text == "," and depth == 0) or _key(word) in {"JOIN", "STRAIGHT_JOIN"}
                self.next()
        return found

    def _pass_parentheses(self) -> None:
        depth = 0
        while not self.ended:
            word = self.next()
            if word.kind is Kind.SIGN:
                depth += {"(": 1, ")": -1}.get(word.text, 0)
            if depth == 0:
                return


_POINT = Word(Kind.SIGN, ".")


def _key(word: Word) -> str:
    return word.text.upper() if word.kind is Kind.BARE else ""


def _statement(reader: _Reader) -> Effects:
    if reader.take("SET", "STATEMENT"):
        while not reader.ended and not reader.take("FOR"):
            reader.next()
        return _statement(reader)
    first = reader.key()
    if first in {"ANALYZE", "WITH"}:
        # The statement that is looked at, or that has named queries before it.
        return _within(reader)
    if read := _STATEMENTS.get(first):
        reader.next()
        return read(reader)
    if first in _RUNS_OTHERS:
        return Effects(told=(Told(None, first),))
    return Effects(defines=first not in _NEITHER)


def _within(reader: _Reader) -> Effects:
    depth = 0
    while not reader.ended:
        if depth == 0 and reader.key() in _CHANGES:
            return _statement(reader)
        word = reader.next()
        depth += {"(": 1, ")": -1}.get(word.text, 0) if word.kind is Kind.SIGN else 0
    return Effects()


def _told(what: str, *names: Name | None, defines: bool = False) -> Effects:
    return Effects(told=tuple(Told(name, what) for name in dict.fromkeys(names) if name is not None), defines=defines)


def _truncate(reader: _Reader) -> Effects:
    reader.take("TABLE")
    return Effects(emptied=reader.name())


def _create(reader: _Reader) -> Effects:
    replaces = reader.take("OR", "REPLACE")
    if reader.take("TEMPORARY"):
        return Effects()
    if not reader.take("TABLE"):
        return Effects(defines=True)
    reader.take("IF", "NOT", "EXISTS")
    name = reader.name()
    filled = any(_key(word) == "SELECT" for word in reader.rest())
    told = (Told(name, "CREATE TABLE ... SELECT"),) if filled and name is not None else ()
    return Effects(name if replaces else None, told, defines=True)


def _drop(reader: _Reader) -> Effects:
    if reader.take("TEMPORARY"):
        return Effects()
    kind = _key(reader.next())
    reader.take("IF", "EXISTS")
    if kind in {"TABLE", "TABLES"}:
        return _told("DROP TABLE", *reader.names(), defines=True)
    if kind in {"DATABASE", "SCHEMA"}:
        return _told(f"DROP {kind}", Name(reader.next().text, ALL_TABLES), defines=True)
    if kind == "INDEX" and reader.next().text.upper() == "PRIMARY" and reader.take("ON"):
        return _told("DROP PRIMARY KEY", reader.name(), defines=True)
    return Effects(defines=True)


def _rename(reader: _Reader) -> Effects:
    if not (reader.take("TABLE") or reader.take("TABLES")):
        return Effects(defines=True)
    reader.take("IF", "EXISTS")
    found: list[Name | None] = []
    while (name := reader.name()) is not None:
        reader.pass_wait()
        reader.take("TO")
        found += [name, reader.name()]
        if reader.peek().text != ",":
            break
        reader.next()
    return _told("RENAME TABLE", *found, defines=True)


def _alter(reader: _Reader) -> Effects:
    reader.take("ONLINE")
    ignores = reader.take("IGNORE")
    if not reader.take("TABLE"):
        return Effects(defines=True)
    reader.take("IF", "EXISTS")
    name = reader.name()
    reader.pass_wait()
    told: list[Told] = [Told(name, "ALTER IGNORE TABLE")] if ignores and name is not None else []
    while not reader.ended:
        action = _action(reader)
        told += _told(f"ALTER TABLE ... {action.what}", name, action.other).told if action.what else ()
    return Effects(told=tuple(dict.fromkeys(told)), defines=True)


class _Action(NamedTuple):
    """A part of ALTER TABLE.

    Attributes:
        what: How it changes rows; empty: it does not.
        other: Another table that it names.
    """

    what: str = ""
    other: Name | None = None


def _action(reader: _Reader) -> _Action:
    """The next part of ALTER TABLE, and the comma behind it."""
    first, second = reader.key(), reader.key(1)
    other = None
    if first == "RENAME" and second not in {"COLUMN", "INDEX", "KEY"}:
        reader.next()
        if not (reader.take("TO") or reader.take("AS")) and reader.peek().text == "=":
            reader.next()
        other = reader.name()
        second = "TO"
    what = ""
    depth, part = 0, []
    while not reader.ended and not (depth == 0 and reader.peek() == Word(Kind.SIGN, ",")):
        if _key(reader.peek()) == "TABLE" and first in {"EXCHANGE", "CONVERT"}:
            reader.next()
            other = reader.name()
            continue
        word = reader.next()
        depth += {"(": 1, ")": -1}.get(word.text, 0) if word.kind is Kind.SIGN else 0
        part.append(word)
    reader.next()
    keys = [_key(word) for word in part]
    if first in _OTHER_ROWS:
        what = f"{first} {second}" if second in {"PARTITION", "TABLESPACE"} else first
    elif first == "RENAME":
        what = f"RENAME {second}" if second in {"COLUMN", "TO"} else ""
    elif first == "ADD":
        what = _added(keys)
    elif first == "DROP":
        what = _dropped(second)
    elif first == "ENGINE" and "BLACKHOLE" in keys:
        what = "ENGINE=BLACKHOLE"
    return _Action(what, other)


def _added(keys: list[str]) -> str:
    second = keys[1] if len(keys) > 1 else ""
    if second == "PRIMARY" or (second == "CONSTRAINT" and "PRIMARY" in keys):
        return "ADD PRIMARY KEY"
    if second == "SYSTEM":
        return "ADD SYSTEM VERSIONING"
    if second in _NO_COLUMNS:
        return ""
    named = keys[1:]
    for passed in ("COLUMN", "IF", "NOT", "EXISTS"):
        named = named[1:] if named[:1] == [passed] else named
    has_default = any(one == "DEFAULT" and two != "NULL" for one, two in pairwise([*named, ""]))
    # What has none is null in all rows, as it is where a target adds the column.
    return "ADD COLUMN" if has_default or not _GIVES_VALUES.isdisjoint(named) else ""


def _dropped(second: str) -> str:
    if second in {"PARTITION", "SYSTEM", "PRIMARY"}:
        return {"PARTITION": "DROP PARTITION", "SYSTEM": "DROP SYSTEM VERSIONING", "PRIMARY": "DROP PRIMARY KEY"}[second]
    return "" if second in _NO_COLUMNS else "DROP COLUMN"


def _insert(reader: _Reader) -> Effects:
    reader.pass_any(_MODIFIERS | {"INTO"})
    return _told("INSERT", reader.name())


def _update(reader: _Reader) -> Effects:
    reader.pass_any(_MODIFIERS)
    return _told("UPDATE", *reader.sources("SET"))


def _delete(reader: _Reader) -> Effects:
    reader.pass_any(_MODIFIERS)
    if reader.key() == "HISTORY":
        return Effects()
    while not reader.ended and not reader.take("FROM"):
        reader.next()
    found = reader.sources("WHERE", "USING", "ORDER", "LIMIT", "RETURNING")
    if reader.ended and len(found) == 1:
        # So a server empties a table of MEMORY after it was started.
        return Effects(emptied=found[0])
    return _told("DELETE", *found)


def _load(reader: _Reader) -> Effects:
    while not reader.ended:
        if reader.take("INTO", "TABLE"):
            return _told("LOAD DATA", reader.name())
        reader.next()
    return Effects()


_STATEMENTS: dict[str, Callable[[_Reader], Effects]] = {
    "TRUNCATE": _truncate,
    "CREATE": _create,
    "DROP": _drop,
    "RENAME": _rename,
    "ALTER": _alter,
    "INSERT": _insert,
    "REPLACE": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
    "LOAD": _load,
}
