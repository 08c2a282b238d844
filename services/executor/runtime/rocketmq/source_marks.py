"""The property RCPOS, by which duplicates are known: who sent a message, and where in its source it came from. Pure.

    RCPOS = <connector uid>|<epoch>|<source partition id>|<incarnation>|<offset>

Numbers are decimal; the offset is the integers of the source offset joined by ".".
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import lt
from typing import NamedTuple, overload

from rocketconnect_sdk.columns.compact import Numbers
from rocketconnect_sdk.record import Offset
from rocketmq_remoting.numbered import NumberedProperties

PROPERTY = "RCPOS"
_NAME = b"RCPOS\x01"
_END = b"\x02"
_PLAIN_PARTITION = re.compile(r"[A-Za-z0-9_./:-]{1,32}")
_PLACE = re.compile(rb"(?:^|\x02)RCPOS\x01([^|\x01\x02]+)\|(\d{1,19})\|([^|\x01\x02]+)\|(\d{1,19})\|(\d{1,19}(?:\.\d{1,19})*)\x02")

_MOST_DIGITS = 20


class SourceCoordinate(NamedTuple):
    """What a message's RCPOS says: the key is "connector uid/source partition id"."""

    key: str
    epoch: int
    incarnation: int
    offset: Offset


def partition_id(partition: str) -> str:
    """The name of a source partition in a message: itself when short and plain, else 22 characters of its SHA-256."""
    if _PLAIN_PARTITION.fullmatch(partition):
        return partition
    return base64.urlsafe_b64encode(hashlib.sha256(partition.encode()).digest()).decode()[:22]


def mark_key(uid: str, partition: str) -> str:
    """The key of a source partition in marks."""
    return f"{uid}/{partition_id(partition)}"


class Stamper:
    """Makes the RCPOS properties of one source partition, encoded as they stand in a message."""

    def __init__(self, uid: str, epoch: int, partition: str, incarnation: int) -> None:
        self._head = _NAME + f"{uid}|{epoch}|{partition_id(partition)}|{incarnation}|".encode()

    def stamp(self, offsets: Sequence[Offset]) -> Sequence[bytes]:
        """One for each offset."""
        if not offsets:
            return []
        if isinstance(offsets, Numbers):
            digits = repr(offsets.integers)[1:-1].encode().split(b", ")
            if len(set(map(len, digits))) == 1:
                return NumberedProperties(self._head, digits, _END)
        head = self._head.replace(b"%", b"%%")
        patterns = {count: head + b".".join([b"%d"] * count) + _END for count in set(map(len, offsets))}
        return [patterns[len(offset)] % offset for offset in offsets]


def parse(raw: bytes) -> SourceCoordinate | None:
    """The place that encoded properties hold; None: the message is of another producer."""
    match = _PLACE.search(raw)
    if match is None:
        return None
    uid, epoch, partition, incarnation, offset = match.groups()
    key = f"{uid.decode(errors='replace')}/{partition.decode(errors='replace')}"
    return SourceCoordinate(key, int(epoch), int(incarnation), tuple(map(int, offset.split(b"."))))


class Run(NamedTuple):
    """Messages [start, stop) of one producer, epoch, partition and incarnation that follow each other.

    Of another producer: key is empty and offsets are None. Offsets are compared as they are: all have the same length.
    """

    start: int
    stop: int
    key: str
    epoch: int
    incarnation: int
    offsets: Sequence[Offset] | None


class _Digits(Sequence[Offset]):
    """Offsets of one integer each, as they stand in properties: decimal digits of one length, so that they compare as bytes."""

    def __init__(self, digits: Sequence[bytes]) -> None:
        self.digits = digits

    def __len__(self) -> int:
        return len(self.digits)

    @overload
    def __getitem__(self, index: int) -> Offset: ...
    @overload
    def __getitem__(self, index: slice) -> "_Digits": ...
    def __getitem__(self, index: int | slice) -> "Offset | _Digits":
        return _Digits(self.digits[index]) if isinstance(index, slice) else (int(self.digits[index]),)

    def __iter__(self) -> Iterator[Offset]:
        return zip(map(int, self.digits))


