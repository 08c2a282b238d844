"""Records that a target refuses only when they are committed."""

from typing import TYPE_CHECKING

import pytest

from services.executor.contract.task import Kind
from tests.services.executor.runtime.conftest import PLUGINS, Tasks, produce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.rocketmq


def refuses(tasks: Tasks, engine: str, spark: "SparkSession | None" = None) -> None:
    """Of two queues one record each is refused."""
    folder, dead = tasks.path / "shelf", f"dead-{tasks.topic}"
    for queue in (0, 1):
        produce(tasks, [f"a{queue} x", f"b{queue} late", f"c{queue} y"], queue)
    tasks.client.create_topic(dead, queues=1)
    policy = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead}
    config = {"connector.class": "shelf", "folder": str(folder), "engine": engine, **policy}
    running = tasks.start(Kind.SINK, config, spark=None if spark is None else lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 4, 180)
    assert running.stop().clean
    assert running.reporter.metrics.dead_letters == 2
    letters = {body: properties for _, body, properties in tasks.messages(dead)}
    assert sorted(letters) == ["b0 late", "b1 late"]
    assert all("it is late" in said["__connect.errors.exception.message"] for said in letters.values())
    assert {file.name for file in folder.iterdir()} == {"a0", "c0", "a1", "c1"}


def test_what_is_refused_at_the_commit_becomes_dead_letters_natively(tasks: Tasks) -> None:
    refuses(tasks, "native")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_is_refused_at_the_commit_becomes_dead_letters_on_spark(
    tasks: Tasks, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", str(PLUGINS))
    refuses(tasks, "spark", spark)
