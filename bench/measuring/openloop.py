"""Load that does not wait for answers, and what it shows: a stall counts for everything that was due in it.

A load that sends only after the last answer came stops with the system that it measures, and misses exactly its worst moments.
So every line has its time in a schedule, and its delay counts from there, whenever it could really be written.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LOOK_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class Delays:
    """What a load met.

    Attributes:
        seconds: Of each line, from its time in the schedule until it was seen at the other end.
        late_seconds: How long after its time the load itself wrote each: its own part of the delay.
    """

    seconds: Sequence[float]
    late_seconds: Sequence[float]

    def figures(self) -> Mapping[str, float]:
        """In milliseconds: the percentiles, the longest, and how late the load was."""
        shares = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}
        return {name: percentile(self.seconds, share) * 1e3 for name, share in shares.items()} | {
            "load_late_p99_ms": percentile(self.late_seconds, 0.99) * 1e3
        }


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def drive(
    rate: float,
    count: int,
    send: Callable[[int], None],
    arrived: Callable[[], int],
    patience: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Delays:
    """Sends `count` lines, `rate` a second, each at its time, and watches them arrive.

    Args:
        rate: Lines a second.
        count: How many.
        send: Sends line number n.
        arrived: How many have arrived, in order.
        patience: Seconds that the last one may take.
        clock: Seconds.
        sleep: Waits for so many of them.

    Raises:
        TimeoutError: not all arrived.
    """
    begin = clock() + LOOK_SECONDS
    delays: list[float] = []
    late: list[float] = []
    while len(delays) < count:
        while len(late) < count and (now := clock()) >= begin + len(late) / rate:
            late.append(now - begin - len(late) / rate)
            send(len(late) - 1)
        seen, now = arrived(), clock()
        delays += [now - begin - number / rate for number in range(len(delays), min(seen, len(late)))]
        if now > begin + count / rate + patience:
            msg = f"{len(delays)} of {count} lines arrived within {patience:g} s"
            raise TimeoutError(msg)
        sleep(LOOK_SECONDS)
    return Delays(delays, late)
