"""Bugs to put into the product while the simulation runs: each must be found.

The first four are what RocketMQ Connect is known for. A mutation replaces decision functions of the product for the time of a run.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any
from unittest import mock

from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.sink import SourceMark
from services.cluster.decisions import core, plans
from services.cluster.decisions.events import WorkerGone
from services.cluster.decisions.leases import Leases
from services.cluster.model import PLAN, Key, PlanState, Unit
from services.cluster.state import State
from services.cluster.tables import Tables
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.tail import Tail
from services.executor.runtime.sink import duplicates
from services.executor.runtime.sink import positions as sink_positions
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.source import pieces, takeover
from services.executor.runtime.source import queues as source_queues
from services.executor.worker.lease import WorkerLease
from services.executor.worker.lifecycle import Lifecycle
from services.position import fencing
from services.position.domain import Effects, Fence, Ledger, Opened, Position, Update
from services.position.sightings import Sightings
from services.state.sightings import Sighting
from tests.simulation.actors import election, source_task
from tests.simulation.actors.host import Host
from tests.simulation.actors.target import Target
from tests.simulation.actors.worker import Worker
from tests.simulation.world import Process

MOST_SEEDS = 2000
"""A bug that is not found in so many seeds is not found."""


@dataclass(frozen=True)
class Mutation:
    """A bug.

    Attributes:
        name: What it does.
        replaced: What in the product is replaced by what.
        found_by: The invariants of which one is to break first.
        seed: The one that found it when somebody looked last: it is tried first.
    """

    name: str
    replaced: tuple[tuple[Any, str, Any], ...]
    found_by: frozenset[str]
    seed: int

    @property
    def seeds(self) -> Iterator[int]:
        """Where to look for it, in this order: any change of the product or the simulation may move it."""
        return chain((self.seed,), range(MOST_SEEDS))

    @contextmanager
    def applied(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, other in self.replaced:
                stack.enter_context(mock.patch.object(owner, name, other))
            yield


def _commit_of_anybody(
    ledger: Ledger, fence: Fence, updates: tuple[Update, ...], seen: Sightings, *, clean: bool, now: int
) -> Effects:
    """The store takes what comes last, whoever sends it."""
    positions = tuple(Position(each.partition, each.offset, each.incarnation, each.resume, now) for each in updates)
    return Effects(None, (), positions)


def _revoke_at_once(state: State, unit: Unit) -> None:
    """A rebalance that does not wait for the old owner."""
    if state.is_wanted(unit):
        state.take_back(unit)
    else:
        _revoke(state, unit)


_revoke = State.revoke


def _after_of_one_queue(before: Mapping[str, Any], parts: list[Part]) -> dict[str, Any]:
    """Of all queues of a batch only the position of the last one is kept."""
    found = _after(before, parts)
    return dict(list(found.items())[-1:])


_after = sink_positions.after


def _advance_when_read(progress: pieces.Progress, partition: str) -> None:
    """A position moves when its records were read, whether the broker has confirmed them or not."""
    batches = progress._open[partition]
    for batch in batches:
        batch.covered = True
        progress._moved[partition] = Stored(batch.end, progress.incarnation(partition))
    while batches and not batches[0].open_pieces:
        batches.popleft()


def _confirmed_lease(leases: Leases, now: float) -> list[str]:
    return sorted(name for name, until in leases._until.items() if now >= until - 3.0)


def _counted_from_the_answer(lease: WorkerLease, sent: float, seconds: float) -> None:
    """The lease counts from when the answer has come at the latest."""
    _answered(lease, sent + lease.patience(sent), seconds)


_answered = WorkerLease.answered


def _no_floors(known: Mapping[int, Any], task: int, generation: int, revision: int) -> takeover.Search:
    return takeover.Search({}, {}, mixed=False, base_mixed=False)


def _floors_only(known: Mapping[int, takeover.Row], generation: int) -> list[takeover._Left]:
    return [takeover._own(row) for row in known.values() if row.generation < generation]


def _by_the_highest(known: Mapping[int, takeover.Row], task: int, generation: int, revision: int) -> takeover.Search:
    """The highest offset in each queue counts, whatever map it was sent by."""
    return replace(_scan_from(known, task, generation, revision), mixed=False, base_mixed=False)


_scan_from = takeover.scan_from


def _all_new(raws: list[bytes], seen: Mapping[str, Any]) -> duplicates.Selected:
    return duplicates.Selected(None, duplicates.behind(raws))


def _mix_generations(state: State, connector: Any, units: Any) -> None:
    """The first task of a new plan starts while tasks of the old one are still stopping."""
    uid, plan = connector.uid, state.tables.plans.get(connector.uid)
    if plan is None or connector.plan_state is PlanState.VOID:
        _add_missing(state, connector, units)
        return
    there = {unit.key.task for unit in units}
    if connector.plan_state is not PlanState.CURRENT and PLAN not in there:
        _add_missing(state, connector, units)
    for task in range(len(plan.tasks)):
        if task not in there:
            state.put_unit(Unit(Key(uid, task), plan.generation, plan.revision))


_add_missing = plans._add_missing


def _same_number(tables: Tables, name: str, count: int, _floor: int = 0) -> int:
    """Numbers are drawn again after a restart: the counter is not durable."""
    drawn: dict[str, int] = tables.__dict__.setdefault("drawn", {})
    drawn[name] = drawn.get(name, 0) + count
    return drawn[name]


def _claim_of_anybody(store: Target, _generation: int, _commit: Any, records: list[Any]) -> None:
    """The sink does not compare what is stored with where the batch begins."""
    store._store.positions.update(_commit.after)
    store._store.records += records


def _unclean_end(ledger: Ledger, fence: Fence, updates: tuple[Update, ...], seen: Sightings, *, clean: bool, now: int) -> Effects:
    """Rows say that nothing has to be looked for, however the task ended."""
    cut = tuple(
        replace(each, resume=_without_floors(each.resume)) if each.partition.startswith(takeover.ROW) else each for each in updates
    )
    return _commit(ledger, fence, cut, seen, clean=clean, now=now)


_commit = fencing.commit


def _without_floors(resume: str) -> str:
    row = json.loads(resume)
    return json.dumps({**row, "floors": {}, "base": {}})


def _never_silent(sighting: Any, now: Any) -> float:
    return 0.0


def _blind(run: Any, lane: Any) -> Any:
    """A send of unknown outcome is sent again without a look, and what it was is forgotten: its messages count as new."""
    lane.tail = Tail({}, lane.end, lane.end)
    run._host.wake()
    yield 0.0


def _confirm_blindly(run: Any, lane: Any) -> None:
    """A send of unknown outcome counts as done."""
    pending, lane.pending = lane.pending, None
    at = pending.value if isinstance(pending.value, int) else lane.end
    pieces_sent, lane.flying = lane.flying, []
    for piece in pieces_sent:
        run._progress.confirmed(piece, at, at + len(piece))
        at += len(piece)


def _there_up_to(mark: SourceMark | None, _epoch: int, incarnation: int) -> Offset | None:
    """A lower incarnation is always of before a move by hand."""
    if mark is None or incarnation > mark.incarnation:
        return ()
    return mark.offset if incarnation == mark.incarnation else None


def _mutation(name: str, *replaced: tuple[Any, str, Callable[..., Any]], found_by: str, seed: int) -> Mutation:
    return Mutation(name, replaced, frozenset(found_by.split(" | ")), seed)


_OWNERS = "one owner | one generation"
_ONCE, _LOST, _TOPIC = "exactly once, in order", "nothing lost", "nothing twice in the topic"

HISTORIC = (
    _mutation(
        "an older position overwrites a newer one",
        (fencing, "commit", _commit_of_anybody),
        found_by="fence | positions go forward",
        seed=76,
    ),
    _mutation(
        "a commit does not say which one it follows",
        (Host, "expected", lambda _host, _partition: ""),
        found_by="positions go forward",
        seed=421,
    ),
    _mutation("a task runs on two workers", (State, "revoke", _revoke_at_once), found_by=_OWNERS, seed=252),
    _mutation(
        "only one queue's offset is kept", (sink_positions, "after", _after_of_one_queue), found_by=f"{_ONCE} | {_LOST}", seed=2
    ),
    _mutation("records in a queue are lost at restart", (pieces.Progress, "_advance", _advance_when_read), found_by=_LOST, seed=10),
)

OWN = (
    _mutation("a new owner does not wait for the lease", (Leases, "over", _confirmed_lease), found_by=_OWNERS, seed=1),
    _mutation(
        "the lease counts from the answer",
        (WorkerLease, "answered", _counted_from_the_answer),
        found_by=_OWNERS,
        seed=7,
    ),
    _mutation("generations mix", (plans, "_add_missing", _mix_generations), found_by="one generation | fence", seed=40),
    _mutation("epochs begin again after a restart", (Tables, "_count", _same_number), found_by="epochs rise", seed=0),
    _mutation("the sink takes batches of old owners", (Target, "_write", _claim_of_anybody), found_by=_ONCE, seed=10),
    _mutation(
        "a store that has gone back is unknown to sinks", (duplicates, "there_up_to", _there_up_to), found_by=_LOST, seed=2087
    ),
    _mutation("marks are ignored", (duplicates, "select", _all_new), found_by=_ONCE, seed=76),
    _mutation(
        "sends of unknown outcome count as done", (source_task.SourceRun, "_answered", _confirm_blindly), found_by=_LOST, seed=0
    ),
    _mutation("the silent count as alive", (Sighting, "silent_for", _never_silent), found_by="never RUNNING when dead", seed=3),
)


def _confirmed_and_forgotten(
    ledger: Ledger, fences: Sequence[Fence], lease: int, seen: Sightings
) -> tuple[Effects, tuple[Fence, ...]]:
    """The position service confirms epochs and does not remember until when."""
    return Effects(), _confirm(ledger, fences, lease, seen)[1]


_confirm = fencing.confirm


def _open_without_wait(ledger: Ledger, fence: Fence, seen: Sightings, **_more: int) -> tuple[Effects, Opened]:
    """A new owner is not told, or does not heed, that it has to wait."""
    effects, opened = _open(ledger, fence, seen)
    return effects, replace(opened, wait=0)


_open = fencing.open_task


def _cut_any_session(state: State, event: Any, now: float, random: Any) -> int:
    """That a process is gone is believed of whichever has its id now."""
    if isinstance(event, WorkerGone):
        state.leases.cut(event.worker_id, now)
        return 0
    return _handle(state, event, now, random)


_handle = core._handle


def _any_term(_seat: election.Seat, _term: int) -> None:
    """A former leader writes what it has under way."""


SUSPENDED = (
    _mutation(
        "a worker counts its lease on a clock that stands still while its machine is suspended",
        (Worker, "boot_clock", Process.clock),
        (Host, "boot_clock", Process.clock),
        found_by=_OWNERS,
        seed=149,
    ),
)
"""A machine stands still for longer than a lease."""

STANDING_IN = (
    _mutation("a confirmation is not remembered", (fencing, "confirm", _confirmed_and_forgotten), found_by=_OWNERS, seed=33),
    _mutation("a new owner ignores the wait", (fencing, "open_task", _open_without_wait), found_by=_OWNERS, seed=33),
    _mutation(
        "fenced tasks are not stopped before the lease is extended",
        (Lifecycle, "refuse", lambda *_: []),
        (Lifecycle, "runs", lambda *_: False),
        found_by=_OWNERS,
        seed=7,
    ),
    _mutation(
        "a former leader may write", (election.Seat, "require_term", _any_term), found_by=f"epochs rise | {_OWNERS}", seed=413
    ),
    _mutation("an older process of a worker is reported gone", (core, "_handle", _cut_any_session), found_by=_OWNERS, seed=702),
)
"""Who decides while the cluster service is away, and which of its replicas does."""

TOPIC = (
    _mutation("a new owner does not look", (takeover, "scan_from", _no_floors), found_by=_TOPIC, seed=23),
    _mutation(
        "an end before everything found was read again counts as clean",
        (takeover.Found, "held", lambda _found: {}),
        found_by=_TOPIC,
        seed=1231,
    ),
    _mutation(
        "what a task that never began should have looked for is forgotten",
        (takeover, "_left_by", _floors_only),
        found_by=_TOPIC,
        seed=10237,
    ),
    _mutation("an unclean end counts as clean", (fencing, "commit", _unclean_end), found_by=_TOPIC, seed=23),
    _mutation("a send is repeated without a look", (source_task.SourceRun, "_find_out", _blind), found_by=_TOPIC, seed=11),
)
"""What the marks of the sink would hide: duplicates in the topic itself."""

QUEUE_MAP = (
    _mutation(
        "what another queue map has sent is looked for by the highest offset of each queue",
        (takeover, "scan_from", _by_the_highest),
        found_by=f"{_TOPIC} | {_LOST} | {_ONCE}",
        seed=38,
    ),
    _mutation(
        "the new queue map begins before the old one is finished",
        (takeover.Found, "lane", lambda *_: None),
        found_by=f"{_TOPIC} | {_LOST} | {_ONCE}",
        seed=205,
    ),
    _mutation(
        "each task goes by the queues that it sees when it starts",
        (source_queues, "stored_map", lambda *_: {}),
        found_by=f"{_TOPIC} | {_LOST} | {_ONCE}",
        seed=194,
    ),
)
"""The map of records to queues changes."""

ALL = HISTORIC + OWN + SUSPENDED + STANDING_IN + TOPIC + QUEUE_MAP
