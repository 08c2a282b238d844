"""Messages of pgoutput, protocol versions 1 and 2, as events. Pure: bytes in, events out.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html; around each is XLogData of
https://www.postgresql.org/docs/current/protocol-replication.html
"""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any, ClassVar

from connectors.postgres_cdc_source.logical.errors import refuse
from connectors.postgres_cdc_source.logical.types import PgType
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.parts import EPOCH_US, Parts
from connectors.postgres_cdc_source.logical.wire.rows import NOT_PLAIN
from connectors.postgres_cdc_source.logical.wire.runs import HEADER, LEAST, split
from connectors.postgres_cdc_source.logical.wire.values import Missing

Resolve = Callable[[int, int], PgType]
"""The type of an OID and a modifier."""

_INSERT = ord("I")
_WITH_NEW_ROW = b"IU"
_change = Struct(">xQ16xxIcH").unpack_from
_lsn = Struct(">xQ").unpack_from
_BEGIN, _COMMIT = b"BC"
_begin = Struct(">xQ16xxQqI")
_commit = Struct(">xQ16xxxQQq")
_begun, _BEGIN_SIZE = _begin.unpack, _begin.size
_committed, _COMMIT_SIZE = _commit.unpack, _commit.size
_ROW = HEADER + 8
_RELATION, _STREAM_START = b"RS"
_WITH_XID = "YRIUDTM"
"""These have the number of their transaction while one in progress is streamed."""
_new: Any = tuple.__new__


