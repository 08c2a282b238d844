"""A folder as a store: staged files are renamed, and the manifests are those of other sinks of files."""

import os
from collections.abc import Iterable
from pathlib import Path

from connectors.object_store_sink.store import HIDDEN, STAGED, Store
from rocketconnect_sdk.files import ManifestLog
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.targets.manifests import Owner


class FolderStore(Store):
    """A folder of this machine, or one that is mounted here.

    Args:
        root: Its absolute path; made when something is written.
        owner: Who writes.
    """

    def __init__(self, root: Path, owner: Owner) -> None:
        self._root = root
        self._roots = writing()
        self.manifests = ManifestLog(root / HIDDEN, owner, exclusive=False)
        self._made: set[Path] = set()

    @property
    def is_used(self) -> bool:
        """See Store."""
        return (self._root / STAGED).is_dir()

    def prepare(self) -> None:
        """Makes the folders that everything is in."""
        with understood(self._root):
            for folder in (self._root, self._root / HIDDEN, self._root / STAGED):
                self._roots.make_folder(folder)

    def stage(self, name: str, data: memoryview) -> None:
        """See Store."""
        path = self._root / STAGED / name
        with understood(path):
            try:
                self._write(path, data)
            except BaseException:
                self._roots.remove(path)
                raise

    def _write(self, path: Path, data: memoryview) -> None:
        file = self._roots.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            while data:
                data = data[os.write(file, data) :]
            os.fsync(file)
        finally:
            os.close(file)

    def publish(self, staged: str, name: str) -> bool:
        """See Store."""
        before, after = self._root / STAGED / staged, self._root / name
        with understood(after):
            self._make(after.parent)
            try:
                self._roots.rename(before, after)
            except FileNotFoundError:
                return after.exists()
            self._sync(after.parent)
        return True

    def _make(self, folder: Path) -> None:
        """Makes a folder of data, and those that it is in, durably."""
        if folder in self._made or folder == self._root:
            return
        self._make(folder.parent)
        self._roots.make_folder(folder)
        self._sync(folder.parent)
        self._made.add(folder)

    def _sync(self, folder: Path) -> None:
        opened = self._roots.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

    def staged(self) -> Iterable[str]:
        """See Store."""
        with understood(self._root):
            return self._roots.names(self._root / STAGED)

    def discard(self, staged: Iterable[str]) -> None:
        """See Store."""
        with understood(self._root):
            for name in staged:
                self._roots.remove(self._root / STAGED / name)
