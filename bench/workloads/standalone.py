"""Spark on other machines: lines and a table through a standalone cluster of two workers, beside Spark in the driver's process."""

from collections.abc import Collection, Iterator, Mapping

from bench import lines, tables
from bench.measuring.instance import folder, instance
from bench.peers.spark_standalone import spark_profile, spark_standalone
from bench.workload import Options, Sample, Workload
from bench.workloads import files, flights
from rocketconnect_sdk.permissions.spark_profiles import PROFILE

LOCAL = "local[*]"
CLUSTER = "two workers"


def run(options: Options) -> Iterator[Sample]:
    """Lines to one file, and a table to Parquet files, in turns; the first turn, in which Java compiles, does not count."""
    rows, table_rows = options.rows or files.ROWS, min(options.rows or tables.ROWS, tables.ROWS)
    with (
        folder() as place,
        spark_standalone(place / "spark") as cluster,
        spark_profile(place / "profiles.toml", CLUSTER, {"spark.master": cluster.master}),
        instance() as it,
    ):
        source, table = it.folder / "in.txt", it.folder / "flights.csv"
        lines.write(source, rows)
        columns = tables.write(table, table_rows)
        # One driver for both sinks: the second of a cluster would wait for cores.
        remote = {PROFILE: CLUSTER}
        cases: Mapping[str, tuple[Mapping[str, str], Collection[int]]] = {LOCAL: ({}, ()), CLUSTER: (remote, cluster.roots)}
        for number in range(options.repeats + 1):
            for case, (spark, roots) in cases.items():
                moved = files.move(it, [source], rows, "spark", spark=spark, others=roots)
                figures, costs = flights.move(it, table, columns, table_rows, flights.FORMS["JSON"], spark, roots)
                if number:
                    yield Sample(f"lines to a file, {case}", moved.figures(), moved.costs)
                    yield Sample(f"table to Parquet, {case}", figures, costs)


WORKLOAD = Workload(
    "Through Spark in one process and on a standalone cluster, all on this machine",
    run,
    ("rows_per_s", "flowing_rows_per_s", "own_cpu_s_per_million", "cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)
