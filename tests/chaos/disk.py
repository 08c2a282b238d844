"""Small disks that can be filled."""

import ctypes
import os
import subprocess
from contextlib import suppress
from pathlib import Path

_CLONE_NEWNS = 0x20000


def private_mounts() -> None:
    """From now on what this process mounts is its own, and gone with it and its children. Before any thread is started.

    Raises:
        PermissionError: it needs root.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
        raise PermissionError(ctypes.get_errno(), "unshare(CLONE_NEWNS) failed: it needs root")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True, timeout=10)


class Disk:
    """A small file system of its own, in memory. Needs `private_mounts`.

    Args:
        path: Becomes the mount point.
        megabytes: Its size.
    """

    def __init__(self, path: Path, megabytes: int) -> None:
        self.path = path
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "chaos", str(path)], check=True, timeout=10)

    @property
    def _ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self, leave: float = 0.0) -> None:
        """Leave this share of it free, or not a byte."""
        found = os.statvfs(self.path)
        room = (found.f_bavail - round(found.f_blocks * leave)) * found.f_frsize
        with self._ballast.open("ab", buffering=0) as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, room)
        if leave:
            return
        with self._ballast.open("ab", buffering=0) as file:
            # Others write at the same time, so that the room may have been less than it was a moment ago.
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while file.write(b"x" * size):
                        pass

    def free(self) -> None:
        """Give it back."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount."""
        subprocess.run(["umount", "--lazy", str(self.path)], check=True, timeout=10)
