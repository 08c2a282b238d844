"""How far the log is done, as the position of the partition "log". Pure.

The integers: the place in the log, whether the snapshot is done; then, carried along, whose log it is: the system identifier in two
halves, and the timeline.
"""

from dataclasses import dataclass

from connectors.postgres_cdc_source.logical.continuity import Stored
from connectors.postgres_cdc_source.logical.slots import Server
from rocketconnect_sdk.record import Offset

_INTEGERS = 5
_HALF = 1 << 32


@dataclass(frozen=True, slots=True)
class Watermark:
    """Everything before a place is done.

    Attributes:
        lsn: The end of the last transaction that is done.
        snapshot_done: Whether the rows that were there before the log are, too.
        system: The system identifier of the server.
        timeline: Its timeline.
    """

    lsn: int
    snapshot_done: bool
    system: str
    timeline: int

    @classmethod
    def at(cls, server: Server, lsn: int, *, snapshot_done: bool) -> "Watermark":
        """A place in the log of a server."""
        return cls(lsn, snapshot_done, server.system, server.timeline)

    @property
    def offset(self) -> Offset:
        """As integers."""
        return (self.lsn, int(self.snapshot_done), *divmod(int(self.system), _HALF), self.timeline)

    @property
    def stored(self) -> Stored:
        """As continuity wants it."""
        return Stored(self.system, self.timeline, self.lsn)

    @classmethod
    def of(cls, offset: Offset) -> "Watermark":
        """Of its integers.

        Raises:
            ValueError: they are those of none.
        """
        if len(offset) != _INTEGERS or offset[1] > 1:
            msg = "has other integers than a position of the log"
            raise ValueError(msg)
        lsn, done, high, low, timeline = offset
        return cls(lsn, bool(done), str(high * _HALF + low), timeline)
