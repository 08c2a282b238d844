"""Single lines at a fixed rate, from the moment at which each is due until it can be read in the sink's file."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

from bench import lines
from bench.measuring.instance import ENGINES, LIMIT_SECONDS, TOPIC_TYPES, Instance, instance, sink_config, source_config
from bench.measuring.openloop import Delays, drive
from bench.workload import BenchFailed, Options, Sample, Workload

RATE = 1_000.0
LINES = 2_000
WARMING_LINES = 1_000


def run(options: Options) -> Iterator[Sample]:
    """Both engines on both types of topic, one after the other, so that none waits for the load of another."""
    count = options.rows or LINES
    with instance() as it:
        for engine, topic_type in itertools.product(ENGINES, TOPIC_TYPES):
            with _Pipeline(it, engine, topic_type) as pipeline:
                pipeline.drive(WARMING_LINES)
                for _ in range(options.repeats):
                    yield Sample(f"{engine}, {topic_type} topic", pipeline.drive(count).figures())
                pipeline.check()


class _Pipeline(ExitStack):
    """From one file to another."""

    def __init__(self, it: Instance, engine: str, topic_type: str) -> None:
        super().__init__()
        self._name = f"{engine}-{topic_type}"
        self._source, self._sink = it.folder / f"{self._name}-in.txt", it.folder / f"{self._name}-out.txt"
        self._file = self.enter_context(self._source.open("ab", buffering=0))
        self._written = 0
        for end in ("sink", "source"):
            self.callback(it.delete, f"{self._name}-{end}")
        it.create_running(f"{self._name}-sink", sink_config(engine, self._sink, self._name, topic_type))
        it.create_running(f"{self._name}-source", source_config(self._source, self._name, topic_type))
        it.settle()

    def drive(self, count: int) -> Delays:
        """Writes so many lines at their times."""
        before = self._written
        due = list(lines.generate(count, first=before))
        self._sink.touch()

        def send(number: int) -> None:
            self._file.write(due[number])
            self._written += 1

        try:
            return drive(RATE, count, send, lambda: self._sink.stat().st_size // (lines.WIDTH + 1) - before, LIMIT_SECONDS)
        except TimeoutError as error:
            msg = f"{self._name}: {error}"
            raise BenchFailed(msg) from error

    def check(self) -> None:
        """Compares both files."""
        found = lines.compare([self._source], self._sink)
        if not found.exact or found.rows != self._written:
            msg = f"{self._name}: {found}"
            raise BenchFailed(msg)


WORKLOAD = Workload(
    "One line, at 1,000 a second", run, ("p50_ms", "p99_ms", "p999_ms", "max_ms", "load_late_p99_ms"), ("p50_ms", "p99_ms")
)
