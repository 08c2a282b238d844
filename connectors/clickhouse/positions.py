"""Where a connector is, in a table beside its data: claims of its owners, and positions.

A row is added for each, and the newest of its key is the one that counts. What an owner that was replaced still writes, data and
positions, is refused by its statement itself: see `guard`. A statement that was under way when the claim was made is waited for.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa

from connectors.clickhouse.client import Client
from connectors.clickhouse.endpoint import literal
from connectors.clickhouse.native import block
from connectors.clickhouse.tables import table_of
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.claims import merged
from rocketconnect_sdk.targets.owners import Owner

COLUMNS = ("connector", "place", "position", "generation", "epoch")
_DEFINITIONS = "connector String, place String, position String, generation UInt64, epoch UInt64, at DateTime DEFAULT now()"
_KEY = "connector, place, generation, epoch"
_STRUCTURE = [("place", "String"), ("position", "String")]
_WAIT_SECONDS = 5.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Store:
    """The table of positions. `place` is a queue, or "task 3" for the claim of the owner of task 3, which has no position.

    Attributes:
        client: The server.
        name: Of the table.
        connector: The uid of the connector.
        owner: Who writes.
    """

    client: Client
    name: str
    connector: str
    owner: Owner

    def create(self) -> None:
        """Makes the table where there is none."""
        made = f"CREATE TABLE IF NOT EXISTS {self._table} ({_DEFINITIONS}) ENGINE = ReplacingMergeTree ORDER BY ({_KEY})"
        self.client.run(made)

    def claim(self) -> Mapping[str, QueuePosition]:
        """Makes this owner the one of its task; older plans lose all their tasks. Gives the positions.

        Raises:
            PermanentError: there is a newer owner.
            SystemAway: a statement of an older one is not at its end, or the server is away.
        """
        self._put({f"task {self.owner.task}": ""})
        self.settle()
        return self._positions()

    def put(self, positions: Mapping[str, QueuePosition]) -> None:
        """Stores where the connector is. Raises PermanentError: there is a newer owner."""
        self._put({queue: json.dumps(position.to_json()) for queue, position in positions.items()})

    def settle(self) -> None:
        """Waits until no statement runs that an older owner of the task, or this one before, has sent.

        Raises:
            SystemAway: one does not come to its end.
        """
        deadline = time.monotonic() + _WAIT_SECONDS
        while running := self._running():
            if time.monotonic() > deadline:
                self.client.kill(running)
                msg = f"{self.client.place}: {', '.join(running)}: an INSERT of an earlier run of this task has not ended yet"
                raise SystemAway(msg)
            time.sleep(_POLL_SECONDS)

    def query_id(self) -> str:
        """One for a statement that `settle` is to see."""
        return f"{self._prefix}{'-'.join(map(str, self.owner))}-{uuid4().hex}"

    @property
    def guard(self) -> str:
        """A condition that fails its statement where there is a newer owner of the task, or of any task of a newer plan.

        Invariant 3. The server finds out as the statement begins, and lists it as running before: so a claim that came later waits
        for its end.
        """
        generation, task, epoch = self.owner
        newer = f"generation > {generation} OR (generation = {generation} AND place = 'task {task}' AND epoch > {epoch})"
        mine = f"connector = {literal(self.connector)} AND position = ''"
        claims = f"SELECT count() FROM {self._table} WHERE {mine} AND ({newer})"  # noqa: S608  # quoted
        return f"throwIf(({claims}) > 0) = 0"

    def forget(self) -> None:
        """Removes what it knows of a connector that is deleted."""
        if table_of(self.client, self.name) is not None:
            self.client.run(f"ALTER TABLE {self._table} DELETE WHERE connector = {literal(self.connector)}")

    def _put(self, positions: Mapping[str, str]) -> None:
        generation, _, epoch = self.owner
        mine = f"{literal(self.connector)}, place, position, {generation}, {epoch}"
        head = f"INSERT INTO {self._table} ({', '.join(COLUMNS)}) SELECT {mine}"
        columns = zip(_STRUCTURE, (list(positions), list(positions.values())), strict=True)
        data = block([(name, kind, pa.array(texts, pa.string())) for (name, kind), texts in columns])
        self.client.insert(head, f"WHERE {self.guard}", _STRUCTURE, data, self.query_id())

    def _positions(self) -> Mapping[str, QueuePosition]:
        where = f"connector = {literal(self.connector)} AND position != ''"
        rows = self.client.rows(f"SELECT place, position FROM {self._table} FINAL WHERE {where}")  # noqa: S608  # quoted
        return merged({place: QueuePosition.from_json(json.loads(text))} for place, text in rows)

    def _running(self) -> list[str]:
        rows = self.client.rows(f"SELECT query_id FROM system.processes WHERE query_id LIKE '{self._prefix}%'")  # noqa: S608  # hexadecimal
        return [query_id for (query_id,) in rows if self.owner.closes(self._owner_of(query_id))]

    def _owner_of(self, query_id: str) -> Owner:
        generation, task, epoch, _ = query_id.removeprefix(self._prefix).split("-")
        return Owner(int(generation), int(task), int(epoch))

    @property
    def _prefix(self) -> str:
        return f"rocketconnect-{hashlib.sha256(self.connector.encode()).hexdigest()[:12]}-"

    @property
    def _table(self) -> str:
        return self.client.place.table(self.name)
