"""Messages whose changes are alike, taken together: Insert, Update and Delete of one table that follow each other. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.tuples import MARGIN, Tuples, find
from rocketconnect_sdk.changes.slices import Array, numbers

HEADER = 25
"""The bytes of XLogData before its message: a letter, where the message is in the log, the log's end, a time."""
LEAST = 50
"""Of fewer messages of a table the rows are read one by one as soon."""
_LSN, _OID, _LETTER = 1, HEADER + 1, HEADER + 5
_TUPLE = _LETTER + 1
_INT32, _INT64 = np.dtype(">u4"), np.dtype(">u8")
_INSERT, _UPDATE, _DELETE = b"IUD"
_NEW, _OLD, _KEY = b"NOK"


class _Changes(NamedTuple):
    """All changes of a table in some messages.

    Attributes:
        relation: The table.
        first: The first row of each, old or new.
        second: The new rows behind old ones.
        rank: Of each message which one of the changes it is.
        second_rank: The same of `second`.
        runs: A number for what each message says, the same for what is alike; -1: it is to be read by itself.
    """

    relation: ev.Relation
    first: Tuples
    second: Tuples
    rank: Array
    second_rank: Array
    runs: Array


def split(frames: Sequence[bytes], relations: Mapping[int, ev.Relation]) -> Iterator[ev.Rows | Sequence[bytes]]:
    """Messages in their XLogData, in their order: those that are alike as Rows, the others as they are.

    Args:
        frames: Messages, none of which is of a transaction in progress.
        relations: The tables as they are in all of them.
    """
    raw = b"".join((*frames, bytes(MARGIN)))
    data = np.frombuffer(raw, np.uint8)
    sizes = np.fromiter(map(len, frames), np.int64, len(frames))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    kinds = data[starts + HEADER]
    is_change = ((kinds == _INSERT) | (kinds == _UPDATE) | (kinds == _DELETE)) & (sizes > _TUPLE)
    oids = np.where(is_change, numbers(data, starts + _OID, _INT32), 0)
    runs = np.full(len(frames), -1)
    tables: dict[int, _Changes] = {}
    for oid, count in zip(*(each.tolist() for each in np.unique(oids, return_counts=True)), strict=True):
        relation = relations.get(oid)
        if relation is not None and count >= LEAST:
            tables[oid] = _changes(relation, raw, data, starts, ends, kinds, oids == oid)
            runs = np.maximum(runs, tables[oid].runs)
    lsns = numbers(data, starts + _LSN, _INT64)
    bounds = [0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(frames)]
    for begin, end in pairwise(bounds):
        if runs[begin] < 0:
            yield frames[begin:end]
        else:
            yield _rows(tables[int(oids[begin])], int(kinds[begin]), lsns[begin:end].tolist(), begin)


def _changes(relation: ev.Relation, raw: bytes, data: Array, starts: Array, ends: Array, kinds: Array, is_of_it: Array) -> _Changes:
    places = np.flatnonzero(is_of_it)
    kind, letter, limits = kinds[places], data[starts[places] + _LETTER], ends[places]
    width = len(relation.columns)
    first = find(raw, data, starts[places] + _TUPLE, limits, width)
    has_both = (kind == _UPDATE) & (letter == _OLD)
    is_new = (letter == _NEW) & (kind != _DELETE)
    is_gone = (kind == _DELETE) & ((letter == _OLD) | (letter == _KEY))
    plain = first.plain & ((is_new | is_gone) & (first.ends == limits) | has_both & (first.ends < limits))
    both = np.flatnonzero(has_both & plain)
    second = find(raw, data, first.ends[both] + 1, limits[both], width)
    plain[both] = second.plain & (second.ends == limits[both]) & (data[first.ends[both]] == _NEW)
    runs, rank, second_rank = (np.full(len(kinds), -1) for _ in range(3))
    rank[places], second_rank[places[both]] = np.arange(len(places)), np.arange(len(both))
    runs[places] = np.where(plain, relation.oid << 16 | kind.astype(np.int64) << 8 | letter, -1)
    return _Changes(relation, first, second, rank, second_rank, runs)


def _rows(changes: _Changes, kind: int, lsns: list[int], begin: int) -> ev.Rows:
    at = int(changes.rank[begin])
    first = ev.Found(changes.first, at, at + len(lsns))
    if kind == _INSERT:
        return ev.Rows(ev.Insert, changes.relation, lsns, None, first)
    if kind == _DELETE:
        return ev.Rows(ev.Delete, changes.relation, lsns, first, None)
    at = int(changes.second_rank[begin])
    if at < 0:
        return ev.Rows(ev.Update, changes.relation, lsns, None, first)
    return ev.Rows(ev.Update, changes.relation, lsns, first, ev.Found(changes.second, at, at + len(lsns)))
