"""Who writes to a target. Pure."""

from typing import NamedTuple


class Owner(NamedTuple):
    """One run of one task. Newer ones of a task are greater.

    Attributes:
        generation: Of its plan.
        task: The number of the task.
        epoch: Of its assignment.
    """

    generation: int
    task: int
    epoch: int

    def is_newer(self, other: "Owner") -> bool:
        """Whether the other one may not write any more once this one has claimed."""
        same = self.generation == other.generation and self.task == other.task
        return self.generation > other.generation or (same and self.epoch > other.epoch)

    def closes(self, other: "Owner") -> bool:
        """Whether nothing more comes of the other one once this one has claimed; of tasks beside it more does."""
        return other == self or self.is_newer(other)
