"""Runs of tasks, as OpenLineage is told of them."""

import time
from pathlib import Path

import msgspec
import pytest

from services.executor.contract.assignment import PLAN, End, Key
from services.executor.contract.datasets import Dataset, Datasets
from services.executor.contract.messages import TaskPulse
from services.executor.contract.metrics import TaskMetrics
from services.executor.worker import openlineage
from services.executor.worker.lifecycle import Effect, Ended, Forget, Restarting, Start
from services.executor.worker.lineage import Lineage, RunEvent
from services.executor.worker.openlineage import EVENTS, Endpoint, OpenLineageSender
from tests import free_ports
from tests.processes import wait_until
from tests.services.executor.worker.lineage_receiver import receiving
from tests.services.executor.worker.test_reports import assigned, pulse

READ = Datasets((Dataset("rocketmq://ns:9876", "orders"),), (Dataset("postgres://db:5432", "shop.public.orders"),))


class Kept:
    def __init__(self) -> None:
        self.events: list[RunEvent] = []

    def send(self, event: RunEvent) -> None:
        self.events.append(event)


def told(kept: Kept) -> list[str]:
    return [event.type for event in kept.events]


def moved(rows: int) -> TaskMetrics:
    return TaskMetrics(records_out=rows, bytes_out=rows * 10, datasets=READ)


def said(metrics: TaskMetrics) -> TaskPulse:
    return msgspec.structs.replace(pulse(), metrics=metrics)


@pytest.mark.parametrize(
    ("effect", "last"),
    [
        (Ended(assigned(), End()), "COMPLETE"),
        (Ended(assigned(), End(failed=True, error="the disk is full")), "FAIL"),
        (Restarting(assigned(), 1, "its host ended"), "FAIL"),
        (Restarting(assigned(), 1, "a secret", is_lost=False), "COMPLETE"),
        (Ended(assigned(), End(fenced=True)), "ABORT"),
        (Forget(assigned().key, 1), "ABORT"),
        (Start(2, assigned(2), 0), "ABORT"),
    ],
    ids=["clean", "failed", "lost", "begins anew", "fenced", "forgotten", "taken over"],
)
def test_a_run_is_told_from_its_start_to_its_end_however_it_ends(effect: Effect, last: str) -> None:
    kept = Kept()
    lineage = Lineage(kept, 60, lambda: 1_000.0)
    lineage.follow(Start(1, assigned(), 0))
    lineage.pulse(assigned(), said(moved(7)))
    lineage.follow(effect)
    assert told(kept)[:3] == ["START", "RUNNING", last]
    first = kept.events[0]
    assert {event.run_id for event in kept.events[:3]} == {first.run_id}
    assert (first.datasets, kept.events[2].datasets) == (Datasets((), ()), READ)
    assert (kept.events[2].rows, kept.events[2].size) == (7, 70)
    assert bool(kept.events[2].error) == (last == "FAIL")
    assert [event.run_id == first.run_id for event in kept.events[3:]] == [False] * (last == "ABORT" and isinstance(effect, Start))


def test_a_run_that_goes_on_is_told_now_and_then_and_not_with_each_report() -> None:
    now, kept = 1_000.0, Kept()
    lineage = Lineage(kept, 60, lambda: now)
    lineage.follow(Start(1, assigned(), 0))
    for second in range(200):
        now = 1_000.0 + second
        lineage.pulse(assigned(), said(moved(second)))
    assert told(kept) == ["START", "RUNNING", "RUNNING", "RUNNING", "RUNNING"]
    assert [event.time for event in kept.events] == [1_000, 1_000, 1_060, 1_120, 1_180]


def test_a_planning_and_a_run_under_another_epoch_are_not_told() -> None:
    kept = Kept()
    lineage = Lineage(kept, 60)
    lineage.follow(Start(1, assigned(key=Key("uid", PLAN)), 0))
    lineage.pulse(assigned(), said(moved(1)))
    lineage.follow(Start(1, assigned(2), 0))
    lineage.pulse(assigned(1), said(moved(1)))
    assert told(kept) == ["START"]


def test_events_are_those_of_openlineage_with_what_is_read_and_written_and_their_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with receiving() as receiver:
        sender = OpenLineageSender(Endpoint(receiver.address, "here", token))
        lineage = Lineage(sender, 60)
        lineage.follow(Start(1, assigned(), 0))
        lineage.pulse(assigned(), said(moved(7)))
        lineage.follow(Ended(assigned(), End(failed=True, error="the disk is full")))
        events = receiver.wait_for("orders.0", "FAIL")
        sender.close()
    assert receiver.tokens == {"Bearer s3cret"}
    assert [event["eventType"] for event in events] == ["START", "RUNNING", "FAIL"]
    last = events[-1]
    assert (last["job"]["namespace"], last["job"]["facets"]["jobType"]["processingType"]) == ("here", "STREAMING")
    assert last["run"]["facets"]["errorMessage"]["message"] == "the disk is full"
    assert [(each["namespace"], each["name"]) for each in last["inputs"]] == [("rocketmq://ns:9876", "orders")]
    (output,) = last["outputs"]
    assert (output["namespace"], output["name"]) == ("postgres://db:5432", "shop.public.orders")
    assert {name: output["outputFacets"]["outputStatistics"][name] for name in ("rowCount", "size")} == {"rowCount": 7, "size": 70}


def test_an_endpoint_that_is_away_holds_nobody_up_what_finds_no_room_is_counted_and_the_rest_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openlineage, "_FIRST_PAUSE", 0.05)
    dropped = EVENTS.labels("dropped")._value.get()
    with receiving() as receiver:
        receiver.answer = 503
        sender = OpenLineageSender(Endpoint(receiver.address, "here"), most=5)
        lineage = Lineage(sender, 60)
        began = time.monotonic()
        for epoch in range(1, 101):
            lineage.follow(Start(epoch, assigned(epoch, key=Key("uid", epoch)), 0))
        assert time.monotonic() - began < 5
        lost = EVENTS.labels("dropped")._value.get() - dropped
        assert 94 <= lost <= 95
        receiver.answer = 201
        wait_until(lambda: sum(len(receiver.of(f"orders.{number}")) for number in range(1, 101)) == 100 - lost, 180)
        sender.close()


def test_one_that_is_gone_is_not_waited_for_at_the_end_and_one_that_refuses_an_event_gets_the_next() -> None:
    away = OpenLineageSender(Endpoint(f"http://127.0.0.1:{free_ports.choose()}", "here"))
    Lineage(away, 60).follow(Start(1, assigned(), 0))
    began = time.monotonic()
    away.close()
    assert time.monotonic() - began < 30
    refused = EVENTS.labels("refused")._value.get()
    with receiving() as receiver:
        receiver.answer = 422
        sender = OpenLineageSender(Endpoint(receiver.address, "here"))
        lineage = Lineage(sender, 60)
        lineage.follow(Start(1, assigned(), 0))
        wait_until(lambda: EVENTS.labels("refused")._value.get() == refused + 1, 180)
        receiver.answer = 201
        lineage.follow(Ended(assigned(), End()))
        receiver.wait_for("orders.0", "COMPLETE")
        sender.close()
