import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from rocketconnect_kit.errors import Aborted, FailedPrecondition, ResourceExhausted, ServiceError, Unavailable
from rocketconnect_kit.store import database
from rocketconnect_kit.store.versions import upgrade
from services.position import store as store_module
from services.position import writer as writer_module
from services.position.domain import Fence, Update
from services.position.fencing import LONGEST_LEASE
from services.position.store import PositionStore
from services.position.writer import Done, GroupWriter, Outcome

if TYPE_CHECKING:
    from concurrent.futures import Future

OWNER = Fence("c", 0, 1, 1)


def update(partition: str, offset: str, expected: str = "") -> Update:
    return Update(partition, offset, 0, '{"floor": 1}', expected)


def commit(store: PositionStore, fence: Fence, *updates: Update, clean: bool = False) -> None:
    store.commit(fence, updates, clean=clean).result(60)


def stored(store: PositionStore, uid: str = "c") -> dict[str, str]:
    return {position.partition: position.offset for position in store.page(uid, "", 1000)}


def test_what_is_committed_is_returned_to_the_next_owner(store: PositionStore) -> None:
    assert store.open_task(OWNER).result(60).positions == ()
    commit(store, OWNER, update("file:/a b/ü#1", "[10]"), update("topic/broker-a/3", "[-1,2]"))
    answer = store.open_task(Fence("c", 0, 1, 2)).result(60)
    assert [(each.partition, each.offset, each.resume) for each in answer.positions] == [
        ("file:/a b/ü#1", "[10]", '{"floor": 1}'),
        ("topic/broker-a/3", "[-1,2]", '{"floor": 1}'),
    ]


def test_a_refused_commit_stores_nothing_of_it(store: PositionStore) -> None:
    store.open_task(OWNER).result(60)
    commit(store, OWNER, update("p", "[1]"))
    with pytest.raises(Aborted):
        commit(store, OWNER, update("a", "[5]"), update("p", "[2]", "[9]"), update("z", "[5]"))
    assert stored(store) == {"p": "[1]"}


def test_connectors_do_not_see_each_other(store: PositionStore) -> None:
    for uid in ("c", "d"):
        store.open_task(Fence(uid, 0, 1, 1)).result(60)
        commit(store, Fence(uid, 0, 1, 1), update("p", f"[{ord(uid)}]"))
    store.reset("c").result(60)
    assert (stored(store, "c"), stored(store, "d")) == ({}, {"p": "[100]"})
    commit(store, Fence("d", 0, 1, 1), update("p", "[1]"))


def test_commits_that_share_a_transaction_each_get_their_own_answer(store: PositionStore) -> None:
    store.open_task(OWNER).result(60)
    store.open_task(Fence("d", 0, 1, 1)).result(60)
    futures: list[tuple[bool, Future[Any]]] = []
    for number in range(500):
        fenced = number % 3 == 0
        by = Fence("c", 0, 1, 0) if fenced else OWNER
        futures.append((fenced, store.commit(by, [update(f"p{number}", "[1]")], clean=False)))
        futures.append((False, store.commit(Fence("d", 0, 1, 1), [update("p", f"[{number}]")], clean=False)))
    for fenced, future in futures:
        if fenced:
            assert isinstance(future.exception(10), FailedPrecondition)
        else:
            assert future.result(60) == {}
    assert set(stored(store)) == {f"p{number}" for number in range(500) if number % 3}
    assert stored(store, "d") == {"p": "[499]"}


def test_a_reset_within_a_group_forgets_what_came_before_it_and_keeps_what_came_after(store: PositionStore) -> None:
    store.open_task(OWNER).result(60)
    blocked = threading.Event()

    def hold_up(_ledger: object) -> Any:
        blocked.wait(10)
        raise ZeroDivisionError

    first = store._writer.submit(store_module._Change("c", hold_up))
    futures: list[Future[Any]] = [
        store.commit(OWNER, [update("p", "[1]")], clean=False),
        store.reset("c"),
        store.open_task(Fence("c", 0, 1, 2)),
        store.commit(Fence("c", 0, 1, 2), [update("q", "[2]")], clean=False),
    ]
    blocked.set()
    with pytest.raises(ZeroDivisionError):
        first.result(60)
    assert [future.result(60) for future in futures][1].forgotten == 1
    assert stored(store) == {"q": "[2]"}


