"""Lists in this process that are read page by page, in the forms that other systems have."""

from bisect import insort
from collections.abc import Sequence
from itertools import count
from typing import ClassVar

from rocketconnect_sdk import Config, Option, SystemAway, TaskContext
from rocketconnect_sdk.cursors import (
    POLL_INTERVAL,
    Connection,
    CursorSource,
    Mark,
    Page,
    PageTooLarge,
    Session,
    SessionLost,
    Stream,
    StreamGone,
)
from rocketconnect_sdk.options import Kind
from rocketconnect_sdk.resume import JSON

Row = tuple[int, str]


class Server:
    """Lists of rows by their names, in the order of their marks; and the sessions that are open.

    Attributes:
        late: How far rows may come behind the newest one.
        largest: A page of more rows is too large.
        away: It does not answer.
        connections: How many there were.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[Row]] = {"a": []}
        self.sessions: dict[int, list[Row]] = {}
        self.ended: list[int] = []
        self.kept: list[int] = []
        self.numbers = count(1)
        self.marks = count(100, 10)
        self.late = 1_000
        self.largest = 10_000
        self.away = False
        self.connections = 0

    def add(self, texts: Sequence[str], name: str = "a") -> None:
        for text in texts:
            self.lists[name].append((next(self.marks), text))

    def add_late(self, texts: Sequence[str]) -> None:
        for text in texts:
            insort(self.lists["a"], (self.lists["a"][-1][0] - 15, text))

    def lose(self) -> None:
        self.sessions.clear()


class MemorySource(CursorSource):
    """Points in time of a list, in the order of marks: as search engines have them."""

    name = "memory_source"
    options = (POLL_INTERVAL, Option("once", "One round.", Kind.BOOL, "false"))
    server: ClassVar[Server]

    def streams(self, config: Config) -> Sequence[Stream]:
        return [Stream(name) for name in self.server.lists]

    def interval(self, config: Config) -> float:
        return 0.0 if config["once"] else float(config["poll.interval"])

    def connect(self, config: Config, context: TaskContext) -> Connection:
        return PointInTime(self.server)


class PointInTime(Connection):
    stable = True

    def __init__(self, server: Server) -> None:
        self._server = server
        server.connections += 1

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        server = self._server
        if server.away:
            raise SystemAway("the server is away")
        if stream not in server.lists:
            raise StreamGone("no such list")
        if token is None:
            token = next(server.numbers)
            server.sessions[token] = [row for row in server.lists[stream] if since is None or row[0] >= since]  # type: ignore[operator]
        return Snapshot(server, token)

    def earlier(self, stream: str, mark: Mark) -> Mark:
        assert isinstance(mark, int)
        return mark - self._server.late

    def close(self) -> None:
        """Nothing is held."""


class Snapshot(Session):
    keep_alive_seconds = 0.0

    def __init__(self, server: Server, token: JSON) -> None:
        assert isinstance(token, int)
        self._server = server
        self._token = token

    @property
    def token(self) -> JSON:
        return self._token

    def page(self, cursor: JSON, limit: int) -> Page:
        if self._server.away:
            raise SystemAway("the server is away")
        if limit > self._server.largest:
            raise PageTooLarge(f"{limit} rows")
        if self._token not in self._server.sessions:
            raise SessionLost("no such session")
        rows = self._server.sessions[self._token]
        begin = cursor if isinstance(cursor, int) else 0
        found = rows[begin : begin + limit]
        end = begin + len(found)
        more = len(found) == limit
        return Page(
            [text for _, text in found],
            end if more else None,
            more=more,
            marks=[mark for mark, _ in found],
            ids=[text for _, text in found],
            keys=[text for _, text in found],
            left=len(rows) - end,
            size=len(found),
        )

    def keep_alive(self) -> None:
        if self._token not in self._server.sessions:
            raise SessionLost("no such session")
        self._server.kept.append(self._token)

    def end(self) -> None:
        if self._server.sessions.pop(self._token, None) is None:
            raise SessionLost("no such session")
        self._server.ended.append(self._token)


class ListSource(MemorySource):
    """Pages of what there is now, without sessions and in no order of marks: as services of the web have them."""

    name = "list_source"

    def connect(self, config: Config, context: TaskContext) -> Connection:
        return Listing(self.server)


class Listing(PointInTime):
    stable = False
    ordered = False

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        return Now(self._server, stream, since)


class Now(Session):
    def __init__(self, server: Server, stream: str, since: Mark | None) -> None:
        self._server, self._stream, self._since = server, stream, since

    def page(self, cursor: JSON, limit: int) -> Page:
        if self._server.away:
            raise SystemAway("the server is away")
        rows = [row for row in self._server.lists[self._stream] if self._since is None or row[0] >= self._since]  # type: ignore[operator]
        begin = cursor if isinstance(cursor, int) else 0
        found = rows[begin : begin + limit]
        more = begin + limit < len(rows)
        marks, texts = [mark for mark, _ in found], [text for _, text in found]
        return Page(texts, begin + limit if more else None, more=more, marks=marks, keys=texts)


class FeedSource(MemorySource):
    """Rows behind the last one that was read: as tables with a column of numbers that grow."""

    name = "feed_source"

    def connect(self, config: Config, context: TaskContext) -> Connection:
        return Feed(self.server)


class Feed(PointInTime):
    stable = False

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        return Behind(self._server, stream)


class Behind(Session):
    def __init__(self, server: Server, stream: str) -> None:
        self._server, self._stream = server, stream

    def page(self, cursor: JSON, limit: int) -> Page:
        begin = cursor if isinstance(cursor, int) else 0
        found = self._server.lists[self._stream][begin : begin + limit]
        return Page([text for _, text in found], begin + len(found) or None, more=len(found) == limit)
