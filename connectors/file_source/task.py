"""The task: finds its files, and reads them in turn."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from glob import glob  # Path.glob takes no absolute patterns
from pathlib import Path

from connectors.file_source.content import is_glob, is_gzip, trouble
from connectors.file_source.folders import files
from connectors.file_source.identity import Places
from connectors.file_source.present import is_excluded
from connectors.file_source.reader import Reader
from connectors.file_source.records import Format
from connectors.file_source.rotation.copies import Copies
from connectors.file_source.rotation.dealing import BY_HEAD, Dealing, Key
from connectors.file_source.rotation.forgetting import Forgetting
from connectors.file_source.rotation.formers import Former, Formers
from connectors.file_source.rotation.hands import Hands
from connectors.file_source.rotation.told import copied, lost, replaced, unended
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_OPEN_FILES = 100
_POLL_SECONDS = 0.1
"""For so long a poll goes on to open what waits for others to be closed."""
_BUSY_LOOK_SECONDS = 0.003
"""How soon a line is seen that comes right after another; all that came meanwhile are sent at once."""
_BUSY_SECONDS = 0.1
_QUIET_LOOK_SECONDS = 0.5
"""How soon a line is seen that comes after a minute of quiet or more: a thousand quiet files must cost next to nothing."""
_GONE_SECONDS = 300.0
"""A file that left its place (rotated, deleted) is read on for so long after it grew last: its writer may still hold it open."""
_UNENDED_SECONDS = 30.0
"""A line without its end that has been there for so long is told: its writer would have come back by then."""
_LOST_SECONDS = 86_400.0
"""For so long it is shown with the state that lines of a file may be missing."""


class FileSourceTask(SourceTask):
    """Reads its share of the files.

    Args:
        config: The parsed configuration.
        share: (number, how many) of this task among those of the plan.
        make_format: Gives a Format for a file.
        context: What the runtime gives.
        clock: Seconds that only grow.
        by: How files are dealt out to tasks: see Dealing.
        exclude: Names of files, with * and ?, that a glob does not mean; what was not read of a file that is packed there is read.
    """

    remaining_unit = "bytes"

    def __init__(
        self,
        config: Config,
        share: tuple[int, int],
        make_format: Callable[[], Format],
        context: TaskContext,
        clock: Callable[[], float] = time.monotonic,
        *,
        by: str = BY_HEAD,
        exclude: Sequence[str] = (),
    ) -> None:
        self._filename: str = config["filename"]
        self._compression: str = config["compression"]
        self._follow: bool = config["follow"]
        self._last_line: float = config["last.line.timeout"]
        self._every: float = config["discover.interval"]
        self._after: float = config["positions.forget.after"]
        self._exclude = exclude
        form = make_format()
        self._rest_seconds = form.rest_seconds
        self._dealing = Dealing(share, by, 2 if form.needs_header else 1, config)
        self._make_format = make_format
        self._context = context
        self._clock = clock
        self._readers: dict[Key, Reader] = {}
        self._quiet: dict[Key, tuple[int, float]] = {}
        """The size of each file, and since when it has it."""
        self._gone: set[Key] = set()
        self._told: set[Key] = set()
        """The files of which was said that their last lines wait, until more is read of them."""
        self._lost: dict[Path, tuple[str, float]] = {}
        """What is told of files that may have had lines which were not read."""
        self._found: dict[int, Path] = {}
        """Where files are, by their inodes."""
        self._closed: dict[Key, int] = {}
        self._waiting: deque[tuple[Path, bool]] = deque()
        self._ready: deque[SourceBatch] = deque()
        self._next_look = 0.0
        self._grew_at = clock()
        self._ever = False
        self._caught_up = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """Finds the files. See SourceTask."""
        self._drop_all()
        offsets = {name: position.offset for name, position in positions.items()}
        self._formers = Formers.stored(positions)
        self._places = Places(self._filename, offsets, self._formers.copied)
        told = {name: offset for name, offset in offsets.items() if self._formers.tells(name)}
        self._hands = Hands(self._context.stores, self._follow, self._clock, told)
        self._copies = Copies(
            self._formers, self._found, self._compression, self._dealing.lines, follow=self._follow, clock=self._clock
        )
        self._forgetting = Forgetting(self._after, self._clock)
        found = self._look()
        self._look_for_renamed(found)

    def poll(self) -> Sequence[SourceBatch]:
        """A batch, and where positions are stored what is stored with its end: together, so that none is stored without it."""
        if self._ready:
            return self._next()
        if self._clock() >= self._next_look and (self._follow or not self._ever):
            self._look()
        until = self._clock() + _POLL_SECONDS
        while True:
            # What was rotated away is older than what took its place.
            keys = sorted(self._readers, key=lambda key: key not in self._gone)
            for key in keys:
                if batches := self._read(key):
                    self._readers[key] = self._readers.pop(key)
                    self._grew_at = self._clock()
                    self._ready.extend(batches)
                    return self._next()
            self._open_waiting()
            opened = self._readers.keys() - set(keys)
            if not opened or self._clock() >= until:
                break
        self._caught_up = not opened and not self._waiting and not any(reader.waits for reader in self._readers.values())
        if not self._ever:
            self._missing()
        gone = self._forgetting.next(self._formers, self._places, self._hands)
        return () if gone is None else [gone]

    @property
    def caught_up(self) -> bool:
        """Not while files wait for others to be closed, or for what tells which files they are. See SourceTask."""
        return self._caught_up

    @property
    def gives_soon(self) -> bool:
        """While it is stored which file a new one is. See SourceTask."""
        return any(reader.gives_soon for reader in self._readers.values())

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self._hands.commit({partition: position.offset for partition, position in positions.items()})

    def _missing(self) -> None:
        if is_glob(self._filename) or Path(self._filename).exists():
            return
        if not self._follow:
            msg = f"{self._filename} does not exist; create it, or set follow=true to wait for it"
            raise PermanentError(msg)
        msg = f"{self._filename} does not exist yet"
        raise SystemAway(msg, wait=self._every)

    @property
    def idle_seconds(self) -> float:
        """A look at a file that did not grow takes microseconds; the longer nothing has come, the fewer are taken."""
        quiet = self._clock() - self._grew_at
        shortest = (_BUSY_LOOK_SECONDS if quiet < _BUSY_SECONDS else 0.01) + 0.0001 * len(self._readers)
        return max(min(0.1, shortest), min(_QUIET_LOOK_SECONDS, quiet / 100))

    @property
    def finished(self) -> bool:
        """With follow=false, when everything is read."""
        return not self._follow and self._ever and not (self._readers or self._waiting or self._ready)

    def remaining(self) -> int | None:
        """Bytes on disk, without those of last lines that wait for their ends."""
        return sum(reader.remaining for key, reader in self._readers.items() if key not in self._told)

    @property
    def held_back(self) -> str:
        """Last lines without an end that nobody has come back to. See SourceTask."""
        if not self._told:
            return next((said for said, since in self._lost.values() if self._clock() - since < _LOST_SECONDS), "")
        first, *others = (reader for key, reader in self._readers.items() if key in self._told)
        return unended(first.path, first.remaining, len(others))

    def close(self) -> None:
        """See SourceTask."""
        self._drop_all()

    def _drop_all(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
        self._ready.clear()
        self._waiting.clear()
        self._closed.clear()
        self._gone.clear()
        self._told.clear()
        self._quiet.clear()
        self._lost.clear()
        self._found.clear()
        self._next_look = 0.0
        self._ever = False
        self._caught_up = False

    def _read(self, key: Key) -> Sequence[SourceBatch]:
        reader = self._readers[key]
        now, size = self._clock(), reader.stored_size
        if self._quiet[key][0] != size:
            self._quiet[key] = (size, now)
        quiet = now - self._quiet[key][1]
        over = key in self._gone and quiet > _GONE_SECONDS
        last = not self._follow or over or (0 < self._last_line <= quiet)
        try:
            most = max(1, self._context.batch_records)
            batches = reader.read(self._context.batch_bytes, most, last=last, quiet=quiet)
        except OSError as error:
            msg = f"{reader.path} cannot be read now: {error.strerror}"
            raise RetriableError(msg) from error
        if reader.original is not None:
            self._context.log.info("%s", copied(reader.path, reader.original))
            reader.original = None
        if reader.lost is not None:
            former, reader.lost = reader.lost, None
            self._look_for_lost(reader.path, former, is_told=reader.was_read)
        if reader.alike:
            said, reader.alike = replaced(reader.path, reader.alike), {}
            if said:
                self._context.log.warning("%s", said)
        if batches or not reader.remaining:
            self._told.discard(key)
        elif not last and quiet >= _UNENDED_SECONDS and reader.remaining and key not in self._told:
            self._told.add(key)
            # It is shown with the state for as long as it is so.
            self._context.log.info("%s", unended(reader.path, reader.remaining))
        is_over = (not self._follow or over or reader.foreign) and not reader.waits
        if not batches and is_over and not self._context.stopping.is_set():
            self._close(key)
        return batches

    def _look_for_lost(self, path: Path, former: Former, *, is_told: bool) -> None:
        """What stood in a file that was emptied, written anew or replaced may be in a copy of it, or is not known."""
        copy = self._copies.seek(former, path)
        if copy is None:
            if not is_told and former.offset > (0,):
                said = lost(path, former)
                self._lost[path] = said, self._clock()
                self._context.log.warning("%s", said)
            return
        self._lost.pop(path, None)
        try:
            state = copy.stat()
        except FileNotFoundError:
            # It was renamed just now, and the next look finds it.
            return
        key = (state.st_dev, state.st_ino)
        if state.st_ino != former.inode and key not in self._readers and self._found.get(state.st_ino) is None:
            self._make_room()
            self._open(copy, original=former)
            self._gone.add(key)

    def _is_foreign(self, key: Key, path: Path) -> bool:
        """Whether another task reads a file. What this one had read in its place is looked for."""
        foreign = self._dealing.foreign(key, path, self._formers)
        if foreign is not None and foreign.lost is not None:
            # By who has read there since, before this task started, or by this one, when it read the file until it was emptied.
            is_told = self._places.knows(foreign.identity) or self._lost.get(path, ("",))[0] == lost(path, foreign.lost)
            self._look_for_lost(path, foreign.lost, is_told=is_told)
        return foreign is not None

    def _close(self, key: Key) -> None:
        reader = self._readers.pop(key)
        size, _ = self._quiet.pop(key)
        if not reader.foreign:
            # As it was before it was read last: if it has grown since, it is opened again.
            self._closed[key] = size
        self._gone.discard(key)
        self._told.discard(key)
        reader.close()
        while self._waiting and len(self._readers) < _OPEN_FILES:
            path, known_only = self._waiting[0]
            self._open(path, known_only=known_only)
            # Not before: what can't be opened now is tried again.
            self._waiting.popleft()

    def _next(self) -> Sequence[SourceBatch]:
        batches = [self._ready.popleft()]
        while self._context.stores and batches[-1].resume is None and self._ready:
            batches.append(self._ready.popleft())
        return batches

    def _look(self) -> dict[Key, Path]:
        """Opens what is new, and marks what has left its place."""
        self._next_look = self._clock() + self._every
        many = is_glob(self._filename)
        names = sorted(glob(self._filename, recursive=True)) if many else [self._filename]  # noqa: PTH207
        found = self._dealing.found(path for path in map(Path, names) if not is_excluded(path, self._exclude))
        # Those whose places are known by their numbers; what is away for a moment is looked for in vain.
        self._found.clear()
        self._found.update((inode, path) for (_, inode), path in found.items())
        self._ever = self._ever or many or bool(found)
        self._closed = {key: size for key, size in self._closed.items() if key in found}
        self._dealing.keep(found.keys() - self._readers.keys())
        # What was rotated away is not found by its name any more.
        self._waiting = deque((path, known_only) for path, known_only in self._waiting if known_only)
        for key, path in found.items():
            if key in self._readers:
                self._readers[key].path = path
            elif self._closed.get(key) != _size(path) and not self._is_foreign(key, path):
                self._make_room()
                self._open(path)
        self._gone = self._readers.keys() - found.keys()
        mine, opened = filter(self._dealing.forgets, self._formers.all()), {reader.born for reader in self._readers.values()}
        self._forgetting.look(mine, self._found, opened, Path(self._filename).parent)
        return found

    def _look_for_renamed(self, found: Mapping[Key, Path]) -> None:
        """A file that was rotated while nobody looked lies in the same directory, under a name that the pattern does not match."""
        missing = self._places.known_inodes(self._dealing.has) - {inode for _, inode in found}
        directories = {path.parent for path in found.values()} | {Path(self._filename).parent}
        if not missing or not self._follow:
            return
        paths = (path for inode, path in files(directories) if inode in missing)
        for key, path in self._dealing.found(paths).items():
            if key[1] in missing and key not in self._readers:
                self._make_room()
                # An inode alone says little: it may have been given to another file.
                self._open(path, known_only=True)
                self._gone.add(key)

    def _open(self, path: Path, *, known_only: bool = False, original: Former | None = None) -> None:
        if len(self._readers) >= _OPEN_FILES:
            self._waiting.append((path, known_only))
            return
        gzip = is_gzip(path, self._compression)
        try:
            reader = Reader(
                path,
                self._places,
                self._formers,
                self._copies,
                self._dealing,
                self._hands,
                self._make_format,
                gzip=gzip,
                known_only=known_only,
                stopping=self._context.stopping,
                alone=not is_glob(self._filename),
                original=original,
            )
        except FileNotFoundError:
            return
        except OSError as error:
            raise trouble(path, "opened", error) from error
        if reader.key in self._readers:
            # Since the look that found another file there this one was renamed to that name.
            reader.close()
            return
        self._readers[reader.key] = reader
        self._quiet[reader.key] = (reader.stored_size, self._clock())
        self._context.log.info("reading %s", path)

    def _make_room(self) -> None:
        """Closes the file that has been quiet for longest; it is opened again when it grows."""
        if len(self._readers) < _OPEN_FILES:
            return
        quiet = min(self._readers, key=lambda key: self._quiet[key][1])
        if self._readers[quiet].unfinished == 0:
            self._close(quiet)

    def _open_waiting(self) -> None:
        """All that are open were read to their end: those that have been quiet for longest make room for those that wait."""
        waiting = len(self._waiting)
        if not waiting:
            return
        idle = [(key, reader) for key, reader in self._readers.items() if not reader.waits]
        quiet = [key for key, reader in idle if not self._may_end(key) or not reader.unfinished]
        for key in sorted(quiet, key=lambda key: self._quiet[key][1])[:waiting]:
            self._close(key)

    def _may_end(self, key: Key) -> bool:
        """Whether a line without its end, or a record that may go on, becomes one after a while."""
        return self._last_line > 0 or self._rest_seconds > 0 or key in self._gone


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
