"""Where a connector is, in a table beside its data: see connectors.doris.owners.

Doris has no statement that compares and sets. What it has is an order: the versions of the one tablet of this table, of which
each query reads all up to some version, and a commit or an abort of a transaction, of which one wins. So an owner writes that a
load waits for its commit, and then looks whether he was replaced; and who replaces him writes that, and then looks for loads that
wait. One of the two sees the other: then the load is aborted, unless its commit was quicker, which its state says.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

from connectors.doris.client import Client, State
from connectors.doris.endpoint import literal, quoted
from connectors.doris.owners import Pending, Said, holding, newer_than, said_of
from connectors.doris.session import Session
from connectors.doris.tables import table_of
from rocketconnect_sdk.errors import ConnectorError, PermanentError, SystemAway
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.claims import merged
from rocketconnect_sdk.targets.owners import Owner

KEY = ("connector", "generation", "task", "epoch")
COLUMNS = ("generation", "task", "epoch", "number", "settled", "positions", "pending", "outcome")
_DEFINITIONS = (
    "`connector` VARCHAR(128) NOT NULL, `generation` BIGINT NOT NULL, `task` INT NOT NULL, `epoch` BIGINT NOT NULL, "
    "`number` BIGINT NOT NULL, `settled` TINYINT NOT NULL, `positions` STRING NOT NULL, `pending` STRING NOT NULL, "
    "`outcome` VARCHAR(16) NOT NULL"
)
_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.05
_THERE, _GONE = "there", "gone"


class Store:
    """The row of one owner among those of its connector.

    Args:
        client: Loads.
        session: Statements.
        name: Of the table.
        properties: Of the table when it is made, as statements have them; empty: none.
        connector: The uid of the connector.
        owner: Who writes.
    """

    def __init__(self, client: Client, session: Session, name: str, properties: str, connector: str, owner: Owner) -> None:
        self._client = client
        self._session = session
        self._name = name
        self._properties = properties
        self._connector = connector
        self._said = Said(owner)

    @property
    def owner(self) -> Owner:
        """Who writes."""
        return self._said.owner

    @property
    def waits(self) -> bool:
        """Whether the row says that a load waits for its commit."""
        return self._said.pending is not None

    def create(self) -> None:
        """Makes the table where there is none."""
        # Of two rows of an owner the one with the higher number stays: an INSERT whose answer was lost may arrive late.
        given = ['"function_column.sequence_col" = "number"', *([self._properties] if self._properties else [])]
        made = f"CREATE TABLE IF NOT EXISTS {self._table} ({_DEFINITIONS}) UNIQUE KEY ({', '.join(map(quoted, KEY))})"
        # One tablet: its versions are the order of all that is written.
        self._session.run(f"{made} DISTRIBUTED BY HASH (`connector`) BUCKETS 1 PROPERTIES ({', '.join(given)})")

    def label(self) -> str:
        """A new one."""
        generation, task, epoch = self.owner
        short = hashlib.sha256(self._connector.encode()).hexdigest()[:12]
        return f"rocketconnect_{short}_{generation}_{task}_{epoch}_{uuid4().hex}"

    def claim(self) -> Mapping[str, QueuePosition]:
        """Makes this owner the one of its task; older plans lose all their tasks. Gives the positions.

        Raises:
            PermanentError: there is a newer owner; or it cannot be known any more whether a load was committed.
            SystemAway: the cluster is away.
        """
        mine = next((each for each in self._rows() if each.owner == self.owner), None)
        if mine is not None and mine.number >= self._said.number:
            # What an owner has said he does not unsay.
            self._said = mine
        self._put(self._said)
        seen = self._seen()
        found = []
        for each in holding(seen):
            found.append(each.positions)
            if each.pending is not None and self.owner.closes(each.owner) and self._was_committed(each):
                found.append(each.pending.after)
        positions = merged(found)
        self._put(replace(self._said, settled=True, positions=positions, pending=None, outcome=""))
        self._seen()
        self._tidy()
        return positions

    def promise(self, positions: Mapping[str, QueuePosition], pending: Pending) -> None:
        """Says that a load waits for its commit. Once it has returned, the load may be committed.

        Raises:
            PermanentError: there is a newer owner. The load is aborted.
            SystemAway: the cluster is away. The load may not be committed: see settle.
        """
        self._put(replace(self._said, positions=positions, pending=pending))
        try:
            self._seen()
        except PermanentError:
            with suppress(ConnectorError):
                self._client.abort(pending.database, pending.transaction)
            raise

    def put(self, positions: Mapping[str, QueuePosition]) -> None:
        """Says where the owner is, and that no load of his waits. Raises as Session.run."""
        self._put(replace(self._said, positions=positions, pending=None))

    def check(self) -> None:
        """Raises PermanentError: there is a newer owner."""
        self._seen()

    def settle(self, pending: Pending, outcome: str = "") -> bool:
        """Whether a load was committed. One that was not never will be.

        Args:
            pending: The load.
            outcome: See Said.

        Raises:
            PermanentError: the server does not know it any more, and nobody has looked.
            SystemAway: it is not at its end yet, or the cluster is away.
        """
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            match self._client.state(pending.database, pending.label):
                case State.COMMITTED | State.VISIBLE:
                    return True
                case State.ABORTED:
                    return False
                case State.UNKNOWN:
                    if outcome in (_THERE, _GONE):
                        return outcome == _THERE
                    raise PermanentError(self._forgotten(pending))
                case State.PREPARE | State.PRECOMMITTED as state:
                    if time.monotonic() > deadline:
                        msg = f"{self._client.place}: {pending} is still {state.value}, though it was to be aborted"
                        raise SystemAway(msg)
                    self._client.abort(pending.database, pending.transaction)
            time.sleep(_POLL_SECONDS)

    def forget(self) -> None:
        """Removes what it knows of a connector that is deleted."""
        if table_of(self._session, self._name) is not None:
            self._session.run(f"DELETE FROM {self._table} WHERE `connector` = {literal(self._connector)}")  # noqa: S608  # quoted

    def close(self) -> None:
        """Ends the connection."""
        self._session.close()

    def _was_committed(self, said: Said) -> bool:
        assert said.pending is not None  # noqa: S101 - asked before
        return self.settle(said.pending, said.outcome)

    def _put(self, said: Said) -> None:
        # Also one that fails has had its number: it may arrive later.
        self._said = replace(self._said, number=self._said.number + 1)
        said = replace(said, number=self._said.number)
        values = ", ".join(literal(each) if isinstance(each, str) else str(each) for each in said.to_row())
        columns = ", ".join(map(quoted, ("connector", *COLUMNS)))
        self._session.run(f"INSERT INTO {self._table} ({columns}) VALUES ({literal(self._connector)}, {values})")  # noqa: S608  # quoted
        self._said = said

    def _seen(self) -> Sequence[Said]:
        """The rows, with what was put last among them.

        Raises:
            PermanentError: there is a newer owner.
            SystemAway: what was put does not become visible.
        """
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            found = self._rows()
            if (newer := newer_than(self.owner, (each for each in found))) is not None:
                who = f"plan generation {newer.generation}, task {newer.task}, epoch {newer.epoch}"
                msg = f"{self._client.place}: a newer owner writes there now ({who}), so this one stops"
                raise PermanentError(msg)
            if any(each.owner == self.owner and each.number >= self._said.number for each in found):
                return found
            if time.monotonic() > deadline:
                msg = f"{self._client.place}: what was written into {self._name} is not visible yet"
                raise SystemAway(msg)
            time.sleep(_POLL_SECONDS)

    def _rows(self) -> Sequence[Said]:
        query = f"SELECT {', '.join(map(quoted, COLUMNS))} FROM {self._table} WHERE `connector` = {literal(self._connector)}"  # noqa: S608  # quoted
        return [said_of(row) for row in self._session.rows(query)]

    def _tidy(self) -> None:
        """Removes rows that count for nobody any more. One that comes late counts for nobody either."""
        generation, task, epoch = self.owner
        mine = f"DELETE FROM {self._table} WHERE `connector` = {literal(self._connector)} AND `generation`"  # noqa: S608  # quoted
        with suppress(ConnectorError):
            self._session.run(f"{mine} < {generation}")
            self._session.run(f"{mine} = {generation} AND `task` = {task} AND `epoch` < {epoch}")

    def _forgotten(self, pending: Pending) -> str:
        where = f"`connector` = {literal(self._connector)} AND `pending` LIKE '%{pending.label}%'"
        update = f"UPDATE {self._table} SET `outcome` = '{_THERE}', `number` = `number` + 1 WHERE {where}"  # noqa: S608  # quoted
        return (
            f"{self._client.place}: the server has forgotten {pending} (streaming_label_keep_max_second, label_num_threshold), so "
            f"it is not known whether its rows are there. Look for them in the table, run {update}; with '{_GONE}' where they are "
            "not; and restart the connector"
        )

    @property
    def _table(self) -> str:
        return self._session.place.table(self._name)
