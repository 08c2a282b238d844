"""What a driver uses, asked from a real one; and how long steps take."""

import gc
import os
from typing import TYPE_CHECKING, Any

import pytest

from services.executor.contract.metrics import BATCH_BOUNDS, TaskMetrics
from services.executor.runtime.sink.spark.steps import Steps
from services.executor.runtime.sink.spark.use import DriverGauges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_driver_tells_its_heap_its_collections_and_what_was_spilled_and_keeps_nothing_of_the_questions(
    spark: "SparkSession",
) -> None:
    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]

    def kept() -> int:
        gc.collect()
        return sum(isinstance(each, JavaObject) for each in gc.get_objects())

    java: Any = spark.sparkContext._gateway
    gauges = DriverGauges(spark, "spark", java.proc.pid)
    first = gauges.read()
    before = kept()
    assert first.heap_max is not None
    assert 0 < first.heap_used <= first.heap_committed <= first.heap_max
    assert first.resident is not None
    assert first.resident > 50 << 20
    spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
    then = gauges.read()
    assert then.gc_runs > first.gc_runs
    assert then.gc_seconds >= first.gc_seconds
    assert then.spilled is not None
    assert kept() <= before


@pytest.mark.spark
@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_told_as_spilled(spark: "SparkSession") -> None:
    gauges = DriverGauges(spark, "spark", None)
    before = gauges.read()
    assert before.resident is None
    limit = "spark.sql.windowExec.buffer.spill.threshold"
    spark.conf.set(limit, "4000")
    try:
        over = "partition by id % 2 order by id rows between unbounded preceding and unbounded following"
        spark.sql(f"select sum(id) over ({over}) from range(9999)").write.format("noop").mode("overwrite").save()
    finally:
        spark.conf.unset(limit)
    after = gauges.read().spilled
    assert after is not None
    assert after > (before.spilled or 0)


def test_each_step_counts_also_when_it_fails() -> None:
    metrics = TaskMetrics()
    steps = Steps(metrics)
    with steps.timed("stage"):
        os.getpid()
    with pytest.raises(OSError, match="away"), steps.timed("commit"):
        msg = "away"
        raise OSError(msg)
    with steps.timed("stage"):
        os.getpid()
    found = {each.step: each for each in metrics.spark_steps}
    assert {step: each.count for step, each in found.items()} == {"stage": 2, "commit": 1}
    assert found["stage"].buckets == (2,) * len(BATCH_BOUNDS)
    assert found["stage"].seconds > 0
