"""`${file:PATH:KEY}`: files with lines KEY=VALUE on the executor's machine."""

import os
import stat
from collections.abc import Iterable, Mapping

from rocketconnect_sdk.configuration.references import FILE, parts
from rocketconnect_sdk.permissions.roots import own_files
from services.executor.environment import FOLDERS, folders
from services.executor.secrets.providers.provider import Unresolved

_NEVER = ("/proc", "/sys", "/dev")
"""What the kernel tells of processes and devices is in no folder of secrets, whatever is allowed."""


class Files:
    """Finds keys in the files of the folders that the operator lets connectors name. A Provider.

    Args:
        environment: That of this process.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._folders = folders(environment.get(FOLDERS, ""))
        # What opens the other places is a secret of the executor's own.
        self._never = (*_NEVER, *map(os.path.realpath, own_files(environment)))

    def look_up(self, name: str) -> str:
        """See Provider."""
        if wrong := FILE.problem(name):
            raise Unresolved(reason=wrong, fix=f"Write {FILE}.")
        path, key = parts(name)
        try:
            lines = self._read(path).splitlines()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            # Not from the error: one of a decoder has all that was read with it.
            raise Unresolved(
                reason=f"stands for a file that cannot be read: {why}",
                fix=f"Put a readable file with lines KEY=VALUE at {path} on the executor.",
            ) from None
        values = dict(_entries(lines))
        if key not in values:
            fix = f"Add a line {key}=VALUE to {path}."
            raise Unresolved(reason="stands for a key that is not in the file", fix=fix, is_sure=True)
        return values[key]

    def _read(self, path: str) -> str:
        """The text of a file that is beneath one of the folders, wherever links on the way lead.

        Raises:
            Unresolved: it is not; whether it exists is not told.
            OSError: it can't be read.
            ValueError: it is no text.
        """
        beneath = [os.path.realpath(folder) for folder in self._folders]
        outside = Unresolved(
            reason="stands for a file that this executor lets no connector read",
            fix=f"Put it into a folder of the executor's --secret-folders (or {FOLDERS}).",
        )
        # What a path leads to can change, and what was opened can't: so the second look is at what is open. The first one comes
        # before since opening a device can have effects.
        if not self._may_read(os.path.realpath(path), beneath):
            raise outside
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as opened:
            if not self._may_read(os.path.realpath(f"/proc/self/fd/{opened.fileno()}"), beneath):
                raise outside
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise outside
            return opened.read()

    def _may_read(self, path: str, beneath: Iterable[str]) -> bool:
        if any(os.path.commonpath([path, never]) == never for never in self._never):
            return False
        return any(os.path.commonpath([path, folder]) == folder for folder in beneath)


def _entries(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        key, sign, value = line.partition("=")
        if sign and not line.lstrip().startswith("#"):
            yield key.strip(), value.strip()
