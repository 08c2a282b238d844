"""Reads the files of a share of the partitions, and tells where files that were read are there no more."""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import cast

from connectors.hive_source.listing import TableFile, TableObjects, dealt_by
from connectors.hive_source.rows import ENDED, TableReader
from connectors.object_store_source.listing import Found
from connectors.object_store_source.task import ObjectSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.files.gone import GoneObjects
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.wording.counts import counted

_TOLD = 2
"""The second number of the offset of a file that is gone, where that was told."""


class Rewrites(Enum):
    """What is done where files that were read are there no more."""

    FAIL = "fail"
    SKIP = "skip"
    READ = "read"


class HiveSourceTask(ObjectSourceTask):
    """Copies the rows of a share of the partitions of a table.

    Args:
        objects: The files of the table.
        key: The columns of the keys; none: records have no keys.
        rewrites: What is done where files that were read are there no more.
        share: Which task of how many.
        every: Seconds between two looks for new files; None: it looks once, and ends.
        context: Of the task.
        missing: Says which positions of files that are gone are forgotten.
    """

    def __init__(
        self,
        objects: TableObjects,
        key: Sequence[str],
        rewrites: Rewrites,
        share: tuple[int, int],
        every: float | None,
        context: TaskContext,
        missing: GoneObjects,
    ) -> None:
        def opening(found: Found, begin: int) -> TableReader:
            return TableReader(objects, cast("TableFile", found), begin, key, context)

        super().__init__(objects, lambda _: True, share, opening, every, context, missing)
        self._table = objects
        self._rewrites = rewrites

    def _reset(self, positions: Mapping[str, Position]) -> None:
        super()._reset(positions)
        self._ends: deque[tuple[str, Offset]] = deque()
        """What is to be stored of files without reading them, in this order."""
        self._seen: dict[str, frozenset[str]] = {}
        """By rewritten partition the files of the look before."""

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        batch = None if self._ends else super().poll()
        if batch is None and self._ends:
            partition, end = self._ends.popleft()
            return SourceBatch(partition, [], [], end=end)
        return batch

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return super().caught_up and not self._ends

    def may_forget(self, partition: str, offset: Offset) -> bool:
        """Files of a partition that is there stay, until what becomes of them was told. See ObjectSourceTask."""
        part = self._table.part_of(partition)
        return self.is_mine(part) and offset[1:] != (0,) and (offset[1:] == (_TOLD,) or not self._table.has(part))

    def chosen(self, found: Sequence[Found]) -> Sequence[Found]:
        """All but those that took the place of files that were read, where these are not wanted. See ObjectSourceTask."""
        there: dict[str, list[Found]] = {}
        for each in found:
            there.setdefault(each.dealt_by, []).append(each)
        passed: set[str] = set()
        rewritten = self._gone(found)
        self._seen = {part: names for part, names in self._seen.items() if part in rewritten}
        for part, gone in sorted(rewritten.items()):
            passed |= self._settle(part, gone, there.get(part, []))
        return [each for each in found if each.partition not in passed]

    def _gone(self, found: Sequence[Found]) -> dict[str, list[str]]:
        """By partition of the share the files that were begun and are there no more, as far as that was not told."""
        known = {each.partition for each in found}
        parts = set(filter(self.is_mine, map(dealt_by, self._table.state.parts)))
        gone: dict[str, list[str]] = {}
        for partition, offset in self._at.items():
            part = self._table.part_of(partition)
            if partition not in known and part in parts and offset[1:] != (_TOLD,):
                gone.setdefault(part, []).append(partition)
        return gone

    def _settle(self, part: str, gone: Sequence[str], there: Sequence[Found]) -> set[str]:
        """What becomes of a partition that was rewritten. Returns: the files that are passed."""
        what = f"the partition {part}" if part else "the table"
        names = ", ".join(sorted(gone)[:3])
        files = counted(gone, "file", "that was read is", "that were read are")
        told = f"{what} was rewritten: {files} there no more ({names})"
        new = [each for each in there if each.partition not in self._at]
        if self._rewrites is Rewrites.FAIL:
            if part in self._seen or self._every is None:
                msg = f"{told}. Set on.rewrite=read to read what took their place, or on.rewrite=skip to pass it"
                raise PermanentError(msg)
            # Who drops a partition may remove its files first: the next look tells.
            self._seen[part] = frozenset()
            return {each.partition for each in new}
        is_read = self._rewrites is Rewrites.READ
        if part not in self._seen:
            self._context.log.warning("%s; what took their place is %s", told, "read" if is_read else "passed")
        if not is_read:
            self._mark([each.partition for each in new], ENDED)
        names_now = frozenset(each.partition for each in there)
        # A rewrite is no single step: what takes the place of files may come one by one, and long after they are gone.
        if is_read or (names_now and self._seen.get(part) == names_now):
            self._mark(gone, _TOLD)
            self._seen.pop(part, None)
        else:
            self._seen[part] = names_now
        return set() if is_read else {each.partition for each in new}

    def _mark(self, partitions: Sequence[str], number: int) -> None:
        for partition in partitions:
            offset = (self._at.get(partition, (0,))[0], number)
            self._at[partition] = offset
            self._ends.append((partition, offset))
