"""Several sinks in one Spark session: a line now and then, alone and beside a sink under full load; and the session at rest."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from bench import lines
from bench.measuring.costs import Meter
from bench.measuring.instance import LIMIT_SECONDS, Instance, instance, sink_config, source_config
from bench.measuring.openloop import Delays, drive
from bench.workload import BenchFailed, Options, Sample, Workload

ROWS = 6_000_000
"""So many wait for the sink under load, which should have enough of them while the line is measured."""
RATE = 5.0
LINES = 50
WARMING_LINES = 20
IDLE_SECONDS = 20.0
LOADS: Mapping[str, str] = {"a DataFrame sink": "file_sink", "a record sink": "file_lines"}
"""What a sink under load can be, with the connector of each."""


def run(options: Options) -> Iterator[Sample]:
    """At rest, alone, and beside each kind of sink while it works off what waits for it."""
    with instance() as it:
        heavy = it.folder / "heavy.txt"
        lines.write(heavy, options.rows or ROWS)
        it.create_running("heavy", source_config(heavy, "heavy"))
        small = _Small(it)
        small.drive(WARMING_LINES)
        # The source has sent everything, then.
        it.settle()
        for number in range(options.repeats):
            yield Sample("at rest", _at_rest(it))
            yield Sample("alone", small.drive(LINES).figures())
            for load, connector in LOADS.items():
                figures = _beside(it, small, connector, heavy, it.folder / f"{connector}-{number}.txt")
                yield Sample(f"beside {load}", figures)
        small.check()


class _Small:
    """A file with a line now and then, through Spark to another."""

    def __init__(self, it: Instance) -> None:
        self._source, self._sink = it.folder / "small.txt", it.folder / "small-out.txt"
        self._source.touch()
        self._written = 0
        it.create_running("small-sink", sink_config("spark", self._sink, "small"))
        it.create_running("small-source", source_config(self._source, "small"))

    def drive(self, count: int) -> Delays:
        """Writes so many lines at their times."""
        before = self._written
        due = list(lines.generate(count, first=before))
        self._sink.touch()
        with self._source.open("ab", buffering=0) as file:

            def send(number: int) -> None:
                file.write(due[number])

            try:
                delays = drive(RATE, count, send, lambda: _lines(self._sink) - before, LIMIT_SECONDS)
            except TimeoutError as error:
                msg = f"the line now and then: {error}"
                raise BenchFailed(msg) from error
        self._written += count
        return delays

    def check(self) -> None:
        """Compares both files."""
        found = lines.compare([self._source], self._sink)
        if not found.exact or found.rows != self._written:
            msg = f"the line now and then: {found}"
            raise BenchFailed(msg)


def _beside(it: Instance, small: _Small, connector: str, heavy: Path, sink: Path) -> Mapping[str, float]:
    name = sink.stem
    it.create(name, sink_config("spark", sink, "heavy") | {"connector.class": connector})
    begin = time.monotonic()
    while not sink.exists() or not sink.stat().st_size:
        if time.monotonic() - begin > LIMIT_SECONDS:
            msg = f"{name} did not begin; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(0.01)
    before, begin = _lines(sink), time.monotonic()
    delays = small.drive(LINES)
    moved, seconds = _lines(sink) - before, time.monotonic() - begin
    if sink.stat().st_size == heavy.stat().st_size:
        msg = f"{name} was done before the line was measured beside it; give it more rows"
        raise BenchFailed(msg)
    while sink.stat().st_size < heavy.stat().st_size:
        if time.monotonic() - begin > LIMIT_SECONDS:
            msg = f"{name} did not end; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(0.1)
    it.delete(name)
    found = lines.compare([heavy], sink)
    if not found.exact:
        msg = f"{name}: {found}"
        raise BenchFailed(msg)
    sink.unlink()
    it.settle()
    return {**delays.figures(), "load_rows_per_s": moved / seconds}


def _at_rest(it: Instance) -> Mapping[str, float]:
    """Of the driver that the sinks share, its Java, and its Python workers."""
    java = [
        process for process in psutil.Process(it.root).children(recursive=True) if "org.apache.spark" in " ".join(process.cmdline())
    ]
    meter = Meter([process.ppid() for process in java])
    time.sleep(IDLE_SECONDS)
    cores = meter.cores()
    return {"driver_cores": cores["executor host"], "java_cores": cores["spark jvm"], "python_cores": cores["spark python"]}


def _lines(path: Path) -> int:
    return path.stat().st_size // (lines.WIDTH + 1)


WORKLOAD = Workload(
    "Several sinks in one Spark session: one line at 5 a second, and the session at rest",
    run,
    ("p50_ms", "p99_ms", "max_ms", "load_late_p99_ms", "load_rows_per_s", "driver_cores", "java_cores"),
    ("p50_ms", "p99_ms"),
    usual=False,
)
