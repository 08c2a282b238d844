"""Windows of time, and which records are in them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assigned:
    """Records in windows.

    Attributes:
        places: Of each row the record, by its place; a record in several windows has a row for each.
        starts: Of each row the begin of its window.
        late: The places of records all of whose windows are over.
    """

    places: list[int]
    starts: list[int]
    late: list[int]


def windows_of(time: int, size: int, slide: int) -> range:
    """The begins of the windows that have a time: [begin, begin + size), one each `slide`, counted from 1970."""
    return range((time - size) // slide * slide + slide, time + 1, slide)


def assigned(times: Sequence[int], before: Sequence[int | None], written: int | None, size: int, slide: int) -> Assigned:
    """Which records are in which windows that are not over for them.

    Args:
        times: Of the records.
        before: The watermark of its queue before each; None: there is none.
        written: Windows that end up to here were written; None: none was.
        size: Of windows.
        slide: From one to the next.
    """
    places: list[int] = []
    starts: list[int] = []
    late: list[int] = []
    for place, (time, mark) in enumerate(zip(times, before, strict=True)):
        is_in = False
        for start in windows_of(time, size, slide):
            end = start + size
            if (mark is not None and end <= mark) or (written is not None and end <= written):
                continue
            is_in = True
            places.append(place)
            starts.append(start)
        if not is_in:
            late.append(place)
    return Assigned(places, starts, late)
