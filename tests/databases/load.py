"""Mixed changes of a database by chance: small and large transactions, of one row and of hundreds of thousands, keys that change,
tables that are truncated, definitions that change.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from random import Random
from typing import Any

from tests.databases.side import Definition, Side, Statement
from tests.databases.tables import Column, Table, Value

_INSERTED = 500
"""Rows of one INSERT."""
_RETRY_SECONDS = 120.0
KINDS = {
    "insert": 8,
    "many": 6,
    "update": 20,
    "range": 6,
    "delete": 8,
    "move": 6,
    "everything": 8,
    "touch": 4,
    "turn": 2,
    "everything-": 3,
    "words": 4,
    "rename": 2,
    "drafts": 6,
    "odd": 1,
}
"""How often what is done, beside the others."""
LARGE = "large"
"""The same of transactions that also delete, of which there are four."""


class Load:
    """Changes one database, transaction by transaction. For one thread.

    Args:
        side: The database.
        seed: Decides everything but time.
        rows: How many rows `orders` has before the first change.
        changes: How many changes of rows are wanted, all in all.
        large: Rows of the large transactions.

    Attributes:
        done: Changes of rows so far, those before the beginning not among them.
        odd: The ids of rows whose values the other database has no counterpart of.
    """

    def __init__(self, side: Side, seed: int, rows: int, changes: int, large: int) -> None:
        self._side = side
        self._tables = side.tables
        self._kinds = {kind: often for kind, often in KINDS.items() if kind not in side.leaves_out}
        self._chance = Random(seed)
        self._rows = rows
        self._changes = changes
        self._large = large
        self._connection: Any = None
        self._columns: dict[str, dict[str, Column]] = {table.name: dict(table.columns) for table in side.tables}
        self._next = rows + 1
        self._number = 0
        self.done = 0
        self.odd: set[int] = set()

    def fill(self) -> None:
        """Makes the tables, with rows."""
        tables = self._tables
        for table in tables.first:
            self._run([(table.definition, [])])
        for first in range(1, self._rows + 1, _INSERTED):
            last = min(first + _INSERTED, self._rows + 1)
            self._run([self._insert(tables.orders, [(number,) for number in range(first, last)])])
        for number in range(1, 1 + min(2_000, self._rows // 10)):
            self._run([self._insert(tables.everything, [(number % 50, number)])])
        self._run([self._insert(tables.words, [(f"Word {number}",) for number in range(min(1_000, self._rows // 10))])])

    def changes(self) -> Iterator[int]:
        """Makes the changes; how many are done after each transaction. Definitions change at parts of the way."""
        large = [] if LARGE in self._side.leaves_out else [self._changes * part // 5 for part in range(1, 5)]
        definitions = list(self._side.definitions())
        turns = [self._changes * (turn + 1) // (len(definitions) + 1) for turn in range(len(definitions))]
        while self.done < self._changes or definitions:
            if self.done >= (turns or [0])[0] and definitions:
                turns = turns[1:]
                self._define(definitions.pop(0))
            if large and self.done >= large[0]:
                large.pop(0)
                self._count(self._large_one())
            else:
                self._count(self._small_one())
            yield self.done

    def close(self) -> None:
        """Ends its connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _count(self, statements: Sequence[Statement]) -> None:
        self.done += self._run(statements)

    def _small_one(self) -> list[Statement]:
        """The statements of a transaction."""
        return [self._statement() for _ in range(self._chance.choice((1, 1, 2, 5, 20)))]

    def _statement(self) -> Statement:
        chance, tables = self._chance, self._tables
        key = chance.randrange(1, self._next)
        kind = chance.choices(list(self._kinds), list(self._kinds.values()))[0]
        made: dict[str, Callable[[], Statement]] = {
            "insert": lambda: self._insert(tables.orders, [(self._new(),)]),
            "many": lambda: self._insert(tables.orders, [(self._new(),) for _ in range(chance.randrange(2, 300))]),
            "update": lambda: (
                "UPDATE orders SET name = %s, int_u = %s WHERE id = %s",
                [f"to {key}", chance.randrange(1 << 32), key],
            ),
            "range": lambda: ("UPDATE orders SET price = %s WHERE id BETWEEN %s AND %s", [key, key, key + chance.randrange(500)]),
            "delete": lambda: ("DELETE FROM orders WHERE id BETWEEN %s AND %s", [key, key + chance.choice((0, 0, 30))]),
            "move": lambda: ("UPDATE orders SET id = %s WHERE id = %s", [self._new(), key]),
            "everything": lambda: self._replace(tables.everything, (chance.randrange(50), chance.randrange(2_000))),
            # Large values beside it do not change.
            "touch": lambda: ("UPDATE everything SET small = %s WHERE id = %s", [chance.randrange(99), chance.randrange(50)]),
            "turn": lambda: (
                "UPDATE everything SET id = %s WHERE id = %s AND part < %s",
                [self._new(), chance.randrange(50), chance.randrange(1_000)],
            ),
            "everything-": lambda: (
                "DELETE FROM everything WHERE id = %s AND part < %s",
                [chance.randrange(50), chance.randrange(-100, 100)],
            ),
            "words": lambda: self._replace(tables.words, (self._word(),)),
            "rename": self._rename,
            "drafts": lambda: self._replace(tables.drafts, (chance.randrange(1_000),)),
            "odd": self._odd,
        }
        return made[kind]()

    def _word(self) -> str:
        return f"Word {self._chance.randrange(1_000)}"

    def _rename(self) -> Statement:
        word = self._word()
        return self._side.renamed(word, self._chance.choice((word.upper(), f"{word} é")))

    def _odd(self) -> Statement:
        number = self._new()
        self.odd.add(number)
        return self._side.odd(number, self._chance)

    def _large_one(self) -> list[Statement]:
        """The statements of one large transaction, of each kind a third."""
        part = max(1, self._large // 3)
        first, self._next = self._next, self._next + part
        return [
            self._side.many(first, first + part - 1),
            ("UPDATE orders SET int_u = %s WHERE id >= %s AND id < %s", [self._chance.randrange(1 << 32), first, first + part]),
            ("DELETE FROM orders WHERE id >= %s AND id < %s", [first + part // 10, first + part]),
        ]

    def _define(self, definition: Definition) -> None:
        self._run([(definition.statement, [])])
        held = self._columns[definition.table]
        for name, column in definition.columns.items():
            if column is None:
                del held[name]
            else:
                held[name] = column
        if definition.table == self._tables.later.name:
            self._count([self._insert(self._tables.later, [(number,) for number in range(200)])])
            self._count([("DELETE FROM later WHERE id < 50", [])])

    def _new(self) -> int:
        self._next += 1
        return self._next - 1

    def columns(self, table: Table) -> dict[str, Column]:
        """Those that it has now, behind its key."""
        return {**self._columns[table.name], **table.own}

    def _insert(self, table: Table, keys: Sequence[tuple[Value, ...]]) -> Statement:
        held = self._held(table)
        marks = f"({', '.join(['%s'] * len(self._names(table)))})"
        values = [value for key in keys for value in held.row(self._chance, key)]
        return f"INSERT INTO {table.name} ({', '.join(self._names(table))}) VALUES {', '.join([marks] * len(keys))}", values

    def _replace(self, table: Table, key: tuple[Value, ...]) -> Statement:
        names = self._names(table)
        before, behind = self._side.replaced(table, names)
        return f"{before} VALUES ({', '.join(['%s'] * len(names))}) {behind}", self._held(table).row(self._chance, key)

    def _held(self, table: Table) -> Table:
        return Table(table.name, table.key, self._columns[table.name])

    def _names(self, table: Table) -> list[str]:
        return [*table.key, *self._columns[table.name]]

    def _run(self, statements: Sequence[Statement]) -> int:
        """One transaction, again when the server was away before it was committed. Its changes.

        A server that dies in the commit leaves open whether it did it: then a marker in the transaction says so.
        """
        deadline = time.monotonic() + _RETRY_SECONDS
        self._number += 1
        while True:
            try:
                return self._transaction(statements)
            except Exception as error:
                if not self._side.is_lost(error) or time.monotonic() > deadline:
                    raise
                self._connection = None
                time.sleep(0.2)
                if self._is_done():
                    return 0

    def _transaction(self, statements: Sequence[Statement]) -> int:
        connection = self._opened()
        changed = 0
        with closing(connection.cursor()) as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO load_marks.done VALUES (%s)", [self._number])
            for statement, values in statements:
                cursor.execute(statement, values or None)
                changed += max(0, cursor.rowcount)
            cursor.execute("COMMIT")
        return changed

    def _opened(self) -> Any:
        if self._connection is None:
            made = self._side.connect()
            with closing(made.cursor()) as cursor:
                cursor.execute("CREATE SCHEMA IF NOT EXISTS load_marks")
                cursor.execute("CREATE TABLE IF NOT EXISTS load_marks.done (number BIGINT PRIMARY KEY)")
            self._connection = made
        return self._connection

    def _is_done(self) -> bool:
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            try:
                with closing(self._opened().cursor()) as cursor:
                    cursor.execute("SELECT 1 FROM load_marks.done WHERE number = %s", [self._number])
                    return cursor.fetchone() is not None
            except Exception as error:
                if not self._side.is_lost(error) or time.monotonic() > deadline:
                    raise
                self._connection = None
                time.sleep(0.2)
