"""Results for people and for programs."""

import shutil
from pathlib import Path

from bench.measuring.costs import Cost
from bench.plots import plot
from bench.summary import Spread, cases, document, table
from bench.workload import Sample, Workload

SIZED = Workload("sized", lambda _: iter(()), ("mb_per_s",), ("mb_per_s",), "bytes")
SAMPLES = [
    Sample(
        "native",
        {"mb_per_s": rate},
        [Cost("broker", rate, 100.0), Cost("executor host", 1.0, 30.0), Cost("executor host", 2.0, 40.0)],
        size,
    )
    for size in (100, 1000)
    for rate in (3.0, 1.0, 2.0)
]


def test_each_case_has_minimum_median_and_maximum() -> None:
    small, large = cases(SAMPLES)
    assert (small.size, large.size) == (100, 1000)
    assert small.figures["mb_per_s"] == Spread(1.0, 2.0, 3.0)
    assert small.repeats == 3


def test_the_processes_of_one_role_count_together() -> None:
    [case] = cases(SAMPLES[:3])
    assert list(case.processes) == [Cost("executor host", 3.0, 70.0), Cost("broker", 2.0, 100.0)]


def test_the_document_has_the_commit_the_machine_and_every_sample() -> None:
    found = document({"sized": SAMPLES}, 0.5)
    assert (found["commit"] == "unknown") == (shutil.which("git") is None)
    assert found["load_before"] == 0.5
    assert len(found["workloads"]["sized"]["samples"]) == 6
    assert found["workloads"]["sized"]["cases"][0]["figures"]["mb_per_s"]["median"] == 2.0


def test_the_table_has_a_column_for_the_size() -> None:
    shown = table(SIZED, cases(SAMPLES))
    assert [column.header for column in shown.columns] == ["case", "bytes", "mb per s"]
    assert shown.row_count == 2


def test_a_plot_is_drawn_of_what_is_plotted(tmp_path: Path) -> None:
    target = plot(tmp_path, "sized", SIZED, cases(SAMPLES))
    assert target is not None
    assert target.read_bytes().startswith(b"\x89PNG")
    assert plot(tmp_path, "none", Workload("none", lambda _: iter(()), ("mb_per_s",)), cases(SAMPLES)) is None


def test_a_figure_that_some_repetitions_do_not_have_is_that_of_the_others() -> None:
    [case] = cases([Sample("spark", {"rows_per_s": 1.0}), Sample("spark", {"rows_per_s": 2.0, "flowing_rows_per_s": 5.0})])
    assert case.figures["flowing_rows_per_s"] == Spread(5.0, 5.0, 5.0)
