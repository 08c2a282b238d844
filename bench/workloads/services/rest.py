"""What each process of `rocketconnect up` holds and uses while there is nothing to do."""

import time
from collections.abc import Iterator

from bench.measuring.costs import BROKERS, Meter, held
from bench.measuring.instance import Instance, instance, sink_config, source_config
from bench.workload import Options, Sample, Workload

PAIRS = (0, 10)
"""Pairs of a file source and a native sink, which have moved their one line."""
REST_SECONDS = 4.0
_SPARK = frozenset({"spark jvm"})


def run(options: Options) -> Iterator[Sample]:
    """An instance without connectors, then with ten pairs; a case for each kind of process, and one for all of ours."""
    with instance() as running:
        for pairs in PAIRS:
            _add(running, pairs)
            running.settle()
            for _ in range(options.repeats):
                yield from _rest(running, pairs)


def _add(running: Instance, pairs: int) -> None:
    for number in range(pairs):
        source, sink, topic = running.folder / f"in-{number}.txt", running.folder / f"out-{number}.txt", f"rest-{number}"
        source.write_text(f"line {number}\n", encoding="utf-8")
        running.create_running(f"in-{number}", source_config(source, topic))
        running.create_running(f"out-{number}", sink_config("native", sink, topic))


def _rest(running: Instance, pairs: int) -> Iterator[Sample]:
    meter = Meter([running.root])
    time.sleep(REST_SECONDS)
    cores, memory = meter.cores(), held([running.root])
    for role in memory:
        figures = {"rss_mib": memory[role].rss_mib, "own_mib": memory[role].own_mib, "core_percent": cores[role] * 100}
        yield Sample(f"{role}, {pairs} pairs", figures)
    ours = memory.keys() - BROKERS - _SPARK
    yield Sample(
        f"all of ours, {pairs} pairs",
        {
            "rss_mib": sum(memory[role].rss_mib for role in ours),
            "own_mib": sum(memory[role].own_mib for role in ours),
            "core_percent": sum(cores[role] for role in ours) * 100,
        },
    )


WORKLOAD = Workload(
    "At rest: memory, that which is not shared (PSS) and processor time of all processes of a kind",
    run,
    ("rss_mib", "own_mib", "core_percent"),
)
