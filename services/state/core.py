"""The decisions of the state service: `step(states, event, now) -> effects`, synchronous, without I/O or a clock of its own."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from rocketconnect_kit.errors import NotFound
from services.state.derive import derive_connector, derive_task
from services.state.model import PLAN, Assignment, Connector, ConnectorView, Key, LogLine, Moment, Report, StaleReport, TaskView
from services.state.sightings import Holding, Sighting, hold, see, why_moved

LOG_LINES = 1000
"""Invariant 7: so many of the newest log lines are kept of each connector."""

_RECENT_LINES = 100
_STRANGER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ConnectorsTold:
    """The config service tells connectors: all there are (`snapshot`), or those that changed and those that are gone."""

    snapshot: bool
    connectors: Sequence[Connector] = ()
    deleted: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AssignmentsTold:
    """The cluster service tells assignments: all there are (`snapshot`), or those that changed and those that are gone."""

    snapshot: bool
    assignments: Sequence[Assignment] = ()
    removed: Sequence[Key] = ()


@dataclass(frozen=True, slots=True)
class Reported:
    """A worker reports its tasks, with log lines (their sequence is not yet known).

    Attributes:
        reports: What it says.
        logs: Connector uid and line.
        worker: Who it is; empty: the reports are all that is meant.
        receipt: Of its report before this one, if what that one and this one do not name is as it was; 0: it holds nothing else.
    """

    reports: Sequence[Report]
    logs: Sequence[tuple[str, LogLine]] = ()
    worker: str = ""
    receipt: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event: TypeAlias = ConnectorsTold | AssignmentsTold | Reported | Tick


@dataclass(frozen=True, slots=True)
class Effects:
    """What follows from an event: refused reports, connectors that may show something else, rows that are to be stored.

    `urgent`: the rows hold what nobody will say again, so they must be durable before the event is acknowledged. `receipt`: for the
    next report of the worker; 0: that must name all that it holds.
    """

    refused: tuple[StaleReport, ...]
    touched: frozenset[str]
    urgent: bool
    receipt: int = 0


@dataclass(slots=True)
class Track:
    """All that is known of one connector. `connector` is None as long as only others than the config service know it."""

    connector: Connector | None = None
    holdings: dict[int, Holding] = field(default_factory=dict)
    sightings: dict[int, Sighting] = field(default_factory=dict)
    planner: str = ""
    planned_revision: int = 0
    lines: deque[LogLine] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    next_line: int = 1


@dataclass(slots=True)
class Voice:
    """What a worker has reported, as long as it is as it was: the epoch of each task. `receipt` is that of its last report."""

    receipt: int
    at: Moment
    epochs: dict[Key, int]


class States:
    """What the service knows at a moment. Only `step` changes it; not for several threads.

    Args:
        lease: seconds after which a silent worker is not believed to run anything.
        tracks: what was stored, by connector uid.
    """

    def __init__(self, lease: float, tracks: Mapping[str, Track] | None = None) -> None:
        self.lease = lease
        self.tracks = dict(tracks or {})
        # Epochs come from one sequence: the cluster has told of everything up to the highest epoch that it has told.
        self.highest_epoch = max((h.assignment.epoch for t in self.tracks.values() for h in t.holdings.values()), default=0)
        self.unsettled = {Key(uid, task) for uid, track in self.tracks.items() for task in track.sightings}
        """Tasks that are reported under an epoch of which the cluster may still tell."""
        self.voices: dict[str, Voice] = {}
        self.last_receipt = 0
        self._by_name: dict[str, str] = {}
        for uid, track in self.tracks.items():
            if track.connector is not None:
                self._by_name[track.connector.name] = uid
        self.unsaved_connectors: set[str] = set()
        self.unsaved_tasks: set[Key] = set()
        self.unsaved_logs: set[str] = set()

    def track(self, uid: str) -> Track:
        """Return what is known of a connector, beginning to know it."""
        return self.tracks.setdefault(uid, Track())

    def sighting(self, key: Key) -> Sighting | None:
        """Return what was last reported of a task."""
        track = self.tracks.get(key.connector_uid)
        return track.sightings.get(key.task) if track is not None else None

    def names(self) -> list[str]:
        """Return the names of the connectors, sorted."""
        return sorted(self._by_name)

    def uid(self, name: str) -> str:
        """Return the uid of a connector.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        if name not in self._by_name:
            raise NotFound("CONNECTOR_NOT_FOUND", f"Connector[{name}] does not exist", connector=name)
        return self._by_name[name]

    def is_told(self, uid: str) -> bool:
        """Return whether the config service has told of a connector."""
        return uid in self.tracks and self.tracks[uid].connector is not None

    def view(self, name: str, now: Moment) -> ConnectorView:
        """Return what a connector shows.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        uid = self.uid(name)
        track = self.tracks[uid]
        units = [self._task(uid, track, task, now) for task in track.holdings.keys() | track.sightings.keys()]
        revisions = [holding.assignment.revision for task, holding in track.holdings.items() if task != PLAN]
        return derive_connector(
            self.connector(uid),
            units,
            task_revision=max(revisions, default=0),
            planned_revision=track.planned_revision,
            planner=track.planner,
        )

    def connector(self, uid: str) -> Connector:
        """Return a connector that the config service has told.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        connector = self.tracks[uid].connector if uid in self.tracks else None
        if connector is None:
            raise NotFound("CONNECTOR_NOT_FOUND", f"Connector[{uid}] does not exist", connector_uid=uid)
        return connector

    def _task(self, uid: str, track: Track, task: int, now: Moment) -> TaskView:
        return derive_task(Key(uid, task), track.holdings.get(task), track.sightings.get(task), now, self.lease)

    def set_connector(self, connector: Connector) -> None:
        """Know a connector as it is told."""
        track = self.track(connector.uid)
        if track.connector == connector:
            return
        if track.connector is not None and self._by_name.get(track.connector.name) == connector.uid:
            del self._by_name[track.connector.name]
        track.connector = connector
        self._by_name[connector.name] = connector.uid
        self.unsaved_connectors.add(connector.uid)

    def forget(self, uid: str) -> None:
        """Forget a connector and all about it."""
        track = self.tracks.pop(uid, None)
        if track is None:
            return
        if track.connector is not None and self._by_name.get(track.connector.name) == uid:
            del self._by_name[track.connector.name]
        self.unsaved_connectors.add(uid)
        self.unsaved_tasks.update(Key(uid, task) for task in track.holdings.keys() | track.sightings.keys())
        self.unsaved_logs.add(uid)


