"""What the author of a PartitionSource writes: a connection to a log."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.resume import JSON

GONE = "gone"
"""In the map of the position of a partition that is not there any more: that was told, and passed."""
Headers: TypeAlias = Sequence[tuple[str, bytes | None]]
"""Headers as a log has them: names may come twice, and values need not be text."""


@dataclass(frozen=True, slots=True)
class LogPartition:
    """A partition of a log.

    Attributes:
        name: What it is called: "orders/0".
        identity: Another one for one that was made anew under the same name; empty: the log has none.
    """

    name: str
    identity: str = ""

    @property
    def partition(self) -> str:
        """The source partition: one that is made anew is another one, so offsets of a source partition never begin again."""
        return f"{self.name}@{self.identity}" if self.identity else self.name


@dataclass(frozen=True, slots=True)
class Bounds:
    """What there is in a partition.

    Attributes:
        first: Before it, records were removed, or there never were any.
        end: Behind the last record that may be read now.
    """

    first: Offset
    end: Offset


@dataclass(slots=True)
class Entries:
    """Records of one partition in their order, as columns of equal length.

    Attributes:
        name: Of the partition.
        values: What they hold; None: a tombstone. Bytes are read as the configuration says; anything else is a value as it is.
        offsets: Just behind each of them.
        keys: None: that record has none.
        timestamps_ms: None: not known.
        headers: Of each.
        end: Where reading goes on, when that is behind the last one. Without records too: what comes before is nothing to copy.
        topic: Where they go; empty: to the topic of the configuration.
        size: Of all values that are no bytes, in bytes.
        properties: Of each, where the source sends whole messages (Source.whole_messages); keys and headers are left out then.
        queue: Of whole messages; see SourceBatch.
    """

    name: str
    values: list[object] = field(default_factory=list)
    offsets: list[Offset] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    timestamps_ms: list[int | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    end: Offset = ()
    topic: str = ""
    size: int = 0
    properties: list[Mapping[str, str]] = field(default_factory=list)
    queue: tuple[str, int] | None = None


class OutOfRange(Exception):
    """A log can't go on at its place in a partition: what was there was removed, or the log ends before it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Log(ABC):
    """A connection to a log. One thread calls it. After a SystemAway it is closed, and another one is made.

    All methods raise SystemAway or RetriableError where they may succeed later, and PermanentError where they can't.
    """

    @abstractmethod
    def partitions(self) -> Sequence[LogPartition]:
        """The partitions that the configuration means and that are there.

        Raises:
            SystemAway: one that the configuration names is not there.
        """

    @abstractmethod
    def bounds(self, names: Iterable[str]) -> Mapping[str, Bounds]:
        """What there is in these partitions."""

    @abstractmethod
    def find(self, names: Iterable[str], seconds: float) -> Mapping[str, Offset]:
        """Of these partitions the place before the first record that is not older than a time, in seconds since 1970."""

    @abstractmethod
    def seek(self, places: Mapping[str, Offset]) -> None:
        """From now on `read` gives what is behind these places, and of no other partition."""

    @abstractmethod
    def read(self, records: int, size: int) -> Sequence[Entries]:
        """What comes next: about so many records and bytes at most; nothing, when none came within 0.1 s.

        Where it has come to the end of a partition, and that is behind the last record that it gave, it says so once (Entries.end).

        Raises:
            OutOfRange: a partition can't be read on. All that was read before is given first.
        """

    def lost(self, name: str, place: Offset, bounds: Bounds) -> str:
        """What is said of records behind a place that were removed; empty: none were.

        Logs whose offsets have holes at their beginning look closer.
        """
        del name
        return (
            f"the records from offset {text_of(place)} up to {text_of(bounds.first)} were removed" if place < bounds.first else ""
        )

    def note(self, name: str) -> Mapping[str, JSON] | None:
        """What `lost` needs to know of where `read` is in a partition; it is stored with the position there. None: nothing.

        With a note a position is that of the end of what `read` gave, and never of a record within.
        """
        del name
        return None

    def recall(self, name: str, note: Mapping[str, JSON]) -> None:
        """Before `bounds` and `seek`: the note that is stored with the position of a partition; empty: none is.

        With GONE: the partition was not there any more, and what it had is passed.
        """
        del name, note

    def missed(self, partitions: Iterable[str]) -> None:
        """Before it is told that these partitions, which were read, are not there any more, and what they had is lost.

        Raises:
            SystemAway: that is not known: what they are on may be away.
        """
        del partitions

    def left(self, name: str, place: Offset) -> int | None:
        """How many records are behind a place, as far as it is known without asking; None: it is not."""
        del name, place
        return None

    @abstractmethod
    def close(self) -> None:
        """Ends it. Never raises."""


def text_of(offset: Offset) -> str:
    """An offset for people."""
    return "-".join(map(str, offset))
