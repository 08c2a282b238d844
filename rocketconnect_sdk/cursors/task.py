"""The task: reads its share of the streams in turns."""

from collections.abc import Callable, Mapping, Sequence

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors.pages import Connection, Stream, StreamGone
from rocketconnect_sdk.cursors.reading import Reader
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import SourceTask

_IDLE = (0.001, 60.0)


class CursorTask(SourceTask):
    """Reads streams.

    Args:
        connect: Makes a connection.
        streams: Its share.
        every: Seconds between the beginnings of two rounds of a stream; 0: there is one.
        rows: A page has so many at most.
        context: What the runtime gives.
    """

    remaining_unit = "rows"

    def __init__(
        self, connect: Callable[[], Connection], streams: Sequence[Stream], every: float, rows: int, context: TaskContext
    ) -> None:
        self._connect = connect
        self._streams = streams
        self._every = every
        self._rows = rows
        self._context = context
        self._connection: Connection | None = None
        self._readers: list[Reader] = []
        self._is_open = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self._connection = connection = self._connect()
        self._is_open = True
        self._readers = [
            Reader(stream, connection, positions.get(stream.partition), self._every, self._rows, self._context)
            for stream in self._streams
        ]

    def poll(self) -> Polled:
        """See SourceTask."""
        if not self._is_open:
            msg = "the connection is closed"
            raise SystemAway(msg)
        try:
            return self._read()
        except SystemAway:
            self._disconnect()
            raise

    def _read(self) -> Polled:
        if self._connection is None:
            self._connection = self._connect()
            for reader in self._readers:
                reader.go_on(self._connection)
        for _ in range(len(self._readers)):
            # The next one is that which has waited for longest.
            reader = self._readers.pop(0)
            self._readers.append(reader)
            if reader.due > 0:
                continue
            try:
                return reader.poll()
            except StreamGone as error:
                name = reader.stream.name
                self._context.log.warning("%s is not there any more, and what was not read of it is lost: %s", name, error)
                self._readers.remove(reader)
                self._context.replan()
                return None
        return None

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return min(max(min((reader.due for reader in self._readers), default=_IDLE[1]), _IDLE[0]), _IDLE[1])

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return all(reader.rounds for reader in self._readers)

    @property
    def finished(self) -> bool:
        """See SourceTask."""
        return bool(self._readers) and all(reader.is_done for reader in self._readers)

    @property
    def keep_alive_seconds(self) -> float:
        """See SourceTask."""
        return min((reader.keep_alive_seconds for reader in self._readers), default=float("inf"))

    def keep_alive(self) -> None:
        """See SourceTask."""
        try:
            for reader in self._readers:
                reader.keep_alive()
        except SystemAway:
            self._disconnect()
            raise

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        for reader in self._readers:
            if (at := positions.get(reader.stream.partition)) is not None:
                reader.committed(at.offset)

    def remaining(self) -> int | None:
        """See SourceTask."""
        known = [reader.left for reader in self._readers if reader.left is not None]
        return sum(known) if known else None

    def close(self) -> None:
        """See SourceTask."""
        self._disconnect()
        self._readers = []
        self._is_open = False

    def _disconnect(self) -> None:
        """What the readers know stays: they go on with another connection."""
        connection, self._connection = self._connection, None
        for reader in self._readers:
            reader.stop()
        if connection is not None:
            connection.close()