class Decoder:
    """Decodes the messages of one stream in their order: it remembers the relations that were described.

    Args:
        resolve: Says what the type of a column is; asked once for each column of a description. What it raises passes through.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._relations: dict[int, ev.Relation] = {}
        self._streamed = False

    def decode_many(self, frames: Sequence[bytes]) -> list[ev.Event | ev.Rows]:
        """The same as decode_frames, with changes that are alike as Rows where there are many.

        Raises:
            BadMessage: as decode_frames.
        """
        kinds = bytes([frame[HEADER] if len(frame) > HEADER else 0 for frame in frames])
        if len(frames) < LEAST or self._streamed or _STREAM_START in kinds:
            return [*self.decode_frames(frames)]
        found: list[ev.Event | ev.Rows] = []
        begin = 0
        while begin < len(frames):
            # A description is true of what is behind it.
            end = kinds.find(_RELATION, begin) + 1 or len(frames)
            for part in split(frames[begin:end], self._relations):
                if isinstance(part, ev.Rows):
                    found.append(part)
                else:
                    found += self.decode_frames(part)
            begin = end
        return found

    def decode_frames(self, frames: Iterable[bytes]) -> list[ev.Event]:
        """The events of messages as a stream has them, each in its XLogData.

        Raises:
            BadMessage: one is none. Those before it are lost: the stream is to be opened anew.
        """
        found: list[ev.Event] = []
        append = found.append
        relations = self._relations
        for frame in frames:
            # Most of what comes, and of that what is plain, without a call for each part.
            if len(frame) > _ROW and (kind := frame[HEADER]) in _WITH_NEW_ROW and not self._streamed:
                lsn, oid, letter, width = _change(frame)
                relation = relations.get(oid)
                if relation is not None and letter == b"N" and width == len(relation.columns):
                    try:
                        row, end = relation.read(frame, _ROW)
                    except NOT_PLAIN:
                        end = 0
                    if end == len(frame):
                        if kind == _INSERT:
                            append(_new(ev.Insert, (lsn, 0, relation, row)))
                        else:
                            append(_new(ev.Update, (lsn, 0, relation, row, None)))
                        continue
            elif len(frame) == _BEGIN_SIZE and frame[HEADER] == _BEGIN:
                lsn, commit_lsn, time, xid = _begun(frame)
                append(_new(ev.Begin, (lsn, xid, commit_lsn, time + EPOCH_US)))
                continue
            elif len(frame) == _COMMIT_SIZE and frame[HEADER] == _COMMIT:
                lsn, commit_lsn, end_lsn, time = _committed(frame)
                append(_new(ev.Commit, (lsn, commit_lsn, end_lsn, time + EPOCH_US)))
                continue
            if len(frame) <= HEADER:
                refuse("the message is empty", frame)
            append(self.decode(frame, HEADER, _lsn(frame)[0]))
        return found

    def decode(self, data: bytes, at: int = 0, lsn: int = 0) -> ev.Event:
        """The event of a message that begins at a place in `data` and ends with it.

        Args:
            data: The bytes.
            at: Where it begins.
            lsn: Where it is in the log.

        Raises:
            BadMessage: it is none.
        """
        parts = Parts(data, at)
        letter = parts.letter()
        read = self._readers.get(letter)
        if read is None:
            refuse(f"there is no message of kind {letter!r}", data, at)
        xid = parts.int32() if self._streamed and letter in _WITH_XID else 0
        event = read(self, parts, lsn, xid)
        parts.expect_end()
        return event

    def _begin(self, parts: Parts, lsn: int, _: int) -> ev.Event:
        commit_lsn, time = parts.int64(), parts.time()
        return ev.Begin(lsn, parts.int32(), commit_lsn, time)

    def _commit(self, parts: Parts, lsn: int, _: int) -> ev.Event:
        parts.byte()
        return ev.Commit(lsn, parts.int64(), parts.int64(), parts.time())

    def _origin(self, parts: Parts, lsn: int, _: int) -> ev.Event:
        return ev.Origin(lsn, parts.int64(), parts.text())

    def _type(self, parts: Parts, lsn: int, xid: int) -> ev.Event:
        return ev.NamedType(lsn, xid, parts.int32(), parts.namespace(), parts.text())

    def _relation(self, parts: Parts, lsn: int, xid: int) -> ev.Event:
        oid, namespace, name, identity = parts.int32(), parts.namespace(), parts.text(), parts.letter()
        if identity not in "dnfi":
            parts.refuse(f"there is no replica identity {identity!r}")
        described = [(parts.byte(), parts.text(), parts.int32(), parts.signed32()) for _ in range(parts.int16())]
        columns = [
            ev.Column(column, bool(flags & 1), kind, mod, self._resolve(kind, mod)) for flags, column, kind, mod in described
        ]
        relation = ev.Relation(lsn, xid, oid, namespace, name, identity, tuple(columns))
        self._relations[oid] = relation
        return relation

    def _column(self, parts: Parts) -> ev.Column:
        flags, name, oid, modifier = parts.byte(), parts.text(), parts.int32(), parts.signed32()
        return ev.Column(name, bool(flags & 1), oid, modifier, self._resolve(oid, modifier))

    def _insert(self, parts: Parts, lsn: int, xid: int) -> ev.Event:
        relation = self._described(parts)
        return ev.Insert(lsn, xid, relation, parts.new(relation, parts.letter()))

    def _update(self, parts: Parts, lsn: int, xid: int) -> ev.Event:
        relation = self._described(parts)
        letter = parts.letter()
        old = None
        if letter != "N":
            old = parts.old(relation, letter)
            letter = parts.letter()
        new = parts.new(relation, letter)
        if old is not None and Missing.UNCHANGED in new:
            # Old rows are whole, so what did not change is known.
            new = tuple(
                before if after is Missing.UNCHANGED and before is not Missing.ABSENT else after
                for before, after in zip(old, new, strict=True)
            )
        return ev.Update(lsn, xid, relation, new, old)

    def _delete(self, parts: Parts, lsn: int, xid: int) -> ev.Event:
        relation = self._described(parts)
        return ev.Delete(lsn, xid, relation, parts.old(relation, parts.letter()))

    def _truncate(self, parts: Parts, lsn: int, xid: int) -> ev.Event:
        count, options = parts.int32(), parts.byte()
        parts.expect(count * 4)
        relations = tuple(self._described(parts) for _ in range(count))
        return ev.Truncate(lsn, xid, relations, bool(options & 1), bool(options & 2))

    def _message(self, parts: Parts, _: int, xid: int) -> ev.Event:
        transactional, lsn, prefix = bool(parts.byte() & 1), parts.int64(), parts.text()
        return ev.Message(lsn, xid, transactional, prefix, parts.take(parts.int32()))

    def _stream_start(self, parts: Parts, lsn: int, _: int) -> ev.Event:
        event = ev.StreamStart(lsn, parts.int32(), parts.byte() == 1)
        self._streamed = True
        return event

    def _stream_stop(self, _: Parts, lsn: int, __: int) -> ev.Event:
        self._streamed = False
        return ev.StreamStop(lsn)

    def _stream_commit(self, parts: Parts, lsn: int, _: int) -> ev.Event:
        xid = parts.int32()
        parts.byte()
        return ev.StreamCommit(lsn, xid, parts.int64(), parts.int64(), parts.time())

    def _stream_abort(self, parts: Parts, lsn: int, _: int) -> ev.Event:
        return ev.StreamAbort(lsn, parts.int32(), parts.int32())

    def _described(self, parts: Parts) -> ev.Relation:
        oid = parts.int32()
        relation = self._relations.get(oid)
        if relation is None:
            parts.refuse(f"table {oid} was not described before its first change")
        return relation

    _readers: ClassVar[dict[str, Callable[["Decoder", Parts, int, int], ev.Event]]] = {
        "B": _begin,
        "C": _commit,
        "O": _origin,
        "Y": _type,
        "R": _relation,
        "I": _insert,
        "U": _update,
        "D": _delete,
        "T": _truncate,
        "M": _message,
        "S": _stream_start,
        "E": _stream_stop,
        "c": _stream_commit,
        "A": _stream_abort,
    }
