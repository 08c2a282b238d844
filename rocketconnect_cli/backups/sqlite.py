"""Stores in files of SQLite: several of them get other tables at once, all or none."""

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.embedded.data_directory import DataDirectory

_MADE = re.compile(r"^CREATE (TABLE|INDEX|UNIQUE INDEX) ")
_LOCK_SECONDS = 1.0
_OWN = "sqlite_%"
"""What SQLite keeps for itself."""


def refuse_used(file: Path) -> None:
    """Refuse a file that a service has open.

    Raises:
        ApiError: CONFLICT.
    """
    if DataDirectory(file.parent).is_in_use():
        message = f"`rocketconnect up` runs on {file.parent}. Stop it first. Nothing was changed."
        raise ApiError(Exit.CONFLICT, {"detail": message})
    if not file.exists():
        return
    with closing(sqlite3.connect(file, timeout=_LOCK_SECONDS, isolation_level=None)) as connection, _refusing([file]):
        # Who has a file open in this mode holds it shared, also between two transactions.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")


def put(changes: Sequence[tuple[Path, Path]], gone: Sequence[frozenset[str]]) -> None:
    """Give each file the tables of another one; in one transaction over all of them, which a crash does not divide either.

    Args:
        changes: The files, each with the one whose tables it gets. One that is not there is made.
        gone: The names of tables of each file that go, as far as they are there.

    Raises:
        ApiError: CONFLICT: a service has one open; nothing was changed.
    """
    files = [file for file, _ in changes]
    made = [file for file in files if not file.exists()]
    try:
        for file in made:
            _make(file)
        _put(changes, gone)
    except BaseException:
        for file in made:
            for name in (file, file.with_name(f"{file.name}-journal")):
                name.unlink(missing_ok=True)
        raise


def _put(changes: Sequence[tuple[Path, Path]], gone: Sequence[frozenset[str]]) -> None:
    (first, _), *_rest = changes
    with closing(sqlite3.connect(first, timeout=_LOCK_SECONDS, isolation_level=None)) as connection:
        names = ["main"]
        for number, (file, staged) in enumerate(changes):
            if number:
                names.append(f"old{number}")
                connection.execute(f"ATTACH ? AS {names[-1]}", (str(file),))
            connection.execute(f"ATTACH ? AS new{number}", (str(staged),))
        with _refusing([file for file, _ in changes]):
            for name in names:
                # A write-ahead log is one file's own: with it a transaction over several files would not be one after a crash.
                # Who is alone on the file can leave it. The services go back to it.
                connection.execute(f"PRAGMA {name}.journal_mode=DELETE").fetchall()
                connection.execute(f"PRAGMA {name}.synchronous=FULL")
            connection.execute("BEGIN EXCLUSIVE")
        with _refusing([file for file, _ in changes]):
            for number, (name, dropped) in enumerate(zip(names, gone, strict=True)):
                for table in _tables(connection, name):
                    if table in dropped:
                        connection.execute(f'DROP TABLE {name}."{table}"')
                _copy(connection, f"new{number}", name)
            connection.execute("COMMIT")


def _copy(connection: sqlite3.Connection, source: str, target: str) -> None:
    made = connection.execute(
        f"SELECT type, name, sql FROM {source}.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE ? ORDER BY type DESC",  # noqa: S608
        (_OWN,),
    ).fetchall()
    for kind, name, sql in made:
        connection.execute(_MADE.sub(rf"CREATE \1 {target}.", sql))
        if kind == "table":
            connection.execute(f'INSERT INTO {target}."{name}" SELECT * FROM {source}."{name}"')  # noqa: S608 - names of tables


def _tables(connection: sqlite3.Connection, name: str) -> list[str]:
    query = f"SELECT name FROM {name}.sqlite_master WHERE type = 'table' AND name NOT LIKE ?"  # noqa: S608 - a name of ours
    return [str(table) for (table,) in connection.execute(query, (_OWN,)).fetchall()]


def _make(file: Path) -> None:
    """An empty file; where this is root's command, of whom the folder is: the service that uses it may be somebody else."""
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if os.geteuid() == 0:
            folder = file.parent.stat()
            os.fchown(number, folder.st_uid, folder.st_gid)
    finally:
        os.close(number)


@contextmanager
def _refusing(files: Sequence[Path]) -> Iterator[None]:
    shown = ", ".join(map(str, files))
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            message = f"a service, or somebody else, has {shown} open. Stop all services first. Nothing was changed."
            raise ApiError(Exit.CONFLICT, {"detail": message}) from None
        raise ApiError(Exit.FAILED, {"detail": f"{shown} can't be written: {error}. Nothing was changed."}) from None
