import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from rocketconnect_kit.errors import Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from rocketconnect_kit.store import database
from rocketconnect_kit.store.versions import upgrade
from rocketconnect_sdk.targets.owned import Target
from services.config import tables
from services.config.domain import Connector, ConnectorType, Draft, WantedState
from services.config.requests import REQUEST_DAYS
from services.config.store import ConfigStore


def draft(name: str, config: dict[str, str] | None = None, request_id: str = "", adopt_uid: str = "") -> Draft:
    return Draft(name, config or {"connector.class": "x"}, WantedState.RUNNING, request_id, adopt_uid)


def create(store: ConfigStore, name: str, config: dict[str, str] | None = None, **more: str) -> Connector:
    return store.create(draft(name, config, **more), ConnectorType.SOURCE)


def create_sink(store: ConfigStore, name: str, *targets: str, **more: str) -> Connector:
    return store.create(
        draft(name, {"n": name}, **more), ConnectorType.SINK, targets=[Target("filename", each) for each in targets]
    )


def taken_by(error: InvalidArgument) -> list[str]:
    return [f"{problem.field} {problem.value}: {problem.reason}" for problem in error.problems]


def test_what_is_created_is_read_back_the_same(store: ConfigStore) -> None:
    made = create(store, "c", {"key": "wert ü \0 \U0001f680"})
    assert (made.revision, made.restarts, made.wanted_state) == (1, 0, WantedState.RUNNING)
    assert store.get("c") == made
    assert store.page("", 10) == [made]


def test_two_creates_of_one_name_at_once_make_one(store: ConfigStore) -> None:
    barrier = threading.Barrier(8)

    def attempt(_number: int) -> bool:
        barrier.wait()
        try:
            create(store, "c")
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    assert len(store.page("", 10)) == 1


def test_of_two_creates_with_one_target_at_once_one_succeeds(store: ConfigStore) -> None:
    barrier = threading.Barrier(8)

    def attempt(number: int) -> bool:
        barrier.wait()
        try:
            create_sink(store, f"c{number}", f"file:///{number}", "file:///one")
        except InvalidArgument:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    assert len(store.page("", 10)) == 1


def test_a_target_of_another_connector_is_refused_with_its_name_and_nothing_is_written(store: ConfigStore) -> None:
    first, second = create_sink(store, "first", "file:///one"), create_sink(store, "second", "file:///two")
    with pytest.raises(InvalidArgument) as caught:
        create_sink(store, "third", "file:///one", "file:///two")
    assert taken_by(caught.value) == [
        "filename file:///one: the connector 'first' writes there already, and one alone may",
        "filename file:///two: the connector 'second' writes there already, and one alone may",
    ]
    with pytest.raises(InvalidArgument):
        store.update("second", {"n": "2"}, "", ConnectorType.SINK, targets=[Target("filename", "file:///one")])
    assert store.page("", 10) == [first, second]


def test_a_connector_keeps_its_target_through_updates_until_it_is_deleted_or_names_another(store: ConfigStore) -> None:
    first = create_sink(store, "first", "file:///one")
    store.want("first", WantedState.STOPPED)
    store.update("first", {"n": "2"}, "", ConnectorType.SINK, targets=[Target("filename", "file:///one")])
    with pytest.raises(InvalidArgument):
        create_sink(store, "second", "file:///one")
    store.update("first", {"n": "3"}, "", ConnectorType.SINK, targets=[Target("filename", "file:///two")])
    create_sink(store, "second", "file:///one")
    store.delete("first", "")
    create_sink(store, "third", "file:///two")
    with pytest.raises(InvalidArgument):
        create_sink(store, "first", "file:///two", adopt_uid=first.uid)
    create_sink(store, "first", "file:///three", adopt_uid=first.uid)
    with pytest.raises(InvalidArgument):
        create_sink(store, "fourth", "file:///three")


def test_targets_that_were_not_known_are_known_when_they_are_told_of_the_present_revision(store: ConfigStore) -> None:
    old = store.create(draft("old"), ConnectorType.SINK)
    create(store, "source")
    create_sink(store, "new", "file:///new")
    assert [connector.name for connector in store.of_unknown_targets()] == ["old"]
    now = store.update("old", {"n": "2"}, "", ConnectorType.SINK)
    store.know_targets(old, [Target("filename", "file:///before")])
    assert store.of_unknown_targets() == [now]
    store.know_targets(now, [Target("filename", "file:///now")])
    assert (store.of_unknown_targets(), store.get("old")) == ([], now)
    create_sink(store, "second", "file:///before")
    with pytest.raises(InvalidArgument):
        create_sink(store, "third", "file:///now")


