"""What a query keeps from batch to batch, and its file: named by nothing that it holds, found by the positions behind its batch."""

import hashlib
import json
import os
import struct
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.files.manifest import sync, write_all
from rocketconnect_sdk.permissions.roots import Access, roots
from rocketconnect_sdk.sink import QueuePosition

Place = tuple[int, int, int]
"""Of a queue: incarnation, era and offset of its position."""

_ENDING = ".state"
_HALF = ".part"
_LENGTH = struct.Struct(">Q")
_SEEN_BYTES = 150
"""What a key that was seen takes in memory, about."""


@dataclass(frozen=True, slots=True)
class QueryState:
    """Behind a batch. Never changed in place.

    Attributes:
        clocks: The newest time in each queue.
        first: The time of the first record of all; None: there was none.
        written: Windows that end up to here were written; None: none was.
        rows: The records in open windows, with the begin of the window of each; None: there are none.
        seen: See duplicates.
    """

    clocks: Mapping[str, int] = field(default_factory=dict)
    first: int | None = None
    written: int | None = None
    rows: pa.Table | None = None
    seen: Mapping[bytes, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return (0 if self.rows is None else self.rows.nbytes) + _SEEN_BYTES * len(self.seen)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file. Places are empty where it is only there to be removed."""

    path: Path
    epoch: int
    number: int
    places: Mapping[str, Place]


class StateFolder:
    """The states of one task. Used by one thread.

    A state is written and synced before its batch is committed, under a name of its own that nothing overwrites. Which of them is
    right tell the positions of the sink at its start: those behind the batch that was committed last. The state of a batch that
    was not committed is never looked at.

    Args:
        folder: Where they are.
        owner: What the names begin with: of the connector and the task.
        epoch: Of this owner: of two states of the same positions that of the newer owner is right.
        query: What they are of. Those of another query are refused.
    """

    def __init__(self, folder: str, owner: str, epoch: int, query: str) -> None:
        self._folder = Path(folder)
        self._roots = roots(Access.WRITE)
        # A uid that somebody has made up may have any characters.
        self._owner = hashlib.sha256(owner.encode()).hexdigest()[:16]
        self._epoch = epoch
        self._query = hashlib.sha256(query.encode()).hexdigest()[:16]
        self._kept: list[_Kept] = []
        self._places: dict[str, Place] = {}
        self._stored: dict[str, Place] = {}
        self._number = 0
        self._pending: _Kept | None = None

    def load(self, positions: Mapping[str, QueuePosition], begun: Collection[str], *, may_be_empty: bool) -> tuple[QueryState, str]:
        """The state behind these positions, and what there is to say of it, for people; empty: nothing.

        Args:
            positions: Where each queue is begun.
            begun: Those behind records that were written: they need a state.
            may_be_empty: query.state.lost=empty.

        Raises:
            PermanentError: there is none, and the positions are not those of a beginning; or it is of another query.
            RetriableError: the folder can't be read.
        """
        places = {queue: position.place for queue, position in positions.items()}
        try:
            self._roots.make_folder(self._folder)
            self._remove_halves()
            found = sorted((self._header(path) for path in self._paths()), key=lambda each: (each[0].epoch, each[0].number))
        except OSError as error:
            raise self._trouble(error) from error
        self._number = max((each.number for each, _ in found), default=0)
        self._stored = dict(places)
        fitting = [(each, header) for each, header in found if _fits(each.places, places, begun)]
        if fitting and fitting[-1][1]["query"] == self._query:
            kept, _ = fitting[-1]
            # What is left of others is removed behind the next one that is stored.
            self._kept = [*(replace(each, places={}) for each, _ in found if each.path != kept.path), kept]
            self._places = {**kept.places, **places}
            return self._read(kept.path), ""
        self._kept = [replace(each, places={}) for each, _ in found]
        self._places = places
        if not begun and not fitting:
            return QueryState(), "begins with an empty state: nothing was read before its positions"
        wrong = "the state behind its positions is of another query" if fitting else "no state belongs to its positions"
        if not may_be_empty:
            msg = (
                f"{self._folder}: {wrong}. Ways on: (1) put back the folder, if it was lost or is another one; (2) read again from "
                "the beginning of the windows that were open, into a target that may get rows again: `rocketconnect position "
                "reset` begins anew with an empty state; (3) go on from here without what was open: set query.state.lost=empty"
            )
            raise PermanentError(msg)
        self.save({}, QueryState())
        self.committed()
        return QueryState(), f"{wrong}: goes on with an empty one, as query.state.lost=empty says; windows that were open lack rows"

    def save(self, after: Mapping[str, QueuePosition], state: QueryState) -> None:
        """Writes the state behind a batch, durably.

        Args:
            after: The positions behind the batch of its queues; those of the others are as they were.
            state: What to keep.

        Raises:
            RetriableError: it was not written.
        """
        places = {**self._places, **{queue: position.place for queue, position in after.items()}}
        number = self._number + 1
        path = self._folder / f"{self._owner}-{self._epoch:020d}-{number:020d}{_ENDING}"
        part = path.with_suffix(_HALF)
        header = {
            "query": self._query,
            "places": places,
            "clocks": state.clocks,
            "first": state.first,
            "written": state.written,
        }
        try:
            file = self._roots.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                at = 0
                for piece in _pieces(header, state):
                    at = write_all(file, piece, at)
                os.fsync(file)
            finally:
                os.close(file)
            self._roots.rename(part, path)
            sync(self._folder)
        except OSError as error:
            raise self._trouble(error) from error
        self.give_up()
        self._number = number
        self._pending = _Kept(path, self._epoch, number, places)

    def committed(self) -> None:
        """The batch whose state was saved last is committed."""
        if self._pending is not None:
            self._kept.append(self._pending)
            self._places = dict(self._pending.places)
            self._pending = None

    def give_up(self) -> None:
        """The batch whose state was saved last will not be committed: the next one follows the state before it."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            # What stays is looked at by nobody: its positions are reached again by a later state alone.
            with suppress(OSError):
                self._roots.remove(pending.path)

    def stored(self, positions: Mapping[str, QueuePosition]) -> None:
        """The position service has these positions: states before those are not needed any more, and are removed."""
        self._stored.update({queue: position.place for queue, position in positions.items()})
        last = max((index for index, each in enumerate(self._kept) if each.places and self._is_stored(each)), default=0)
        for each in self._kept[:last]:
            # What stays is removed by the next owner.
            with suppress(OSError):
                self._roots.remove(each.path)
        self._kept = self._kept[last:]

    def _is_stored(self, kept: _Kept) -> bool:
        return all(self._stored.get(queue, place) == place for queue, place in kept.places.items())

    def _paths(self, ending: str = _ENDING) -> list[Path]:
        names = (name for name in self._roots.names(self._folder) if name.startswith(f"{self._owner}-"))
        return [self._folder / name for name in names if name.endswith(ending)]

    def _remove_halves(self) -> None:
        """What was being written when an owner before this one was killed."""
        for path in self._paths(_HALF):
            if _written_by(path)[0] <= self._epoch:
                # What stays is removed by the next owner.
                with suppress(OSError):
                    self._roots.remove(path)

    def _header(self, path: Path) -> tuple[_Kept, dict[str, Any]]:
        with os.fdopen(self._roots.open(path, os.O_RDONLY), "rb") as file:
            (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
            header = json.loads(file.read(length))
        places = {queue: (place[0], place[1], place[2]) for queue, place in header["places"].items()}
        return _Kept(path, *_written_by(path), places), header

    def _read(self, path: Path) -> QueryState:
        try:
            with os.fdopen(self._roots.open(path, os.O_RDONLY), "rb") as file:
                (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
                header = json.loads(file.read(length))
                (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
                seen = pa.ipc.open_stream(file.read(length)).read_all()
                (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
                rows = pa.ipc.open_stream(file.read(length)).read_all() if length else None
        except OSError as error:
            raise self._trouble(error) from error
        keys = zip(seen.column("key").to_pylist(), seen.column("time").to_pylist(), strict=True)
        return QueryState(header["clocks"], header["first"], header["written"], rows, dict(keys))

    def _trouble(self, error: OSError) -> RetriableError:
        return RetriableError(f"the state of the query in {self._folder}: {error.strerror or error}")


def _written_by(path: Path) -> tuple[int, int]:
    """The epoch of the owner that wrote a file, and which of its files it is."""
    _, epoch, number = path.stem.split("-")
    return int(epoch), int(number)


def _fits(kept: Mapping[str, Place], places: Mapping[str, Place], begun: Collection[str]) -> bool:
    """Whether a state is the one behind positions: queues that it does not know have not been read, those that are away stay."""
    shared = kept.keys() & places.keys()
    return bool(shared) and kept.keys() >= set(begun) and all(kept[queue] == places[queue] for queue in shared)


def _pieces(header: Mapping[str, object], state: QueryState) -> Sequence[bytes | memoryview]:
    seen = pa.table({"key": pa.array(state.seen.keys(), pa.binary(16)), "time": pa.array(state.seen.values(), pa.int64())})
    text = json.dumps(header, separators=(",", ":")).encode()
    parts: list[bytes | memoryview] = [text, _stream(seen), b"" if state.rows is None else _stream(state.rows)]
    return [piece for part in parts for piece in (_LENGTH.pack(len(part)), part)]


def _stream(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())
