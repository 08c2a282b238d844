"""Who owns a task's part of a table that several tasks write. Pure.

The table keeps a number for each task, in the commit of the data: the version below. What has a higher one is newer. For the
connector it keeps the generation of the newest plan that has claimed any task. Each claim stores it anew, so that of two claims,
of whatever tasks, one sees the other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition

# There is room for 16 million attempts of each owner. Epochs are milliseconds since 2026 began, or more: 39 bits until 2043. A
# clock that was wrong raises them beyond that for good, so nothing here has a limit for them.
_ATTEMPT_BITS = 24
_CLOSED = (1 << _ATTEMPT_BITS) - 1


class Version(NamedTuple):
    """One attempt to commit, in the order of all attempts of a task.

    Attributes:
        epoch: Of its owner. Those of a newer plan are higher: the cluster service draws all epochs from one number.
        attempt: Within its owner; no two attempts have the same, whether they came to an end or not.
    """

    epoch: int
    attempt: int

    @property
    def packed(self) -> int:
        """The number that stands for it, in the same order; of 63 bits until 2043, as long as clocks are right."""
        return self.epoch << _ATTEMPT_BITS | self.attempt

    @property
    def is_closed(self) -> bool:
        """Whether a newer plan has taken over what the task had: then nobody commits under this epoch any more."""
        return self.attempt == _CLOSED


@dataclass(frozen=True, slots=True)
class Claims:
    """What a table knows of the owners of a connector.

    Attributes:
        plan: The newest generation that has claimed a task; 0: none has.
        tasks: By task: the version that counts.
    """

    plan: int = 0
    tasks: Mapping[int, Version] = field(default_factory=dict)

    @property
    def open(self) -> dict[int, Version]:
        """Those of tasks whose positions nobody has taken over."""
        return {task: version for task, version in self.tasks.items() if not version.is_closed}


def closed(version: Version) -> Version:
    """The version that ends the epoch of this one."""
    return Version(version.epoch, _CLOSED)


def unpacked(number: int) -> Version:
    """The version that a number stands for."""
    return Version(*divmod(number, 1 << _ATTEMPT_BITS))


def next_version(epoch: int, known: Iterable[Version]) -> Version:
    """An attempt of an owner behind all that are known.

    Raises:
        PermanentError: it has had all that there are.
    """
    attempt = max((each.attempt for each in known if each.epoch == epoch), default=0) + 1
    if attempt >= _CLOSED:
        msg = f"a transaction version has no room for more commits than were tried ({attempt - 1}). Restart the task"
        raise PermanentError(msg)
    return Version(epoch, attempt)


def is_mine(owner: tuple[int, int], task: int, claims: Claims) -> bool:
    """Whether an owner (generation, epoch) has claimed its task.

    Raises:
        PermanentError: a newer one has claimed it, or a newer plan has claimed any task, and so closed this one.
    """
    generation, epoch = owner
    mine = claims.tasks.get(task, Version(0, 0))
    if claims.plan > generation or mine.epoch > epoch or (mine.epoch == epoch and mine.is_closed):
        msg = "a newer owner writes there now, so this one stops"
        raise PermanentError(msg)
    return mine.epoch == epoch


def closing(owner: tuple[int, int], task: int, claims: Claims) -> dict[int, Version]:
    """By task: the versions by which an owner who is the first of its plan closes the tasks of older ones, but for its own."""
    if claims.plan == owner[0]:
        return {}
    return {other: closed(version) for other, version in claims.open.items() if other != task}


def merged(positions: Iterable[Mapping[str, QueuePosition]]) -> dict[str, QueuePosition]:
    """Of what several tasks know of their queues: the latest of each. A queue may have gone from one task to another."""
    found: dict[str, QueuePosition] = {}
    for each in positions:
        for queue, position in each.items():
            if queue not in found or found[queue].place < position.place:
                found[queue] = position
    return found
