"""Which small files of a table are put together, and when."""

import time
from collections.abc import Callable, Hashable, Iterable

from rocketconnect_sdk.options import Config, Kind, Option

COMPACTION = (
    Option(
        "compact.interval",
        "How often task 0 compacts small files of the table, behind a batch, in a commit of its own that changes no "
        "rows; 0: never. The old files stay for readers of older states until somebody removes these.",
        Kind.DURATION,
        "0",
        minimum=0,
    ),
    Option(
        "compact.bytes",
        "Files with less than three quarters of it are small, and become files of up to so many bytes.",
        Kind.SIZE,
        "128MiB",
        minimum=1 << 20,
        maximum=1 << 34,
    ),
)
ENOUGH = 5
"""Of so many something is gained, also where they do not fill a file: else what is in the last one is written again and again."""


class Compaction:
    """When, and up to which size. Not for several threads at once.

    Args:
        interval: Seconds from one time to the next, and from now to the first one; 0: never.
        size: The most bytes that a file is to have.
        clock: In seconds.
    """

    def __init__(self, interval: float, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.interval = interval
        self.size = size
        self._clock = clock
        self._last = clock()

    @property
    def small(self) -> int:
        """Files with fewer bytes are small."""
        return self.size * 3 // 4

    def is_due(self) -> bool:
        """Whether it is time."""
        return self.interval > 0 and self._clock() - self._last >= self.interval

    def done(self) -> None:
        """The next time is an interval from now."""
        self._last = self._clock()

    def groups(self, files: Iterable[tuple[Hashable, int]]) -> list[list[int]]:
        """Which files become one.

        Args:
            files: Of each the partition, and its size in bytes.

        Returns:
            The numbers of the files that become one; those in no group stay.
        """
        open_groups: dict[Hashable, list[int]] = {}
        sizes: dict[Hashable, int] = {}
        found: list[tuple[list[int], int]] = []
        for number, (partition, size) in enumerate(files):
            if size >= self.small:
                continue
            if partition in open_groups and sizes[partition] + size > self.size:
                found.append((open_groups.pop(partition), sizes.pop(partition)))
            open_groups.setdefault(partition, []).append(number)
            sizes[partition] = sizes.get(partition, 0) + size
        found += [(group, sizes[partition]) for partition, group in open_groups.items()]
        return [group for group, size in found if len(group) >= ENOUGH or (len(group) > 1 and size >= self.small)]


def compaction_of(config: Config) -> Compaction:
    """What the options COMPACTION say."""
    return Compaction(config["compact.interval"], config["compact.bytes"])
