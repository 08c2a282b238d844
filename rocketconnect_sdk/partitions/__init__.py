"""Sources of logs that can be read again from an offset: the author writes a connection to the log, the rest is here.

    class MySource(PartitionSource):
        def connect(self, config, context): ...   # a Log: its partitions, seek, read
        def look(self, config): ...   # what is wrong with a configuration

Each partition of the log is a source partition with the log's own offsets. Positions are kept by RocketConnect, not by groups of
consumers. What was removed before it was read is told with its range, and passed with on.gap=skip alone.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.partitions.decoding import Decoder, WholeMessages
from rocketconnect_sdk.partitions.log import GONE, Bounds, Entries, Headers, Log, LogPartition, OutOfRange, text_of
from rocketconnect_sdk.partitions.options import READING, STARTING, is_registered, parse_start, skips_gaps
from rocketconnect_sdk.partitions.task import PartitionTask, Share, listed
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

__all__ = [
    "GONE",
    "READING",
    "STARTING",
    "Bounds",
    "Entries",
    "Headers",
    "Log",
    "LogPartition",
    "OutOfRange",
    "PartitionSource",
    "PartitionTask",
    "text_of",
]


class PartitionSource(NeedsPackages, Source):
    """A source of a log, exactly once. `check` asks for the packages that it needs before it calls `look`.

    Its options are READING and more; where it sends whole messages, STARTING and more.
    """

    options: ClassVar[Sequence[Option]] = READING

    @abstractmethod
    def connect(self, config: Config, context: TaskContext) -> Log:
        """Makes a connection.

        Raises:
            SystemAway: nobody answers.
            PermanentError: the other side does not take who we are.
        """

    def look(self, config: Config) -> Iterable[Problem]:
        """What is wrong beyond single options, where its packages are there. See Source.check."""
        del config
        return ()

    def start(self, config: Config) -> str | float:
        """Where partitions are begun that have no position; see parse_start."""
        return parse_start(config["start"])

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        yield from () if self.whole_messages else _format_problems(config)
        if missing := self.lacks:
            yield Problem("connector.class", self.name, missing, f"{self.packages_fix}.")
        else:
            yield from self.look(config)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source. Where a partition without a position is begun is in the plan, the same however often a task starts."""
        with closing(self._connected(config)) as log:
            found = sorted(log.partitions(), key=lambda each: (each.name, each.identity))
            begins = _begins(log, self.start(config), found, positions)
        count = max(1, min(max_tasks, len(found)))
        lines = [[f"{each.name}\t{each.identity}\t{text_of(begins[each])}" for each in found[one::count]] for one in range(count)]
        common = {"all": listed(found)}
        return Plan([{**common, "tells": str(number == 0), "partitions": "\n".join(some)} for number, some in enumerate(lines)])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        with closing(self._connected(config)) as log:
            known = {each.partition: each.name for each in log.partitions()}
            if partition not in known:
                fix = f"Name one of {', '.join(sorted(known)[:10])}." if known else "Wait until there is one."
                yield Problem(partition, "", "is no partition that is there", fix)
                return
            bounds = log.bounds([known[partition]])[known[partition]]
        offset = position.offset
        if not offset or min(offset) < 0 or len(offset) != len(bounds.end) or not bounds.first <= offset <= bounds.end:
            first, end = list(bounds.first), list(bounds.end)
            yield Problem(partition, str(list(offset)), "is no place in the partition", f"Give one from {first} up to {end}.")

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """See Source."""
        with closing(self._connected(config)) as log:
            names = {each.partition: each.name for each in log.partitions()}
            if partition not in names:
                msg = f"{partition} is no partition that is there"
                raise PermanentError(msg)
            name = names[partition]
            return Position(_places(log, place if isinstance(place, float) else place.value, [name])[name])

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """See Source."""
        if self.whole_messages:
            return None
        return SourceBatch(partition, [Decoder(config).value(original)], [(0,)], size=len(original))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> PartitionTask:
        """See Source."""
        rows = [line.split("\t") for line in task["partitions"].split("\n") if line]
        mine = {LogPartition(name, identity): tuple(map(int, begin.split("-"))) for name, identity, begin in rows}
        return PartitionTask(
            lambda: self._connected(config, context),
            WholeMessages if self.whole_messages else partial(Decoder, config),
            Share(mine, task["all"], task["tells"] == "True"),
            context,
            skip=skips_gaps(config),
            every=config["discover.interval"],
        )

    def _connected(self, config: Config, context: TaskContext | None = None) -> Log:
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        return self.connect(config, context or TaskContext())


def _format_problems(config: Config) -> Iterable[Problem]:
    for key in ("value.format", "key.format"):
        if is_registered(config[key]) and not config["schema.registry.url"]:
            yield Problem("schema.registry.url", "", f"is missing, and {key}={config[key]} needs it", "Name the registry.")


def _begins(
    log: Log, start: str | float, found: Sequence[LogPartition], positions: Mapping[str, Position]
) -> Mapping[LogPartition, Offset]:
    """Where partitions are begun that have no position; of the others their positions."""
    new = [each for each in found if each.partition not in positions]
    if start == "latest" and positions:
        # What was found while it runs was empty when it began.
        start = "earliest"
    places = _places(log, start, [each.name for each in new])
    return {each: positions[each.partition].offset if each.partition in positions else places[each.name] for each in found}


def _places(log: Log, start: str | float, names: list[str]) -> Mapping[str, Offset]:
    if not names:
        return {}
    if isinstance(start, float):
        return log.find(names, start)
    bounds = log.bounds(names)
    return {name: each.first if start == "earliest" else each.end for name, each in bounds.items()}
