"""Whoever is late, whatever is lost: each row is there once."""

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from connectors.doris import client
from rocketconnect_sdk.conformance.runs import QUEUE, ROW, row
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.connectors.doris.run import Run, opened
from tests.connectors.doris.stepper import Stepper, stepping
from tests.servers.doris import Doris

OTHER = "orders/broker-a/1"
CALLS = ["load", "insert", "select", "commit", "state"]
FAULTS = ["lose", *(pytest.param(fault, marks=pytest.mark.slow) for fault in ("drop", "late"))]


def rows(server: Doris, table: str = "rows") -> list[dict[str, object]]:
    found = server.run(f"SELECT queue, offset, text FROM shop.{table} ORDER BY queue, offset")
    return [dict(zip(("queue", "offset", "text"), each, strict=True)) for each in found]


def expected(until: int, queue: int = 0) -> list[dict[str, object]]:
    return [row(queue, offset) for offset in range(until)]


class Lost(BaseException):
    """The process is gone."""


class Once:
    """A fault that comes with the number-th request of a kind, once."""

    def __init__(self, what: str, fault: str, number: int = 1) -> None:
        self._what, self._fault, self._left = what, fault, number

    def __call__(self, asked: str) -> str:
        self._left -= asked == self._what
        return self._fault if asked == self._what and self._left == 0 else ""


def written(run: Run, until: int, queue: str = QUEUE) -> None:
    """As the runtime does: a batch that failed is written again."""
    commit = run.commit_of(until, queue)
    deadline = time.monotonic() + 400
    while True:
        try:
            run.task.commit([run.stage(run.batch(until, queue))], commit)
        except (SystemAway, RetriableError):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            run.positions |= commit.after
            return


def started(run: Run) -> Run:
    deadline = time.monotonic() + 400
    while True:
        try:
            return run.start()
        except (SystemAway, RetriableError):
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_answer_that_is_lost_doubles_nothing(doris: Doris, options: dict[str, str], what: str, fault: str, number: int) -> None:
    run = opened(options).start()
    written(run, 10)
    commit, receipt = run.commit_of(20), run.stage(run.batch(20))
    doris.on = Once(what, fault, number)
    try:
        run.task.commit([receipt], commit)
    except SystemAway:
        run.task.commit([receipt], commit)
    run.positions |= commit.after
    assert rows(doris) == expected(20)
    written(run, 30)
    doris.wait()
    assert rows(doris) == expected(30)
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(30)}
    assert rows(doris) == expected(30)


@pytest.mark.parametrize("what", ["select", "insert", "state", "abort", "delete", "create"])
@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_is_lost_at_the_start_changes_nothing(doris: Doris, options: dict[str, str], what: str, fault: str) -> None:
    dying = opened(options).start()
    written(dying, 10)
    doris.on = Once("commit", "drop")
    with pytest.raises(SystemAway):
        dying.write(20)
    assert doris.states()[-1] == "PRECOMMITTED"
    doris.on = Once(what, fault)
    newer = started(opened(options, epoch=2))
    assert newer.positions == {QUEUE: QueuePosition(10)}
    assert doris.states()[-1] == "ABORTED"
    written(newer, 15)
    doris.wait()
    assert opened(options, epoch=3).start().positions == {QUEUE: QueuePosition(15)}
    assert rows(doris) == expected(15)


