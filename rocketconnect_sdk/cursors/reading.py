"""Reads one stream: round after round, each in a session."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from shlex import quote

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors.pages import Connection, Mark, Page, PageTooLarge, Session, SessionLost, Stream
from rocketconnect_sdk.cursors.window import Window
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.resume import JSON

_BEGIN: Offset = (0, 0, 0)


class Reader:
    """A stream. Offsets are (epoch, microseconds, n): when the session began, and how many of its records are done.

    A stable session that is entered again goes on counting, so what was sent of it is known. Any other one counts anew, above all
    that was given before: nothing that is read again has an offset twice.

    Args:
        stream: The stream.
        connection: By which it is read.
        at: The position that is stored; None: none is.
        every: Seconds from the beginning of a round to that of the next; 0: there is one.
        rows: A page has so many at most.
        context: Of the task.
    """

    def __init__(
        self, stream: Stream, connection: Connection, at: Position | None, every: float, rows: int, context: TaskContext
    ) -> None:
        self.stream = stream
        self._connection = connection
        self._every = every
        self._context = context
        self._most = self._limit = max(1, min(rows, context.batch_records))
        resume: Mapping[str, JSON] = {} if at is None else at.resume
        *rank, self._given = _BEGIN if at is None else at.offset
        self._rank = tuple(rank)
        self._window = Window(resume, self._earlier, self._latest)
        self._cursor = resume.get("cursor")
        self._begun_at = resume.get("begun_at")
        self._token = resume.get("token")
        self._in_round = bool(resume.get("in_round"))
        began = resume.get("began")
        self._began = float(began) if isinstance(began, int | float) else 0.0
        self.rounds = int(bool(resume.get("rounds")))
        self.left: int | None = None
        self._session: Session | None = None
        self._ended: deque[tuple[Offset, Session]] = deque()
        self._touched = 0.0
        self._is_told = self._is_ahead_told = False
        self._is_looked_at = at is None
        self._is_unproven = False

    def _earlier(self, mark: Mark) -> Mark:
        return self._connection.earlier(self.stream.name, mark)

    def _latest(self) -> Mark | None:
        return self._connection.latest(self.stream.name)

    def stop(self) -> None:
        """Its connection has ended. What sessions hold at the other side ends by itself, where nobody enters them."""
        self._session = None
        self._ended.clear()

    def go_on(self, connection: Connection) -> None:
        """Reads on where it was by another connection."""
        self._connection = connection

    @property
    def is_done(self) -> bool:
        """There was one round, and no other one comes."""
        return not self._every and self.rounds > 0 and not self._in_round

    @property
    def due(self) -> float:
        """After how many seconds there is something to do."""
        if self.is_done:
            return float("inf")
        if self._in_round or not self.rounds:
            return 0.0
        # A clock that was put back does not make it wait for longer.
        return min(self._began + self._every - time.time(), self._every)

    def poll(self) -> SourceBatch | None:
        """The rows of the next page that were not given yet."""
        try:
            if self._session is None:
                self._session = self._opened()
            session = self._session
            page = session.page(self._cursor, self._limit)
        except SessionLost as lost:
            self._begin_anew(lost)
            return None
        except PageTooLarge as error:
            if self._limit == 1:
                msg = f"{self.stream.name}: {error}"
                raise PermanentError(msg) from error
            self._most = self._limit = max(1, self._limit // 2)
            return None
        self._touched = time.monotonic()
        self._is_unproven = False
        return self._taken(page, session)

    def committed(self, offset: Offset) -> None:
        """All up to an offset is stored."""
        while self._ended and self._ended[0][0] <= offset:
            self._end(self._ended.popleft()[1])

    def keep_alive(self) -> None:
        """Keeps the session of the round from ending."""
        if self._session is not None and time.monotonic() - self._touched >= self.keep_alive_seconds:
            try:
                self._session.keep_alive()
            except SessionLost as lost:
                self._begin_anew(lost)
            self._touched = time.monotonic()

    @property
    def keep_alive_seconds(self) -> float:
        """How often the session wants to be kept alive."""
        return float("inf") if self._session is None else self._session.keep_alive_seconds / 3

    def _look_at_position(self) -> None:
        """Tells of a position that an earlier version has stored: it went on from a row of a wrong clock."""
        self._is_looked_at = True
        mark = self._window.mark
        # What has no marks is not asked for the newest one.
        if mark is not None and (latest := self._latest()) is not None and mark > latest:
            self._context.log.warning(
                "%s: its position is at %r, which is ahead of the clock of this machine. Rows with times before that are not read "
                "until then, and those that came so far are missing. If that clock is right: `rocketconnect position set %s "
                "--to-earliest --partition %s --restart` reads all rows, those that were read once more",
                self.stream.name,
                mark,
                self._context.connector,
                quote(self.stream.partition),
            )

    def _opened(self) -> Session:
        """The session of the round: that of the position, or another one."""
        if not self._is_looked_at:
            self._look_at_position()
        name = self.stream.name
        if self._in_round:
            session = self._connection.open(name, self._window.since, self._token)
            self._is_unproven = self._token is None
            if self._token is None or not self._connection.stable or not self._window.is_whole:
                self._count_anew()
            return session
        since = self._window.begin()
        session = self._connection.open(name, since, None)
        self._is_unproven = True
        self._begun_at = self._cursor
        self._began = time.time()
        self._in_round = True
        self._count_anew()
        return session

    def _count_anew(self) -> None:
        """Nobody has given an offset that is as high: the epoch grows with each owner of the task."""
        now = (self._context.epoch, time.time_ns() // 1000)
        self._rank = max(now, (self._rank[0], self._rank[1] + 1))
        self._given = 0

    def _begin_anew(self, lost: SessionLost) -> None:
        """The session is gone, and its cursor with it: where rows come in the order of their marks it goes on behind the newest."""
        if self._is_unproven:
            msg = f"{self.stream.name}: a session has ended before it gave anything: {lost}"
            raise SystemAway(msg) from lost
        goes_on = self._connection.ordered and self._window.mark is not None
        where = f"goes on from {self._window.mark!r}" if goes_on else "is read again from the beginning of the round"
        self._context.log.info("%s: the session has ended (%s); it %s in another one", self.stream.name, lost, where)
        self._session = self._token = self._cursor = None
        if goes_on:
            self._in_round = False

    def _taken(self, page: Page, session: Session) -> SourceBatch | None:
        places = self._new(page)
        self._cursor = page.next
        self._token = session.token
        self.left = page.left
        is_end = not page.more
        if is_end:
            self._in_round, self._session, self._token, self.left = False, None, None, None
            # The first round is something that was done, and so is a cursor that moved.
            is_news = not self.rounds or page.next != self._begun_at
            self.rounds += 1
        self._fit_limit(page)
        if not places and not (is_end and is_news):
            if is_end:
                self._end(session)
            return None
        batch = self._batch(page, places)
        if is_end:
            self._ended.append((batch.end, session))
        return batch

    def _new(self, page: Page) -> Sequence[int]:
        names = page.ids or page.keys
        if page.marks is None or names is None:
            return range(len(page.rows))
        places = self._window.new(page.marks, names, ordered=self._connection.ordered)
        if self._window.ahead is not None and not self._is_ahead_told:
            self._is_ahead_told = True
            self._context.log.warning(
                "%s: a row has %r as the time by which new ones are known, which is ahead of the clock of this machine. It is "
                "read, and the others are read on from where they are. Look at both clocks",
                self.stream.name,
                self._window.ahead,
            )
        if self._window.has_forgotten and not self._is_told:
            self._is_told = True
            self._context.log.warning(
                "%s: more rows are in the overlap than can be remembered; those that come later than the oldest of these are not "
                "seen. Make the overlap smaller, or take a field of finer steps",
                self.stream.name,
            )
        return places

    def _batch(self, page: Page, places: Sequence[int]) -> SourceBatch:
        first = self._given + 1
        # A page without rows moves the position, too.
        self._given += len(places) or 1
        whole = SourceBatch(
            self.stream.partition,
            page.rows,
            [(0,)] * len(page.rows),
            keys=page.keys,
            timestamps_ms=page.timestamps_ms,
            schema=page.schema,
            size=page.size,
        )
        batch = whole if len(places) == len(page.rows) else whole.take(places)
        batch.offsets = [(*self._rank, number) for number in range(first, first + len(places))]
        batch.end = (*self._rank, self._given)
        batch.resume = self._resume()
        return batch

    def _resume(self) -> dict[str, JSON]:
        made = self._window.written(ordered=self._connection.ordered)
        made |= {"began": self._began, "rounds": self.rounds > 0, "in_round": self._in_round}
        made |= {
            name: value
            for name, value in (("cursor", self._cursor), ("begun_at", self._begun_at), ("token", self._token))
            if value is not None
        }
        return made

    def _fit_limit(self, page: Page) -> None:
        """About as many rows as make a batch, by those of this page."""
        if page.rows and page.size:
            wanted = len(page.rows) * self._context.batch_bytes // page.size
            # Rows that are small for once do not make a page that is very large.
            self._limit = max(1, min(wanted, 2 * max(self._limit, len(page.rows)), self._most))

    @staticmethod
    def _end(session: Session) -> None:
        try:
            session.end()
        except (SessionLost, SystemAway):
            # It ends by itself, later.
            return
