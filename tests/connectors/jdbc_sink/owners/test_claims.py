"""Who owns a task, whatever happens between the statements of those who claim it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from threading import Thread
from typing import Any

import pytest

from connectors.jdbc import dialect_of, parse_url
from connectors.jdbc_sink.store import Store
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.connectors.jdbc_sink.conftest import QUEUE, Target
from tests.processes import wait_until

COMMIT = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(1)}, 1, "token")
_SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("mariadb", "sqlite", "oceanbase")]
EACH = pytest.mark.parametrize("target", ["postgres", *_SLOW], indirect=True)
_STATEMENTS = 8
"""More than a claim has."""
_MOMENT = 0.3


class _Stalled:
    """A connection whose owner rests before one of its statements, and goes on when somebody else has done something."""

    def __init__(self, connection: Any, before: int, meanwhile: Callable[[], None]) -> None:
        self._connection = connection
        self._before = before
        self._meanwhile = meanwhile

    def cursor(self) -> Any:
        self._before -= 1
        if self._before == 0:
            self._meanwhile()
        return self._connection.cursor()


def store_of(target: Target, task: int, owner: tuple[int, int]) -> Store:
    return Store(dialect_of(parse_url(target.options["connection.url"])), "positions", "uid", task, owner)


def in_transaction(target: Target, work: Callable[[Any], object]) -> None:
    place = parse_url(target.options["connection.url"], writes=True)
    dialect = dialect_of(place)
    with closing(dialect.connect(place, target.options.get("user", ""), "")) as connection:
        dialect.begin(connection)
        work(connection)
        connection.commit()


def claim(target: Target, store: Store) -> None:
    in_transaction(target, store.claim)


def is_owner(target: Target, store: Store) -> bool:
    try:
        in_transaction(target, lambda connection: store.written(connection, COMMIT))
    except PermanentError:
        return False
    return True


def overtaken(target: Target, older: Store, newer: Store, before: int) -> Sequence[BaseException]:
    """The older one claims, and before one of its statements the newer one does; what the newer one ended with that it must not."""
    failed: list[BaseException] = []

    def other() -> None:
        try:
            claim(target, newer)
        except BaseException as error:  # handed to the test
            failed.append(error)

    thread = Thread(target=other)

    def meanwhile() -> None:
        thread.start()
        # One that has to wait for the older one's transaction goes on behind it.
        thread.join(_MOMENT)

    with suppress(PermanentError):
        in_transaction(target, lambda connection: older.claim(_Stalled(connection, before, meanwhile)))
    if thread.ident is None:
        other()
    else:
        thread.join()
    return failed


@EACH
def test_an_owner_that_is_late_with_its_claim_never_replaces_a_newer_one(target: Target) -> None:
    in_transaction(target, store_of(target, 0, (1, 1)).create)
    for before in range(1, _STATEMENTS):
        first, older, newer = (store_of(target, 0, (before, epoch)) for epoch in (1, 2, 3))
        claim(target, first)
        assert overtaken(target, older, newer, before) == []
        assert is_owner(target, newer)
        assert not is_owner(target, older)


@EACH
def test_a_task_of_an_older_plan_that_is_late_with_its_first_claim_never_writes_beside_a_newer_plan(target: Target) -> None:
    in_transaction(target, store_of(target, 0, (1, 1)).create)
    for before in range(1, _STATEMENTS):
        older, newer = store_of(target, before, (before, 1)), store_of(target, 0, (before + 1, 2))
        assert overtaken(target, older, newer, before) == []
        assert is_owner(target, newer)
        assert not is_owner(target, older)


@EACH
def test_the_claims_of_a_version_that_kept_no_plan_count(target: Target) -> None:
    newest = store_of(target, 0, (3, 7))
    in_transaction(target, newest.create)
    claim(target, newest)
    target.run("DELETE FROM positions WHERE place = 'plan'")
    with pytest.raises(PermanentError, match="a newer owner"):
        claim(target, store_of(target, 1, (2, 9)))
    assert is_owner(target, newest)


@pytest.mark.parametrize("target", ["postgres"], indirect=True)
def test_who_makes_the_table_of_positions_second_at_the_same_moment_starts_all_the_same(target: Target) -> None:
    columns = "connector text, place text, position text, generation bigint, epoch bigint, PRIMARY KEY (connector, place)"
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with closing(target.connect()) as first, ThreadPoolExecutor(1) as pool:
        first.execute(f"CREATE TABLE rocketconnect_positions ({columns})")
        second = pool.submit(target.start)
        wait_until(lambda: bool(target.run(waiting)) or second.done(), 60)
        first.commit()
        second.result()
    assert target.run("SELECT count(*) FROM rocketconnect_positions") == [(2,)]
