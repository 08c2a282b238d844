"""Tasks of log_source and file_source that are killed between sending and storing, as the runtime drives them, without a broker."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.resume import read, written
from rocketconnect_sdk.source import Source


@dataclass(slots=True)
class _Run:
    """A task from one start to its kill.

    Attributes:
        task: The task.
        there: What it found in the topic beyond the positions, by partition.
        polled: What it has given and was not sent.
        moved: Positions of what was sent, which are not stored.
        seen: The partitions of which it has given something.
    """

    task: FileSourceTask
    there: dict[str, Offset]
    polled: deque[SourceBatch] = field(default_factory=deque)
    moved: dict[str, Position] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


class Killing:
    """So many tasks of one plan, on a clock that is moved by hand."""

    def __init__(self, source: Source, filename: object, tasks: int = 1, **options: str) -> None:
        raw = {"filename": str(filename), **{key.replace("_", "."): value for key, value in options.items()}}
        self._source = source
        self._config = parse(source.options, raw)
        self._plan = source.plan(self._config, tasks, {}).tasks
        self.now = 0.0
        self.topic: list[tuple[str, Offset, object]] = []
        self.stored: dict[str, Position] = {}
        self.runs: list[_Run] = []
        for number in range(tasks):
            self.runs.append(self._started(number))

    def _started(self, number: int) -> _Run:
        context = TaskContext(max_record_bytes=1000, batch_records=2, batch_bytes=64, stores=True)
        task = self._source.open(self._config, self._plan[number], context)
        assert isinstance(task, FileSourceTask)
        task._clock = lambda: self.now
        task.start({name: Position(each.offset, read(written(each.resume))) for name, each in self.stored.items()})
        last = self._last()
        passed = {name: position.offset for name, position in self.stored.items()}
        return _Run(task, {name: offset for name, offset in last.items() if offset > passed.get(name, ())})

    def _last(self) -> dict[str, Offset]:
        return {partition: offset for partition, offset, _ in self.topic}

    def poll(self, number: int = 0, seconds: float = 0.0) -> int:
        """Polls once; returns how many batches came."""
        self.now += seconds
        run = self.runs[number]
        batches = batches_of(run.task.poll())
        run.polled += batches
        run.seen |= {batch.partition for batch in batches}
        if not batches and run.task.caught_up:
            run.there = {name: offset for name, offset in run.there.items() if name in run.seen}
        return len(batches)

    def send(self, number: int = 0, most: int = 1 << 20, but: str = "") -> None:
        """What was given, or so many batches of it, is in the topic now: what was found there is left out. `but`: a partition."""
        run = self.runs[number]
        polled, run.polled = run.polled, deque()
        for count, batch in enumerate(polled):
            if count >= most or batch.partition == but:
                run.polled.append(batch)
                continue
            for offset, value in zip(batch.offsets, batch.values, strict=True):
                if offset > run.there.get(batch.partition, ()):
                    # A sink leaves out what does not grow.
                    assert offset > self._last().get(batch.partition, ()), (offset, value)
                    self.topic.append((batch.partition, offset, value))
            run.moved[batch.partition] = Position(batch.end or batch.offsets[-1], batch.resume or {})

    def store(self, number: int = 0) -> None:
        """The positions of what was sent are stored."""
        run = self.runs[number]
        self.stored.update(run.moved)
        moved, run.moved = run.moved, {}
        if moved:
            run.task.committed(moved)

    def read(self, number: int = 0, *, stores: bool = True, seconds: float = 1.0) -> None:
        """Reads and sends all there is; `stores`: also stores all of it, otherwise what has to be stored before it is sent."""
        self.now += seconds
        while self.poll(number) or self._waits(number):
            is_first = not any(map(len, self.runs[number].polled))
            self.send(number)
            if stores or is_first:
                self.store(number)

    def _waits(self, number: int) -> bool:
        """Whether something is to be stored now, so that more can come."""
        run = self.runs[number]
        return bool(run.moved) and any(reader.waits for reader in run.task._readers.values())

    def kill(self, number: int = 0) -> None:
        """What was not stored is forgotten."""
        self.runs[number].task.close()

    def again(self, number: int = 0) -> None:
        """The next owner."""
        self.kill(number)
        self.runs[number] = self._started(number)

    def settle(self) -> None:
        """Everything that there is comes to rest, also after another start of each task."""
        for _ in range(2):
            for seconds in (1.0, 1.0, 20.0, 400.0, 1.0):
                for number in range(len(self.runs)):
                    self.read(number, seconds=seconds)
            for number in range(len(self.runs)):
                self.again(number)

    @property
    def values(self) -> Sequence[str]:
        """What the topic holds."""
        return [str(value) for _, _, value in self.topic]

    def close(self) -> None:
        """Ends all of them."""
        for run in self.runs:
            run.task.close()


@contextmanager
def killing(source: Source, filename: object, tasks: int = 1, options: Mapping[str, str] | None = None) -> Iterator[Killing]:
    """Tasks that are ended behind a test."""
    made = Killing(source, filename, tasks, **(options or {}))
    try:
        yield made
    finally:
        made.close()
