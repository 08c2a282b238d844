"""One run: the tables are filled and copied, changed while things are killed, and compared when it is quiet."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from rocketconnect_cli.api import ApiError
from tests.databases.arena import Arena
from tests.databases.load import Load
from tests.databases.oracle import Difference

_TICK_SECONDS = 0.1
_TOLD_SECONDS = 10.0
_STUCK_SECONDS = 300.0
_FAILED_SECONDS = 20.0
"""So long nothing changes any more where a task has failed."""
_QUIET_SECONDS = 2.0
_SHOWN = 1_000
"""Characters of what is different."""


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
        pause: Seconds between two kills, at least and at most.
    """

    seed: int
    rows: int
    changes: int
    kills: int
    large: int
    rate: int = 0
    pause: tuple[float, float] = (8.0, 25.0)


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
    tell(f"{time.monotonic() - began:.0f} s: {feeding.done} changes; killed: {dict(arena.kills)}")
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
            killed_at = now + chance.uniform(*plan.pause)
        if now - told_at > _TOLD_SECONDS:
            told_at = now
            tell(f"{now - began:.0f} s: {feeding.done} changes")
        time.sleep(_TICK_SECONDS)


def _until_equal(arena: Arena, load: Load, began: float, tell: Callable[[str], object]) -> None:
    """Waits as long as something still changes in the copy. What is equal is looked at once more: what comes late is seen, too."""
    seen, moved = "", time.monotonic()
    is_equal = False
    while True:
        arena.look_after()
        try:
            counts = arena.compare(load)
        except Exception as error:
            if not (isinstance(error, Difference | ApiError) or arena.is_away(error)):
                raise
            text = str(error)
            is_equal = False
        else:
            text = f"EQUAL: {dict(counts)}"
            if is_equal:
                return
            is_equal = True
        now = time.monotonic()
        if text != seen:
            seen, moved = text, now
            tell(f"{now - began:.0f} s: {text[:_SHOWN]}")
        if now - moved > _STUCK_SECONDS or (now - moved > _FAILED_SECONDS and arena.has_failed):
            msg = f"{text}; {arena.states()}"
            raise Failed(msg)
        for _ in range(int(_QUIET_SECONDS / _TICK_SECONDS)):
            arena.look_after()
            time.sleep(_TICK_SECONDS)
