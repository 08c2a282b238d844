"""Values that no message holds go through a folder: real broker, real positions, real tasks."""

import json
from pathlib import Path

import pytest

from services.executor.contract.task import Kind, State
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq

LARGE = "x" * (5 << 20)


@pytest.mark.slow
def test_a_value_that_is_too_large_for_the_broker_comes_to_the_sink_and_one_that_is_gone_ends_it(
    tasks: Tasks, tmp_path: Path
) -> None:
    tasks.create_topic(1)
    file, bodies, log = tasks.file("in", ["small", LARGE, "last"]), tmp_path / "bodies", tmp_path / "log"
    place = {"claim.check.url": f"file://{bodies}"}
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), **place})
    source.reporter.wait_for_out(3)
    assert source.stop().clean
    (stored,) = (path for path in bodies.rglob("*") if path.is_file())
    assert stored.read_text() == LARGE
    assert [len(body) < 1_000 for body in tasks.bodies()] == [True] * 3
    sink = {"connector.class": "log", "file": str(log)}
    reading = tasks.start(Kind.SINK, {**sink, **place})
    reading.reporter.wait_for_out(3)
    assert reading.stop().clean
    assert [json.loads(line)[3] for line in log.read_text().splitlines()] == ["small", LARGE, "last"]
    stored.unlink()
    failing = tasks.start(Kind.SINK, {**sink, **place}, name="other")
    error = failing.reporter.wait_for_state(State.FAILED)
    assert f"the body {stored.relative_to(bodies)} is not where claim.check.url says" in error
    without = tasks.start(Kind.SINK, sink, name="without")
    assert "set claim.check.url" in without.reporter.wait_for_state(State.FAILED)
