"""How much an executor runs at a time, as its operator says. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from rocketconnect_sdk.permissions.spark_profiles import memory_size
from rocketconnect_sdk.wording.counts import counted
from services.executor.hosts.placement import NATIVE, Profile

_MEMORY = "spark.driver.memory"
_USUAL = "1g"
"""What Spark takes unless it is told."""


@dataclass(frozen=True, slots=True)
class Room:
    """What there may be at a time; 0: no limit.

    Attributes:
        tasks: Tasks.
        drivers: Spark drivers.
        memory: Bytes of the heaps of all drivers.
    """

    tasks: int = 0
    drivers: int = 0
    memory: int = 0

    def never(self, wanted: Profile | None) -> str:
        """Why a task with this profile has no room here, whatever ends; empty: it may have."""
        if wanted is NATIVE or not self.memory:
            return ""
        size, limit = _heap(wanted), f"{_shown(self.memory)} (--max-spark-memory)"
        if size is None:
            return f"its {_MEMORY} is no size such as 8g, and the drivers of this executor have {limit}"
        if size > self.memory:
            return (
                f"its {_MEMORY} is {_shown(size)}, and all drivers of this executor have {_shown(self.memory)} (--max-spark-memory)"
            )
        return ""

    def lack(self, tasks: int, drivers: Sequence[Profile], new_driver: Profile | None = None) -> str:
        """Why one more task has no room now; empty: it has.

        Args:
            tasks: How many run.
            drivers: Those that there are, also those that are about to end.
            new_driver: The one that it would need beside them; None: it needs none.
        """
        if self.tasks and tasks >= self.tasks:
            return f"this executor runs {counted(tasks, 'task')}, which is all that it may (--max-tasks)"
        if new_driver is None:
            return ""
        if self.drivers and len(drivers) >= self.drivers:
            return f"this executor has {counted(drivers, 'Spark driver')}, which is all that it may (--max-spark-drivers)"
        if self.memory and (heaps := sum(_heap(each) or 0 for each in drivers)) + (_heap(new_driver) or 0) > self.memory:
            return (
                f"the Spark drivers of this executor have {_shown(heaps)}, and one of {_shown(_heap(new_driver) or 0)} more is "
                f"beyond the {_shown(self.memory)} that they may have (--max-spark-memory)"
            )
        return ""


UNLIMITED = Room()


def _heap(profile: Profile) -> int | None:
    try:
        return memory_size(dict(profile.settings).get(_MEMORY, _USUAL))
    except ValueError:
        return None


def _shown(size: int) -> str:
    return f"{size / (1 << 30):.3g} GiB"
