"""The files of a table: those of the partitions that its metastore knows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from connectors.hive_source.table import Part, State, WatchedTable
from connectors.object_store_source.listing import Found, Objects, is_data, shortened
from connectors.object_store_source.places import objects_of
from connectors.objects.location import Location
from connectors.objects.logins import Login

_LONGEST = 400
"""Characters of the name of a partition, and of that of a file, in the name of a source partition, which has 1,024."""
_SIGN = ":"
"""Behind the partition. Hive escapes it in the names of partitions."""


@dataclass(frozen=True, slots=True, order=True)
class TableFile(Found):
    """A file of a partition. Its name is that of the partition and its own, behind the folder of the partition.

    Attributes:
        part: The partition.
        inner: The file, as its store has it.
        place: Where its store begins.
    """

    part: Part = field(compare=False)
    inner: Found = field(compare=False)
    place: Location = field(compare=False)

    @property
    def partition(self) -> str:
        """See Found."""
        own = self.name[len(self.part.name) + 1 :] if self.part.name else self.name
        file = f"{shortened(own, _LONGEST)}@{self.tag}"
        return f"{self.dealt_by}{_SIGN}{file}" if self.part.name else file

    @property
    def dealt_by(self) -> str:
        """Its partition: a task has all files of one. See Found."""
        return dealt_by(self.part)


class TableObjects(Objects):
    """All files of a table.

    Args:
        table: Which.
        login: How files of a place are reached; None: they are in a folder. May raise PermanentError.
    """

    def __init__(self, table: WatchedTable, login: Callable[[Location], Login | None]) -> None:
        self._table = table
        self._login = login
        self._stores: dict[Location, Objects] = {}
        self._state: State | None = None
        self._known: tuple[State, frozenset[str]] | None = None

    @property
    def state(self) -> State:
        """Of the newest look."""
        if self._state is None:
            self._state = self._table.look()
        return self._state

    def part_of(self, partition: str) -> str:
        """What the files of the partition of a source partition are dealt by."""
        return partition.partition(_SIGN)[0] if self.state.levels else ""

    def has(self, dealt_by: str) -> bool:
        """Whether the metastore knows the partition whose files are dealt by this, be it read or not."""
        state = self.state
        if self._known is None or self._known[0] is not state:
            names = frozenset(shortened(name, _LONGEST) for name in (*state.known, *(part.name for part in state.parts)))
            self._known = (state, names)
        return dealt_by in self._known[1]

    def all(self) -> Iterator[TableFile]:
        """Asks the metastore, and lists the folders of all partitions that it knows. See Objects.

        A file belongs to the partition whose folder is the innermost one around it. What is in the folder of the table, and of no
        partition, belongs to nobody.
        """
        self._state = state = self._table.look()
        within: dict[str, list[Part]] = {}
        elsewhere: dict[Location, list[Part]] = {}
        for part in state.parts:
            below = _below(state.root, part.place)
            if below is None:
                elsewhere.setdefault(part.place, []).append(part)
            else:
                within.setdefault(below, []).append(part)
        if within:
            yield from self._files(state.root, within)
        for place, parts in elsewhere.items():
            yield from self._files(place, {"": parts})

    def read(self, found: Found, start: int, length: int) -> bytes:
        """See Objects."""
        file = cast("TableFile", found)
        return self._store(file.place).read(file.inner, start, length)

    def _files(self, place: Location, parts: Mapping[str, list[Part]]) -> Iterator[TableFile]:
        for each in self._store(place).all():
            folder = each.name.rpartition("/")[0]
            while folder and folder not in parts:
                folder = folder.rpartition("/")[0]
            own = each.name[len(folder) + 1 :] if folder else each.name
            # Hive leaves empty files where a writer had no rows.
            if folder not in parts or not each.size or not is_data(own, "*"):
                continue
            for part in parts[folder]:
                name = f"{part.name}/{own}" if part.name else own
                yield TableFile(name, each.tag, each.size, part, each, place)

    def _store(self, place: Location) -> Objects:
        if place not in self._stores:
            self._stores[place] = objects_of(place, self._login(place))
        return self._stores[place]


def dealt_by(part: Part) -> str:
    """What the files of a partition are dealt by: its name, or what stands for it."""
    return shortened(part.name, _LONGEST)


def _below(root: Location, place: Location) -> str | None:
    """Where a place is behind another one; None: elsewhere."""
    if (root.kind, root.bucket) != (place.kind, place.bucket):
        return None
    if root.prefix in (place.prefix, ""):
        return "" if root.prefix else place.prefix
    start = f"{root.prefix}/"
    return place.prefix[len(start) :] if place.prefix.startswith(start) else None
