"""What is in folders."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path


def entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """All that is in a folder; of what is no folder, such as one that is gone, and a pattern, nothing."""
    with suppress(OSError), os.scandir(folder) as found:
        yield from found


def files(folders: Iterable[Path]) -> Iterator[tuple[int, Path]]:
    """The files of folders, each with its inode; see `entries`."""
    for entry in chain.from_iterable(map(entries, folders)):
        # A link that leads to itself is no file.
        with suppress(OSError):
            if entry.is_file():
                yield entry.inode(), Path(entry.path)
