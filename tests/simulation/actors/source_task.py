"""A source task in the simulation: the real rows, floors, marks, queue map and progress; start, sender and loop are mirrored."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from rocketconnect_sdk.record import Offset, SourceBatch
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.errors.attempts import FENCED
from services.executor.runtime.positions.client import Fenced, PositionsMoved
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq import queue_map
from services.executor.runtime.rocketmq import source_marks as marks
from services.executor.runtime.rocketmq.source_marks import Stamper, mark_key
from services.executor.runtime.rocketmq.tail import Sent, Tail
from services.executor.runtime.source import queues as source_queues
from services.executor.runtime.source import takeover
from services.executor.runtime.source.gone_back import Beyond, beyond, newest_epoch, next_count, passing
from services.executor.runtime.source.pieces import Piece, Progress, ReadBatch
from services.executor.runtime.source.takeover import ROW, Found, Row, row_name, rows
from tests.simulation.actors.host import COMMIT_SECONDS, SEND_DEADLINE, Committer, Host, Stopped
from tests.simulation.actors.rocketmq import BROKER, BROKER_SETTLES, QUEUES, TOPIC
from tests.simulation.world import Future, Steps

_ANSWER_SECONDS = 4.0
_DRAIN_SECONDS = 10.0
_BATCH = 4


@dataclass(eq=False)
class _Lane:
    """Mirrors sender._Lane."""

    queue: MessageQueue
    end: int
    waiting: deque[Piece] = field(default_factory=deque)
    flying: list[Piece] = field(default_factory=list)
    pending: Future | None = None
    tail: Tail | None = None
    looking: bool = False

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.flying)


class SourceRun:
    """Mirrors source_start.begin, source_task.SourceRun and sender.Sender."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._world = host.world
        self._uid = host.assigned.key.connector_uid
        self._partitions = [name for name in host.assigned.task_config["partitions"].split(",") if name]
        self._next: dict[str, int] = {}
        self._committer = Committer(host)
        self._lanes: dict[MessageQueue, _Lane] = {}
        self._put_at = 0.0
        self._caught_up = False

    def run(self) -> Steps:
        yield from self._begin()
        host = self._host
        host.is_running = True
        while not host.stopping:
            yield from self._pump()
            self._put()
            yield from self._committer.poll()
            read = not host.paused and self._buffered() < 3 * _BATCH and self._read()
            yield from host.wait(0.02 if read else 0.25)
        yield from self._end()

    # source_start

    def _begin(self) -> Steps:
        host, spec = self._host, self._host.assigned
        positions, incarnation, wait = yield from host.open()
        search = takeover.scan_from(rows(positions), spec.key.task, spec.generation, spec.revision)
        self._queues: Sequence[MessageQueue] = QUEUES
        if host.sides.map_changes:
            self._queues = yield from self._own_map(positions)
        starts, sent = search.starts, None
        ends: dict[MessageQueue, int] = {}
        tails: dict[MessageQueue, Tail] = {}
        yield from host.wait_out(wait if host.is_settled or not starts else max(wait, SEND_DEADLINE))
        if starts:
            yield from self._settle()
            passed = {mark_key(self._uid, name): (stored.incarnation, stored.offset) for name, stored in positions.items()}

            def known(key: str) -> tuple[int, Offset]:
                return passed.get(key, (incarnation, ()))

            sent = Sent(known) if search.mixed else None
            tails = yield from self._read_tails(search, sent)
            newest = max(tail.epoch for tail in tails.values())
            if newest > newest_epoch(positions) and sent is None:
                again, _, _ = yield from host.open(look=True)
                if newest > newest_epoch(again):
                    sent = Sent(known)
                    tails = yield from self._read_tails(search, sent)
            ends = {queue: tail.end for queue, tail in tails.items()}
        for queue in self._queues:
            if queue not in ends:
                ends[queue] = yield from host.insist(BROKER, "end", queue)
        found = beyond(tails, known) if tails else Beyond({})
        self._found = Found(found.there, starts, None if sent is None else sent.offsets, found.raised)
        held, tasks = self._found.held(), int(spec.task_config["tasks"])
        row = Row(spec.generation, spec.revision, {}, search.base, tasks, self._found.mixed, search.base_mixed)
        count = next_count(positions.get(row_name(spec.key.task)), spec.epoch)
        row = replace(row, epochs=search.epochs, base_epochs=search.base_epochs, count=count)
        self._row = row.above({**ends, **held}, held, spec.epoch)
        yield from host.store({row_name(spec.key.task): self._row.stored(spec.epoch)})
        self._progress = Progress(
            {name: stored.incarnation for name, stored in positions.items()},
            incarnation,
            lambda partition: self._found.raised(mark_key(self._uid, partition)),
        )
        for partition in self._partitions:
            stored = positions.get(partition)
            self._next[partition] = stored.offset[0] if stored is not None and stored.offset else 0
        for queue, end in ends.items():
            self._lanes[queue] = _Lane(queue, end)
            self._progress.add_queue(queue, end)

    def _own_map(self, positions: Mapping[str, Stored]) -> Steps:
        """Mirrors source_queues.SourceQueues.of."""
        host, revision = self._host, self._host.assigned.revision
        while True:
            stored = source_queues.stored_map(positions.get(source_queues.ROW), revision)
            if TOPIC in stored:
                return stored[TOPIC]
            seen = yield from host.insist(BROKER, "queues", True)
            try:
                yield from host.store({source_queues.ROW: source_queues.map_row({TOPIC: seen}, revision)})
            except PositionsMoved:
                positions, _, _ = yield from host.open()
            else:
                return seen

    def _settle(self) -> Steps:
        """Mirrors queues.settle."""
        yield from self._host.insist(BROKER, "barrier", None)
        yield BROKER_SETTLES
        yield from self._host.insist(BROKER, "barrier", None)

    def _read_tails(self, search: takeover.Search, sent: Sent | None) -> Steps:
        tails = {}
        for queue, start in sorted(search.starts.items()):
            tails[queue] = yield from self._read_tail(queue, start, sent, search.epochs.get(queue, 0))
        return tails

    def _read_tail(self, queue: MessageQueue, start: int, sent: Sent | None, lowest: int) -> Steps:
        """Mirrors queues.read_tail."""
        end = yield from self._host.insist(BROKER, "end", queue)
        pulled = yield from self._host.insist(BROKER, "pull", ({queue: start}, max(0, end - start)))
        reached: dict[str, dict[int, Offset]] = {}
        newest: dict[str, int] = {}
        for run, offsets in marks.in_time(pulled[queue], f"{self._uid}/", newest, lowest):
            places, last = reached.setdefault(run.key, {}), max(offsets)
            places[run.incarnation] = max(last, places.get(run.incarnation, last))
            for message in map(marks.parse, pulled[queue][run.start : run.stop]):
                if sent is not None and message is not None:
                    sent.add(message, [message.offset])
        return Tail(reached, start, end, "", max(newest.values(), default=0))

    # source_task

    def _read(self) -> bool:
        """Read a batch of the next partition that has something; return whether there was one."""
        for partition in self._partitions[:]:
            start = self._next[partition]
            keys = self._host.sides.produced[partition][start : start + _BATCH]
            if not keys:
                continue
            self._caught_up = False
            self._partitions.remove(partition)
            self._partitions.append(partition)
            offsets: list[Offset] = [(start + 1 + index,) for index in range(len(keys))]
            key, incarnation = mark_key(self._uid, partition), self._progress.incarnation(partition)
            batch = self._found.missing(SourceBatch(partition, keys, offsets, keys), key, incarnation)
            if self._found.waits(batch, key, incarnation, is_open=self._progress.is_open(partition)):
                return False
            self._next[partition] = start + len(keys)
            self._take(batch, offsets[-1])
            return True
        if not self._caught_up:
            self._caught_up = True
            self._found.caught_up()
        return False

    def _take(self, records: SourceBatch, end: Offset) -> None:
        """Mirrors encode.Encoder.encode and SourceRun._take."""
        partition, offsets = records.partition, records.offsets
        key, incarnation = mark_key(self._uid, partition), self._progress.incarnation(partition)
        raws = Stamper(self._uid, self._host.assigned.epoch, partition, incarnation).stamp(offsets)
        dealt = self._deal(records, key, incarnation) if offsets else {}
        batch = ReadBatch(partition, key, end, self._host.clock(), len(dealt))
        pieces = []
        for queue, indexes in dealt.items():
            chosen = range(len(offsets)) if indexes is None else indexes
            stamped = [raws[i] for i in chosen]
            pieces.append(Piece(batch, queue, key, incarnation, [offsets[i] for i in chosen], [b""] * len(stamped), stamped))
        self._found.read(key)
        self._progress.read(batch)
        for piece in pieces:
            self._route(piece)

    def _deal(self, records: SourceBatch, key: str, incarnation: int) -> Mapping[MessageQueue, list[int] | None]:
        """Mirrors encode.Encoder._deal. Another revision may have other keys."""
        lane = self._found.lane(TOPIC, self._queues, key, incarnation, records.offsets[0])
        if lane is not None:
            return {lane: None}
        salt = self._host.assigned.config.get("salt", "").encode()
        keys = [each and each + salt for each in cast("Sequence[bytes | None]", records.keys)]
        dealt = queue_map.deal(records.partition, keys if any(keys) else None, len(self._queues))
        return {self._queues[number]: indexes for number, indexes in dealt.items()}

    def _route(self, piece: Piece) -> None:
        skip = self._found.skip(piece)
        if skip == len(piece):
            self._progress.confirmed(piece, None, 0)
        else:
            self._lanes[piece.queue].waiting.append(piece.part(skip, len(piece)) if skip else piece)

    def _put(self, *, clean: bool = False) -> None:
        if not clean and self._host.clock() < self._put_at and any(lane.busy for lane in self._lanes.values()):
            return
        self._put_at = self._host.clock() + COMMIT_SECONDS / 2
        moved = passing(self._progress.take_moved(), self._found, self._progress, partial(mark_key, self._uid))
        if moved or clean:
            spec = self._host.assigned
            held = self._found.held()
            floors = {} if clean else self._progress.floors(held)
            self._row = replace(self._row, count=self._row.count + 1)
            row = replace(self._row.above(floors, held, spec.epoch), mixed=self._found.mixed)
            self._committer.put({**moved, row_name(spec.key.task): row.stored(spec.epoch)})

    def _end(self) -> Steps:
        host = self._host
        until = host.clock() + _DRAIN_SECONDS
        while any(lane.busy for lane in self._lanes.values()) and not host.fenced and host.clock() < until:
            yield from self._pump()
            yield from host.wait(0.05)
        if host.fenced:
            raise Fenced(FENCED)
        yield from self._pump()
        clean = not any(lane.busy for lane in self._lanes.values()) and not self._progress.in_flight and not self._found.held()
        self._put(clean=clean)
        yield from self._committer.flush(max(0.0, until - host.clock()), clean=clean)

    # sender

    def _buffered(self) -> int:
        return sum(len(piece) for lane in self._lanes.values() for piece in (*lane.waiting, *lane.flying))

    def _pump(self) -> Steps:
        for lane in self._lanes.values():
            if lane.pending is not None and lane.pending.done:
                self._answered(lane)
            if lane.tail is not None:
                self._looked(lane)
            if lane.waiting and lane.pending is None and not lane.looking and self._host.has_lease:
                yield from self._send(lane)

    def _send(self, lane: _Lane) -> Steps:
        pieces: list[Piece] = []
        while lane.waiting and len(pieces) < 3:
            pieces.append(lane.waiting.popleft())
        if not self._host.point("source: between the look at the lease and the send"):
            yield 0.0
        lane.flying = pieces
        messages = [raw for piece in pieces for raw in piece.properties]
        connection = self._host.fence.epoch
        arguments = (lane.queue, messages, connection)
        lane.pending = self._world.network.call(self._host, BROKER, "send", arguments, _ANSWER_SECONDS, again=False)
        lane.pending.then(self._host.wake)

    def _answered(self, lane: _Lane) -> None:
        pending, lane.pending = lane.pending, None
        answer = pending.value if pending is not None else None
        if not isinstance(answer, int):
            # Never sent again blindly.
            lane.looking = True
            self._host.spawn(self._find_out(lane))
            return
        at = answer
        pieces, lane.flying = lane.flying, []
        for piece in pieces:
            after = at + len(piece)
            self._progress.confirmed(piece, at if piece.found_from is None else piece.found_from, after)
            at = after
        lane.end = max(lane.end, at)

    def _find_out(self, lane: _Lane) -> Steps:
        try:
            yield from self._settle()
            lane.tail = yield from self._read_tail(lane.queue, lane.end, None, self._host.assigned.epoch)
        except Stopped:
            return
        self._host.wake()

    def _looked(self, lane: _Lane) -> None:
        assert lane.tail is not None
        there, end, before = lane.tail.there, lane.tail.end, lane.end
        pieces, lane.flying, lane.looking, lane.tail = lane.flying, [], False, None
        missing: list[Piece] = []
        for piece in pieces:
            mark = there.get(piece.key)
            found = 0 if mark is None or mark[0] != piece.incarnation else piece.up_to(mark[1])
            if found == len(piece):
                self._progress.confirmed(piece, before if piece.found_from is None else piece.found_from, end)
            else:
                rest = piece.part(found, len(piece)) if found else piece
                rest.found_from = before if found and piece.found_from is None else piece.found_from
                missing.append(rest)
        lane.waiting.extendleft(reversed(missing))
        if not missing:
            lane.end = max(lane.end, end)


__all__ = ["ROW", "SourceRun", "Stored"]
