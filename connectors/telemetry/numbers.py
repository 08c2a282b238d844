"""Numbers of telemetry as those of columns, with nothing lost. Pure."""

import struct
from datetime import UTC, datetime, timedelta
from math import isfinite, isnan

from rocketconnect_sdk.schema import WHOLE, Schema, Type
from rocketconnect_sdk.wording.counts import counted

NOT_FINITE = Schema(
    Type.MAP,
    optional=True,
    keys=Schema(Type.STRING),
    items=Schema(Type.STRING),
    doc="What numbers are that are null for no other reason.",
)
_LARGEST = WHOLE[Type.INT64][1]
_STALE = 0x7FF0_0000_0000_0002
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Unfit(ValueError):
    """One thing of a request can't be a row; the message says why."""


class Numbers:
    """The floating point numbers of one row.

    JSON, and most databases, have no NaN and no infinity. Such a number is null in its column, and `not_finite` has what it is, by
    the name of its place.
    """

    def __init__(self) -> None:
        self._others: dict[str, str] = {}

    def of(self, place: str, value: float) -> float | None:
        """What the column of a place has."""
        if isfinite(value):
            return value
        self._others[place] = written(value)
        return None

    def list_of(self, place: str, values: "list[float]") -> list[float | None]:
        """The same of several, whose places are numbered."""
        return [self.of(f"{place}.{number}", value) for number, value in enumerate(values)]

    @property
    def not_finite(self) -> dict[str, str] | None:
        """By place, what is no finite number: NaN, Infinity, -Infinity, stale; None: all are finite."""
        return self._others or None


def written(value: float) -> str:
    """A number that is not finite, as a text."""
    if isnan(value):
        return "stale" if is_stale(value) else "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def is_stale(value: float) -> bool:
    """Whether it is the NaN by which Prometheus says that a series has ended."""
    return bool(struct.unpack("<Q", struct.pack("<d", value))[0] == _STALE)


def whole(value: int, what: str) -> int:
    """An unsigned number as a signed one. Raises Unfit: it is too large."""
    if value > _LARGEST:
        msg = f"{what} is {value}, which is beyond 64 bits with a sign"
        raise Unfit(msg)
    return value


def nanoseconds(value: int, what: str) -> int | None:
    """A time in nanoseconds since 1970; None: it is not known. Raises Unfit: it is too far away."""
    return whole(value, what) or None


def moment(milliseconds: int) -> datetime:
    """A time in milliseconds since 1970. Raises Unfit: it is too far away."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        msg = f"the time {milliseconds} ms is in none of the years 1 to 9999"
        raise Unfit(msg) from None


def fitted(size: int, most_bytes: int) -> int:
    """The size of a record. Raises Unfit: no record has so many bytes."""
    if size > most_bytes:
        msg = f"it has {counted(size, 'byte')}, and a record {most_bytes:,} at most"
        raise Unfit(msg)
    return size
