"""What is done to a database while both read its log. Pure: statements in their order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

END = "the_end"
"""A row in this table is the last change."""
LARGE = 2_000
"""The rows of a large transaction."""
EVOLVING = (
    {"id": 1, "a": 10},
    {"id": 2, "a": 20, "b": "new"},
    {"id": 1, "a": 10, "b": "late"},
    {"id": 3, "b": "no a"},
    {"id": 3, "c": "renamed"},
    {"id": 4, "c": "default", "d": 7},
)
"""The rows after each change of the table evolving, with the columns that it had then."""


@dataclass(frozen=True)
class Workload:
    """Statements for one kind of database; each is a transaction unless it says BEGIN.

    Attributes:
        tables: Makes the tables, and the rows that a snapshot finds.
        changes: What is done once the log is read.
    """

    tables: Sequence[str]
    changes: Sequence[str]


def typed(table: str, columns: Mapping[str, tuple[str, Sequence[str]]]) -> list[str]:
    """A table with a column of each type, and a row for each of their values: the shorter lists begin anew.

    Args:
        table: Its name.
        columns: The type and the literals of values, by name.
    """
    definitions = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    return [f"CREATE TABLE {table} (id INT PRIMARY KEY, {definitions})", *inserts(table, columns, 1)]


def inserts(table: str, columns: Mapping[str, tuple[str, Sequence[str]]], first: int) -> Iterator[str]:
    """A statement for each row, and one for a row of NULLs; ids begin with `first`."""
    rows = max(len(values) for _, values in columns.values())
    for row in range(rows):
        values = ", ".join(values[row % len(values)] for _, values in columns.values())
        yield f"INSERT INTO {table} VALUES ({first + row}, {values})"
    yield f"INSERT INTO {table} (id) VALUES ({first + rows})"


def singles(columns: Mapping[str, tuple[str, Sequence[str]]]) -> list[str]:
    """A table for each column, named as it is, with a column `a` of its type, and a row of each of its values."""
    return [
        statement
        for name, (kind, _) in columns.items()
        for statement in (f"CREATE TABLE {name} (id INT PRIMARY KEY, a {kind})", *single_rows({name: columns[name]}, 1))
    ]


def single_rows(columns: Mapping[str, tuple[str, Sequence[str]]], first: int) -> list[str]:
    """A row of each value in these tables; ids begin with `first`."""
    return [
        f"INSERT INTO {name} VALUES ({number}, {value})"
        for name, (_, values) in columns.items()
        for number, value in enumerate(values, first)
    ]


def updates(table: str, columns: Mapping[str, tuple[str, Sequence[str]]], row: int) -> Iterator[str]:
    """Each column of a row is changed by a statement of its own."""
    for name, (_, values) in columns.items():
        yield f"UPDATE {table} SET {name} = {values[-1]} WHERE id = {row}"


def common(series: str) -> Workload:
    """What both databases take.

    Args:
        series: The source of rows with a column `seq` from 1 to LARGE.
    """
    return Workload(
        tables=[
            "CREATE TABLE keyed (id INT, part VARCHAR(10), note VARCHAR(50), PRIMARY KEY (id, part))",
            "INSERT INTO keyed VALUES (1, 'a', 'there before'), (2, 'b', NULL)",
            "CREATE TABLE keyless (a INT, b VARCHAR(50))",
            "CREATE TABLE evolving (id INT PRIMARY KEY, a INT)",
            "CREATE TABLE large (id INT PRIMARY KEY, note VARCHAR(50))",
            f"CREATE TABLE {END} (id INT PRIMARY KEY)",
        ],
        changes=[
            "INSERT INTO keyed VALUES (3, 'c', 'one'), (4, 'd', 'two'), (5, 'ä€😀', '')",
            "UPDATE keyed SET note = 'changed' WHERE id = 1",
            "UPDATE keyed SET note = 'the same for all'",
            "UPDATE keyed SET note = 'the same for all'",
            "UPDATE keyed SET id = 30 WHERE id = 3",
            "UPDATE keyed SET part = 'z', note = 'key and value' WHERE id = 30",
            "DELETE FROM keyed WHERE id = 4",
            "INSERT INTO keyed VALUES (4, 'd', 'again')",
            "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, NULL)",
            # Of several tables in turns, with a part that never was.
            "BEGIN",
            "INSERT INTO keyed VALUES (6, 'e', 'first')",
            "INSERT INTO evolving VALUES (1, 10)",
            "SAVEPOINT here",
            "INSERT INTO keyed VALUES (7, 'f', 'never')",
            "ROLLBACK TO SAVEPOINT here",
            "UPDATE keyed SET note = 'second' WHERE id = 6",
            "DELETE FROM keyed WHERE id = 6",
            "COMMIT",
            "BEGIN",
            "INSERT INTO keyed VALUES (8, 'g', 'never')",
            "ROLLBACK",
            # The definition changes while the log is read.
            "ALTER TABLE evolving ADD COLUMN b VARCHAR(10)",
            "INSERT INTO evolving VALUES (2, 20, 'new')",
            "UPDATE evolving SET b = 'late' WHERE id = 1",
            "ALTER TABLE evolving DROP COLUMN a",
            "INSERT INTO evolving VALUES (3, 'no a')",
            "ALTER TABLE evolving RENAME COLUMN b TO c",
            "UPDATE evolving SET c = 'renamed' WHERE id = 3",
            "ALTER TABLE evolving ADD COLUMN d BIGINT NOT NULL DEFAULT 7",
            "INSERT INTO evolving (id, c) VALUES (4, 'default')",
            "CREATE TABLE late (id INT PRIMARY KEY, a VARCHAR(10))",
            f"INSERT INTO large SELECT seq, CONCAT('row ', seq) FROM {series}",
            "UPDATE large SET note = CONCAT(note, '!')",
            "DELETE FROM large",
            "TRUNCATE TABLE keyed",
            "INSERT INTO keyed VALUES (1, 'a', 'after it')",
        ],
    )
