"""Reads the objects of a share, one after the other, and looks for new ones."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

from connectors.object_store_source.listing import Found, Gone, Objects, name_of
from connectors.object_store_source.readers import Reader
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.files.gone import GoneObjects
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_BEGIN = (0, 0)
_POLL_SECONDS = 0.1

Open = Callable[[Found, int], Reader]
"""The reader of an object, behind so many rows or bytes."""


class ObjectSourceTask(SourceTask):
    """Copies a share of the objects.

    Args:
        objects: Where they are.
        is_read: Whether an object of a name is read.
        share: Which task of how many.
        opening: See Open.
        every: Seconds between two looks for new objects; None: it looks once, and ends.
        context: Of the task.
        missing: Says which positions of objects that are gone are forgotten; None: none are.
    """

    remaining_unit = "bytes"

    def __init__(
        self,
        objects: Objects,
        is_read: Callable[[str], bool],
        share: tuple[int, int],
        opening: Open,
        every: float | None,
        context: TaskContext,
        missing: GoneObjects | None = None,
    ) -> None:
        self._objects = objects
        self._is_read = is_read
        self._share = share
        self._open = opening
        self._every = every
        self._context = context
        self._missing = missing or GoneObjects(0.0)
        self._reset({})

    def _reset(self, positions: Mapping[str, Position]) -> None:
        self._at = {partition: position.offset for partition, position in positions.items()}
        """Behind what was given, by partition."""
        self._waiting: deque[Found] = deque()
        self._reader: Reader | None = None
        self._look_at = 0.0
        self._looked = False
        self._missing.clear()

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self._reset(positions)

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        until = time.monotonic() + _POLL_SECONDS
        while True:
            if self._reader is None and not self._waiting:
                if self._missing.over:
                    partition = self._missing.over.popleft()
                    return SourceBatch(partition, [], [], end=self._at.pop(partition), gone=True)
                if self._look_at > time.monotonic():
                    return None
                self._look()
                if not self._waiting:
                    return None
            if (batch := self._next()) is not None or time.monotonic() > until:
                return batch

    def _look(self) -> None:
        found, there = [], self._missing.look()
        for each in self._objects.all():
            there.saw(each.partition)
            if self._is_read(each.name) and self.is_mine(each.dealt_by):
                found.append(each)
        there.ended(partition for partition, offset in self._at.items() if self.may_forget(partition, offset))
        self._waiting.extend(sorted(each for each in self.chosen(found) if not self._is_done(each)))
        self._looked = True
        self._look_at = time.monotonic() + self.look_again

    @property
    def look_again(self) -> float:
        """After a look: in how many seconds the next one is; infinite: there is none."""
        return math.inf if self._every is None else self._every

    def chosen(self, found: Sequence[Found]) -> Sequence[Found]:
        """Which of the objects that a look has found are read, as far as they were not: all.

        Raises:
            PermanentError: not all that was to be read is there.
        """
        return found

    def may_forget(self, partition: str, offset: Offset) -> bool:
        """Whether the position of an object can go when the object is gone: all of it is in the topic, and it is in the share."""
        return _is_over(offset) and self.is_mine(name_of(partition))

    def is_mine(self, dealt_by: str) -> bool:
        """Whether objects that are dealt by this are in the share."""
        number, tasks = self._share
        return crc32(dealt_by.encode(errors="surrogateescape")) % tasks == number

    def _is_done(self, found: Found) -> bool:
        return _is_over(self._at.get(found.partition, _BEGIN))

    def _next(self) -> SourceBatch | None:
        """Of the object that is read, or of the next one."""
        found = self._waiting[0] if self._reader is None else self._reader.found
        begin = self._at.get(found.partition, _BEGIN)
        try:
            if self._reader is None:
                self._reader = self._open(found, begin[0])
                self._waiting.popleft()
                self._context.log.info("reading %s", found)
            batch = self._reader.next()
        except Gone:
            self._drop()
            self._context.log.warning(
                "%s was deleted or replaced while it was read, behind %d: the rest is left out", found, begin[0]
            )
            return None
        except ConnectorError:
            # Where the reader stands is not known: the next poll opens it again, behind what was given.
            if self._reader is not None:
                self._reader = None
                self._waiting.appendleft(found)
            raise
        if batch is not None:
            self._at[found.partition] = batch.end or batch.offsets[-1]
            if batch.end:
                self._reader = None
        return batch

    def _drop(self) -> None:
        if self._reader is None:
            self._waiting.popleft()
        self._reader = None

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return self._looked and self._reader is None and not self._waiting

    @property
    def finished(self) -> bool:
        """See SourceTask. Without follow, when all that was there is read."""
        return self._every is None and self.caught_up

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return 0.0 if self._reader is not None or self._waiting or self._missing.over else min(0.5, self._every or 0.1)

    def remaining(self) -> int | None:
        """Bytes of objects that are not begun."""
        return sum(found.size for found in self._waiting) if self._looked else None

    def close(self) -> None:
        """See SourceTask."""
        self._reset({})
        self._objects.close()


def _is_over(offset: Offset) -> bool:
    return len(offset) > 1 and offset[1] > 0