def test_the_same_request_at_once_is_one_create(store: ConfigStore) -> None:
    barrier = threading.Barrier(8)

    def attempt(_number: int) -> Connector:
        barrier.wait()
        return create(store, "c", request_id="r")

    with ThreadPoolExecutor(8) as pool:
        assert len({connector.uid for connector in pool.map(attempt, range(8))}) == 1


def test_a_request_id_is_answered_the_same_even_after_the_connector_changed_and_went(store: ConfigStore) -> None:
    made = create(store, "c", request_id="r")
    store.want("c", WantedState.PAUSED)
    assert create(store, "c", request_id="r") == made
    store.delete("c", "")
    assert create(store, "c", request_id="r") == made
    with pytest.raises(NotFound):
        store.get("c")


def test_a_request_id_with_another_body_is_refused(store: ConfigStore) -> None:
    create(store, "c", request_id="r")
    for other in (draft("d", request_id="r"), draft("c", {"connector.class": "y"}, request_id="r")):
        with pytest.raises(AlreadyExists) as caught:
            store.create(other, ConnectorType.SOURCE)
        assert caught.value.reason == "REQUEST_ID_REUSED"


def test_request_ids_are_forgotten_after_a_week(store: ConfigStore, clock: object, engine: sa.Engine) -> None:
    create(store, "c", request_id="r")
    clock.advance(REQUEST_DAYS * 24 * 3600 + 1)  # type: ignore[attr-defined]
    create(store, "d", request_id="s")
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT request_id FROM config_requests")).scalars().all() == ["s"]


def test_update_writes_the_next_revision_and_keeps_the_old_one(store: ConfigStore) -> None:
    first = create(store, "c", {"a": "1"})
    second = store.update("c", {"a": "2"}, first.etag, ConnectorType.SINK)
    assert (second.revision, second.config, second.type, second.uid) == (2, {"a": "2"}, ConnectorType.SINK, first.uid)
    assert second.etag != first.etag
    assert [(item.revision, item.config) for item in store.revisions("c", None, 10)] == [(2, {"a": "2"}), (1, {"a": "1"})]


def test_update_with_the_same_configuration_writes_nothing(store: ConfigStore) -> None:
    made = create(store, "c", {"a": "1"})
    before = store.sequence()
    with pytest.raises(AlreadyExists) as caught:
        store.update("c", {"a": "1"}, "", ConnectorType.SOURCE)
    assert caught.value.reason == "SAME_CONFIG"
    assert store.get("c") == made
    assert store.sequence() == before


def test_an_old_etag_is_refused_and_changes_nothing(store: ConfigStore) -> None:
    made = create(store, "c")
    paused = store.want("c", WantedState.PAUSED)
    assert paused.etag != made.etag
    with pytest.raises(Aborted) as update:
        store.update("c", {"a": "2"}, made.etag, ConnectorType.SOURCE)
    with pytest.raises(Aborted) as delete:
        store.delete("c", made.etag)
    assert update.value.reason == delete.value.reason == "ETAG_MISMATCH"
    assert store.get("c") == paused


def test_of_many_updates_with_one_etag_one_wins(store: ConfigStore) -> None:
    made = create(store, "c", {"a": "0"})
    barrier = threading.Barrier(8)

    def attempt(number: int) -> bool:
        barrier.wait()
        try:
            store.update("c", {"a": str(number + 1)}, made.etag, ConnectorType.SOURCE)
        except Aborted:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    assert store.get("c").revision == 2


def test_a_name_that_was_deleted_starts_fresh_and_its_revisions_stay(store: ConfigStore) -> None:
    first = create(store, "c", {"a": "1"})
    assert store.delete("c", first.etag) == first
    assert [item.connector_uid for item in store.revisions("c", None, 10)] == [first.uid]
    second = create(store, "c", {"a": "2"})
    assert second.uid != first.uid
    assert second.revision == 1
    assert [item.connector_uid for item in store.revisions("c", None, 10)] == [second.uid, first.uid]


def test_a_deleted_uid_can_be_adopted_under_another_name_and_goes_on_counting(store: ConfigStore) -> None:
    first = create(store, "c", {"a": "1"})
    store.restart("c")
    store.delete("c", "")
    second = create(store, "d", {"a": "2"}, adopt_uid=first.uid)
    assert (second.uid, second.name, second.revision, second.restarts) == (first.uid, "d", 2, 1)
    assert store.get("d") == second
    with pytest.raises(NotFound):
        store.get("c")


def test_a_living_or_unknown_uid_can_not_be_adopted(store: ConfigStore) -> None:
    living = create(store, "c")
    with pytest.raises(FailedPrecondition) as alive:
        create(store, "d", adopt_uid=living.uid)
    assert alive.value.reason == "ADOPTED_UID_ALIVE"
    with pytest.raises(NotFound) as unknown:
        create(store, "d", adopt_uid="nobody")
    assert unknown.value.reason == "ADOPTED_UID_NOT_FOUND"


