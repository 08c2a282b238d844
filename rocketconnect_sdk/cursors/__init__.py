"""Sources that are read page by page behind a cursor, again and again: the author writes a connection, the rest is here.

    class MySource(CursorSource):
        def streams(self, config): ...   # what there is: tables, indexes, lists
        def connect(self, config, context): ...   # a Connection: sessions that give pages
        def look(self, config): ...   # what is wrong with a configuration

At least once: what was sent and not stored comes again where its session has ended meanwhile. Where sessions are stable, such as
points in time of a search engine, a task that goes on in one gives nothing twice. Rows that come late, with a mark that others had
passed, are seen within an overlap.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors.options import DISCOVER_INTERVAL, POLL_INTERVAL
from rocketconnect_sdk.cursors.pages import (
    AHEAD_SECONDS,
    Connection,
    Mark,
    Page,
    PageTooLarge,
    Session,
    SessionLost,
    Stream,
    StreamGone,
)
from rocketconnect_sdk.cursors.task import CursorTask
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Edge, Plan, Source, never

__all__ = [
    "AHEAD_SECONDS",
    "DISCOVER_INTERVAL",
    "POLL_INTERVAL",
    "Connection",
    "CursorSource",
    "CursorTask",
    "Mark",
    "Page",
    "PageTooLarge",
    "Session",
    "SessionLost",
    "Stream",
    "StreamGone",
]

_BEGIN = (0, 0, 0)


class CursorSource(NeedsPackages, Source):
    """A source of pages, at least once. `check` asks for the packages that it needs before it calls `look`.

    Class attributes:
        page_rows: A page has so many rows at most.
    """

    options: ClassVar[Sequence[Option]] = (POLL_INTERVAL,)
    replayable = never
    page_rows: ClassVar[int] = 10_000

    @abstractmethod
    def streams(self, config: Config) -> Sequence[Stream]:
        """What there is to read now. Called in a fresh process, with a time limit.

        Raises:
            SystemAway, RetriableError, PermanentError: it can't be told.
        """

    @abstractmethod
    def connect(self, config: Config, context: TaskContext) -> Connection:
        """Makes a connection. Raises as `streams`."""

    def interval(self, config: Config) -> float:
        """Seconds from the beginning of one round of a stream to that of the next; 0: there is one round."""
        return float(config["poll.interval"])

    def look(self, config: Config) -> Iterable[Problem]:
        """What is wrong beyond single options, where its packages are there. See Source.check."""
        del config
        return ()

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        if missing := self.lacks:
            yield Problem("connector.class", self.name, missing, f"{self.packages_fix}.")
        else:
            yield from self.look(config)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """Each stream is read by one task. It is made again to find new ones, where there is an option for that. See Source."""
        del positions
        found = sorted(self.streams(config), key=lambda each: (each.name, each.identity))
        count = max(1, min(max_tasks, len(found)))
        lines = [[f"{each.name}\t{each.identity}" for each in found[number::count]] for number in range(count)]
        every = config.get(DISCOVER_INTERVAL.key)
        return Plan([{"streams": "\n".join(some)} for some in lines], None if every is None else float(every))

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        del config
        offset = position.offset
        if len(offset) != len(_BEGIN) or min(offset) < 0 or (offset != _BEGIN and not position.resume):
            fix = "Give [0, 0, 0], which is the beginning, or what was stored, with its map (--resume)."
            yield Problem(partition, str(list(offset)), "is no place that can be found again", fix)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """See Source."""
        del config, partition
        return Position(_BEGIN) if place is Edge.EARLIEST else None

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> CursorTask:
        """See Source."""
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        pairs = [line.partition("\t") for line in task["streams"].split("\n") if line]
        streams = [Stream(name, identity) for name, _, identity in pairs]
        return CursorTask(lambda: self.connect(config, context), streams, self.interval(config), self.page_rows, context)