def test_a_publication_that_takes_its_time_is_a_success(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    doris.on = Once("commit", "publish")
    run.write(10)
    assert doris.states() == ["COMMITTED"]
    newer = opened(options, epoch=2).start()
    assert newer.positions == {QUEUE: QueuePosition(10)}
    assert rows(doris) == expected(10)


def test_a_load_that_was_committed_by_an_owner_who_died_is_told_by_its_state(doris: Doris, options: dict[str, str]) -> None:
    dying = opened(options).start()
    dying.write(10)
    doris.on = Once("commit", "lose")
    with pytest.raises(SystemAway):
        dying.write(20)
    newer = opened(options, epoch=2).start()
    assert newer.positions == {QUEUE: QueuePosition(20)}
    newer.write(30)
    assert rows(doris) == expected(30)


def test_a_commit_that_arrives_late_finds_its_load_aborted(doris: Doris, options: dict[str, str]) -> None:
    dying = opened(options).start()
    dying.write(10)
    doris.on, doris.late = Once("commit", "late"), -1
    with pytest.raises(SystemAway):
        dying.write(20)
    newer = opened(options, epoch=2).start()
    doris.wait()
    assert newer.positions == {QUEUE: QueuePosition(10)}
    assert doris.states()[-1] == "ABORTED"
    newer.write(15)
    assert rows(doris) == expected(15)


def test_a_promise_that_arrives_late_replaces_nothing_newer(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    run.write(10)
    commit, receipt = run.commit_of(20), run.stage(run.batch(20))
    doris.on, doris.late = Once("insert", "late"), -1
    with pytest.raises(SystemAway):
        run.task.commit([receipt], commit)
    run.task.commit([receipt], commit)
    run.positions |= commit.after
    run.write(30)
    doris.wait()
    doris.forget()
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(30)}


def test_what_is_not_visible_yet_is_waited_for(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    doris.on = Once("insert", "unseen")
    begun = time.monotonic()
    run.write(10)
    assert time.monotonic() - begun >= doris.late
    doris.on = Once("insert", "unseen")
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(10)}


def test_a_load_that_its_server_has_given_up_is_made_again(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()

    def given_up(asked: str) -> str:
        if asked == "commit":
            doris.time_out()
            doris.on = lambda _asked: ""
        return ""

    doris.on = given_up
    with pytest.raises(RetriableError, match="was aborted before its commit"):
        run.write(10)
    assert rows(doris) == []
    run.write(10)
    assert rows(doris) == expected(10)


@pytest.mark.parametrize(("is_there", "outcome"), [(True, "there"), (False, "gone")])
def test_a_load_that_is_forgotten_stops_the_task_until_somebody_has_looked(
    doris: Doris, options: dict[str, str], is_there: bool, outcome: str
) -> None:
    dying = opened(options).start()
    dying.write(10)
    doris.on = Once("commit", "lose" if is_there else "drop")
    with pytest.raises(SystemAway):
        dying.write(20)
    doris.time_out()
    doris.forget()
    for epoch in (2, 3):
        with pytest.raises(
            PermanentError, match=r"the server has forgotten the load .* of orders/broker-a/0 up to offset 20"
        ) as told:
            opened(options, epoch=epoch).start()
    statement = re.search(r"run (UPDATE .*?); with", str(told.value))
    assert statement is not None
    doris.run(statement[1].replace("'there'", f"'{outcome}'"))
    newer = opened(options, epoch=4).start()
    assert newer.positions == {QUEUE: QueuePosition(20 if is_there else 10)}
    newer.write(30)
    assert rows(doris) == expected(30)


def test_loads_that_are_forgotten_behind_their_batch_are_no_matter(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    for until in (10, 20, 30):
        run.write(until)
        doris.forget()
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(30)}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_commit_that_could_not_be_said_is_said_when_its_batch_comes_again(
    doris: Doris, options: dict[str, str], fault: str
) -> None:
    run = opened(options).start()
    commit, receipt = run.commit_of(10), run.stage(run.batch(10))
    doris.on = Once("insert", fault, 2)
    with pytest.raises(SystemAway):
        run.task.commit([receipt], commit)
    assert doris.states() == ["VISIBLE"]
    run.task.commit([receipt], commit)
    doris.wait()
    doris.forget()
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(10)}
    assert rows(doris) == expected(10)


@pytest.mark.parametrize(("what", "number"), [("insert", 1), ("insert", 2), ("commit", 1), ("state", 1), ("select", 1)])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_task_that_starts_again_in_its_process_goes_on_where_it_was(
    doris: Doris, options: dict[str, str], what: str, number: int, fault: str
) -> None:
    run = opened(options).start()
    run.write(10)
    commit, receipt = run.commit_of(20), run.stage(run.batch(20))
    doris.on = Once(what, fault, number)
    with pytest.raises(SystemAway):
        run.task.commit([receipt], commit)
    run.start()
    assert run.positions[QUEUE].until in (10, 20)
    run.write(25)
    doris.wait()
    doris.forget()
    run.start()
    run.write(30)
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(30)}
    assert rows(doris) == expected(30)


