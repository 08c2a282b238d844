"""The positions of a task, in files beneath the table: one for each version that it tries to commit.

A file is written before the commit of its version, never twice, and counts when the table has that version. Readers of the table
leave names that begin with "_" alone, and so does VACUUM.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.claims import Version, unpacked

HIDDEN = "_rocketconnect"
_NAME = re.compile(r"([0-9]+)-([0-9]+)\.json")


class PositionFiles:
    """Of one connector in one table. All methods raise OSError.

    Args:
        root: The directory of the table.
        connector_uid: The connector.
    """

    def __init__(self, root: Path, connector_uid: str) -> None:
        self._root = root
        self._directory = root / HIDDEN / re.sub(r"[^A-Za-z0-9_-]", "_", connector_uid)
        self._roots = writing()

    def make(self) -> None:
        """Makes the folder, and that of the table."""
        for folder in (self._root, self._directory.parent, self._directory):
            self._roots.make_folder(folder)

    def versions(self, task: int) -> list[Version]:
        """All that a task has tried, as far as their files are there."""
        found = (_NAME.fullmatch(name) for name in self._roots.names(self._directory))
        return [unpacked(int(each[2])) for each in found if each and int(each[1]) == task]

    def write(self, task: int, version: Version, positions: Mapping[str, QueuePosition]) -> None:
        """Stores what is to count when the table has this version. Raises FileExistsError: another one does that."""
        form = {queue: position.to_json() for queue, position in sorted(positions.items())}
        file = self._roots.open(self._path(task, version), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(file, "wb") as opened:
            opened.write(json.dumps(form).encode())
            opened.flush()
            os.fsync(opened.fileno())
        sync(self._directory)

    def read(self, task: int, version: Version) -> dict[str, QueuePosition]:
        """What was stored with a version. Raises FileNotFoundError: its task has committed a newer one meanwhile."""
        with os.fdopen(self._roots.open(self._path(task, version), os.O_RDONLY), "rb") as file:
            return {queue: QueuePosition.from_json(form) for queue, form in json.load(file).items()}

    def remove_before(self, task: int, version: Version) -> None:
        """Removes what can count no more."""
        for each in self.versions(task):
            if each < version:
                self._roots.remove(self._path(task, each))

    def _path(self, task: int, version: Version) -> Path:
        return self._directory / f"{task}-{version.packed}.json"