def test_of_two_commits_that_expect_the_same_offset_one_wins_across_replicas(engine: sa.Engine, store: PositionStore) -> None:
    replicas = (store, PositionStore(engine, lambda: 1, lambda: 1))
    store.open_task(OWNER).result(60)
    commit(store, OWNER, update("p", "[0]"))
    last = "[0]"
    try:
        for number in range(1, 21):
            futures = {
                f"[{number},{which}]": replica.commit(OWNER, [update("p", f"[{number},{which}]", last)], clean=False)
                for which, replica in enumerate(replicas)
            }
            winners = [offset for offset, future in futures.items() if future.exception(10) is None]
            assert stored(store) == {"p": winners[0]}
            assert len(winners) == 1
            last = winners[0]
    finally:
        replicas[1].close()


def test_replicas_agree_on_the_fence(engine: sa.Engine, store: PositionStore) -> None:
    other = PositionStore(engine, lambda: 1, lambda: 1)
    try:
        store.open_task(OWNER).result(60)
        commit(store, OWNER, update("p", "[1]"))
        assert [each.offset for each in other.open_task(Fence("c", 0, 2, 2)).result(60).positions] == ["[1]"]
        with pytest.raises(FailedPrecondition):
            commit(store, OWNER, update("p", "[2]"))
    finally:
        other.close()


def test_pages_go_through_all_partitions(store: PositionStore) -> None:
    store.open_task(OWNER).result(60)
    names = [f"p{number}" for number in range(25)]
    commit(store, OWNER, *(update(name, "[1]") for name in names))
    seen: list[str] = []
    while page := store.page("c", seen[-1] if seen else "", 7):
        seen += [position.partition for position in page]
    assert sorted(seen) == sorted(names)
    assert len(seen) == 25


def test_ten_thousand_positions_go_in_one_commit(store: PositionStore) -> None:
    store.open_task(OWNER).result(60)
    commit(store, OWNER, *(update(f"p{number}", "[1]") for number in range(10_000)))
    commit(store, OWNER, *(update(f"p{number}", "[2]", "[1]") for number in range(10_000)))
    assert len(store.open_task(Fence("c", 0, 1, 2)).result(60).positions) == 10_000


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_commit_looks_up_its_rows_by_index(engine: sa.Engine) -> None:
    with database.reading(engine) as connection:
        for kind in ("task", "partition"):
            query = sa.text(f"EXPLAIN QUERY PLAN {store_module._LOOKUPS['sqlite', kind].text}")
            plan = [row[-1] for row in connection.execute(query, {"keys": "[]"})]
            assert any(step.startswith(f"SEARCH {kind[0]} USING INDEX") for step in plan), plan


def test_the_migrations_make_the_tables_that_the_store_uses(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "position_schema_version"})
        differences = compare_metadata(context, store_module._metadata)
    assert [
        item for item in differences if isinstance(item, tuple) and item[0] in {"add_table", "add_column", "remove_column"}
    ] == []


