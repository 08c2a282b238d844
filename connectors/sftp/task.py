"""Reads files of a server when they are whole, and keeps, removes or moves them when the topic has them."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from connectors.object_store_source.files import FilesFolder
from connectors.object_store_source.listing import Found, is_data
from connectors.object_store_source.task import ObjectSourceTask, Open
from connectors.objects.files import Files, NotThere, Taken, asking
from connectors.objects.location import Location
from connectors.sftp.whole import After, Rules, Watch, When
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.files.gone import GoneObjects
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.wording.counts import counted

_ENDED = 1


class WatchedFolder(FilesFolder):
    """Files of a folder, and the markers beside them.

    Args:
        place: The folder.
        files: What is below it.
        unfinished: Names that end so are of files that are not whole.
        rules: Say which names are those of markers.
    """

    def __init__(self, place: Location, files: Files, unfinished: Sequence[str], rules: Rules) -> None:
        super().__init__(place, files, unfinished)
        self._rules = rules
        self.markers: set[str] = set()
        """The names of all, at the last look."""

    def all(self) -> Iterator[Found]:
        """See Objects. Without markers."""
        markers: set[str] = set()
        for each in super().all():
            if self._rules.is_marker(each.name):
                markers.add(each.name)
            else:
                yield each
        self.markers = markers

    def is_still(self, found: Found) -> bool:
        """Whether a file is there, and the one that was found."""
        with asking(self._place):
            try:
                return self._files.status(found.name).tag == found.tag
            except NotThere:
                return False

    def end(self, found: Found) -> None:
        """Does what is to be done with a file that was read. A marker goes first: the next file of that name needs its own."""
        with asking(self._place):
            if self._rules.when is When.MARKER:
                self._files.remove(f"{found.name}{self._rules.marker}")
            if self._rules.after is After.DELETE:
                self._files.remove(found.name)
            else:
                self._move(found.name)

    def _move(self, name: str) -> None:
        target = f"{self._rules.folder}/{name}"
        self._files.make_folder(target.rpartition("/")[0])
        try:
            self._files.rename(name, target)
        except Taken:
            # What was moved there before is another file.
            self._files.rename(name, f"{target}.{uuid4().hex[:8]}")


class FileTask(ObjectSourceTask):
    """Copies a share of the files of a server.

    Args:
        folder: Where they are.
        pattern: Which they are.
        rules: When they are whole, and what becomes of them.
        share: Which task of how many.
        opening: See Open.
        every: Seconds between two looks for new files; None: it ends when all that were there are read.
        context: Of the task.
        missing: Says which positions of files that are gone are forgotten.
    """

    def __init__(
        self,
        folder: WatchedFolder,
        pattern: str,
        rules: Rules,
        share: tuple[int, int],
        opening: Open,
        every: float | None,
        context: TaskContext,
        missing: GoneObjects,
    ) -> None:
        self._folder = folder
        self._rules = rules
        super().__init__(folder, lambda name: is_data(name, pattern), share, opening, every, context, missing)

    def _reset(self, positions: Mapping[str, Position]) -> None:
        super()._reset(positions)
        self._watch = Watch(self._rules)
        self._unready: list[Found] = []
        """What the last look has found that is not whole."""
        self._chosen: dict[str, Found] = {}
        """By partition what is to be removed or moved when it was read."""
        self._given: dict[str, Found] = {}
        """By partition what was given to its end, and is not stored yet."""
        self._stored = {partition for partition, position in positions.items() if _is_end(position)}
        """The partitions of which the topic has all."""
        self._ended: deque[Found] = deque()
        """What is to be removed or moved."""

    def chosen(self, found: Sequence[Found]) -> Sequence[Found]:
        """Those that are whole. Of those that the topic has, and that are there still, the end is made up for."""
        self._end([each for each in found if each.partition in self._stored])
        new = [each for each in found if not self._is_done(each)]
        whole = self._watch.whole(new, self._folder.markers)
        there = {each.name for each in whole}
        self._unready = [each for each in new if each.name not in there]
        if self._rules.after is not After.KEEP:
            self._chosen = {each.partition: each for each in whole}
        return whole

    @property
    def look_again(self) -> float:
        """See ObjectSourceTask. What has to rest is looked at when it may have."""
        if not self._unready:
            return super().look_again
        soon = self._rules.rest if self._rules.when is When.REST else math.inf
        return min(soon, super().look_again)

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        while self._ended:
            found = self._ended[0]
            if self._folder.is_still(found):
                self._folder.end(found)
                self._context.log.info("%s was read: %s", found, "deleted" if self._rules.after is After.DELETE else "moved")
            self._ended.popleft()
        batch = super().poll()
        if batch is not None and batch.gone:
            self._stored.discard(batch.partition)
        elif batch is not None and batch.end and batch.partition in self._chosen:
            self._given[batch.partition] = self._chosen.pop(batch.partition)
        return batch

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self._stored.update(partition for partition, position in positions.items() if _is_end(position))
        self._end([found for partition, found in self._given.items() if partition in self._stored])

    def _end(self, found: Sequence[Found]) -> None:
        if self._rules.after is After.KEEP:
            return
        for each in found:
            self._given.pop(each.partition, None)
            if each not in self._ended:
                self._ended.append(each)

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return super().caught_up and not (self._unready and self._rules.when is When.REST)

    @property
    def finished(self) -> bool:
        """See SourceTask. What was read is removed or moved before."""
        return super().finished and not self._given and not self._ended

    @property
    def held_back(self) -> str:
        """See SourceTask."""
        if not self._unready or self._rules.when is not When.MARKER:
            return ""
        files = counted(self._unready, "file", "waits", "wait")
        return f"{files} for a marker, such as {self._unready[0]}{self._rules.marker}: who writes them makes it when they are whole"


def _is_end(position: Position) -> bool:
    return position.offset[1:] == (_ENDED,)
