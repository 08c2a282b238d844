"""The position service as a task sees it: open, then commits in the background, one under way at a time."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import grpc
from rocketconnect.position.v1 import position_service_pb2 as wire
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_kit.channel import sync_channel
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.status import decode
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from rocketconnect_sdk.record import Offset
from services.executor.runtime.retry import Backoff
from services.executor.runtime.task import Endpoints, TaskSpec

_CALL_SECONDS = 5.0
_MOST_UPDATES = 5_000


class Fenced(Exception):
    """A newer owner has opened the task: this one ends at once and commits nothing (invariant 3).

    `opened_generation` is the newest plan generation of the connector that was opened; 0: not known.
    """

    def __init__(self, message: str, opened_generation: int = 0) -> None:
        super().__init__(message)
        self.opened_generation = opened_generation


class PositionsMoved(ConnectorError):
    """Somebody has altered the positions of the connector: the task has to be opened again."""


class PositionsAway(Exception):
    """The position service does not answer, or not now; try again after a pause."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored position.

    Attributes:
        offset: Of the next record.
        incarnation: Raised by each deliberate reset.
        resume: What the task stored with it.
    """

    offset: Offset
    incarnation: int = 0
    resume: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """What OpenTask tells.

    Attributes:
        positions: Of the connector, by partition.
        wait: Seconds before the first send or write: an older owner may be confirmed, or what it sent last under way, for so long.
        clean: Nothing has to be looked for in the topic.
        incarnation: That partitions without a position start with.
    """

    positions: Mapping[str, Stored]
    wait: float
    clean: bool
    incarnation: int


class PositionClient:
    """Speaks for one task. One commit at a time: each says what the one before it has stored.

    Invariant 1: a commit whose outcome nobody knows may wait in a replica that was stopped, and be done after newer ones of the
    same owner. So each names the offsets that it follows, and is sent again as it was until its outcome is known; one that comes
    late finds others.
    """

    def __init__(self, endpoints: Endpoints, spec: TaskSpec) -> None:
        ca, cert, key = (Path(path) if path else None for path in (endpoints.tls_ca, endpoints.tls_cert, endpoints.tls_key))
        settings = ServiceSettings(tls_ca=ca, tls_cert=cert, tls_key=key)
        self._send_deadline = timedelta(seconds=endpoints.send_deadline)
        self._channel = sync_channel(endpoints.position_address, settings, service="position")
        self._stub = PositionServiceStub(self._channel)
        self._revision = spec.revision
        self._known: dict[str, str] = {}
        self._fence = wire.TaskFence(connector_uid=spec.connector_uid, task=spec.task, generation=spec.generation, epoch=spec.epoch)

    def open(self) -> Opened:
        """Raises the fence and returns the positions.

        Raises:
            Fenced: there is a newer owner.
            PositionsAway: try again.
        """
        with _errors():
            request = wire.OpenTaskRequest(fence=self._fence, revision=self._revision)
            request.send_deadline.FromTimedelta(self._send_deadline)
            answer = self._stub.OpenTask(request, timeout=_CALL_SECONDS)
        self._known = {position.partition: position.offset for position in answer.positions}
        positions = {
            position.partition: Stored(
                tuple(json.loads(position.offset or "[]")), position.incarnation, json.loads(position.resume or "{}")
            )
            for position in answer.positions
        }
        return Opened(positions, answer.wait.ToTimedelta() / timedelta(seconds=1), answer.clean, answer.incarnation)

    def commit(
        self, updates: Mapping[str, Stored], *, clean: bool = False, seconds: float = _CALL_SECONDS
    ) -> "grpc.Future[wire.CommitPositionsResponse]":
        """Begins to store positions, all or none, within so many seconds. See `settled` for how it ended."""
        request = wire.CommitPositionsRequest(fence=self._fence, clean=clean)
        for partition, stored in updates.items():
            update = request.updates.add()
            update.position.partition = partition
            update.position.offset = _text(stored.offset)
            update.expected_offset = self._known.get(partition, "none")
            update.position.incarnation = stored.incarnation
            if stored.resume:
                update.position.resume = json.dumps(stored.resume, separators=(",", ":"))
        return self._stub.CommitPositions.future(request, timeout=seconds)

    def settled(self, call: "grpc.Future[wire.CommitPositionsResponse]", updates: Mapping[str, Stored]) -> None:
        """Waits for a commit of these positions.

        Raises:
            Fenced: refused, there is a newer owner.
            PositionsMoved: refused, other positions are stored than were known here.
            PositionsAway: not known, or not now: the same has to be stored again before anything else.
            PermanentError: never.
        """
        with _errors():
            call.result()
        self._known.update({partition: _text(stored.offset) for partition, stored in updates.items()})

    def store(self, updates: Mapping[str, Stored]) -> None:
        """Stores positions and waits for that; raises as `settled` does."""
        self.settled(self.commit(updates), updates)

    def close(self) -> None:
        """Ends the connection; commits under way are given up."""
        self._channel.close()


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        raise _meaning(decode(error)) from error
    except grpc.FutureCancelledError as error:
        msg = "the call was given up"
        raise PositionsAway(msg) from error


def _meaning(error: ServiceError) -> Exception:
    if error.reason == "FENCED":
        return Fenced(error.message, int(error.metadata.get("opened_generation", "0")))
    if error.reason == "POSITION_MISMATCH":
        return PositionsMoved(error.message)
    if error.code == "INVALID_ARGUMENT":
        # It would be refused for ever, and the position would stand still while records move.
        return PermanentError(f"the position service can't store where the task is: {error.message}")
    # A connector that was just created or deleted may not be known yet or any more, an internal error may pass: the task can
    # only wait, and says for what.
    return PositionsAway(f"the position service: {error.message}")


def _text(offset: Offset) -> str:
    return json.dumps(offset, separators=(",", ":"))


def _first(waiting: dict[str, Stored]) -> tuple[dict[str, Stored], dict[str, Stored]]:
    """What goes with the next commit, and the rest: a commit takes a limited number of positions.

    The rows that tasks keep for themselves ("~...") go last: what they say holds for positions that are stored already.
    """
    if len(waiting) <= _MOST_UPDATES:
        return waiting, {}
    ordered = sorted(waiting.items(), key=lambda item: item[0].startswith("~"))
    return dict(ordered[:_MOST_UPDATES]), dict(ordered[_MOST_UPDATES:])


class Committer:
    """Stores positions in the background: what is new is merged, and one commit is under way at a time.

    Used by one thread. Positions that could not be stored yet stay here: one value for each partition, so that memory is bounded
    by the number of partitions.

    Args:
        client: The position service.
        interval: Seconds from one commit to the next.
        woken: Called from another thread when a commit has ended.
        stored: Called in `poll` and `flush` with what is stored now.
    """

    def __init__(
        self,
        client: PositionClient,
        interval: float,
        woken: Callable[[], None],
        stored: Callable[[Mapping[str, Stored]], None],
    ) -> None:
        self._client = client
        self._interval = interval
        self._woken = woken
        self._stored = stored
        self._waiting: dict[str, Stored] = {}
        # Sent, and not known to be stored.
        self._under_way: dict[str, Stored] = {}
        self._call: grpc.Future[wire.CommitPositionsResponse] | None = None
        self._backoff = Backoff(0.1, 2.0)
        self._not_before = 0.0
        self.trouble = ""

    @property
    def idle(self) -> bool:
        """True when everything is stored."""
        return not self._under_way and not self._waiting

    def put(self, positions: Mapping[str, Stored]) -> None:
        """These are to be stored; what was put before for the same partitions is out of date."""
        self._waiting.update(positions)

    def poll(self, *, soon: bool = False) -> float:
        """Ends a commit that was answered and begins the next one when it is due.

        Args:
            soon: It is due now, whatever the interval: nothing else is going on.

        Returns: seconds until it should be called again; it wakes by itself for an answer.

        Raises:
            Fenced: refused.
        """
        now = time.monotonic()
        if self._call is not None:
            if not self._call.done():
                return self._interval
            self._finish()
        if self.idle:
            return self._interval
        due = self._not_before - (0.0 if self.trouble or not soon else self._interval * 0.8)
        if now < due:
            return due - now
        self._begin()
        return self._interval

    def flush(self, until: float, *, clean: bool = False) -> bool:
        """Stores all there is, now; true when everything is stored before the monotonic time `until`.

        Args:
            until: Monotonic time.
            clean: Say that the task has ended and everything that it sent is covered.

        Raises:
            Fenced: refused.
        """
        finished = False
        while True:
            if self._call is not None:
                self._finish()
            if self.idle and not self.trouble and (finished or not clean):
                return True
            if time.monotonic() >= until:
                return False
            if self.trouble:
                time.sleep(min(self._backoff.pause(), max(0.0, until - time.monotonic())))
            self._begin(clean=clean, seconds=min(_CALL_SECONDS, max(0.0, until - time.monotonic())))
            finished = not self._waiting

    def _begin(self, *, clean: bool = False, seconds: float = _CALL_SECONDS) -> None:
        """Begins the next commit, or the one whose outcome is not known again, as it was; `clean` goes with the last one."""
        if not self._under_way:
            self._under_way, self._waiting = _first(self._waiting)
        self._not_before = time.monotonic() + self._interval
        self._call = self._client.commit(self._under_way, clean=clean and not self._waiting, seconds=seconds)
        self._call.add_done_callback(lambda _call: self._woken())

    def _finish(self) -> None:
        call, self._call = self._call, None
        if call is None:
            return
        under_way = self._under_way
        try:
            self._client.settled(call, under_way)
        except PositionsAway as error:
            self.trouble = str(error)
            self._not_before = time.monotonic() + self._backoff.pause()
            return
        self._under_way = {}
        self.trouble = ""
        self._backoff.reset()
        self._stored(under_way)
