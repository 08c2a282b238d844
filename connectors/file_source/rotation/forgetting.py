"""Files that were read and are no more: when their positions are forgotten."""

from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

from connectors.file_source.birth import born_ns_of
from connectors.file_source.folders import files
from connectors.file_source.identity import Places
from connectors.file_source.rotation.formers import Former, Formers
from connectors.file_source.rotation.hands import Hands
from rocketconnect_sdk.files.gone import GoneObjects
from rocketconnect_sdk.record import SourceBatch

_LOOK_SECONDS = 60.0


class Forgetting:
    """Of one task. Nothing is lost by it: see GoneObjects.

    The name of a partition has the inode and the birth of the file that it began in. No other file ever has both, so no other
    content comes under that name. Where the file system tells no birth, nothing is forgotten. Nor is what an emptied file held
    before: another file may be written there that begins alike.

    Args:
        after: Of a file that is gone for so many seconds the position is forgotten; 0: of none.
        clock: Seconds that only grow.
    """

    def __init__(self, after: float, clock: Callable[[], float]) -> None:
        self._gone = GoneObjects(after)
        self._clock = clock
        self._next_look = 0.0

    def look(self, formers: Iterable[Former], found: Mapping[int, Path], opened: Set[tuple[int, int]], folder: Path) -> None:
        """A look has found files.

        Args:
            formers: What was read by this task.
            found: By their inodes.
            opened: The inodes of those that are open, and when they were made, in ns.
            folder: Where the look was.
        """
        if self._clock() < self._next_look:
            return
        self._next_look = self._clock() + _LOOK_SECONDS
        if not found:
            self._gone.clear()
            return
        away = [former for former in formers if all(former.files.values()) and not opened & former.files.items()]
        away = [former for former in away if not _is_among(found, former)]
        if away:
            # Under a name that is not looked for they may come back.
            beside = dict(files({folder, *(Path(former.path).parent for former in away if former.path)}))
            away = [former for former in away if not _is_among(beside, former)]
        self._gone.missing(former.partition for former in away)

    def next(self, formers: Formers, places: Places, hands: Hands) -> SourceBatch | None:
        """A batch that forgets the position of one file; None: there is none to forget."""
        while self._gone.over:
            former = formers.of(self._gone.over.popleft())
            if former is not None:
                formers.forget(former)
                places.forget(former.identity, former.partition)
                hands.forget(former.partition)
                return SourceBatch(former.partition, [], [], end=former.offset, gone=True)
        return None


def _is_among(found: Mapping[int, Path], former: Former) -> bool:
    for inode, born in former.files.items():
        if (path := found.get(inode)) is not None:
            # Inodes are given to other files later.
            try:
                if born_ns_of(path) == born:
                    return True
            except FileNotFoundError:
                continue
            except OSError:
                return True
    return False
