"""Files below a folder of a server, whatever protocol it speaks, and what it says instead of an answer."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from connectors.objects.faults import Fault, meaning
from connectors.objects.location import Location


class StoreRejected(Exception):
    """What a server said instead of an answer, or that it said nothing.

    Attributes:
        fault: What that means.
        said: In a few words, without any secret.
    """

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(said)
        self.fault = fault
        self.said = said


class NotThere(StoreRejected):
    """There is no such file or folder, or not the folder that it is to be in."""


class Taken(StoreRejected):
    """Something has the name already."""


@dataclass(frozen=True, slots=True)
class Status:
    """A file or a folder.

    Attributes:
        name: In its folder; of what was asked for by its path nothing.
        is_folder: It is one.
        size: Of a file, in bytes.
        tag: Of a file: is another one when it is written anew, or goes on.
    """

    name: str
    is_folder: bool
    size: int
    tag: str


class FilesLogin(ABC):
    """How a server is reached to which files are written, and who we are there. Picklable."""

    __slots__ = ()

    @abstractmethod
    def files(self, place: Location) -> "StagedFiles":
        """The files below a folder of it. Asks nobody."""


class Files(ABC):
    """The files below a folder; paths are those behind it, and the folder itself is the empty one.

    Nothing that changes something is done twice, unless it is known that it was not done.

    Raises:
        StoreRejected: of all methods: the server has refused it, or does not answer; then a change may have been made all the same.
    """

    @abstractmethod
    def status(self, path: str) -> Status:
        """What is known of a path. Raises NotThere."""

    def is_there(self, path: str) -> bool:
        """Whether something has a path."""
        try:
            self.status(path)
        except NotThere:
            return False
        return True

    @abstractmethod
    def listed(self, path: str) -> Iterator[Status]:
        """What is in a folder, in any order. Raises NotThere."""

    @abstractmethod
    def read(self, path: str, start: int, length: int) -> bytes:
        """A piece of a file, or less where it ends before. Raises NotThere."""

    @abstractmethod
    def rename(self, path: str, new: str, *, over: bool = False) -> None:
        """Gives a file or a folder another path, in one step: of several who rename the same, one does.

        Args:
            path: Of what is there.
            new: Of what is not there, in a folder that is.
            over: A file that is there is replaced.

        Raises:
            NotThere: it is not there, or the folder of the new path.
            Taken: something has the new path.
        """

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Makes a folder, as far as it is not there, and those that it is in."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Removes a file, or a folder with all that is in it, as far as it is there."""

    def close(self) -> None:  # noqa: B027  # not every one holds something
        """Gives back what is held, until the next call."""


class StagedFiles(Files):
    """Files that are written, too: made whole under one name, and renamed to another."""

    @abstractmethod
    def create(self, path: str, data: memoryview) -> None:
        """Writes a file that is not there yet, and the folders that it is in; it is whole when this returns. Raises Taken."""


@contextmanager
def asking(place: Location) -> Iterator[None]:
    """Turns what a server has refused in the block into what the task does about it. Raises as `meaning` says."""
    try:
        yield
    except StoreRejected as error:
        raise meaning(error.fault, error.said, place) from None
