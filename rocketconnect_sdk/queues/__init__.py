"""Sources of brokers that want acknowledgements: the author writes a subscription, the rest is here.

    class MySource(QueueSource):
        def subscribe(self, config, share, context): ...   # a Subscription
        def retire(self, config, share): ...   # where an identity leaves something at the broker

At least once: a message is acknowledged when the topic has it and the position is stored. What was not acknowledged when a
connection or a process ended comes again.
"""

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.queues.reader import Reader, is_kept, note_of, number_of, partition_of
from rocketconnect_sdk.queues.subscription import Received, Share, Subscription
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.source import Plan, Source, SourceTask, never

__all__ = ["PREFETCH", "QueueSource", "QueueTask", "Received", "Share", "Subscription", "identity"]

PREFETCH = Option(
    "prefetch",
    "How many messages a task takes from the broker before the first one is acknowledged. Fewer where they are large, more "
    "where the broker is far away. It holds buffer.bytes of them at most.",
    Kind.INT,
    "1000",
    minimum=1,
    maximum=65_535,
)
_SHARES = 32
"""So many identities are removed with a connector at least: it may have had more tasks than it has now."""
_WAIT_SECONDS = 0.05
_IDLE_SECONDS = (0.01, 0.05)


class QueueSource(NeedsPackages, Source):
    """A source of messages that a broker gives away, and wants to have acknowledged. It is at least once.

    `check` asks for the packages that it needs before it calls `look`.

    Class attributes:
        leaves: Each identity has something of its own at the broker, where messages wait for it. When a plan has fewer tasks, what
            waits for those that are no more is read by the others, and then `retire` is called.
        drained_seconds: What waits for such an identity is read when nothing came for so long.
    """

    options: ClassVar[Sequence[Option]] = (PREFETCH,)
    replayable = never
    leaves: ClassVar[bool] = False
    drained_seconds: ClassVar[float] = 5.0

    @abstractmethod
    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """Connects, and asks for messages.

        Raises:
            SystemAway, RetriableError, PermanentError: it can't.
        """

    def retire(self, config: Config, share: Share) -> None:
        """Removes what an identity leaves at the broker. Idempotent: there may be nothing. By default nothing is done.

        Raises:
            SystemAway, RetriableError, PermanentError: it can't.
        """

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

    def most_tasks(self, config: Config) -> int:
        """So many tasks can share the work at most."""
        del config
        return 1 << 16

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """All tasks do the same; the broker shares the messages out. See Source."""
        del positions
        tasks = max(1, min(max_tasks, self.most_tasks(config)))
        return Plan([{"share": f"{number}/{tasks}"} for number in range(tasks)])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "QueueTask":
        """See Source."""
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        number, _, tasks = task["share"].partition("/")
        share = Share(
            identity(context.connector_uid, int(number)),
            int(number),
            int(tasks),
            prefetch=config["prefetch"],
            passing=context.epoch == 0,
        )
        return QueueTask(self, config, share, context)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """See Source."""
        if self.leaves:
            for number in range(max(_SHARES, config.get("max.tasks", 1))):
                self.retire(config, Share(identity(connector_uid, number), number, leaving=True))


def identity(connector_uid: str, number: int) -> str:
    """Of a task of a connector."""
    return f"rocketconnect-{connector_uid}-{number}"


class QueueTask(SourceTask):
    """Reads what the broker gives, and acknowledges what is stored."""

    def __init__(self, source: QueueSource, config: Config, share: Share, context: TaskContext) -> None:
        self._source = source
        self._config = config
        self._share = share
        self._context = context
        self._readers: list[Reader] = []
        self._trouble: ConnectorError | None = None
        self._began_ms = 0

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self._trouble = None
        # Above that of every earlier start, also of one at a time that the clock has gone back behind.
        newest = max((at.offset[1] for at in positions.values() if len(at.offset) > 1), default=0)
        self._began_ms = max(time.time_ns() // 1_000_000, newest + 1, self._began_ms + 1)
        self._readers = [self._reader(self._share, positions)]
        if self._source.leaves and not self._share.passing:
            self._readers += [self._reader(share, positions) for share in self._left_behind(positions)]
        for reader in self._readers:
            reader.open()

    def poll(self) -> Polled:
        """See SourceTask."""
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble
        batches: list[SourceBatch] = []
        # While something is on its way, acknowledgements wait for this thread.
        waits = _WAIT_SECONDS if len(self._readers) == 1 and not self._readers[0].unacknowledged else 0.0
        room = self._context.buffer_bytes - sum(reader.held_bytes for reader in self._readers)
        for reader in list(self._readers):
            try:
                batches += reader.read(min(room, self._context.batch_bytes), waits)
                if reader.share.leaving and reader.is_drained(self._source.drained_seconds):
                    batches.append(self._retire(reader))
            except (SystemAway, RetriableError, PermanentError) as error:
                reader.drop()
                if not batches:
                    raise
                # What was given is counted as given, so it is given first.
                self._trouble = error
                break
        return batches

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return _IDLE_SECONDS[not any(reader.unacknowledged for reader in self._readers)]

    @property
    def keep_alive_seconds(self) -> float:
        """See SourceTask."""
        return min((reader.ping_seconds for reader in self._readers), default=30.0)

    def keep_alive(self) -> None:
        """See SourceTask."""
        for reader in self._readers:
            with reader.dropped_after_errors():
                reader.ping()

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask. Only now the broker hears of it (invariant 1)."""
        for reader in self._readers:
            if (at := positions.get(reader.partition)) is not None:
                try:
                    with reader.dropped_after_errors():
                        reader.acknowledge(at.offset)
                except (SystemAway, RetriableError, PermanentError) as error:
                    # What is not acknowledged comes again.
                    self._trouble = error

    def close(self) -> None:
        """See SourceTask."""
        readers, self._readers = self._readers, []
        for reader in readers:
            with suppress(ConnectorError):
                reader.give_back()
            reader.drop()

    def _reader(self, share: Share, positions: Mapping[str, Position]) -> Reader:
        note = positions.get(note_of(share.number))
        share = replace(share, before=_before(note))
        return Reader(self._source.subscribe, self._config, share, self._context, (self._context.epoch, self._began_ms))

    def _left_behind(self, positions: Mapping[str, Position]) -> list[Share]:
        """Shares of tasks that are no more, as many of them as are this one's to look after."""
        mine = self._share
        numbers = sorted(filter(None, (number_of(name) for name, at in positions.items() if is_kept(at))))
        return [
            Share(identity(self._context.connector_uid, number), number, mine.tasks, mine.prefetch, leaving=True)
            for number in numbers
            if number >= mine.tasks and number % mine.tasks == mine.number
        ]

    def _retire(self, reader: Reader) -> SourceBatch:
        self._readers.remove(reader)
        reader.drop()
        try:
            self._source.retire(self._config, reader.share)
        except ConnectorError:
            self._readers.append(reader)
            raise
        self._context.log.info("%s had nothing more at the broker, and is removed there", partition_of(reader.share.number))
        return reader.retired()


def _before(note: Position | None) -> Mapping[str, JSON]:
    kept = None if note is None else note.resume.get("kept")
    return kept if isinstance(kept, Mapping) else {}
