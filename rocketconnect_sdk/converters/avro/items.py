"""Where the items of arrays stand in Avro."""

import numpy as np

from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.avro.codec import Layout
from rocketconnect_sdk.converters.spans import Places, Spans, in_turns, numbered

_NUMBERS = ("int", "long", "enum")
_SIZES = {"boolean": 1, "float": 4, "double": 8}


def items_of(spans: Spans, layout: Layout, at: Places, ends: Places, counts: Places) -> tuple[Places, Places, Places]:
    """The items of arrays.

    Args:
        spans: The bytes.
        layout: Of an item.
        at: Where the first of each array begins.
        ends: Where there are no more bytes for each.
        counts: How many each has.

    Returns:
        Where each begins, those of the first array first; where it ends; where the last of each array ends.

    Raises:
        NotPlain: there are fewer, or they are to be read one by one.
    """
    # Every item takes a byte at least.
    if ((counts < 0) | (counts > ends - at)).any():
        raise NotPlain
    if layout.null is None and layout.kind in _NUMBERS:
        there = counts > 0
        behind = at.copy()
        behind[there] = spans.behind_numbers(at[there], counts[there], ends[there])
        return *spans.each_number(at, counts), behind
    if layout.null is None and (size := _size(layout)):
        behind = spans.moved(at, counts * size, ends)
        begins = np.repeat(at, counts) + numbered(counts) * size
        return begins, begins + size, behind
    return in_turns(at, counts, lambda places, some: _behind(spans, layout, places, ends[some]))


def counts_of(spans: Spans, at: Places, ends: Places) -> tuple[Places, Places]:
    """How many items the first block of each array has, and where these begin."""
    counts, at = _long(spans, at, ends)
    with_size = counts < 0
    if with_size.any():
        at[with_size] = spans.behind_numbers(at[with_size], 1, ends[with_size])
    return np.abs(counts), at


def behind_last(spans: Spans, at: Places, ends: Places, counts: Places) -> Places:
    """Behind the empty block that is the last of those that are not empty themselves. Raises NotPlain: there are more blocks."""
    more = counts > 0
    if spans.bytes_at(at[more], ends[more]).any():
        raise NotPlain
    return at + more


def _behind(spans: Spans, layout: Layout, at: Places, ends: Places) -> Places:
    """Where the values end that begin there."""
    if layout.null is None:
        return _behind_value(spans, layout, at, ends)
    branches = spans.bytes_at(at, ends)
    if (branches & (0xFF - 2)).any():
        raise NotPlain
    at = at + 1
    given = branches == (1 - layout.null) << 1
    at[given] = _behind_value(spans, layout, at[given], ends[given])
    return at


def _behind_value(spans: Spans, layout: Layout, at: Places, ends: Places) -> Places:
    match layout.kind:
        case "record":
            for part in layout.parts:
                at = _behind(spans, part, at, ends)
            return at
        case "array":
            counts, at = counts_of(spans, at, ends)
            _, _, at = items_of(spans, layout.parts[0], at, ends, counts)
            return behind_last(spans, at, ends, counts)
        case "string" | "bytes":
            sizes, at = _long(spans, at, ends)
            return spans.moved(at, sizes, ends)
    return spans.behind_numbers(at, 1, ends) if layout.kind in _NUMBERS else spans.moved(at, _size(layout), ends)


def _size(layout: Layout) -> int:
    """How many bytes each value takes; 0: not all take as many, or none."""
    return layout.size if layout.kind == "fixed" else _SIZES.get(layout.kind, 0)


def _long(spans: Spans, at: Places, ends: Places) -> tuple[Places, Places]:
    number, at = spans.number(at, ends)
    return (number >> 1) ^ -(number & 1), at
