"""Tasks whose values have their schemas in a registry: through it to the sink, and while it is away."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from starlette.responses import JSONResponse, Response

from services.executor.contract.task import Kind, State
from tests.registry.server import TestRegistry, running
from tests.services.executor.runtime.conftest import Running, Tasks, rows

pytestmark = pytest.mark.rocketmq

LINES = [f"line {number}" for number in range(200)]


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    with running() as found:
        yield found


@pytest.mark.parametrize("name", ["avro", pytest.param("json_schema", marks=pytest.mark.slow)])
def test_a_registry_that_is_away_is_waited_for_at_both_ends_and_nothing_is_lost_or_doubled(
    tasks: Tasks, registry: TestRegistry, name: str
) -> None:
    tasks.create_topic(1)
    converter = {"value.converter": name, "value.converter.schema.registry.url": registry.url}
    registry.fault = Response("", 503)
    path = tasks.file("a", LINES)
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(path), **converter})
    away = f"converting what was read: the schema registry does not answer: {registry.url} answers 503"
    source.reporter.wait_for(lambda: said(source, away))
    registry.fault = None
    source.reporter.wait_for_out(len(LINES))
    assert source.stop().clean
    assert list(registry.store.subjects) == [f"{tasks.topic}-value"]
    registry.fault = Response("<html>", media_type="text/html")
    file = tasks.path / "t.db"
    sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file), **converter})
    sink.reporter.wait_for(lambda: said(sink, "as no schema registry does"))
    assert rows(file) == []
    registry.fault = None
    sink.reporter.wait_for(lambda: len(rows(file)) >= len(LINES))
    assert sink.stop().clean
    assert rows(file) == LINES


def said(task: Running, text: str) -> bool:
    """Whether it waits, and says so with this: before an answer comes it says that none has come yet."""
    return bool(task.reporter.states) and task.reporter.states[-1][0] is State.WAITING and text in task.reporter.states[-1][1]


def rubbish() -> Iterator[Response]:
    """What no schema registry answers."""
    yield Response("<html>", media_type="text/html")
    yield Response(b"\xff\x00\xfe", media_type="application/json")
    yield Response('{"schema": "{', media_type="application/json")
    yield JSONResponse(["anything"])
    yield JSONResponse({"id": "one", "schema": 7, "is_compatible": None})


def asked_more_often(registry: TestRegistry, times: int) -> bool:
    return len(registry.requests) > times


def arrived(count: Callable[[], int]) -> bool:
    return count() >= len(LINES)


@pytest.mark.slow
def test_rubbish_of_a_registry_is_waited_out_and_told_and_costs_no_record(tasks: Tasks, registry: TestRegistry) -> None:
    """At both ends, whatever it is, with all errors of records tolerated: what a registry answers is no fault of a record."""
    tasks.create_topic(1)
    converter = {"value.converter": "avro", "value.converter.schema.registry.url": registry.url}
    converter |= {"errors.tolerance": "all", "errors.retry.delay.max.ms": "100"}
    path, file = tasks.file("a", LINES), tasks.path / "t.db"
    ends: list[tuple[Kind, dict[str, str], Callable[[], int]]] = [
        (Kind.SOURCE, {"connector.class": "lines", "files": str(path)}, lambda: len(tasks.bodies())),
        (Kind.SINK, {"connector.class": "table", "file": str(file)}, lambda: len(rows(file))),
    ]
    for kind, config, count in ends:
        answers = list(rubbish())
        registry.fault = answers[0]
        task = tasks.start(kind, {**config, **converter})
        for answer in answers:
            registry.fault = answer
            # Asked again, and still waiting.
            task.reporter.wait_for(partial(asked_more_often, registry, len(registry.requests) + 1))
            told = task.reporter.wait_for_state(State.WAITING)
            assert "the schema registry does not answer" in told
            assert registry.url in told
            assert count() == 0
        registry.fault = None
        task.reporter.wait_for(partial(arrived, count))
        assert task.stop().clean
        assert task.reporter.metrics.dead_letters == 0
    assert rows(file) == LINES


def test_a_schema_that_does_not_fit_fails_the_task_with_the_reason_and_sends_nothing(tasks: Tasks, registry: TestRegistry) -> None:
    tasks.create_topic(1)
    path = tasks.file("a", LINES)
    config = {"connector.class": "lines", "files": str(path), "value.converter": "avro"}
    config |= {"value.converter.schema.registry.url": registry.url, "value.converter.auto.register.schemas": "false"}
    outcome = tasks.start(Kind.SOURCE, config).end()
    assert outcome.failed
    assert f"does not have this schema under the subject {tasks.topic}-value" in outcome.error
    assert tasks.bodies() == []


PATIENT = {"value.converter": "avro", "value.converter.schema.registry.timeout": "600s"}


def unanswered(registry: TestRegistry) -> str:
    """What a task says that waits for it."""
    return f"the schema registry {registry.url} has not answered yet"


def test_a_registry_that_takes_its_time_holds_up_neither_a_pause_nor_a_stop(tasks: Tasks, registry: TestRegistry) -> None:
    """And the answer is waited for, and not asked for again."""
    tasks.create_topic(1)
    path = tasks.file("a", LINES)
    config = {"connector.class": "lines", "files": str(path), **PATIENT, "value.converter.schema.registry.url": registry.url}
    registry.seconds = 600
    source = tasks.start(Kind.SOURCE, config)
    assert source.reporter.wait_for_state(State.WAITING) == f"converting what was read: {unanswered(registry)}"
    source.control.pause()
    source.reporter.wait_for_state(State.PAUSED)
    source.control.resume()
    source.reporter.wait_for_state(State.WAITING)
    assert not source.stop().failed
    assert len(registry.requests) == 1

    registry.seconds = 1.2
    registry.requests.clear()
    source = tasks.start(Kind.SOURCE, config, epoch=2)
    source.reporter.wait_for_out(len(LINES))
    assert source.stop().clean
    assert registry.requests == [
        f"POST /subjects/{tasks.topic}-value",
        f"POST /compatibility/subjects/{tasks.topic}-value/versions/latest",
        f"POST /subjects/{tasks.topic}-value/versions",
    ]


@pytest.mark.slow
def test_a_registry_that_takes_its_time_holds_up_neither_a_pause_nor_a_stop_of_a_sink(tasks: Tasks, registry: TestRegistry) -> None:
    tasks.create_topic(1)
    converter = {**PATIENT, "value.converter.schema.registry.url": registry.url}
    path = tasks.file("a", LINES)
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(path), **converter})
    source.reporter.wait_for_out(len(LINES))
    assert source.stop().clean
    registry.seconds = 600
    config = {"connector.class": "table", "file": str(tasks.path / "t.db"), **converter}
    sink = tasks.start(Kind.SINK, config)
    assert sink.reporter.wait_for_state(State.WAITING).endswith(unanswered(registry))
    sink.control.pause()
    sink.reporter.wait_for_state(State.PAUSED)
    sink.control.resume()
    sink.reporter.wait_for_state(State.WAITING)
    assert sink.stop().clean
    registry.seconds = 1.2
    sink = tasks.start(Kind.SINK, config, epoch=2)
    sink.reporter.wait_for(lambda: len(rows(tasks.path / "t.db")) >= len(LINES))
    assert sink.stop().clean
    assert rows(tasks.path / "t.db") == LINES
