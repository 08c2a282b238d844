"""From `rocketconnect up` on an empty directory until it is ready, and until the first record is delivered."""

import time
from collections.abc import Iterator

from bench.instance import ENGINES, LIMIT_SECONDS, instance, sink_config, source_config
from bench.workload import BenchFailed, Options, Sample, Workload

POLL_SECONDS = 0.002
LINE = b"first\n"


def run(options: Options) -> Iterator[Sample]:
    """Each time a new instance, with RocketMQ's jars in the cache, and a sink of each engine for the same record."""
    for _ in range(options.repeats):
        yield Sample("one source, a native sink and a Spark sink", _start())


def _start() -> dict[str, float]:
    begin = time.monotonic()
    with instance() as it:
        figures = {"ready_s": it.started_seconds}
        source, sinks = it.folder / "in.txt", {engine: it.folder / f"{engine}.txt" for engine in ENGINES}
        source.write_bytes(LINE)
        it.create("source", source_config(source, "bench"))
        for engine, sink in sinks.items():
            it.create(engine, sink_config(engine, sink, "bench"))
        while len(figures) <= len(sinks):
            for engine, sink in sinks.items():
                if sink.exists() and sink.read_bytes() == LINE:
                    figures.setdefault(f"first_record_{engine}_s", time.monotonic() - begin)
            if time.monotonic() - begin > LIMIT_SECONDS:
                msg = f"the first record did not arrive within {LIMIT_SECONDS:g} s; {it.states()}"
                raise BenchFailed(msg)
            time.sleep(POLL_SECONDS)
        return figures


_SHOWN = ("ready_s", *(f"first_record_{engine}_s" for engine in ENGINES))
WORKLOAD = Workload("From `rocketconnect up` to the first record", run, _SHOWN, _SHOWN)
