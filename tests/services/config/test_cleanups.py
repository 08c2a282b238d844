"""What is left to do behind deleted connectors is kept, given to one at a time, and told."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb

from rocketconnect_kit.serving.status import decode
from services.config.cleanups import FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, TOO_EARLY_SECONDS
from services.config.domain import Action, Cleanup, CleanupOutcome, Connector, ConnectorType, Draft, WantedState
from services.config.signature import Signature
from services.config.store import ConfigStore

CONFIG = {"connector.class": "slots", "password": "${env:P}"}


def create(store: ConfigStore, name: str = "c", config: dict[str, str] = CONFIG, adopt_uid: str = "") -> Connector:
    return store.create(Draft(name, config, WantedState.RUNNING, "", adopt_uid), ConnectorType.SOURCE)


def report(store: ConfigStore, taken: Cleanup, outcome: CleanupOutcome, error: str = "") -> None:
    store.report_cleanup(taken.connector_uid, taken.delete_time, outcome, Signature("worker-1", "", error))


def told(store: ConfigStore) -> list[tuple[Action, str]]:
    """What the history says since the connector was deleted, the oldest first."""
    changes = [change for _, change in reversed(store.history("c", None, 100))]
    deleted = max(place for place, change in enumerate(changes) if change.action is Action.DELETE)
    return [(change.action, change.reason) for change in changes[deleted + 1 :]]


@pytest.fixture
def taken(store: ConfigStore) -> Cleanup:
    create(store)
    store.delete("c", "")
    found = store.take_cleanup(["slots"], 60)
    assert found is not None
    return found


def test_nothing_is_left_to_do_behind_a_living_connector(store: ConfigStore) -> None:
    create(store)
    assert store.take_cleanup(["slots"], 60) is None


def test_a_deleted_connector_is_given_with_its_last_configuration_to_whom_offers_its_plugin(store: ConfigStore) -> None:
    made = create(store)
    store.update("c", CONFIG | {"slot": "b"}, "", ConnectorType.SOURCE)
    store.delete("c", "")
    assert store.take_cleanup(["files"], 60) is None
    found = store.take_cleanup(["files", "slots"], 60)
    assert found is not None
    assert (found.connector_uid, found.connector, found.config) == (made.uid, "c", CONFIG | {"slot": "b"})


def test_what_is_taken_is_given_to_nobody_else_until_the_time_is_over(store: ConfigStore, taken: Cleanup, clock: Any) -> None:
    assert store.take_cleanup(["slots"], 60) is None
    clock.advance(61)
    assert store.take_cleanup(["slots"], 60) == taken


def test_of_many_at_once_one_gets_it(store: ConfigStore) -> None:
    create(store)
    store.delete("c", "")
    barrier = threading.Barrier(8)

    def attempt(_number: int) -> Cleanup | None:
        barrier.wait()
        return store.take_cleanup(["slots"], 60)

    with ThreadPoolExecutor(8) as pool:
        assert sum(found is not None for found in pool.map(attempt, range(8))) == 1


@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (CleanupOutcome.DONE, [(Action.CLEAN_UP, "")]),
        (CleanupOutcome.NOTHING, []),
        (CleanupOutcome.GIVEN_UP, [(Action.CLEANUP_GIVEN_UP, "")]),
    ],
)
def test_what_is_over_is_never_given_again_and_told_unless_nothing_was_done(
    store: ConfigStore, taken: Cleanup, clock: Any, outcome: CleanupOutcome, lines: list[tuple[Action, str]]
) -> None:
    report(store, taken, outcome)
    report(store, taken, outcome)
    clock.advance(1e6)
    assert store.take_cleanup(["slots"], 60) is None
    assert told(store) == lines


def test_what_failed_is_tried_again_ever_later_and_each_new_reason_is_told_once(
    store: ConfigStore, taken: Cleanup, clock: Any
) -> None:
    age = 0
    for reason in ("away", "away", "in use"):
        wait = max(age, FIRST_RETRY_SECONDS)
        age += wait + 1
        report(store, taken, CleanupOutcome.FAILED, reason)
        clock.advance(wait - 1)
        assert store.take_cleanup(["slots"], 60) is None
        clock.advance(2)
        assert store.take_cleanup(["slots"], 60) == taken
    clock.advance(10 * LAST_RETRY_SECONDS)
    report(store, taken, CleanupOutcome.FAILED, "in use")
    clock.advance(LAST_RETRY_SECONDS + 1)
    assert store.take_cleanup(["slots"], 60) == taken
    assert told(store) == [(Action.CLEANUP_FAILED, "away"), (Action.CLEANUP_FAILED, "in use")]


def test_what_was_too_early_comes_again_soon_and_is_not_told(store: ConfigStore, taken: Cleanup, clock: Any) -> None:
    report(store, taken, CleanupOutcome.TOO_EARLY)
    assert store.take_cleanup(["slots"], 60) is None
    clock.advance(TOO_EARLY_SECONDS + 1)
    assert store.take_cleanup(["slots"], 60) == taken
    assert told(store) == []


def test_an_adoption_drops_the_cleanup_and_reports_of_it_until_the_next_deletion(
    store: ConfigStore, taken: Cleanup, clock: Any
) -> None:
    report(store, taken, CleanupOutcome.FAILED, "away")
    create(store, adopt_uid=taken.connector_uid)
    clock.advance(61)
    assert store.take_cleanup(["slots"], 60) is None
    report(store, taken, CleanupOutcome.DONE)
    store.delete("c", "")
    report(store, taken, CleanupOutcome.DONE)
    assert told(store) == []
    again = store.take_cleanup(["slots"], 60)
    assert again is not None
    assert (again.connector_uid, again.delete_time > taken.delete_time) == (taken.connector_uid, True)
    report(store, again, CleanupOutcome.FAILED, "away")
    assert told(store) == [(Action.CLEANUP_FAILED, "away")]


async def test_a_cleanup_is_taken_and_reported_over_the_wire_and_in_the_history(service: Any) -> None:
    made = await service.create("c")
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c"))
    asked = pb.TakeCleanupRequest(plugins=["file_source"], seconds=60)
    cleanup = (await service.stub.TakeCleanup(asked)).cleanup
    assert (cleanup.connector_uid, cleanup.connector, cleanup.config) == (made.uid, "c", made.config)
    assert not (await service.stub.TakeCleanup(asked)).HasField("cleanup")
    failed = pb.ReportCleanupRequest(
        worker_id="worker-1",
        connector_uid=cleanup.connector_uid,
        delete_time=cleanup.delete_time,
        outcome=pb.CLEANUP_OUTCOME_GIVEN_UP,
        error="no\0rights" + "!" * 2_000,
    )
    await service.stub.ReportCleanup(failed)
    newest = (await service.stub.ListChanges(pb.ListChangesRequest(name="c"))).changes[0]
    assert (newest.author, newest.reason[:10], len(newest.reason)) == ("worker-1", "no?rights!", 1_000)


@pytest.mark.parametrize("seconds", [0, -1, 3_601])
async def test_a_cleanup_is_taken_for_a_time_that_ends(service: Any, seconds: int) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        await service.stub.TakeCleanup(pb.TakeCleanupRequest(seconds=seconds))
    assert decode(caught.value).reason == "CONFIG_INVALID"
