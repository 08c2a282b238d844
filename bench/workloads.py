"""The workloads: each starts an instance of its own, moves real bytes, checks them, and says what it took."""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import lines
from bench.measure import costs, percentile, spent
from bench.rocketmq_raw import raw_limit
from rocketconnect_cli.api import Api
from rocketconnect_cli.instance import running
from rocketconnect_cli.states import wait_for

ENGINES = {"native": "file_lines", "spark": "file_sink"}
LIMIT_SECONDS = 300.0
POLL_SECONDS = 0.002
QUIET_CORES = 0.2
"""What an instance at rest uses at most, RocketMQ and Spark included."""
SOURCE_BATCH = 10_000
"""So many records a source sends at once by default (batch.records)."""


class BenchFailed(Exception):
    """Rows are missing, doubled or changed, or nothing arrived: there is no figure."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A running instance with its own folder."""

    api: Api
    folder: Path
    root: int
    name_server: str
    started_seconds: float


@contextmanager
def instance(*options: str) -> Iterator[Instance]:
    """Everything, on free ports, in a temporary folder that is removed afterwards; with these options of `rocketconnect up`."""
    folder = Path(tempfile.mkdtemp(prefix="rocketconnect-bench-"))
    begin = time.monotonic()
    try:
        with running(folder / "data", *options) as ready, Api(str(ready["rest"])) as api:
            yield Instance(api, folder, os.getpid(), str(ready["nameServer"]), time.monotonic() - begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def file_to_file(engine: str, count: int, topic_type: str = "normal") -> dict[str, Any]:
    """Lines from a file through a topic to a file. The clock runs from the creation of the source to the last byte in the sink.

    Raises:
        BenchFailed: the output is not the input, in its order.
    """
    with instance() as it:
        # In the shape of the pipeline: one queue, one batch under way, of the size that a source sends.
        raw = raw_limit(
            it.name_server, messages=count, size=lines.WIDTH, topic_type=topic_type, queues=1, batch_messages=SOURCE_BATCH
        )
        source, sink = it.folder / "in.txt", it.folder / "out.txt"
        lines.write(source, count)
        create_sink(it, engine, sink, topic_type)
        settle(it)
        before = costs(it.root)
        begin = time.monotonic()
        create_source(it, source, topic_type)
        _wait_for_size(it.api, sink, source.stat().st_size)
        seconds = time.monotonic() - begin
        after = costs(it.root)
        found = lines.check(sink, count)
    if not found.exact:
        msg = f"{engine}: {found}"
        raise BenchFailed(msg)
    rows = spent(before, after)
    return {
        "engine": engine,
        "topic": topic_type,
        "records": count,
        "raw_sent_per_second": raw.sent_per_second,
        "raw_pulled_per_second": raw.pulled_per_second,
        "seconds": seconds,
        "records_per_second": count / seconds,
        "mb_per_second": count * (lines.WIDTH + 1) / seconds / 1e6,
        "cpu_seconds_per_million": sum(cost.cpu_seconds for cost in rows) / count * 1e6,
        "check": asdict(found),
        "processes": [asdict(cost) for cost in rows],
    }


def latency(engine: str, rate: float, seconds: float) -> dict[str, Any]:
    """Single lines at a fixed rate, each timed from the moment the schedule says until it can be read in the sink's file.

    The load does not wait for answers: a stall counts for every line that was due in it.
    """
    with instance() as it:
        source, sink = it.folder / "in.txt", it.folder / "out.txt"
        source.touch()
        create_sink(it, engine, sink, "normal")
        _create(it.api, "source", {**_SOURCE, "filename": str(source)})
        wait_for(it.api, "source", ("RUNNING", "IDLE"), LIMIT_SECONDS)
        _one_line(source, sink)  # the first line warms everything up
        delays = _paced(source, sink, rate, int(rate * seconds))
    return {
        "engine": engine,
        "lines": len(delays),
        "lines_per_second": rate,
        "p50_ms": percentile(delays, 0.50) * 1e3,
        "p99_ms": percentile(delays, 0.99) * 1e3,
        "p999_ms": percentile(delays, 0.999) * 1e3,
        "max_ms": max(delays) * 1e3,
        "mean_ms": statistics.fmean(delays) * 1e3,
    }


def start_up() -> dict[str, Any]:
    """From the start of `rocketconnect up` to ready, and to the first record delivered natively and through Spark."""
    result: dict[str, Any] = {}
    for engine in ENGINES:
        begin = time.monotonic()
        with instance() as it:
            source, sink = it.folder / "in.txt", it.folder / "out.txt"
            source.write_bytes(b"first\n")
            _create(it.api, "sink", {**_sink_config(engine, sink)})
            _create(it.api, "source", {**_SOURCE, "filename": str(source)})
            _wait_for_size(it.api, sink, 6)
            result[f"{engine}_first_record_seconds"] = time.monotonic() - begin
            result["ready_seconds"] = it.started_seconds
    return result


_SOURCE = {"connector.class": "file_source", "topic": "bench", "topic.queues": "1"}


def _sink_config(engine: str, target: Path, topic_type: str = "normal") -> dict[str, str]:
    config = {"connector.class": ENGINES[engine], "engine": engine, "topics": "bench", "filename": str(target), "topic.queues": "1"}
    return config if topic_type == "normal" else {**config, "topic.type": topic_type}


def create_sink(it: Instance, engine: str, target: Path, topic_type: str = "normal", name: str = "sink") -> None:
    """A sink of the topic of the source, as far as it is begun."""
    _create(it.api, name, _sink_config(engine, target, topic_type))
    wait_for(it.api, name, ("RUNNING", "IDLE"), LIMIT_SECONDS)


def create_source(it: Instance, file: Path, topic_type: str = "normal") -> None:
    """A source that reads a file."""
    _create(it.api, "source", {**_SOURCE, "topic.type": topic_type, "filename": str(file)})


def _create(api: Api, name: str, config: dict[str, str]) -> None:
    api.request("POST", "/v1/connectors", body={"name": name, "config": config})


def settle(it: Instance, cores: float = QUIET_CORES) -> None:
    """Waits until what the start has left to do (Spark compiles, the broker deletes a topic) is done: so few cores are used."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        before, begin = costs(it.root), time.monotonic()
        time.sleep(1.0)
        used = sum(cost.cpu_seconds for cost in spent(before, costs(it.root))) / (time.monotonic() - begin)
        if used < cores:
            return
        if time.monotonic() > deadline:
            msg = f"the instance did not come to rest within {LIMIT_SECONDS:g} s: it uses {used:.1f} cores"
            raise BenchFailed(msg)


def _wait_for_size(api: Api, path: Path, size: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not path.exists() or path.stat().st_size < size:
        if time.monotonic() > deadline:
            states = [(state["connector"], state.get("state"), state.get("trace")) for state in api.pages("/v1/states", "states")]
            msg = f"{path.stat().st_size if path.exists() else 0} of {size} bytes arrived within {LIMIT_SECONDS:g} s; {states}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)


def _one_line(source: Path, sink: Path) -> None:
    _paced(source, sink, 1.0, 1)


def _paced(source: Path, sink: Path, rate: float, count: int) -> list[float]:
    """Appends lines on schedule, watches the sink, and returns the delay of each."""
    at_start = sink.stat().st_size if sink.exists() else 0
    begin = time.monotonic() + 0.1
    due = [begin + number / rate for number in range(count)]
    delays: list[float] = []
    written = 0
    deadline = due[-1] + LIMIT_SECONDS
    with source.open("ab", buffering=0) as file:
        while len(delays) < count:
            now = time.monotonic()
            while written < count and due[written] <= now:
                file.write(b"%0100d\n" % written)
                written += 1
            arrived = ((sink.stat().st_size if sink.exists() else 0) - at_start) // (lines.WIDTH + 1)
            delays += [time.monotonic() - due[number] for number in range(len(delays), min(arrived, written))]
            if now > deadline:
                msg = f"{len(delays)} of {count} lines arrived"
                raise BenchFailed(msg)
            time.sleep(0.0005)
    return delays
