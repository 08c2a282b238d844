"""Runs the core: events at once, the disk a little later, except for what nobody will say again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol
from zlib import crc32

from rocketconnect_kit.errors import Aborted, ServiceError
from rocketconnect_kit.logs import get_logger
from services.state import core
from services.state.core import Event, Reported, States, Tick, Track
from services.state.history import STEP_SECONDS, History
from services.state.model import Key, Moment, StaleReport
from services.state.store import Changes, ConnectorRow, LogRows, TaskRow

WRITE_SECONDS = 1.0
"""What can wait is written so often."""

_log = get_logger(__name__)


class Store(Protocol):
    """What the keeper needs of a store. The methods block."""

    def load(self) -> dict[str, Track]:
        """Return what is stored, by connector uid."""

    def write(self, changes: Changes) -> None:
        """Store changes in one transaction."""


class Keeper:
    """The state service without its RPCs. For one event loop; `running` must be entered.

    Args:
        store: where the states are kept.
        lease: seconds after which a silent worker is not believed to run anything.
        clock: now.
    """

    def __init__(self, store: Store, lease: float, clock: Callable[[], Moment]) -> None:
        self._store = store
        self._clock = clock
        self._writing = asyncio.Lock()
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._saved_line: dict[str, int] = {}
        self._lease = lease
        # Numbers of what must be on disk before it is acknowledged: the last that was heard, the last that is written.
        self._urgent = 0
        self._urgent_written = 0
        self.states = States(lease)
        self.history = History()
        self._round = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        """Read the store and run; at the end what is not yet written is.

        Gives the task that writes, which ends only with an error: Aborted, when another process leads.

        Raises:
            Unavailable: STORE_UNAVAILABLE.
        """
        tracks = await asyncio.to_thread(self._store.load)
        self.states = States(self._lease, tracks)
        self._saved_line = {uid: track.next_line - 1 for uid, track in tracks.items()}
        task = asyncio.create_task(self._write_behind(), name="state keeper")
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])
            try:
                await self._write()
            except ServiceError as error:
                _log.error("the last states could not be written", cause=error.message)

    def now(self) -> Moment:
        """Return the present moment."""
        return self._clock()

    def tell(self, event: Event) -> None:
        """Let an event happen that will be told again after a restart."""
        self._happen(event)

    async def report(self, event: Reported) -> tuple[tuple[StaleReport, ...], int]:
        """Take reports; return the refused ones, and the receipt. Changes of states and log lines are on disk when it returns.

        Raises:
            Unavailable: STORE_UNAVAILABLE: the reports count as heard, but must come again to be kept.
        """
        effects = self._happen(event)
        self._urgent += effects.urgent
        # Also for what is heard a second time, because it could not be written when it was heard first.
        if self._urgent_written < self._urgent:
            await self._write()
        return effects.refused, effects.receipt

    @asynccontextmanager
    async def listening(self, uid: str) -> AsyncIterator[asyncio.Event]:
        """Give an event that is set whenever the connector may show something else; who waits for it clears it."""
        changed = asyncio.Event()
        self._listeners.setdefault(uid, set()).add(changed)
        try:
            yield changed
        finally:
            self._listeners[uid].discard(changed)
            if not self._listeners[uid]:
                del self._listeners[uid]

    def _happen(self, event: Event) -> core.Effects:
        effects = core.step(self.states, event, self._clock())
        for uid in effects.touched & self._listeners.keys():
            for changed in self._listeners[uid]:
                changed.set()
        return effects

    async def _write_behind(self) -> None:
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            self._happen(Tick())
            self._sample()
            try:
                await self._write()
            except Aborted:
                raise
            except Exception as error:
                # What was not written stays to be written, so that the next round is the retry; `_write_now` has told the log why.
                _log.debug("states will be written later", cause=str(error))

    def _sample(self) -> None:
        """Take some connectors into the history: all of them in the rounds of STEP_SECONDS."""
        now, names = self._clock(), self.states.names()
        rounds = max(1, round(STEP_SECONDS / WRITE_SECONDS))
        self._round = (self._round + 1) % rounds
        if self._round == 0:
            self.history.keep(frozenset(self.states.tracks))
        for name in names:
            # By its name, so that it has the same round when others come and go.
            if crc32(name.encode()) % rounds == self._round:
                self.history.take(self.states.view(name, now), now)

    async def _write(self) -> None:
        """Write what is not on disk yet. Whoever comes while another write runs shares the next one."""
        # Shielded: a caller that goes away must not leave a write without its lock.
        await asyncio.shield(asyncio.ensure_future(self._write_now()))

    async def _write_now(self) -> None:
        async with self._writing:
            urgent = self._urgent
            changes = _take_changes(self.states, self._saved_line)
            if not changes:
                return
            try:
                await asyncio.to_thread(self._store.write, changes)
            except Exception as error:
                _put_back(self.states, changes)
                if isinstance(error, ServiceError):
                    _log.error("states could not be written", cause=error.message)
                else:
                    _log.exception("states could not be written")
                raise
            self._urgent_written = urgent
            for uid, rows in changes.logs.items():
                if rows is None:
                    self._saved_line.pop(uid, None)
                elif rows.lines:
                    self._saved_line[uid] = rows.lines[-1].sequence


def _take_changes(states: States, saved_line: Mapping[str, int]) -> Changes:
    connectors: dict[str, ConnectorRow | None] = {}
    for uid in states.unsaved_connectors:
        track = states.tracks.get(uid)
        connectors[uid] = ConnectorRow(track.connector, track.planner, track.planned_revision) if track is not None else None
    tasks: dict[Key, TaskRow | None] = {}
    for key in states.unsaved_tasks:
        track = states.tracks.get(key.connector_uid)
        holding = track.holdings.get(key.task) if track is not None else None
        sighting = track.sightings.get(key.task) if track is not None else None
        there = holding is not None or sighting is not None
        row = TaskRow(holding, sighting.report if sighting else None)
        tasks[key] = row if there else None
    logs: dict[str, LogRows | None] = {}
    for uid in states.unsaved_logs:
        track = states.tracks.get(uid)
        logs[uid] = _log_rows(track, saved_line.get(uid, 0)) if track is not None and track.lines else None
    states.unsaved_connectors, states.unsaved_tasks, states.unsaved_logs = set(), set(), set()
    return Changes(connectors, tasks, logs)


def _log_rows(track: Track, saved: int) -> LogRows:
    return LogRows([line for line in track.lines if line.sequence > saved], track.lines[0].sequence)


def _put_back(states: States, changes: Changes) -> None:
    states.unsaved_connectors |= changes.connectors.keys()
    states.unsaved_tasks |= changes.tasks.keys()
    states.unsaved_logs |= changes.logs.keys()
