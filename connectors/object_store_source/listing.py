"""What is below a prefix, and pieces of it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from connectors.objects.location import Location
from connectors.objects.logins import Login
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.permissions.roots import reading

_LONGEST = 900
"""Characters of a name in the name of a partition, which has 1,024."""


class Gone(Exception):
    """The object was deleted, or another one has its name."""


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """An object.

    Attributes:
        name: Behind the prefix.
        tag: What changes when the object is replaced.
        size: In bytes.
    """

    name: str
    tag: str
    size: int

    def __str__(self) -> str:
        """Its name, for people: signs that cannot be shown, and bytes that are no text, are written out."""
        return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in self.name)

    @property
    def partition(self) -> str:
        """The source partition that it is: an object that takes its place is another one."""
        return f"{shortened(self.name, _LONGEST)}@{self.tag}"

    @property
    def dealt_by(self) -> str:
        """Objects with the same go to the same task."""
        return self.name


class Objects(ABC):
    """Objects below a prefix, as somebody sees them who only reads.

    Raises, of all methods:
        SystemAway, RetriableError, PermanentError: what the trouble with the store means to the task.
    """

    @abstractmethod
    def all(self) -> Iterator[Found]:
        """Every object, in any order."""

    @abstractmethod
    def read(self, found: Found, start: int, length: int) -> bytes:
        """A piece of an object, which lies within it.

        Raises:
            Gone: see there.
        """

    def close(self) -> None:  # noqa: B027  # not every one holds something
        """Gives back what is held, until the next call."""


class Bucket(Objects):
    """Of a bucket, or a container of Azure.

    Args:
        place: The bucket and the prefix.
        login: Its server.
        seconds: Of one request, at most.
        retries: How often a request is repeated.
    """

    def __init__(self, place: Location, login: Login, *, seconds: float = 30, retries: int = 3) -> None:
        from connectors.objects.remote import connect

        self._place = place
        self._remote = connect(place, login, seconds=seconds, retries=retries)

    def all(self) -> Iterator[Found]:
        """See Objects."""
        import obstore

        from connectors.objects.remote import asking

        with asking(self._place):
            for chunk in obstore.list(self._remote):
                for each in chunk:
                    yield Found(each["path"], (each["e_tag"] or "").strip('"'), each["size"])

    def read(self, found: Found, start: int, length: int) -> bytes:
        """See Objects. Under the condition that it is still the object that was listed."""
        import obstore
        from obstore.exceptions import PreconditionError

        from connectors.objects.remote import asking, says_no_bucket

        with asking(self._place):
            try:
                got = obstore.get(
                    self._remote, found.name, options={"range": (start, start + length), "if_match": f'"{found.tag}"'}
                )
                return bytes(got.bytes())
            except PreconditionError:
                raise Gone from None
            except FileNotFoundError as error:
                if says_no_bucket(error):
                    raise
                raise Gone from None


class Folder(Objects):
    """Files of a folder, which are there whole: moved into it, or written elsewhere in it under a hidden name.

    Args:
        root: Its absolute path.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._roots = reading()

    def all(self) -> Iterator[Found]:
        """See Objects. Links to folders are not followed."""
        self._roots.check(self._root)
        if not self._root.is_dir():
            msg = f"{self._root} is no folder, or not there yet"
            raise SystemAway(msg)
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = Path(folder) / name
                try:
                    state = path.stat()
                except OSError:
                    continue
                yield Found(str(path.relative_to(self._root)), _tag(state), state.st_size)

    def read(self, found: Found, start: int, length: int) -> bytes:
        """See Objects."""
        path = self._root / found.name
        try:
            file = self._roots.open(path, os.O_RDONLY)
        except FileNotFoundError:
            raise Gone from None
        except PermissionError as error:
            msg = f"{path}: {error.strerror}; let the worker's user read it"
            raise PermanentError(msg) from error
        except OSError as error:
            msg = f"{path}: {error.strerror}"
            raise SystemAway(msg) from error
        try:
            if _tag(os.fstat(file)) != found.tag:
                raise Gone
            return os.pread(file, length, start)
        finally:
            os.close(file)


def is_data(name: str, pattern: str) -> bool:
    """Whether an object is read: names that begin with an underscore or a point are hidden, as they are to Hive and Spark."""
    return not any(part.startswith(("_", ".")) or not part for part in name.split("/")) and fnmatchcase(name, pattern)


def shortened(name: str, longest: int) -> str:
    """A name as a part of that of a partition; those that are too long, or cannot be shown, are told apart by a hash."""
    if len(name) <= longest and name.isprintable():
        return name
    return f"{''.join(filter(str.isprintable, name))[:100]}...{sha256(name.encode(errors='surrogateescape')).hexdigest()}"


def name_of(partition: str) -> str:
    """The name of the object that a partition is of, or, of one that was shortened, what stands for it."""
    return partition.rpartition("@")[0]


def _tag(state: os.stat_result) -> str:
    return f"{state.st_ino:x}-{state.st_mtime_ns:x}-{state.st_size:x}"
