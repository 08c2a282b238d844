"""A data directory with a lock, and the small files in it: ports and logs."""

import fcntl
import json
import os
from collections import deque
from pathlib import Path

from rocketconnect_cli.embedded.errors import DataDirectoryInUse, DataDirectoryUnusable


class DataDirectory:
    """One data directory, owned by one process at a time."""

    def __init__(self, path: Path) -> None:
        """Touch nothing yet."""
        self.path = path
        self._lock: int | None = None

    def acquire(self) -> None:
        """Make the folder and lock it until `release()` or the end of this process.

        Raises DataDirectoryInUse when another process holds the lock, DataDirectoryUnusable when there can't be one.
        """
        try:
            self._make()
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as err:
            raise self._unusable(err) from err
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            os.close(lock)
            message = f"{self.path}: another instance runs on this data directory: stop it, or choose another directory"
            raise DataDirectoryInUse(message) from err
        except OSError as err:
            os.close(lock)
            raise self._unusable(err) from err
        self._lock = lock

    def _make(self) -> None:
        """Nobody else may look into it, but what somebody has made for other things stays as it is."""
        is_ours = not self.path.exists() or (self.path / "lock").exists() or not any(self.path.iterdir())
        self.path.mkdir(parents=True, exist_ok=True)
        if is_ours and self.path.stat().st_uid == os.geteuid():
            self.path.chmod(0o700)

    def release(self) -> None:
        """Give the lock back; nothing happens without it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def is_in_use(self) -> bool:
        """Return whether another process holds the lock; make nothing."""
        try:
            lock = os.open(self.path / "lock", os.O_RDWR)
        except OSError:
            # None has run here.
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def folder(self, name: str) -> Path:
        """Return a folder in it, made first when it is not there; DataDirectoryUnusable when it can't be made."""
        folder = self.path / name
        try:
            folder.mkdir(exist_ok=True)
        except OSError as err:
            raise self._unusable(err) from err
        return folder

    def log_file(self, process: str) -> Path:
        """Return the file that takes what this process writes to its standard output and error."""
        return self.path / "logs" / f"{process}.out"

    def log_tail(self, process: str, lines: int) -> str:
        """Return the last lines of that file, or nothing when there is none."""
        try:
            with self.log_file(process).open(encoding="utf-8", errors="replace") as log:
                return "".join(deque(log, maxlen=lines)).rstrip()
        except FileNotFoundError:
            return ""

    def kept_ports(self) -> dict[str, int]:
        """Return the ports of the last time, by process name; empty when there are none that can be read."""
        try:
            kept = json.loads((self.path / "ports.json").read_text(encoding="utf-8"))
            return {str(name): int(port) for name, port in kept.items()}
        except (OSError, ValueError, AttributeError):
            # Only a preference: without it other ports are chosen.
            return {}

    def keep_ports(self, ports: dict[str, int]) -> None:
        """Remember the ports for the next time."""
        self.write("ports.json", json.dumps(ports))

    def write(self, name: str, text: str) -> Path:
        """Write a small file whole or not at all, and return its path; DataDirectoryUnusable when it can't be written."""
        target = self.path / name
        draft = target.with_name(f"{name}.new")
        try:
            draft.write_text(text, encoding="utf-8")
            draft.replace(target)
        except OSError as err:
            raise self._unusable(err) from err
        return target

    def _unusable(self, err: OSError) -> DataDirectoryUnusable:
        what = "it is not a directory" if isinstance(err, FileExistsError | NotADirectoryError) else err.strerror
        where = f" ({err.filename})" if err.filename and Path(err.filename) != self.path else ""
        advice = "Give a directory that can be written."
        if isinstance(err, PermissionError) and self.path.exists():
            mine = os.geteuid()
            owner = self.path.stat().st_uid
            advice = (
                f"It belongs to user {owner}, and this is user {mine}: run chown -R {mine} on it (of a container: on its volume)."
            )
        message = f"{self.path} can't be used as a data directory: {what}{where}. {advice}"
        return DataDirectoryUnusable(message)
