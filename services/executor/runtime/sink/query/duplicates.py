"""Which records were seen before, by columns and time. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.executor.runtime.sink.query.mixed import text_of


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes:
        kept: The places of the records that are the first of their kind.
        seen: By the digest of a key the time of the newest record that was kept of it.
    """

    kept: list[int]
    seen: dict[bytes, int]


def digest(key: Sequence[object]) -> bytes | None:
    """What stands for the columns that tell a record; None: it has none of them, and is told by nothing.

    Of values without a schema the type of a column is that of a batch, and may be another in the next: 1, 1.0 and "1" are alike.
    """
    if all(part is None for part in key):
        return None
    return hashlib.blake2b(repr(tuple(map(_plain, key))).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(part: object) -> object:
    return text_of(part) if isinstance(part, bool | int | float | list | dict) else part


def first_of_each(
    seen: Mapping[bytes, int], keys: Sequence[bytes | None], times: Sequence[int], before: Sequence[int | None], within: int
) -> Found:
    """The records of which none with the same key was kept that is less than `within` away in time.

    What was kept counts for as long as the watermark of the record's own queue is less than `within` behind it. So nothing depends
    on when it is forgotten: see forgotten.

    Args:
        seen: What was kept before.
        keys: Of the records, in their order.
        times: Of the records.
        before: The watermark of its queue before each; None: there is none.
        within: See the option.
    """
    after = dict(seen)
    kept: list[int] = []
    for place, (key, time, mark) in enumerate(zip(keys, times, before, strict=True)):
        known = None if key is None else after.get(key)
        if known is not None and abs(time - known) < within and (mark is None or known + within > mark):
            continue
        kept.append(place)
        if key is not None:
            after[key] = time if known is None else max(known, time)
    return Found(kept, after)


def forgotten(seen: Mapping[bytes, int], watermark: int | None, within: int) -> dict[bytes, int]:
    """Without those that count for no record to come: the watermark of all queues is `within` behind them."""
    if watermark is None:
        return dict(seen)
    return {key: time for key, time in seen.items() if time + within > watermark}
