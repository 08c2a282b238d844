"""Where a stream is: the place after each event, and the transactions that are whole by then. No I/O."""

from connectors.mysql_cdc_source.binlog.events import Event, Heartbeat, Query, Rotate, TransactionBegin, XaPrepare, Xid
from connectors.mysql_cdc_source.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet, MysqlGtid, MysqlGtidSet
from connectors.mysql_cdc_source.binlog.header import Header
from connectors.mysql_cdc_source.binlog.server import Position

_WRAP = 1 << 32
_ENDS = ("COMMIT", "ROLLBACK", "XA COMMIT", "XA ROLLBACK")
_BEGINS = ("BEGIN", "XA START")


class Progress:
    """Follows a stream's events.

    Args:
        start: Where it starts.
        done: The transactions before that.
    """

    def __init__(self, start: Position, done: GtidSet) -> None:
        self._position = start._replace(gtid_set=str(done))
        self._done = done
        self._gtid: Gtid | None = None
        self._open = False

    @property
    def between(self) -> bool:
        """Whether the place is between two transactions."""
        return self._gtid is None and not self._open

    def after(self, header: Header, event: Event) -> tuple[Position, Gtid | None]:
        """The place after an event, and the transaction that it is of. Takes every event once, in order."""
        file, offset, gtid_set = self._position
        if isinstance(event, Rotate):
            file, offset = event.file, event.offset
        elif header.end:
            offset = _unwrapped(header.end, offset)
            if isinstance(event, Heartbeat):
                file = event.file
        if isinstance(event, TransactionBegin):
            self._gtid = event.gtid
            self._open = isinstance(event.gtid, MariadbGtid) and not event.standalone
        gtid = self._gtid
        if self._ends(event):
            if gtid is not None:
                self._done = _with(self._done, gtid)
                gtid_set = str(self._done)
            self._gtid, self._open = None, False
        self._position = Position(file, offset, gtid_set)
        return self._position, gtid

    def _ends(self, event: Event) -> bool:
        if isinstance(event, Xid | XaPrepare):
            return True
        if not isinstance(event, Query):
            return False
        word = event.text[:12].upper()
        if word.startswith(_BEGINS):
            self._open = True
            return False
        # A statement that stands alone is its own end; within a transaction there are others, such as SAVEPOINT.
        return not self._open or word.startswith(_ENDS)


def _unwrapped(end: int, before: int) -> int:
    """The log has 32 bits of an offset, and a file may have more."""
    offset = before - before % _WRAP + end
    return offset + _WRAP if offset + _WRAP // 2 < before else offset


def _with(done: GtidSet, gtid: Gtid) -> GtidSet:
    if isinstance(done, MariadbGtidSet) and isinstance(gtid, MariadbGtid):
        return done.with_(gtid)
    if isinstance(done, MysqlGtidSet) and isinstance(gtid, MysqlGtid):
        return done.with_(gtid)
    return done
