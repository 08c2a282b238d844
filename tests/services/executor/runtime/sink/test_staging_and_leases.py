"""Sinks that write when they stage, of a worker that was stopped and wakes up."""

from typing import TYPE_CHECKING

import pytest

from services.executor.contract.task import Kind, State
from tests.processes import wait_until
from tests.services.executor.runtime.conftest import PLUGINS, Tasks, produce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.rocketmq


def wakes_up(tasks: Tasks, engine: str, spark: "SparkSession | None" = None) -> str:
    """The value of a key, of which a first owner holds an older one while a second one writes a newer one."""
    folder, hold = tasks.path / "shelf", tasks.path / "hold"
    hold.touch()
    produce(tasks, ["key old"])
    config = {"connector.class": "shelf", "folder": str(folder), "engine": engine}
    session = None if spark is None else lambda: spark
    first = tasks.start(Kind.SINK, {**config, "hold": str(hold)}, lease_seconds=3.0, spark=session)
    wait_until(hold.with_suffix(".on").exists, 180)
    wait_until(lambda: not first.lease.valid(), 180)
    second = tasks.start(Kind.SINK, config, epoch=2, spark=session)
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 1, 180)
    produce(tasks, ["key new"])
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 2, 180)
    hold.unlink()
    assert "lease" in first.reporter.wait_for_state(State.WAITING)
    assert second.stop().clean
    return (folder / "key").read_text()


def test_what_wakes_up_behind_its_lease_stages_nothing_over_the_newer_value_natively(tasks: Tasks) -> None:
    assert wakes_up(tasks, "native") == "new"


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_wakes_up_behind_its_lease_stages_nothing_over_the_newer_value_on_spark(
    tasks: Tasks, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", str(PLUGINS))
    assert wakes_up(tasks, "spark", spark) == "new"
