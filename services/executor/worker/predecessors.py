"""Which processes were this worker before on this machine, and have ended: a file for each, locked as long as the process lives.

The kernel drops the lock with the process, however that ends, and the hosts of the process die with it. So the next process of the
same worker can prove that it is the successor, and gets the work back without waiting for the lease of the one before.
"""

import fcntl
import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path


class Predecessors:
    """The file of this process, and what those of others say.

    Args:
        worker_id: Which worker this process is.
        folder: Where the files are; where nothing lasts longer than a process, nothing can be proved.

    Attributes:
        process: The name of this process, which no other one ever has.
        ended: The names of those that were the same worker before and have ended. Their files are gone.
    """

    def __init__(self, worker_id: str, folder: Path | None = None) -> None:
        folder = folder or Path(tempfile.gettempdir())
        prefix = f"rocketconnect-worker-{worker_id}-"
        self.ended = tuple(sorted(_ended(folder, prefix)))
        self.process = uuid.uuid4().hex
        self._path = folder / f"{prefix}{self.process}"
        # Nobody may find it before it is locked.
        unfinished = folder / f".{self._path.name}"
        self._lock = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unfinished.rename(self._path)

    def left(self) -> None:
        """The worker has left the cluster in good order: there is nothing to prove."""
        self._path.unlink(missing_ok=True)


def _ended(folder: Path, prefix: str) -> Iterator[str]:
    for path in folder.glob(f"{prefix}*"):
        process = path.name.removeprefix(prefix)
        if re.fullmatch("[0-9a-f]{32}", process) and _is_unlocked(path):
            path.unlink(missing_ok=True)
            yield process


def _is_unlocked(path: Path) -> bool:
    """Whether it is a file of this user that nobody has locked."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        # Just being removed, or somebody else's.
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return os.fstat(lock).st_uid == os.geteuid()
    finally:
        os.close(lock)
