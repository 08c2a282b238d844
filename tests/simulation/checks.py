"""What must hold at every moment, and at the end. Written apart from the product's rules, from the promises alone."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from rocketmq_remoting.model import MessageQueue
from services.cluster.model import Changes, Key
from services.cluster.tables import Tables
from services.executor.contract.assignment import Assigned
from services.executor.runtime.rocketmq.source_marks import SourceCoordinate, mark_key, parse
from services.executor.runtime.source.takeover import ROW
from services.position.domain import Fence, Ledger, Position
from services.state.core import States
from services.state.model import Moment, State
from tests.simulation.world import World

REPORT_SECONDS = 6.0
"""How late a report can be: it waits in a connection for at most as long as the call may last."""


class Broken(AssertionError):
    """An invariant does not hold."""


class Run(Protocol):
    """A run of a task, in its process."""

    assigned: Assigned
    worker_id: str
    is_running: bool
    paused: bool
    continues: bool
    """It needs no lease (on.isolation=continue): while it is cut off from everything it may have two owners."""

    def may_write(self) -> bool:
        """Whether bytes of it may still arrive anywhere: it has begun and lives, its worker's lease and the send deadline hold."""


class Checks:
    """The invariants of one run of the simulation."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._told: set[str] = set()
        self._highest_epoch = 0
        self._epochs: dict[tuple[str, int], int] = {}
        self._generations: dict[str, int] = defaultdict(int)
        self._ended: dict[tuple[str, int, int], float] = {}
        self.runs: dict[Run, None] = {}
        self.given: list[tuple[float, Key, str]] = []
        """When which unit was given to which worker."""
        self.altered_to: dict[tuple[str, str], Position] = {}
        self.restored = False
        """The store of the positions was put back from a backup."""
        self._moves: dict[tuple[str, str], list[int]] = defaultdict(list)
        """Where positions were moved to, also where that is forgotten."""

    def broken(self, name: str, what: str) -> Broken:
        note = f"BROKEN {name}: {what}"
        if note not in self._told:
            # What has not come right yet is looked at again and again.
            self._told.add(note)
            self._world.note(note)
        return Broken(f"{name}: {what}")

    # The cluster service.

    def assigned(self, stored: Tables, changes: Changes) -> None:
        """Called before changes become durable: epochs are unique and rise."""
        given = [unit for unit in changes.units.values() if unit is not None and unit.is_held]
        for unit in sorted(given, key=lambda unit: unit.epoch):
            before = stored.units.get(unit.key)
            if before is not None and (before.worker, before.epoch) == (unit.worker, unit.epoch):
                continue
            if unit.epoch <= self._highest_epoch:
                raise self.broken("epochs rise", f"{unit.key} is given under {unit.epoch}, {self._highest_epoch} was there")
            self._highest_epoch = unit.epoch
            self.given.append((self._world.now, unit.key, unit.worker))

    # The workers.

    def started(self, run: Run) -> None:
        self.runs[run] = None
        self._ended.pop((*run.assigned.key, run.assigned.epoch), None)
        self.one_owner(run)

    def ended(self, run: Run) -> None:
        self.runs.pop(run, None)
        self._ended[*run.assigned.key, run.assigned.epoch] = self._world.now

    def one_owner(self, run: Run) -> None:
        """Called when a run may write that could not before: nobody else may, and no run of another generation."""
        mine = run.assigned
        if run.continues or not run.may_write():
            return
        for other in self.runs:
            theirs = other.assigned
            if other is run or theirs.key.connector_uid != mine.key.connector_uid or not other.may_write():
                continue
            if theirs.key == mine.key:
                raise self.broken("one owner", f"{mine.key} runs on {run.worker_id} and {other.worker_id}")
            if theirs.generation != mine.generation:
                raise self.broken("one generation", f"{mine.key} is of {mine.generation}, {theirs.key} of {theirs.generation}")

    # The position service.

    def opened(self, fence: Fence) -> None:
        """Called when OpenTask was let in."""
        task = fence.connector_uid, fence.task
        if fence.epoch < self._epochs.get(task, 0) or fence.generation < self._generations[fence.connector_uid]:
            raise self.broken("fence", f"{fence} was opened after a newer one")
        self._epochs[task] = fence.epoch
        self._generations[fence.connector_uid] = fence.generation

    def committed(self, fence: Fence, before: Ledger, after: Ledger) -> None:
        """Called when a commit was let in: it is of the fence's owner, and no position goes back."""
        uid = fence.connector_uid
        if fence.epoch != self._epochs.get((uid, fence.task)) or fence.generation != self._generations[uid]:
            raise self.broken("fence", f"a commit of {fence} was let in though a newer owner has opened the task")
        for partition, position in after.positions.items():
            old = before.positions.get(partition)
            if old is None or partition.startswith(ROW):
                continue
            if (position.incarnation, json.loads(position.offset)) < (old.incarnation, json.loads(old.offset)):
                raise self.broken("positions go forward", f"{partition} went from {old.offset} back to {position.offset}")

    def altered(self, uid: str, position: Position) -> None:
        self.altered_to[uid, position.partition] = position
        self._moves[uid, position.partition].append(json.loads(position.offset)[0])

    def put_back(self, ledgers: Mapping[str, Ledger]) -> None:
        """Called when a backup was put back: fences that came after it are forgotten."""
        self.restored = True
        self._generations = defaultdict(int, {uid: ledger.connector.generation for uid, ledger in ledgers.items()})
        self._epochs = {(uid, task.task): task.epoch for uid, ledger in ledgers.items() for task in ledger.tasks.values()}

    # The state service.

    def shown(self, states: States, now: Moment, recovered_at: float) -> None:
        """What is shown as RUNNING is not dead for longer than a lease (and a report takes)."""
        for name in states.names():
            for task in states.view(name, now).tasks:
                died = self._ended.get((states.uid(name), task.task, task.epoch))
                if task.state is not State.RUNNING or died is None:
                    continue
                late = self._world.now - max(died, recovered_at)
                if late > states.lease + REPORT_SECONDS:
                    raise self.broken("never RUNNING when dead", f"{name}/{task.task} is shown so {late:.1f} s after its end")

    # The end.

    def sent_once(self, queues: Mapping[MessageQueue, Sequence[bytes]]) -> None:
        """The topic itself holds nothing twice: what RocketConnect promises where no producer was stopped or cut off."""
        seen: dict[tuple[str, int, tuple[int, ...]], MessageQueue] = {}
        for queue, messages in queues.items():
            highest: dict[str, tuple[int, tuple[int, ...]]] = {}
            for place in map(parse, messages):
                if place is None:
                    continue
                here = place.incarnation, place.offset
                if here <= highest.get(place.key, (0, ())):
                    raise self.broken("nothing twice in the topic", f"{place} is behind {highest[place.key]} in {queue}")
                highest[place.key] = here
                record = place.key, *here
                if record in seen:
                    raise self.broken("nothing twice in the topic", f"{place} is in {seen[record]} and {queue}")
                seen[record] = queue

    def delivered(
        self, uid: str, produced: Mapping[str, int], records: Sequence[tuple[str, SourceCoordinate]], *, once: bool
    ) -> None:
        """Every record of the source is in the sink, exactly once (`once`) and in order.

        Args:
            uid: The source's connector.
            produced: By source partition, how many records there are: 1, 2, ...
            records: Those in the sink, as they became visible: the queue, and what RCPOS says.
            once: Whether the sink is exactly once; otherwise records may come again.
        """
        if self.restored:
            self._delivered_beyond_a_backup(uid, produced, records, once=once)
            return
        seen: dict[tuple[str, str], tuple[int, tuple[int, ...]]] = {}
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for queue, place in records:
            before = seen.get((queue, place.key), (0, (0,)))
            here = place.incarnation, place.offset
            if here <= before:
                if once:
                    raise self.broken("exactly once, in order", f"{place} is behind {before} in {queue}")
                continue
            seen[queue, place.key] = here
            found[place.key, place.incarnation].append(place.offset[0])
        for partition, count in produced.items():
            altered = self.altered_to.get((uid, partition))
            start, incarnation = (json.loads(altered.offset)[0], altered.incarnation) if altered else (0, 0)
            there = found[mark_key(uid, partition), incarnation]
            missing = sorted(set(range(start + 1, count + 1)) - set(there))
            if missing:
                raise self.broken("nothing lost", f"{partition}: records {missing} of {count} are not in the sink")
            if once and len(there) != len(set(there)):
                raise self.broken("exactly once, in order", f"{partition}: records are there twice: {sorted(there)}")

    def _delivered_beyond_a_backup(
        self, uid: str, produced: Mapping[str, int], records: Sequence[tuple[str, SourceCoordinate]], *, once: bool
    ) -> None:
        """Every record is there that no move by hand has left out, and no more often than moves have asked for it.

        A move that the backup does not know is done as far as it was: what it has left out may be left out.
        """
        found: dict[str, list[int]] = defaultdict(list)
        for _, place in records:
            found[place.key].append(place.offset[0])
        for partition, count in produced.items():
            moves, there = self._moves[uid, partition], Counter(found[mark_key(uid, partition)])
            missing = [number for number in range(max(moves, default=0) + 1, count + 1) if number not in there]
            if missing:
                raise self.broken("nothing lost", f"{partition}: records {missing} of {count} are not in the sink")
            twice = {number: times for number, times in there.items() if times > 1 + sum(start < number for start in moves)}
            if once and twice:
                raise self.broken("exactly once, in order", f"{partition}: records are there too often: {twice}")
