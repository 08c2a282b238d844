"""Where connectors may read and write files: beneath folders that the operator of an executor names, wherever links lead.

A configuration is written by whoever may create a connector, so it does not say what may be read or written. An option that names a
file says `access=`, and is checked with the configuration; the connector then opens the file through `reading()` or `writing()`:
what a path leads to can change between the two. In a process that no executor has started, nothing is limited.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.permissions.beneath import FOLDER, open_beneath

READ_ROOTS = "ROCKETCONNECT_READ_ROOTS"
"""Folders beneath which connectors may read, separated by colons."""

WRITE_ROOTS = "ROCKETCONNECT_WRITE_ROOTS"
"""Folders beneath which connectors may write, separated by colons."""

OWN_FILES = "ROCKETCONNECT_OWN_FILES"
"""Files and folders of this product itself, which no connector reads or writes, separated by colons."""

_NEVER = ("/proc", "/sys")
"""What the kernel tells of processes and devices is beneath no folder, whatever is named."""


class Access(Enum):
    """What a connector does with a file."""

    READ = "read"
    WRITE = "write"


class OutsideRoots(PermanentError):
    """The operator of the executor lets no connector read, or write, there."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders beneath which files may be read, or written. What is done here is done beneath them, or is an OutsideRoots.

    Attributes:
        access: Which of both.
        folders: Absolute paths; None: no executor limits this process.
        own: What of them belongs to this product itself: neither is it, nor is anything beneath it.
    """

    access: Access
    folders: tuple[str, ...] | None
    own: tuple[str, ...] = ()

    def problem(self, path: str | Path) -> str | None:
        """Why a path (or a pattern: up to its first special character) is not allowed; None: it is. Does not tell what is there."""
        if self.folders is None or "\0" in str(path) or self._root_of(real := os.path.realpath(path)) is not None:
            return None
        if self._is_own(real):
            return f"belongs to RocketConnect itself, so no connector may {self.access.value} it"
        where = f"the folders of its {self._flag} are {', '.join(self.folders)}" if self.folders else f"its {self._flag} names none"
        return f"is not where this executor lets connectors {self.access.value} files: {where}"

    def fix(self, path: str | Path) -> str:
        """What to do about it."""
        if self._is_own(os.path.realpath(path)):
            return "Name a file elsewhere."
        return (
            f"Start the executor with {self._flag} (or {self._variable}), a list of folders with {Path(path).parent} or one above "
            "it, or name a file beneath one that is there."
        )

    def check(self, path: str | Path) -> None:
        """Raises OutsideRoots: a path is not allowed."""
        if reason := self.problem(path):
            msg = f"{path} {reason}. {self.fix(path)}"
            raise OutsideRoots(msg)

    def open(self, path: str | Path, flags: int, mode: int = 0o644) -> int:
        """As os.open: a descriptor of what is beneath the folders, and of nothing else.

        Raises:
            OSError: it cannot be opened.
            OutsideRoots: it is not beneath them, or was put elsewhere while it was opened.
        """
        if self.folders is None:
            return os.open(path, flags, mode)
        real = os.path.realpath(path)
        root = self._root_of(real)
        if root is None:
            self.check(path)
            # It is allowed by now.
            raise self._moved(path)
        try:
            top = os.open(root, FOLDER)
            try:
                return open_beneath(top, os.path.relpath(real, root), flags, mode)
            finally:
                os.close(top)
        except OSError as error:
            if error.errno == errno.ELOOP:
                # The real path had no links a moment ago.
                raise self._moved(path) from None
            raise OSError(error.errno, error.strerror, str(path)) from None

    def make_folder(self, path: Path) -> None:
        """Makes a folder, if it is not there. Raises OSError."""
        with self._in(path.parent) as folder:
            try:
                os.mkdir(path.name, dir_fd=folder)
            except FileExistsError:
                os.close(self.open(path, FOLDER))

    def names(self, path: Path) -> list[str]:
        """The names in a folder. Raises OSError."""
        folder = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return os.listdir(folder)  # noqa: PTH208  # of a descriptor
        finally:
            os.close(folder)

    def rename(self, before: Path, after: Path) -> None:
        """As os.rename. Raises OSError."""
        with self._in(before.parent) as source, self._in(after.parent) as target:
            os.rename(before.name, after.name, src_dir_fd=source, dst_dir_fd=target)

    def link(self, before: Path, after: Path) -> None:
        """As os.link: a second name of a file. Raises FileExistsError: there is something of that name; OSError."""
        with self._in(before.parent) as source, self._in(after.parent) as target:
            os.link(before.name, after.name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)

    def remove(self, path: Path) -> None:
        """Removes a file, if it is there. Raises OSError."""
        with suppress(FileNotFoundError), self._in(path.parent) as folder:
            os.unlink(path.name, dir_fd=folder)

    def remove_folder(self, path: Path) -> None:
        """Removes a folder with all that is in it, as far as that is possible."""
        with suppress(OSError), self._in(path.parent) as folder:
            shutil.rmtree(path.name, ignore_errors=True, dir_fd=folder)

    @contextmanager
    def _in(self, path: Path) -> Iterator[int]:
        folder = self.open(path, FOLDER)
        try:
            yield folder
        finally:
            os.close(folder)

    @property
    def _flag(self) -> str:
        return f"--{self.access.value}-roots"

    @property
    def _variable(self) -> str:
        return READ_ROOTS if self.access is Access.READ else WRITE_ROOTS

    def _root_of(self, real: str) -> str | None:
        if any(_is_beneath(real, never) for never in _NEVER) or self._is_own(real):
            return None
        return next((root for root in map(os.path.realpath, self.folders or ()) if _is_beneath(real, root)), None)

    def _is_own(self, real: str) -> bool:
        return any(_is_beneath(real, os.path.realpath(own)) for own in self.own)

    def _moved(self, path: str | Path) -> OutsideRoots:
        return OutsideRoots(f"{path}: a symbolic link on the way was changed while it was opened, so nothing was opened")


def reading(environment: Mapping[str, str] = os.environ) -> Roots:
    """Where connectors of this process may read."""
    return _roots(Access.READ, environment.get(READ_ROOTS), own_files(environment))


def writing(environment: Mapping[str, str] = os.environ) -> Roots:
    """Where connectors of this process may write."""
    return _roots(Access.WRITE, environment.get(WRITE_ROOTS), own_files(environment))


def roots(access: Access) -> Roots:
    """Where connectors of this process may do this."""
    return reading() if access is Access.READ else writing()


def own_files(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What belongs to this product itself, as a process was told with these variables."""
    return _paths(environment.get(OWN_FILES, ""))


def _roots(access: Access, text: str | None, own: tuple[str, ...]) -> Roots:
    return Roots(access, None) if text is None else Roots(access, _paths(text), own)


def _paths(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(os.pathsep) if part.strip())


def _is_beneath(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder
