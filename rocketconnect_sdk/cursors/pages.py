"""What the author of a CursorSource writes: a connection, and the sessions in which it gives pages."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.schema import Schema

AHEAD_SECONDS = 600.0
"""So far a clock may be ahead of another one."""
Mark: TypeAlias = int | float | str
"""By what rows that are new are known: a number that grows, a time as a number, a text. Those of a stream compare."""


class SessionLost(Exception):
    """A session can't go on at its cursor: it has ended at the other side. Another one is opened."""


class StreamGone(Exception):
    """A stream is not there any more."""


class PageTooLarge(Exception):
    """A page with so many rows is none that can be had. The text says what is too large. Fewer are asked for."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Something with an order of its own: a table, an index, a list of items.

    Attributes:
        name: What it is called.
        identity: Another one for one that was made anew under the same name; empty: it has none.
    """

    name: str
    identity: str = ""

    @property
    def partition(self) -> str:
        """The source partition."""
        return f"{self.name}@{self.identity}" if self.identity else self.name


@dataclass(slots=True)
class Page:
    """Rows, as columns of equal length, and where reading goes on.

    Attributes:
        rows: The rows; a Rejected stands for one that can't be read.
        next: The cursor behind them, at most some kilobytes. None: there is none, and what is asked for next is another round.
        more: There is more now. Else the round ends here. The next one begins later, in a session of its own, at `next`.
        marks: By what rows that are new are known; None: nothing says so. A single None: not known of that row.
        ids: Names rows of one mark; those that were given in the overlap are not given again. None: keys do.
        keys: The keys; None: no row has one.
        timestamps_ms: Times of the events.
        schema: Of all rows.
        size: Of all rows, in bytes.
        left: How many rows are behind this page in the session; None: not known.
    """

    rows: Sequence[object]
    next: JSON = None
    more: bool = False
    marks: Sequence[Mark | None] | None = None
    ids: Sequence[str] | None = None
    keys: Sequence[object] | None = None
    timestamps_ms: Sequence[int | None] | None = None
    schema: Schema | None = None
    size: int = 0
    left: int | None = None


class Session(ABC):
    """One round of reading a stream, as it is at one point in time where the other side can do that."""

    keep_alive_seconds: float = math.inf
    """For how long it lives without a page."""

    @property
    def token(self) -> JSON:
        """What another process enters the same session by; None: it can't, or needs none. It may change with each page."""
        return None

    @abstractmethod
    def page(self, cursor: JSON, limit: int) -> Page:
        """The rows behind a cursor; None: the first ones. At most about so many.

        The same cursor may be asked for again.

        Raises:
            SessionLost, StreamGone, PageTooLarge: see there.
            SystemAway, RetriableError, PermanentError: see rocketconnect_sdk.errors.
        """

    def keep_alive(self) -> None:  # noqa: B027  # not every session has to
        """Keeps it from ending while nothing is read. Raises as `page`."""

    def end(self) -> None:  # noqa: B027  # not every session has to
        """The round is done, and all of it is stored: what the session holds at the other side may go.

        A SessionLost or SystemAway is passed over: it ends by itself, later.

        Not called where a task ends before: another one enters the session by its token.
        """


class Connection(ABC):
    """A connection of one task, which one thread uses. After a SystemAway it is closed, and another one is made.

    Class attributes:
        stable: A session that is entered again gives the same rows behind the same cursor, in the same order.
        ordered: A session gives rows in the order of their marks.
    """

    stable: ClassVar[bool] = False
    ordered: ClassVar[bool] = True

    @abstractmethod
    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        """A session.

        Args:
            stream: The name of the stream.
            since: Rows with this mark and newer ones; None: all.
            token: The session is that with this token; None: it is a new one.

        Raises:
            SessionLost: there is no session with this token. `page` may say so as well.
            StreamGone: the stream is not there.
            SystemAway, RetriableError, PermanentError: it can't.
        """

    def earlier(self, stream: str, mark: Mark) -> Mark:
        """The least mark with which rows may still come late, where this one is the newest: by default itself."""
        del stream
        return mark

    def latest(self, stream: str) -> Mark | None:
        """The newest mark that a row can have now, where marks are times (AHEAD_SECONDS from now); None: any.

        A row with a newer one is given, and says nothing of where rows are new: one wrong clock would hide all that come later.
        """
        del stream
        return None

    @abstractmethod
    def close(self) -> None:
        """Ends the connection, and no session. Never raises."""