def calls_of(work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many calls it makes."""
    count = 0
    with stepping(monkeypatch):
        stepper = Stepper(work)
        while not stepper.done:
            count += 1
            stepper.step()
    assert stepper.error is None
    return count


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_an_owner_that_is_replaced_between_any_two_steps_of_both_doubles_nothing(
    doris: Doris, options: dict[str, str], monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """The older one stops in the middle of its batch, the newer one in the middle of its claim, and both go on.

    Each step of the one and of the other is among every eighth pair of them, too.
    """
    first = opened(options).start()
    first.write(1)
    mine = calls_of(lambda: first.write(2), monkeypatch)
    theirs = calls_of(lambda: opened(options, epoch=2).start(), monkeypatch)
    assert mine >= 7
    assert theirs >= 8
    epoch, fenced, committed = 3, 0, 0
    for stops in range(mine + 1):
        for claims in range(stops % every, theirs + 3, every):
            older = opened(options, epoch=epoch).start()
            begin = older.positions[QUEUE].until
            receipt, commit = older.stage(older.batch(begin + 3)), older.commit_of(begin + 3)
            newer = opened(options, epoch=epoch + 1)
            with stepping(monkeypatch):
                writing = Stepper(lambda: older.task.commit([receipt], commit))  # noqa: B023 - ended below
                writing.step(stops)
                claiming = Stepper(newer.start)
                claiming.step(claims)
                told = writing.finish()
                assert claiming.finish() is None
            assert told is None or isinstance(told, (PermanentError, RetriableError)), told
            fenced, committed = fenced + (told is not None), committed + (told is None)
            if told is None or newer.positions[QUEUE].until > begin:
                # Nothing that it was told is there is read again.
                assert newer.positions[QUEUE] == QueuePosition(begin + 3)
            newer.write(newer.positions[QUEUE].until + 2)
            assert rows(doris) == expected(newer.positions[QUEUE].until), (stops, claims)
            epoch += 2
    assert fenced > 10 // every
    assert committed > 10 // every


def test_an_owner_that_died_between_any_two_steps_is_followed(
    doris: Doris, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(options).start()
    first.write(1)
    mine = calls_of(lambda: first.write(2), monkeypatch)
    for stops in range(mine + 1):
        dying = opened(options, epoch=10 + 2 * stops).start()
        with stepping(monkeypatch):
            writing = Stepper(lambda: dying.write(dying.positions[QUEUE].until + 3))  # noqa: B023 - at once
            writing.step(stops)
            newer = opened(options, epoch=11 + 2 * stops).start()
            newer.write(newer.positions[QUEUE].until + 2)
            assert rows(doris) == expected(newer.positions[QUEUE].until), stops
            # It comes back when all is over.
            error = writing.finish()
            assert error is None or isinstance(error, (PermanentError, RetriableError)), error
        assert rows(doris) == expected(newer.positions[QUEUE].until), stops


def test_a_plan_knows_of_all_tasks_before_it_whichever_of_its_own_begins_first(doris: Doris, options: dict[str, str]) -> None:
    queues = [f"orders/broker-a/{number}" for number in range(3)]
    for number, queue in enumerate(queues):
        opened(options, task=number, epoch=1 + number).start().write(10, queue)
    doris.on = Once("commit", "lose")
    late = opened(options, task=2, epoch=7).start()
    with pytest.raises(SystemAway):
        late.write(20, queues[2])
    first = opened(options, generation=2, task=5, epoch=10).start()
    doris.forget()
    second = opened(options, generation=2, task=4, epoch=11).start()
    assert first.positions == second.positions == dict(zip(queues, map(QueuePosition, (10, 10, 20)), strict=True))


def test_tasks_beside_each_other_leave_their_loads_alone(
    doris: Doris, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = opened(options).start()
    with stepping(monkeypatch):
        writing = Stepper(lambda: one.write(10))
        while "PRECOMMITTED" not in doris.states() or doris.seen[-1] != "select":
            writing.step()
        other = opened(options, task=1, epoch=2).start()
        other.write(5, OTHER)
        assert writing.finish() is None
    assert rows(doris) == expected(10) + expected(5, 1)


def two_tables(run: Run, until: int) -> tuple[list[Any], SinkCommit]:
    """A batch of queues of two topics."""
    names = ("orders/broker-a/0", "returns/broker-a/0")
    before = {name: run.positions.get(name, QueuePosition(0)) for name in names}
    after = {name: replace(position, until=until) for name, position in before.items()}
    receipts = []
    for name in names:
        offsets = range(before[name].until, until)
        batch = SinkBatch(name, name.partition("/")[0], [row(0, each) for each in offsets], offsets, schema=ROW)
        receipts.append(run.stage(batch))
    return receipts, SinkCommit("uid", 0, run.epoch, before, after, 2 * until, f"token-{until}")


@pytest.mark.parametrize("fault", ["drop", "lose"])
@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_batch_of_two_tables_is_made_whole_by_whoever_comes_next(
    doris: Doris, options: dict[str, str], fault: str, number: int
) -> None:
    options = options | {"table": "${topic}"}
    dying = opened(options).start()
    receipts, commit = two_tables(dying, 10)
    doris.on = Once("commit", fault, number)
    with pytest.raises(SystemAway):
        dying.task.commit(receipts, commit)
    newer = opened(options, epoch=2).start()
    there = (number - 1) + (fault == "lose")
    assert [position.until for position in newer.positions.values()] == [10] * there
    for until in (10, 20):
        newer.task.commit(*two_tables(newer, until))
        newer.positions |= two_tables(newer, until)[1].after
    assert rows(doris, "orders") == rows(doris, "returns") == expected(20)


def test_a_batch_of_refused_records_is_a_position(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    commit = run.commit_of(5)
    run.task.move(commit)
    run.positions |= commit.after
    run.write(10)
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(10)}
    assert [each["offset"] for each in rows(doris)] == [5, 6, 7, 8, 9]
    with pytest.raises(PermanentError, match="a newer owner"):
        run.task.move(run.commit_of(12))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_whatever_is_lost_whoever_dies_and_comes_back_each_row_is_there_once(
    doris: Doris, options: dict[str, str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Owners that were replaced go on whenever they like, with requests that are lost, late and refused."""
    chance = random.Random(seed)
    doris.late = 0.02
    faults = {
        "load": ["drop", "lose", "late", "[CANCELLED]tablet writer write failed"],
        "commit": ["drop", "lose", "late", "publish"],
        "abort": ["drop", "lose", "late"],
        "state": ["drop"],
        "insert": ["drop", "lose", "late", "unseen", "errCode = 2, detailMessage = current running txns on db 1 is 100"],
        "select": ["drop", "lose"],
    }
    opened(options).start().write(1)
    doris.on = lambda asked: chance.choice(faults[asked]) if asked in faults and chance.random() < 0.06 else ""
    epoch, sleeping = 1, list[Stepper]()
    with stepping(monkeypatch):
        for _ in range(25):
            epoch += 1
            run = opened(options, epoch=epoch)

            def work(run: Run = run, chance: random.Random = random.Random(chance.random())) -> None:  # noqa: B008 - one each
                started(run)
                for _ in range(chance.randrange(1, 4)):
                    written(run, run.positions[QUEUE].until + chance.randrange(1, 6))

            stepper = Stepper(work)
            stepper.step(chance.randrange(1, 40))
            sleeping.append(stepper)
            for each in chance.sample(sleeping, min(3, len(sleeping))):
                each.step(chance.randrange(1, 10))
        doris.on = lambda _asked: ""
        last = opened(options, epoch=epoch + 1).start()
        for each in sleeping:
            error = each.finish()
            assert error is None or isinstance(error, PermanentError), error
    doris.wait()
    last.write(last.positions[QUEUE].until + 5)
    assert rows(doris) == expected(last.positions[QUEUE].until)
    assert last.positions[QUEUE].until > 20


@pytest.mark.slow
def test_killed_at_any_time_it_goes_on_with_every_row(doris: Doris, options: dict[str, str]) -> None:
    """A process that writes batch after batch is killed with SIGKILL again and again."""
    opened(options).start().write(20)
    chance, epoch, deadline = random.Random(5), 1, time.monotonic() + 400
    while epoch < 12 or len(rows(doris)) < 150:
        assert time.monotonic() < deadline
        epoch += 1
        child = os.fork()
        if child == 0:
            _write_until_killed(options, epoch)
        time.sleep(chance.uniform(0.05, 0.4))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    last = opened(options, epoch=epoch + 1).start()
    last.write(last.positions[QUEUE].until + 50)
    assert rows(doris) == expected(last.positions[QUEUE].until)


def _write_until_killed(options: dict[str, str], epoch: int) -> None:
    try:
        run = opened(options, epoch=epoch).start()
        chance = random.Random(epoch)
        while True:
            run.write(run.positions[QUEUE].until + chance.randrange(1, 30))
    finally:
        os._exit(1)


def test_a_server_that_is_killed_is_waited_for_and_has_every_row_once(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options | {"request.timeout": "2s"}).start()
    run.write(10)
    stop, failed = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            while not stop.is_set():
                written(run, run.positions[QUEUE].until + 10)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(5):
        time.sleep(0.2)
        doris.kill()
        time.sleep(0.05)
        doris.start()
    stop.set()
    thread.join()
    assert failed == []
    until = run.positions[QUEUE].until
    assert until > 10
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(until)}
    assert rows(doris) == expected(until)


def test_an_owner_whose_process_is_gone_before_an_answer_is_followed(
    doris: Doris, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = opened(options).start()
    dying.write(10)

    def gone(*_: Any) -> Any:
        raise Lost

    with monkeypatch.context() as patch:
        patch.setattr(client.Client, "commit", gone)
        with pytest.raises(Lost):
            dying.write(20)
    newer = opened(options, epoch=2).start()
    newer.write(30)
    assert rows(doris) == expected(30)


def test_what_the_server_says_of_a_commit_is_not_believed(
    doris: Doris, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older frontends call a commit a success that an abort beside it has made nothing of."""
    run = opened(options).start()

    def both(self: client.Client, database: str, transaction: int) -> None:
        self.abort(database, transaction)

    with monkeypatch.context() as patch:
        patch.setattr(client.Client, "commit", both)
        with pytest.raises(ConnectorError, match="aborted before its commit"):
            run.write(10)
    run.write(10)
    assert rows(doris) == expected(10)