def runs(raws: Sequence[bytes]) -> list[Run]:
    """Splits the encoded properties of messages into runs."""
    whole = _whole(raws)
    return _split(raws) if whole is None else [whole]


def in_time(raws: Sequence[bytes], prefix: str, newest: dict[str, int], lowest: int) -> Iterator[tuple[Run, Sequence[Offset]]]:
    """The runs, and their offsets, of a connector's messages that sinks take: what is behind messages of a newer owner is late.

    Args:
        raws: Encoded properties, in the order of their queue.
        prefix: Of the connector's keys.
        newest: By key the highest epoch that was seen before in the queue; is kept up to date.
        lowest: The epoch that counts for keys that were not seen.
    """
    for run in runs(raws):
        if run.offsets is None or not run.key.startswith(prefix) or run.epoch < newest.get(run.key, lowest):
            continue
        newest[run.key] = run.epoch
        yield run, run.offsets


def highest(offsets: Sequence[Offset]) -> Offset:
    """The highest offset of a run."""
    return (int(max(offsets.digits)),) if isinstance(offsets, _Digits) else max(offsets)


def _whole(raws: Sequence[bytes]) -> Run | None:
    """The run that they all are, if their RCPOS differ in the only number of their offset alone; None: they are not."""
    properties = NumberedProperties.of(raws) if raws else None
    if properties is None or len(properties.digits[0]) >= _MOST_DIGITS:
        return None
    head = properties.head
    place = parse(properties[0])
    if place is None or head[-1:] != b"|" or not head.startswith(_NAME) or _END in head:
        return None
    return Run(0, len(raws), place.key, place.epoch, place.incarnation, _Digits(properties.digits))


def _split(raws: Sequence[bytes]) -> list[Run]:
    """Where runs are long about 0.3 us a message."""
    found: list[Run] = []
    start = 0
    count = len(raws)
    while start < count:
        first = raws[start]
        place = parse(first)
        if place is None:
            stop = start + 1
            while stop < count and _NAME not in raws[stop]:
                stop += 1
            found.append(Run(start, stop, "", 0, 0, None))
        elif not first.startswith(_NAME):
            stop = start + 1
            found.append(Run(start, stop, place.key, place.epoch, place.incarnation, [place.offset]))
        else:
            end = first.index(_END)
            head = first[: first.rindex(b"|", 0, end) + 1]
            stop = start + 1
            while stop < count and raws[stop].startswith(head):
                stop += 1
            offsets = _offsets(raws[start:stop], head, first[end:])
            found.append(Run(start, start + len(offsets), place.key, place.epoch, place.incarnation, offsets))
            stop = start + len(offsets)
        start = stop
    return found


def _offsets(raws: Sequence[bytes], head: bytes, tail: bytes) -> list[Offset]:
    """The offsets of messages that all begin with head; fewer when one is malformed or has another number of integers."""
    # When all of them end alike too, what is between is found in one step: as many pieces as messages, each a plain number,
    # is only possible when every message is head + number + tail.
    pieces = b"".join(raws)[len(head) : -len(tail)].split(tail + head) if raws[-1].endswith(tail) else []
    if len(pieces) == len(raws) and all(map(bytes.isdigit, pieces)) and max(map(len, pieces)) < _MOST_DIGITS:
        return [(number,) for number in map(int, pieces)]
    at = len(head)
    offsets: list[Offset] = []
    for raw in raws:
        place = raw[at : raw.find(_END, at)].split(b".")
        if not all(number.isdigit() and len(number) < _MOST_DIGITS for number in place) or (
            offsets and len(place) != len(offsets[0])
        ):
            break
        offsets.append(tuple(map(int, place)))
    # The first was parsed by its caller, so there is at least one.
    return offsets


def increasing(offsets: Sequence[Offset]) -> bool:
    """Whether each is above the one before."""
    if isinstance(offsets, _Digits):
        return all(map(lt, offsets.digits, islice(offsets.digits, 1, None)))
    return all(map(lt, offsets, islice(offsets, 1, None)))
