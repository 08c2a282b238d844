"""A sink task in the simulation: the real marks, positions and commits; start, reader and loop are mirrored."""

from collections.abc import Mapping

from rocketconnect_kit.errors import Unavailable
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import Kind, TaskSpec
from services.executor.runtime.errors.attempts import FENCED
from services.executor.runtime.positions.client import Fenced, PositionsMoved
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq import source_marks
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.rocketmq.source_marks import SourceCoordinate
from services.executor.runtime.sink import duplicates
from services.executor.runtime.sink import positions as sink_positions
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.queues import LOOK_SECONDS, ROW, extended
from tests.simulation.actors import target
from tests.simulation.actors.host import Committer, Host, Stopped
from tests.simulation.actors.rocketmq import BROKER, QUEUES, TOPIC
from tests.simulation.world import Steps

_DRAIN_SECONDS = 30.0
_MOST = 32


class SinkRun:
    """Mirrors sink.start.begin, sink.reader.SinkReader (without reading ahead) and sink.loop.SinkRun."""

    def __init__(self, host: Host) -> None:
        self._host = host
        one = host.assigned
        tasks = int(one.task_config["tasks"])
        self._spec = TaskSpec(
            Kind.SINK,
            one.connector,
            one.key.connector_uid,
            one.revision,
            one.generation,
            one.key.task,
            one.epoch,
            tasks,
            one.config,
        )
        self._queues: list[MessageQueue] = []
        self._positions: dict[str, QueuePosition] = {}
        self._visible = 0
        self._look_at = 0.0
        self._committer = Committer(host)

    def run(self) -> Steps:
        host = self._host
        grown = True
        while not host.stopping:
            if grown:
                # More queues: it begins anew in place.
                yield from self._committer.flush(_DRAIN_SECONDS, clean=False)
                yield from self._begin()
                host.is_running = True
            parts = [] if host.paused else (yield from self._pull())
            if parts:
                yield from self._write(parts)
            yield from self._committer.poll()
            yield from host.wait(0.05 if parts else 0.3)
            grown = host.sides.map_changes and (yield from self._has_grown())
        if host.fenced:
            raise Fenced(FENCED)
        yield from self._committer.flush(_DRAIN_SECONDS, clean=True)

    def _begin(self) -> Steps:
        host, spec = self._host, self._spec
        opened = yield from host.open()
        yield from host.wait_out(opened[2])
        stored, incarnation, _ = yield from self._own_queues(opened)
        in_sink = {}
        if host.sides.exactly_once:
            answer = yield from host.insist(target.NAME, "claim", (spec.generation, spec.task, spec.epoch))
            in_sink = answer
        fresh = {}
        for queue in self._queues:
            name = text(queue)
            known = sink_positions.from_stored(stored[name]) if name in stored and stored[name].offset else None
            position = sink_positions.choose(known, in_sink.get(name), incarnation)
            if position is None:
                position = QueuePosition(0, stored[name].incarnation if name in stored else incarnation)
                fresh[name] = sink_positions.to_stored(position)
            self._positions[name] = position
        if fresh:
            yield from host.store(fresh)

    def _own_queues(self, opened: tuple[Mapping[str, Stored], int, float]) -> Steps:
        """Mirrors sink_queues.SinkQueues.own."""
        spec = self._spec
        seen = (yield from self._host.insist(BROKER, "queues", False)) if self._host.sides.map_changes else QUEUES
        visible = [text(queue) for queue in sorted(seen)]
        self._look_at = self._host.clock() + LOOK_SECONDS
        while True:
            stored, incarnation, _ = opened
            before = stored.get(ROW)
            listed, is_stored = extended(before, spec.generation, [TOPIC], visible)
            resume = {"generation": spec.generation, "queues": list(listed)}
            row = Stored((spec.generation, len(listed)), incarnation if before is None else before.incarnation, resume)
            try:
                if not is_stored:
                    yield from self._host.store({ROW: row})
            except PositionsMoved:
                opened = yield from self._host.open()
                continue
            self._queues = [parse(name) for name in listed[spec.task :: spec.tasks]]
            self._visible = len(visible)
            return opened

    def _has_grown(self) -> Steps:
        """Mirrors sink_queues.SinkQueues.grown: another task may have listed what this one owns."""
        if self._host.clock() < self._look_at:
            return False
        self._look_at = self._host.clock() + LOOK_SECONDS
        try:
            seen = yield self._host.world.network.call(self._host, BROKER, "queues", False, 2.0)
        except Unavailable:
            return False
        return len(seen) > self._visible

    def _pull(self) -> Steps:
        starts = {queue: self._positions[text(queue)].until for queue in self._queues}
        try:
            pulled = yield self._host.world.network.call(self._host, BROKER, "pull", (starts, _MOST), 2.0)
        except Unavailable:
            return []
        return [self._part(queue, raws) for queue, raws in pulled.items() if raws]

    def _part(self, queue: MessageQueue, raws: list[bytes]) -> Part:
        """Mirrors sink_reader.SinkReader._take."""
        name = text(queue)
        position = self._positions[name]
        kept, moved, _ = duplicates.select(raws, position.marks)
        indexes = range(len(raws)) if kept is None else kept
        places: list[object] = [source_marks.parse(raws[index]) for index in indexes]
        records = SinkBatch(name, TOPIC, places, [position.until + index for index in indexes])
        return Part(name, position.until, position.until + len(raws), moved, records, len(raws), len(raws) - len(places))

    def _write(self, parts: list[Part]) -> Steps:
        """Mirrors SinkRun._put and the gate."""
        host = self._host
        commit = sink_positions.commit_of(self._spec, self._positions, parts)
        records = [(part.queue, value) for part in parts for value in part.records.values if isinstance(value, SourceCoordinate)]
        if commit.after != commit.before:
            while True:
                if host.fenced:
                    raise Fenced(FENCED)
                if host.stopping:
                    raise Stopped
                if host.has_lease:
                    if not host.point("sink: between the look at the lease and the commit"):
                        yield 0.0
                    method = "write" if host.sides.exactly_once else "append"
                    try:
                        yield host.world.network.call(host, target.NAME, method, (self._spec.generation, commit, records))
                    except Unavailable:
                        pass
                    else:
                        break
                yield 0.2
        self._positions.update(commit.after)
        self._committer.put({queue: sink_positions.to_stored(position) for queue, position in commit.after.items()})
