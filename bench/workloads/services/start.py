"""From `rocketconnect up` on an empty directory until it is ready and the first record is delivered; each service alone."""

import time
from collections.abc import Iterator

from bench.measuring.alone import seconds_to_healthy
from bench.measuring.instance import ENGINES, LIMIT_SECONDS, folder, instance, sink_config, source_config
from bench.workload import BenchFailed, Options, Sample, Workload

POLL_SECONDS = 0.002
ALONE = ("config", "cluster", "gateway", "exporter")
"""An executor is not well without a cluster service; position and state start as config does."""
LINE = b"first\n"
_ALONE = ("healthy_first_s", "healthy_again_s")


def run(options: Options) -> Iterator[Sample]:
    """Each time a new instance, with RocketMQ's jars in the cache, and a sink of each engine for the same record.

    Then each service alone, twice: on an empty directory, and on what it has left there.
    """
    for _ in range(options.repeats):
        yield Sample("one source, a native sink and a Spark sink", _start())
        for service in ALONE:
            with folder() as data:
                figures = {name: seconds_to_healthy(service, data) for name in _ALONE}
            yield Sample(f"{service} alone", figures)


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


_SHOWN_UP = ("ready_s", *(f"first_record_{engine}_s" for engine in ENGINES))
WORKLOAD = Workload(
    "From `rocketconnect up` to the first record, and from the start of a service alone until it is healthy",
    run,
    (*_SHOWN_UP, *_ALONE),
    _SHOWN_UP,
)
