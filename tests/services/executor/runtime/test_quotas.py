"""What an operator allows a connector holds against a real broker, whatever the configuration asks for."""

import time
from pathlib import Path

import pytest

from rocketconnect_sdk.permissions.quotas import QUOTAS
from services.executor.contract.task import Kind
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq


def test_a_source_that_asks_for_more_gets_its_share_of_the_quota_and_a_sink_too(
    tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quotas = tmp_path / "quotas.toml"
    quotas.write_text('["*"]\nrecords = 1000\n')
    monkeypatch.setenv(QUOTAS, str(quotas))
    file = tasks.file("a", [f"line {number}" for number in range(2_000)])
    config = {"connector.class": "lines", "files": str(file), "max.rate.records": "1000000"}
    source = tasks.start(Kind.SOURCE, config, tasks=2, task_config={"files": str(file)})
    source.reporter.wait_for(lambda: source.reporter.metrics.records_out > 0)
    began = time.monotonic()
    source.reporter.wait_for(lambda: source.reporter.metrics.records_out >= 1_000)
    # It is one of two tasks: 500 a second.
    assert time.monotonic() - began > 1.5
    source.reporter.wait_for(lambda: source.reporter.metrics.records_out == 2_000)
    assert source.stop().clean
    assert any('["*"]' in text for _, text in source.reporter.logs)


def test_a_task_whose_quota_is_not_known_moves_nothing(tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(QUOTAS, str(tmp_path / "none.toml"))
    outcome = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(tasks.file("a", ["line"]))}).end()
    assert outcome.failed
    assert not outcome.permanent
    assert "quotas" in outcome.error
    assert tasks.bodies() == []
