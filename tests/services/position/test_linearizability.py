"""The fencing of the position service, OpenTask included, under concurrent commits, plan changes, lost answers and restarts."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import ServiceError, Unavailable
from rocketconnect_kit.store.database import reading, writing
from services.position.domain import Fence, Position, Update
from services.position.store import PositionStore, _Books
from services.position.writer import Outcome
from tests.services.position.conftest import Clock
from tests.services.position.linearizability import NEVER, Call, Operation, Positions, is_linearizable, without_answer

if TYPE_CHECKING:
    from concurrent.futures import Future

CLIENTS = 5
CALLS = 30
ROUNDS = 6

NewStore = Callable[[sa.Engine], PositionStore]


class Replicas:
    """Stores over one database, each of which may be started anew at any time."""

    def __init__(self, engine: sa.Engine, new: NewStore, count: int) -> None:
        self._engine = engine
        self._new = new
        self._stores = [new(engine) for _ in range(count)]

    def any(self, random: Random) -> PositionStore:
        return random.choice(self._stores)

    def restart(self, random: Random) -> None:
        number = random.randrange(len(self._stores))
        old, self._stores[number] = self._stores[number], self._new(self._engine)
        old.close()

    def close(self) -> None:
        for store in self._stores:
            store.close()


def record(replicas: Replicas, uid: str, seed: int) -> list[Operation]:
    """Let clients call at the same time, and return what each call gave."""
    ticks, history = itertools.count(), list[Operation]()
    newest = {"generation": 1, "epoch": 1}

    def client(number: int) -> None:
        random = Random(seed * 1000 + number)
        mine = Call("list")
        for turn in range(CALLS):
            if random.random() < 0.1:
                newest["generation"] += 1
            if random.random() < 0.3 or turn == 0:
                newest["epoch"] += 1
                generation = newest["generation"] - (random.random() < 0.2)
                mine = Call("open", random.randrange(2), generation, newest["epoch"] - (random.random() < 0.2))
                call = mine
            else:
                call = _next_call(random, mine)
            history.append(_done(replicas.any(random), uid, call, random, ticks))
            if number == 0 and turn % 10 == 9:
                replicas.restart(random)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return history


def _next_call(random: Random, mine: Call) -> Call:
    partition, offset = random.choice("ab"), f"[{random.randrange(4)}]"
    kind = random.choices(("commit", "list", "alter"), (7, 3, 1))[0]
    if kind == "commit":
        expected = random.choice(("", "", "none", "[1]"))
        return Call("commit", mine.task, mine.generation, mine.epoch, partition, offset, expected)
    return Call("list") if kind == "list" else Call("alter", partition=partition, offset=offset)


def _done(store: PositionStore, uid: str, call: Call, random: Random, ticks: Iterator[int]) -> Operation:
    called = next(ticks)
    try:
        answer = _ask(store, uid, call, 0.0 if random.random() < 0.05 else 30.0)
    except (TimeoutError, Unavailable):
        return Operation(call, called, NEVER, None)
    except ServiceError as error:
        answer = error.reason
    return Operation(call, called, next(ticks), answer)


def _ask(store: PositionStore, uid: str, call: Call, seconds: float) -> str | Positions:
    fence = Fence(uid, call.task, call.generation, call.epoch)

    def answer(future: "Future[Any]") -> Any:
        # A caller that gives up does not take back what it has asked for.
        return future.result(seconds)

    match call.kind:
        case "open":
            return _told(answer(store.open_task(fence)).positions)
        case "commit":
            answer(store.commit(fence, [Update(call.partition, call.offset, 0, "", call.expected)], clean=False))
            return "stored"
        case "alter":
            return _told(answer(store.alter(uid, {call.partition: (call.offset, "")})).positions)
        case "list":
            return _told(store.page(uid, "", 100))


def _told(positions: Sequence[Position]) -> Positions:
    return tuple((each.partition, each.incarnation, each.offset) for each in positions)


def first_unlinearizable(engine: sa.Engine, new: NewStore, rounds: int) -> int | None:
    """The first of so many rounds whose history no single service could have given."""
    replicas = Replicas(engine, new, 2)
    try:
        return next((seed for seed in range(rounds) if not is_linearizable(record(replicas, f"u{seed}", seed))), None)
    finally:
        replicas.close()


def sound(engine: sa.Engine) -> PositionStore:
    return PositionStore(engine, Clock(), Clock())


def test_every_history_is_one_of_a_single_service_that_does_one_call_at_a_time(engine: sa.Engine) -> None:
    assert first_unlinearizable(engine, sound, ROUNDS) is None


class CheckedOutside(PositionStore):
    """Broken: decides on what it has read in one transaction, and writes in another one."""

    def _store_group(self, changes: Sequence[Any]) -> list[Outcome[Any]]:
        outcomes: list[Outcome[Any]] = []
        for change in changes:
            with reading(self._engine) as connection:
                books = _Books(connection, [change])
                outcomes.append(books.decide(change))
            time.sleep(0.001)
            with writing(self._engine) as connection:
                books._connection = connection
                books.write()
        return outcomes


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_service_that_checks_the_fence_outside_the_transaction_is_found_out(engine: sa.Engine) -> None:
    assert first_unlinearizable(engine, lambda engine: CheckedOutside(engine, Clock(), Clock()), 60) is not None


@pytest.mark.postgres
@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_a_service_that_does_not_lock_its_rows_is_found_out(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = _Books.decide

    def slowly(books: _Books, change: Any) -> Outcome[Any]:
        time.sleep(0.001)
        return decide(books, change)

    monkeypatch.setattr(sa.Select, "with_for_update", lambda query: query)
    monkeypatch.setattr(_Books, "decide", slowly)
    assert first_unlinearizable(engine, sound, 60) is not None


OPENED = Operation(Call("open", 0, 1, 2), 0, 1, ())
OTHER = Operation(Call("open", 0, 1, 3), 2, 3, ())
LATE = Operation(Call("commit", 0, 1, 2, "a", "[1]"), 4, 5, "stored")


def test_a_commit_that_is_let_in_after_a_newer_open_has_returned_is_found_out() -> None:
    assert not is_linearizable([OPENED, OTHER, LATE])


def test_a_commit_that_was_called_before_a_newer_open_returned_may_come_before_it() -> None:
    early = Operation(LATE.call, 1, 5, "stored")
    seen = Operation(Call("open", 0, 1, 3), 2, 3, (("a", 0, "[1]"),))
    assert is_linearizable([OPENED, early, seen])
    assert not is_linearizable([OPENED, early, OTHER])


def test_a_call_of_unknown_outcome_may_have_happened_or_not_but_not_twice() -> None:
    lost = without_answer(Operation(Call("commit", 0, 1, 2, "a", "[1]"), 2, 3, "stored"))
    shows = Operation(Call("list"), 10, 11, (("a", 0, "[1]"),))
    hides = Operation(Call("list"), 12, 13, ())
    assert is_linearizable([OPENED, lost, shows])
    assert is_linearizable([OPENED, lost, hides])
    assert is_linearizable([OPENED, lost, Operation(Call("list"), 6, 7, ()), shows])
    assert not is_linearizable([OPENED, lost, shows, hides])