class Group:
    """A store in memory that can be held up, and breaks on the change -1."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.groups: list[list[int]] = []

    def __call__(self, changes: Sequence[int]) -> list[Outcome[int]]:
        assert self.go.wait(10)
        if -1 in changes:
            msg = "broken"
            raise ValueError(msg)
        self.groups.append(list(changes))
        return [Aborted("ODD", "odd") if change % 2 else Done(change) for change in changes]


@pytest.fixture
def writing() -> Any:
    group = Group()
    writer: GroupWriter[int, int] = GroupWriter(group)
    yield group, writer
    group.go.set()
    writer.close()


def results(futures: Sequence["Future[int]"]) -> list[int | type[BaseException]]:
    return [type(error) if (error := future.exception(10)) else future.result() for future in futures]


def test_changes_that_wait_together_are_stored_together_in_order(writing: Any) -> None:
    group, writer = writing
    group.go.clear()
    futures = [writer.submit(number) for number in range(7)]
    group.go.set()
    assert results(futures) == [0, Aborted, 2, Aborted, 4, Aborted, 6]
    assert [number for each in group.groups for number in each] == list(range(7))
    assert len(group.groups) <= 3


def test_a_change_that_breaks_the_store_harms_no_other(writing: Any) -> None:
    group, writer = writing
    group.go.clear()
    futures = [writer.submit(number) for number in (0, 2, -1, 4)]
    group.go.set()
    assert results(futures) == [0, 2, ValueError, 4]


def test_a_cancelled_change_is_left_out(writing: Any) -> None:
    group, writer = writing
    group.go.clear()
    futures = [writer.submit(number) for number in (0, 2, 4)]
    assert futures[2].cancel()
    group.go.set()
    assert results(futures[:2]) == [0, 2]
    assert 4 not in [number for each in group.groups for number in each]


def test_too_many_waiting_changes_are_refused(writing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    group, writer = writing
    group.go.clear()
    with pytest.raises(ResourceExhausted):
        for number in range(writer_module.MAXIMUM_WAITING + writer_module.MAXIMUM_GROUP + 2):
            writer.submit(number * 2)


def test_closing_stores_what_waits_and_refuses_the_rest() -> None:
    group = Group()
    writer: GroupWriter[int, int] = GroupWriter(group)
    futures = [writer.submit(number) for number in (0, 2, 4)]
    writer.close()
    assert [future.result(0) for future in futures] == [0, 2, 4]
    with pytest.raises(Unavailable):
        writer.submit(6)


def test_a_store_that_is_away_fails_the_whole_group_and_the_next_one_works() -> None:
    down = threading.Event()
    down.set()

    def store(changes: Sequence[int]) -> Sequence[Outcome[int]]:
        if down.is_set():
            raise Unavailable("STORE_UNAVAILABLE", "away")
        return [Done(change) for change in changes]

    writer: GroupWriter[int, int] = GroupWriter(store)
    assert isinstance(writer.submit(1).exception(10), ServiceError)
    down.clear()
    assert writer.submit(2).result(60) == 2
    writer.close()


def test_what_is_confirmed_outlives_the_process(store: PositionStore, engine: sa.Engine) -> None:
    store.open_task(OWNER).result(60)
    assert store.confirm("c", [OWNER, Fence("c", 1, 1, 2)], 60_000_000).result(60) == ()
    other = PositionStore(engine, store._now, lambda: 1)
    try:
        waits = [other.open_task(Fence("c", task, 1, 9)).result(60).wait for task in (0, 1)]
        assert waits == [60_000_000, 60_000_000]
        assert other.confirm("c", [OWNER], 60_000_000).result(60) == (OWNER,)
    finally:
        other.close()


@pytest.mark.parametrize("step", [-3_600_000_000, 0, 3_600_000_000])
def test_a_time_of_day_that_is_set_neither_shortens_nor_lengthens_the_wait(engine: sa.Engine, step: int) -> None:
    now, elapsed = [1_700_000_000_000_000], [1_000]
    store = PositionStore(engine, lambda: now[0], lambda: elapsed[0])
    try:
        store.open_task(OWNER).result(60)
        assert store.confirm("c", [OWNER], 30_000_000).result(60) == ()
        now[0] += step + 10_000_000
        elapsed[0] += 10_000_000
        assert store.open_task(Fence("c", 0, 1, 2), send_deadline=2_000_000).result(60).wait == 22_000_000
        elapsed[0] += 22_000_000
        assert store.open_task(Fence("c", 0, 1, 3), send_deadline=2_000_000).result(60).wait == 0
    finally:
        store.close()


def test_a_replica_that_did_not_see_the_confirmation_waits_for_all_of_it(engine: sa.Engine) -> None:
    one, other = PositionStore(engine, lambda: 1, lambda: 10**12), PositionStore(engine, lambda: 1, lambda: 7)
    try:
        one.open_task(OWNER).result(60)
        assert one.confirm("c", [OWNER], 30_000_000).result(60) == ()
        assert other.open_task(Fence("c", 0, 1, 2)).result(60).wait == 30_000_000
        assert one.open_task(Fence("c", 0, 1, 3)).result(60).wait == 30_000_000
    finally:
        one.close()
        other.close()


def test_what_was_confirmed_before_lengths_were_stored_is_waited_for_as_long_as_can_be(store_url: str, tmp_path: Path) -> None:
    bound, now = database.engine(store_url), time.time_ns() // 1_000
    for version in Path(store_module.__file__).parent.glob("migrations/v000[1-4]_*.py"):
        (tmp_path / version.name).write_text(version.read_text())
    row = "INSERT INTO position_tasks (connector_uid, task, generation, epoch, clean, open, confirmed_until)"
    with database.writing(bound) as connection:
        upgrade(connection, tmp_path, "position")
        for uid, until in (("recent", now - 3_600_000_000), ("long ago", now - 90_000_000_000), ("never", 0)):
            connection.execute(sa.text(f"{row} VALUES ('{uid}', 0, 1, 1, true, true, {until})"))
    database.migrate(bound, "position")
    store = PositionStore(bound, lambda: 1, lambda: 1)
    try:
        waits = {uid: store.open_task(Fence(uid, 0, 1, 2)).result(60).wait for uid in ("recent", "long ago", "never")}
        assert waits == {"recent": LONGEST_LEASE, "long ago": 0, "never": 0}
    finally:
        store.close()
        bound.dispose()
