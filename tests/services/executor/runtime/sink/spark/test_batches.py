"""Batches on their way to Spark."""

import subprocess
import sys

import pyarrow as pa
import pytest

from services.executor.runtime.sink.spark.batches import slices, with_nulls_in_nulls


def test_a_batch_is_divided_among_all_cores_where_there_is_enough_for_each() -> None:
    assert slices(1, 100, 8) == [(0, 1)]
    assert slices(9_999, 1 << 20, 8) == [(0, 9_999)]
    assert slices(10_001, 1 << 20, 8) == [(0, 5_000), (5_000, 10_001)]
    assert len(slices(200_000, 20 << 20, 8)) == 8


@pytest.mark.parametrize(("rows", "size", "tasks"), [(300_000, 256 << 20, 4), (10, 256 << 20, 4), (3, 1 << 30, 3)])
def test_what_goes_with_one_task_is_bounded_in_bytes_but_a_record_is_never_cut(rows: int, size: int, tasks: int) -> None:
    found = slices(rows, size, 2)
    assert len(found) == tasks
    assert [row for start, stop in found for row in range(start, stop)] == list(range(rows))


HANDED = """
import pyarrow as pa
from services.executor.runtime.sink.spark.batches import Staging, frame_of
from services.executor.runtime.sink.spark.session import make_session
session, staging = make_session({"spark.master": "local[2]"}), Staging()
for rows in (10, 4_000, 20_000, 70_000):
    table = pa.table({"value": [f"{number:0130d}" for number in range(rows)]})
    with frame_of(session, table, staging) as frame:
        plan = frame._jdf.queryExecution().analyzed().getClass().getSimpleName()
        print(rows, plan, len(frame.inputFiles()), frame.toArrow().column("value").to_pylist() == table.column("value").to_pylist())
staging.close()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_batch_goes_as_rows_of_the_plan_or_as_arrow_or_over_a_file_without_a_warning_for_each() -> None:
    ended = subprocess.run([sys.executable, "-c", HANDED], capture_output=True, text=True, timeout=180, check=False)
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert rows == [
        ["10", "LocalRelation", "0", "True"],
        ["4000", "LogicalRDD", "0", "True"],
        ["20000", "LogicalRDD", "0", "True"],
        ["70000", "LogicalRelation", "1", "True"],
    ], ended.stderr
    assert "very large size" not in ended.stderr


KEPT = """
import gc
from types import SimpleNamespace
import pyarrow as pa
from py4j.java_gateway import JavaObject
from services.executor.contract.metrics import TaskMetrics
from services.executor.runtime.sink.spark.engines import DataFrameEngine
from services.executor.runtime.sink.spark.session import make_session
from services.executor.runtime.sink.spark.steps import Steps
gc.set_threshold(1_000_000)
session = make_session({"spark.master": "local[2]"})
task = SimpleNamespace(rows_as=None, write=lambda frame, commit: frame.toArrow())
engine = DataFrameEngine(task, session, "test", ["value"], Steps(TaskMetrics()))
for rows in (10, 20_000, 70_000):
    kept = []
    for _ in range(8):
        engine._hand_over(task, pa.table({"value": [f"{number:0130d}" for number in range(rows)]}), None)
        kept.append(sum(isinstance(each, JavaObject) for each in gc.get_objects()))
    print(rows, kept[-1] - kept[1])
engine.close()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_what_java_keeps_of_a_batch_is_let_go_with_it() -> None:
    ended = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, timeout=180, check=False)
    assert [line.split() for line in ended.stdout.splitlines()] == [["10", "0"], ["20000", "0"], ["70000", "0"]], ended.stderr


def test_parts_of_a_null_struct_may_be_null_in_a_frame() -> None:
    parts = [pa.field("id", pa.string(), nullable=False), pa.field("at", pa.int64(), nullable=False)]
    values = [pa.array([None, "a"]), pa.array([None, 1])]
    inner = pa.StructArray.from_arrays(values, fields=parts, mask=pa.array([True, False]))
    outer = [pa.field("inner", inner.type), pa.field("many", pa.list_(inner.type)), pa.field("n", pa.int64(), nullable=False)]
    many = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), inner)
    table = pa.table({"value": pa.StructArray.from_arrays([inner, many, pa.array([1, 2])], fields=outer)})
    rows = table.column("value").to_pylist()
    with pytest.raises(pa.ArrowInvalid, match="non-nullable"):
        table.cast(table.schema)  # as Spark does
    made = with_nulls_in_nulls(table)
    assert made.cast(made.schema).column("value").to_pylist() == rows
    assert [field.nullable for field in made.schema.field("value").type] == [True, True, False]
    assert with_nulls_in_nulls(made) is made
    whole = pa.table({"value": inner})
    assert with_nulls_in_nulls(whole).cast(with_nulls_in_nulls(whole).schema).column("value").to_pylist() == inner.to_pylist()