def step(states: States, event: Event, now: Moment) -> Effects:
    """Let an event happen and return what follows."""
    match event:
        case ConnectorsTold():
            return _connectors_told(states, event)
        case AssignmentsTold():
            return _assignments_told(states, event, now)
        case Reported():
            return _reported(states, event, now)
        case Tick():
            return _tick(states, now)


def _connectors_told(states: States, event: ConnectorsTold) -> Effects:
    told = {connector.uid for connector in event.connectors}
    if event.snapshot:
        gone = {uid for uid, track in states.tracks.items() if track.connector is not None} - told
    else:
        gone = set(filter(states.is_told, event.deleted))
    # First the deleted ones: a name may have gone over to another connector.
    for uid in gone:
        states.forget(uid)
    for connector in event.connectors:
        states.set_connector(connector)
    return Effects((), frozenset(told | gone), urgent=False)


def _assignments_told(states: States, event: AssignmentsTold, now: Moment) -> Effects:
    told = {assignment.key for assignment in event.assignments}
    if event.snapshot:
        gone = {Key(uid, task) for uid, track in states.tracks.items() for task in track.holdings} - told
    else:
        gone = set(event.removed)
    for key in gone:
        _let_go(states, key)
    for assignment in event.assignments:
        _hold(states, assignment, now)
    states.highest_epoch = max([states.highest_epoch, *(assignment.epoch for assignment in event.assignments)])
    # What was reported under an epoch that the cluster knows to be over is over. Not looked for among all tasks at each event: it
    # can be so of those that it tells of, and of those whose epoch it had not told yet.
    for key in told | gone | states.unsettled:
        seen = states.sighting(key)
        if seen is not None and _is_over(states, seen.report):
            del states.tracks[key.connector_uid].sightings[key.task]
            states.unsaved_tasks.add(key)
            gone.add(key)
        if seen is None or seen.report.epoch <= states.highest_epoch:
            states.unsettled.discard(key)
    return Effects((), frozenset(key.connector_uid for key in told | gone), urgent=False)


def _hold(states: States, assignment: Assignment, now: Moment) -> None:
    uid, task = assignment.key
    track = states.track(uid)
    before = track.holdings.get(task)
    if before is not None and before.assignment == assignment:
        # Known from before a start: heard of now, for the first time.
        track.holdings[task] = replace(before, at=before.at or now)
        return
    if before is not None and before.assignment.generation == assignment.generation and assignment.revoked:
        # One that is being stopped comes without its configuration when a newer plan holds; what it had stays true.
        assignment = replace(assignment, config=assignment.config or before.assignment.config)
    seen = track.sightings.get(task)
    reported = seen.report if seen is not None else None
    moved = why_moved(before, assignment, reported) if task != PLAN else ""
    if moved:
        level = "WARNING" if assignment.settled else "INFO"
        _write_line(states, uid, LogLine(0, now.wall, level, moved, task, worker=""), now)
    track.holdings[task] = hold(before, assignment, reported, now)
    states.unsaved_tasks.add(assignment.key)
    if task == PLAN and assignment.worker and track.planner != assignment.worker:
        track.planner = assignment.worker
        states.unsaved_connectors.add(uid)


