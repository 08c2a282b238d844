"""What the sink asks of a store. Objects are staged where no reader looks, and published under their names when they count."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable

from rocketconnect_sdk.targets.manifests import Manifests

HIDDEN = "_rocketconnect"
"""The folder of what is no data, beneath the prefix. Readers of data sets leave out names that begin with an underscore."""
STAGED = f"{HIDDEN}/staged"


class Store(ABC):
    """A prefix, for one run of a task. Names are those behind the prefix.

    Raises, of all methods:
        SystemAway, RetriableError, PermanentError: what the trouble with the store means to the task.
    """

    manifests: Manifests

    @property
    @abstractmethod
    def is_used(self) -> bool:
        """Whether anything may ever have been written here; where not, the other methods but prepare need not work."""

    @abstractmethod
    def prepare(self) -> None:
        """Before all other methods but stage, in each run of a task: makes what has to be there, and sees that the store is one.

        Raises:
            PermanentError: it cannot keep two owners apart.
        """

    @abstractmethod
    def stage(self, name: str, data: memoryview) -> None:
        """Writes an object, durably, where nobody looks; in the place of one of that name."""

    @abstractmethod
    def publish(self, staged: str, name: str) -> bool:
        """Gives what is staged its name, durably, and ends the staging. Done twice it is as done once.

        Returns: whether it is there now; false: nothing is staged, and nothing has the name.
        """

    @abstractmethod
    def staged(self) -> Iterable[str]:
        """The names of all that is staged."""

    @abstractmethod
    def discard(self, staged: Iterable[str]) -> None:
        """Removes what is staged, as far as it is there."""

    def close(self) -> None:  # noqa: B027  # not every one holds something
        """Gives back what is held."""


def plain(text: str) -> str:
    """A text as a part of a name: readers take it for itself, whatever they make of signs."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)