def test_wanting_what_is_wanted_writes_nothing(store: ConfigStore) -> None:
    create(store, "c")
    before = store.sequence()
    store.want("c", WantedState.RUNNING)
    assert store.sequence() == before


def test_restart_counts_and_wants_running(store: ConfigStore) -> None:
    create(store, "c")
    store.want("c", WantedState.STOPPED)
    again = store.restart("c")
    assert (again.restarts, again.wanted_state) == (1, WantedState.RUNNING)


def test_unknown_names_are_not_found_whatever_they_hold(store: ConfigStore) -> None:
    for name in ("nobody", "a\0b", ""):
        with pytest.raises(NotFound):
            store.get(name)
        with pytest.raises(NotFound):
            store.restart(name)


def test_changes_show_each_connector_once_as_it_is_now(store: ConfigStore) -> None:
    create(store, "a")
    start = store.snapshot()
    created = create(store, "b")
    store.want("b", WantedState.PAUSED)
    gone = store.delete("a", "")
    create(store, "e")
    store.delete("e", "")
    changes = store.changes_since(start.sequence)
    assert [(item.uid, item.wanted_state) for item in changes.connectors] == [(created.uid, WantedState.PAUSED)]
    assert gone.uid in changes.deleted_uids
    assert changes.sequence == start.sequence + 5
    assert store.changes_since(changes.sequence).connectors == ()


def test_not_one_change_is_missed_when_each_is_asked_for_by_itself(store: ConfigStore) -> None:
    seen = store.snapshot().sequence
    for name in ("a", "b", "c"):
        made = create(store, name)
        changes = store.changes_since(seen)
        assert changes.connectors == (made,)
        seen = changes.sequence


def test_pages_go_through_all_names_in_order(store: ConfigStore) -> None:
    for name in ("b", "a", "C", "d_", "d-"):
        create(store, name)
    names: list[str] = []
    while page := store.page(names[-1] if names else "", 2):
        names += [connector.name for connector in page]
    assert sorted(names) == sorted(["b", "a", "C", "d_", "d-"])
    assert len(set(names)) == 5


def test_a_worker_replaces_its_report_and_falls_out_when_it_is_silent(store: ConfigStore, clock: object) -> None:
    store.report_worker("w1", "h:1", {"p": "{}"}, {"alias": "p"})
    store.report_worker("w1", "h:2", {"q": "{}"}, {})
    store.report_worker("w2", "h:3", {"q": "{}"}, {})
    assert [(worker.worker_id, worker.address, list(worker.plugins)) for worker in store.workers(90)] == [
        ("w2", "h:3", ["q"]),
        ("w1", "h:2", ["q"]),
    ]
    clock.advance(91)  # type: ignore[attr-defined]
    assert store.workers(90) == []


def test_the_migrations_make_the_tables_that_the_store_uses(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "config_schema_version"})
        differences = compare_metadata(context, tables.metadata)
    # The store's tables name columns only; constraints and indexes are the migrations' alone.
    assert [
        item for item in differences if isinstance(item, tuple) and item[0] in {"add_table", "add_column", "remove_column"}
    ] == []


def test_connectors_that_had_no_target_before_topics_were_targets_are_asked_again(store_url: str, tmp_path: Path) -> None:
    engine = database.engine(store_url)
    for version in Path(tables.__file__).parent.glob("migrations/v000[1-5]_*.py"):
        (tmp_path / version.name).write_text(version.read_text())
    with database.writing(engine) as connection:
        upgrade(connection, tmp_path, "config")
    numbers = dict.fromkeys(("revision", "changed", "create_time", "update_time", "restarts"), 1)
    common = {**numbers, "config": "{}", "wanted_state": "RUNNING", "type": "SINK", "apply_set": ""}
    with engine.begin() as connection:
        for name, targets in (("directory", "[]"), ("file", '[["filename", "file:///out"]]')):
            connection.execute(tables.connectors.insert().values(uid=name, name=name, targets=targets, **common))
    database.migrate(engine, "config")
    store = ConfigStore(engine, lambda: 1)
    assert [connector.name for connector in store.of_unknown_targets()] == ["directory"]
    with pytest.raises(InvalidArgument):
        create_sink(store, "second", "file:///out")
    engine.dispose()


def test_replicas_that_start_at_once_migrate_once(store_url: str) -> None:
    barrier = threading.Barrier(6)

    def start(_number: int) -> None:
        made = database.engine(store_url)
        barrier.wait()
        database.migrate(made, "config")
        made.dispose()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(start, range(6)))
    made = database.engine(store_url)
    assert ConfigStore(made, lambda: 1).sequence() == 0
    made.dispose()
