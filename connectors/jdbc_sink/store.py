"""Where a connector is, in a table beside its data: claims of its owners, and positions. One transaction has both."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.jdbc import Dialect
from connectors.jdbc.dialect import Connection
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema as _Schema
from rocketconnect_sdk.schema import Type, struct
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.targets.commits import is_written

if TYPE_CHECKING:
    from connectors.jdbc.session import Session

_COLUMNS = struct(
    [
        ("connector", _Schema(Type.STRING)),
        ("place", _Schema(Type.STRING)),
        ("position", _Schema(Type.STRING)),
        ("generation", _Schema(Type.INT64)),
        ("epoch", _Schema(Type.INT64)),
    ]
)
_NAMES = ("position", "generation", "epoch", "connector", "place")
_KEY = ("connector", "place")
_WIDTH = 191
_PLAN = "plan"
_OF_TASK = "task "


def forget(session: "Session", table: str, connector: str) -> None:
    """Removes all rows of a connector that is deleted: who still claims to own a task of it is refused, as he has no row.

    Raises:
        SystemAway, RetriableError, PermanentError: as Session.connected.
    """
    # To open a file of SQLite that is not there would make it: this machine may be another one than that of the tasks.
    if session.place.kind == "sqlite" and not Path(session.place.database).exists():
        return
    dialect = session.dialect
    try:
        with session.connected() as connection:
            if dialect.table(connection, table) is not None:
                dialect.begin(connection)
                Store(dialect, table, connector, 0, (0, 0)).remove(connection)
                connection.commit()
    finally:
        session.close()


def is_positions(columns: Collection[str]) -> bool:
    """Whether a table with these columns is one of positions, of whatever connector and under whatever name."""
    return {each.name for each in _COLUMNS.fields} <= set(columns)


@dataclass(frozen=True, slots=True)
class Store:
    """The table of positions. `place` is a queue, or "task 3" for the claim of the owner of task 3, or "plan" for the newest plan.

    Whoever claims begins with the row of the plan, which has a generation that only grows and is his until his transaction ends. So
    of two who claim tasks of a connector, of whatever plans, one reads what the other has written, however late he is with it.

    Attributes:
        dialect: Of the database.
        table: The name of the table.
        connector: The uid of the connector.
        task: The number of the task.
        owner: (generation, epoch).
    """

    dialect: Dialect
    table: str
    connector: str
    task: int
    owner: tuple[int, int]

    def create(self, connection: Connection) -> None:
        """Makes the table where there is none."""
        from connectors.jdbc_sink.shape import create

        if self.dialect.table(connection, self.table) is None:
            made = create(self.dialect, self.table, _COLUMNS, _KEY, _WIDTH, self.dialect.exact(connection))
            self.dialect.create(connection, made.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))

    def claim(self, connection: Connection) -> Mapping[str, QueuePosition]:
        """Makes this owner the one of its task; older plans lose all their tasks. Gives the positions.

        Raises:
            PermanentError: there is a newer owner.
        """
        generation, _ = self.owner
        raised = self.dialect.raised(self._escaped(self.table), _NAMES, _KEY, "generation")
        self._run(connection, raised, self._row(_PLAN, "", (generation, 0)))
        rows = self._rows(connection)
        plan = rows[_PLAN][1]
        owners = {place: owner for place, (_, owner) in rows.items() if place.startswith(_OF_TASK)}
        # A task of an older version of this program claims without a row of the plan.
        if any(each[0] > generation for each in (plan, *owners.values())) or owners.get(self._mine, (0, 0)) > self.owner:
            raise self._replaced()
        for place, of in owners.items():
            if of[0] < generation and place != self._mine:
                self._put(connection, place, "", (generation, 0), known=True)
        self._put(connection, self._mine, "", self.owner, known=self._mine in owners)
        return self._positions(connection)

    def written(self, connection: Connection, commit: SinkCommit) -> bool:
        """Whether a batch is there already. Locks what belongs to it until the transaction ends.

        Raises:
            PermanentError: there is a newer owner, or the batch does not continue what is stored.
        """
        mine = self._rows(connection, self._mine).get(self._mine)
        if mine is None or mine[1] != self.owner:
            raise self._replaced()
        return is_written(self._positions(connection), commit)

    def put(self, connection: Connection, commit: SinkCommit) -> None:
        """Stores where the connector is when the batch is durable."""
        known = self._positions(connection)
        for queue, position in commit.after.items():
            self._put(connection, queue, json.dumps(position.to_json()), self.owner, known=queue in known)

    def remove(self, connection: Connection) -> None:
        """Removes claims and positions of the connector, of all its tasks."""
        where = f"{self._quoted('connector')} = {self.dialect.parameter}"
        self._run(connection, f"DELETE FROM {self._quoted(self.table)} WHERE {where}", (self.connector,))  # noqa: S608  # quoted

    def _positions(self, connection: Connection) -> dict[str, QueuePosition]:
        rows = self._rows(connection)
        return {place: QueuePosition.from_json(json.loads(text)) for place, (text, _) in rows.items() if text}

    def _rows(self, connection: Connection, place: str = "") -> dict[str, tuple[str, tuple[int, int]]]:
        quoted, mark = self._quoted, self.dialect.parameter
        names = ", ".join(map(quoted, ("place", "position", "generation", "epoch")))
        only = f" AND {quoted('place')} = {mark}" if place else ""
        select = f"SELECT {names} FROM {quoted(self.table)} WHERE {quoted('connector')} = {mark}{only}"  # noqa: S608  # quoted
        lock = self.dialect.lock if place else ""
        rows = self._run(connection, select + lock, (self.connector, *([place] if place else []))).fetchall()
        return {where: (text, (generation, epoch)) for where, text, generation, epoch in rows}

    def _put(self, connection: Connection, place: str, text: str, owner: tuple[int, int], *, known: bool) -> None:
        quoted, mark = self._quoted, self.dialect.parameter
        if known:
            change = ", ".join(f"{quoted(name)} = {mark}" for name in _NAMES[:3])
            where = " AND ".join(f"{quoted(name)} = {mark}" for name in _NAMES[3:])
            statement = f"UPDATE {quoted(self.table)} SET {change} WHERE {where}"  # noqa: S608  # names are quoted
        else:
            marks = ", ".join([mark] * len(_NAMES))
            statement = f"INSERT INTO {quoted(self.table)} ({', '.join(map(quoted, _NAMES))}) VALUES ({marks})"  # noqa: S608  # quoted
        self._run(connection, statement, self._row(place, text, owner))

    def _row(self, place: str, text: str, owner: tuple[int, int]) -> tuple[object, ...]:
        return (text, *owner, self.connector, place)

    @property
    def _mine(self) -> str:
        return f"{_OF_TASK}{self.task}"

    def _quoted(self, name: str) -> str:
        return self.dialect.quoted(self._escaped(name))

    def _escaped(self, name: str) -> str:
        """A name for a statement that takes values: a driver may take a % for the beginning of a mark."""
        return name.replace("%", "%%") if "%" in self.dialect.parameter else name

    @staticmethod
    def _run(connection: Connection, statement: str, values: tuple[object, ...] = ()) -> Any:
        cursor = connection.cursor()
        cursor.execute(statement, *([values] if values else []))
        return cursor

    def _replaced(self) -> PermanentError:
        return PermanentError(f"{self.table}: a newer owner writes there now, so this one stops")