def _let_go(states: States, key: Key) -> None:
    track = states.tracks.get(key.connector_uid)
    holding = track.holdings.pop(key.task, None) if track is not None else None
    if track is None or holding is None:
        return
    states.unsaved_tasks.add(key)
    if key.task == PLAN and holding.assignment.worker and not holding.assignment.revoked:
        track.planned_revision = holding.assignment.revision
        states.unsaved_connectors.add(key.connector_uid)


def _is_over(states: States, report: Report) -> bool:
    """Invariant 3: whether the epoch of a report is an old one.

    It is when the cluster has told of later ones and of another owner, or none, of this task. An epoch that is higher than all
    that were told is news that has not arrived here yet.
    """
    return report.epoch <= states.highest_epoch and report.epoch != _current_epoch(states, report.key)


def _current_epoch(states: States, key: Key) -> int:
    track = states.tracks.get(key.connector_uid)
    holding = track.holdings.get(key.task) if track is not None else None
    return holding.assignment.epoch if holding is not None else 0


def _reported(states: States, event: Reported, now: Moment) -> Effects:
    refused = []
    urgent = False
    heard: dict[Key, int] = {}
    for report in event.reports:
        track = states.track(report.key.connector_uid)
        before = track.sightings.get(report.key.task)
        if _is_over(states, report) or (before is not None and before.report.epoch > report.epoch):
            newest = max(_current_epoch(states, report.key), before.report.epoch if before is not None else 0)
            refused.append(StaleReport(report.key, report.epoch, newest))
            continue
        track.sightings[report.key.task] = see(before, report, now)
        heard[report.key] = report.epoch
        if report.epoch > states.highest_epoch:
            states.unsettled.add(report.key)
        states.unsaved_tasks.add(report.key)
        urgent |= before is None or _essence(before.report) != _essence(report)
    # Lines of a refused report too: what a fenced worker says of itself is history.
    for uid, line in event.logs:
        urgent |= _write_line(states, uid, line, now)
    touched = frozenset(report.key.connector_uid for report in event.reports)
    return Effects(tuple(refused), touched, urgent, _hear(states, event, heard, now))


def _hear(states: States, event: Reported, heard: dict[Key, int], now: Moment) -> int:
    """Take it that a worker still does what it did and has not named again; return its next receipt, 0: it must name all."""
    if not event.worker:
        return 0
    before = states.voices.pop(event.worker, None)
    if event.receipt:
        if before is None or before.receipt != event.receipt:
            return 0
        for key, epoch in before.epochs.items():
            if key not in heard and not _hear_again(states, key, event.worker, epoch, now):
                return 0
        heard = before.epochs | heard
    # Never one that was given before a start of this service, when nothing of what was said then is known.
    receipt = max(states.last_receipt + 1, int(now.wall * 1000))
    states.last_receipt = receipt
    states.voices[event.worker] = Voice(receipt, now, heard)
    return receipt


def _hear_again(states: States, key: Key, worker: str, epoch: int, now: Moment) -> bool:
    """Take a report for one of now; false: it is over, or is another's: who gave it must be told, by name."""
    seen = states.sighting(key)
    if seen is None or (seen.report.worker, seen.report.epoch) != (worker, epoch):
        return False
    states.tracks[key.connector_uid].sightings[key.task] = replace(seen, at=now)
    return True


def _essence(report: Report) -> tuple[object, ...]:
    return report.epoch, report.state, report.trace, report.restarts


def _write_line(states: States, uid: str, line: LogLine, now: Moment) -> bool:
    track = states.track(uid)
    recent = list(track.lines)[-_RECENT_LINES:]
    # A report whose answer was lost comes again, lines included.
    if any(replace(line, sequence=old.sequence) == old for old in recent):
        return False
    # Never below the clock's milliseconds: so the numbers of a connector never go back, not even when it was deleted and adopted.
    sequence = max(track.next_line, int(now.wall * 1000))
    track.lines.append(replace(line, sequence=sequence))
    track.next_line = sequence + 1
    states.unsaved_logs.add(uid)
    return True


def _tick(states: States, now: Moment) -> Effects:
    """Forget what workers say of tasks and connectors that nobody else knows, once they have said nothing for a while."""
    for uid, track in list(states.tracks.items()):
        strangers = [task for task in track.sightings if task not in track.holdings]
        for task in strangers:
            if track.sightings[task].silent_for(now) > _STRANGER_SECONDS:
                del track.sightings[task]
                states.unsaved_tasks.add(Key(uid, task))
        if track.connector is None and not track.holdings and not track.sightings:
            states.forget(uid)
    for worker in [worker for worker, voice in states.voices.items() if now.monotonic - voice.at.monotonic > _STRANGER_SECONDS]:
        del states.voices[worker]
    return Effects((), frozenset(), urgent=False)
