"""One run: the tables are filled and copied, changed while things are killed, and compared when it is quiet."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from random import Random

from rocketconnect_cli.api import ApiError
from tests.databases.arena import Arena
from tests.databases.load import Load
from tests.databases.oracle import Difference, compare

_TICK_SECONDS = 0.1
_TOLD_SECONDS = 10.0
_STUCK_SECONDS = 300.0
_QUIET_SECONDS = 2.0
_SHOWN = 5


class Failed(Exception):
    """The tables did not become equal; the text says where they differ."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run.

    Attributes:
        seed: Decides everything but time.
        rows: Before the first change.
        changes: Of rows.
        kills: How many.
        large: Changes in each large transaction.
        rate: Changes a second, at most; 0: as fast as it goes.
    """

    seed: int
    rows: int
    changes: int
    kills: int
    large: int
    rate: int = 0


@dataclass(slots=True)
class _Feeding:
    """Of the thread that changes the source."""

    done: int = 0
    error: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)


def run(arena: Arena, plan: Plan, tell: Callable[[str], object]) -> Load:
    """See the module. Progress goes to `tell`. Gives what was done.

    Raises:
        Failed
    """
    began = time.monotonic()
    load = Load(arena.source, plan.seed, plan.rows, plan.changes, plan.large)
    load.fill()
    tell(f"{time.monotonic() - began:.0f} s: filled with {plan.rows} rows and more")
    arena.copy()
    feeding = _Feeding()
    thread = threading.Thread(target=_feed, args=(load, feeding, plan.rate), daemon=True)
    thread.start()
    _kill_while(arena, plan, feeding, began, tell)
    thread.join()
    load.close()
    if feeding.error is not None:
        raise feeding.error
    tell(f"{time.monotonic() - began:.0f} s: {feeding.done} changes; killed: {arena.kills}")
    _until_equal(arena, load, began, tell)
    return load


def _feed(load: Load, feeding: _Feeding, rate: int) -> None:
    began = time.monotonic()
    try:
        for feeding.done in load.changes():
            if rate:
                time.sleep(max(0.0, began + feeding.done / rate - time.monotonic()))
    except BaseException as error:
        feeding.error = error
    finally:
        feeding.over.set()


def _kill_while(arena: Arena, plan: Plan, feeding: _Feeding, began: float, tell: Callable[[str], object]) -> None:
    """Kills as the changes go on, the first one before the snapshot is over; what is left over comes behind them."""
    chance = Random(plan.seed)
    left, killed_at, told_at = plan.kills, time.monotonic() + chance.uniform(5, 20), time.monotonic()
    while left or not feeding.over.is_set():
        arena.look_after()
        now = time.monotonic()
        if left and now >= killed_at:
            left -= 1
            tell(f"{now - began:.0f} s: {feeding.done} changes: killing {arena.kill(chance)}")
            killed_at = now + chance.uniform(8, 25)
        if now - told_at > _TOLD_SECONDS:
            told_at = now
            tell(f"{now - began:.0f} s: {feeding.done} changes")
        time.sleep(_TICK_SECONDS)


def _until_equal(arena: Arena, load: Load, began: float, tell: Callable[[str], object]) -> None:
    """Waits as long as something still changes in the copy."""
    seen, moved = "", time.monotonic()
    while True:
        arena.look_after()
        try:
            counts = _compare(arena, load)
        except Exception as error:
            is_behind = isinstance(error, Difference | ApiError) or arena.sink.lacks_column(error)
            if not (is_behind or arena.source.is_lost(error) or arena.sink.is_lost(error)):
                raise
            text = str(error)
        else:
            tell(
                f"{time.monotonic() - began:.0f} s: EQUAL: {counts}; rows without a counterpart, all dead letters: {len(load.odd)}"
            )
            return
        now = time.monotonic()
        if text != seen:
            seen, moved = text, now
            tell(f"{now - began:.0f} s: not yet: {text[:200]}")
        if now - moved > _STUCK_SECONDS:
            msg = f"{text}; {arena.states()}"
            raise Failed(msg)
        for _ in range(int(_QUIET_SECONDS / _TICK_SECONDS)):
            arena.look_after()
            time.sleep(_TICK_SECONDS)


def _compare(arena: Arena, load: Load) -> dict[str, int]:
    source, sink = arena.source, arena.sink
    counts = {table.name: compare(source, sink, table, load.columns(table)) for table in source.tables.equal}
    odd = source.tables.odd.name
    with closing(sink.connect()) as connection:
        found = list(sink.rows(connection, f"SELECT count(*) FROM {odd}")) if sink.has(connection, odd) else [(0,)]
    if found != [(0,)]:
        msg = f"odd: {found} rows came through that have no counterpart"
        raise Difference(msg)
    if missing := load.odd - arena.dead_letters():
        msg = f"odd: {len(missing)} of {len(load.odd)} rows are no dead letters: {sorted(missing)[:_SHOWN]}"
        raise Difference(msg)
    return counts
