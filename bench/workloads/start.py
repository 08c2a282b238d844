"""From `rocketconnect up` on an empty directory until it is ready, and until the first record is delivered."""

import time
from collections.abc import Iterator

from bench.instance import ENGINES, LIMIT_SECONDS, instance, sink_config, source_config
from bench.workload import BenchFailed, Options, Sample, Workload

POLL_SECONDS = 0.002
LINE = b"first\n"


def run(options: Options) -> Iterator[Sample]:
    """Each time a new instance, with RocketMQ's jars in the cache."""
    for _ in range(options.repeats):
        for engine in ENGINES:
            yield Sample(f"{engine} sink", _start(engine))


def _start(engine: str) -> dict[str, float]:
    begin = time.monotonic()
    with instance() as it:
        source, sink = it.folder / "in.txt", it.folder / "out.txt"
        source.write_bytes(LINE)
        it.create("sink", sink_config(engine, sink, "bench"))
        it.create("source", source_config(source, "bench"))
        while not sink.exists() or sink.read_bytes() != LINE:
            if time.monotonic() - begin > LIMIT_SECONDS:
                msg = f"the first record did not arrive within {LIMIT_SECONDS:g} s; {it.states()}"
                raise BenchFailed(msg)
            time.sleep(POLL_SECONDS)
        return {"ready_s": it.started_seconds, "first_record_s": time.monotonic() - begin}


WORKLOAD = Workload("From `rocketconnect up` to the first record", run, ("ready_s", "first_record_s"), ("first_record_s",))
