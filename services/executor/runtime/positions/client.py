"""The position service as a task sees it: open, then commits in the background, one under way at a time."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import grpc
from rocketconnect.position.v1 import position_service_pb2 as wire
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_kit.calls.shared import OF_THIS_PROCESS
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from rocketconnect_sdk.record import Offset
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import Kind, TaskSpec
from services.executor.runtime.positions.stored import Stored

CALL_SECONDS = 5.0
_HANGS_UP = (
    "closes the connection. It is being stopped, or it has as many connections as it takes: see --connections there, and how many "
    "files it may open; each process with tasks has one to each replica"
)


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
        token = None if endpoints.token_file is None else Path(endpoints.token_file)
        settings = ServiceSettings(tls_ca=ca, tls_cert=cert, tls_key=key, token_file=token)
        self._worker_id = endpoints.worker_id
        self._send_deadline = timedelta(seconds=endpoints.send_deadline)
        self._use = OF_THIS_PROCESS.use(endpoints.position_address, settings, "position")
        self.channel = self._use.channel
        """To the service; other tasks of the process may use it as well."""
        self._stub = PositionServiceStub(self.channel)
        self._under_way: grpc.Future[wire.CommitPositionsResponse] | None = None
        self._revision = spec.revision
        self._keep_resume = spec.kind is not Kind.SINK
        self._known: dict[str, str] = {}
        self._fence = wire.TaskFence(connector_uid=spec.connector_uid, task=spec.task, generation=spec.generation, epoch=spec.epoch)

    def open(self) -> Opened:
        """Raises the fence and returns the positions.

        Raises:
            Fenced: there is a newer owner.
            PositionsAway: try again.
        """
        answer = self._ask()
        self._known = {position.partition: position.offset for position in answer.positions}
        return _opened(answer)

    def look(self) -> Opened:
        """What `open` would tell now; commits go on from what it has told. Raises as it does."""
        return _opened(self._ask())

    def _ask(self) -> wire.OpenTaskResponse:
        with _errors():
            request = wire.OpenTaskRequest(
                fence=self._fence, revision=self._revision, keep_resume=self._keep_resume, worker_id=self._worker_id
            )
            request.send_deadline.FromTimedelta(self._send_deadline)
            answer: wire.OpenTaskResponse = self._stub.OpenTask(request, timeout=CALL_SECONDS)
        return answer

    def commit(
        self, updates: Mapping[str, Stored], *, clean: bool = False, seconds: float = CALL_SECONDS
    ) -> "grpc.Future[wire.CommitPositionsResponse]":
        """Begins to store positions, all or none, within so many seconds. See `settled` for how it ended."""
        request = wire.CommitPositionsRequest(fence=self._fence, clean=clean, worker_id=self._worker_id)
        for partition, stored in updates.items():
            update = request.updates.add()
            update.position.partition = partition
            update.position.offset = _text(stored.offset)
            update.expected_offset = self._known.get(partition, "none")
            update.position.incarnation = stored.incarnation
            update.position.resume = stored.text
            update.forget = stored.gone
            update.reset_group = stored.reset_group
        self._under_way = self._stub.CommitPositions.future(request, timeout=seconds)
        return self._under_way

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
        for partition, stored in updates.items():
            if stored.gone:
                self._known.pop(partition, None)
            else:
                self._known[partition] = _text(stored.offset)

    def store(self, updates: Mapping[str, Stored]) -> None:
        """Stores positions and waits for that; raises as `settled` does."""
        self.settled(self.commit(updates), updates)

    def close(self) -> None:
        """Leaves the connection; the commit under way is given up."""
        if self._under_way is not None:
            self._under_way.cancel()
        self._use.close()


def _opened(answer: wire.OpenTaskResponse) -> Opened:
    positions = {
        position.partition: Stored(
            tuple(json.loads(position.offset or "[]")), position.incarnation, json.loads(position.resume or "{}")
        )
        for position in answer.positions
    }
    return Opened(positions, answer.wait.ToTimedelta() / timedelta(seconds=1), answer.clean, answer.incarnation)


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
    if error.reason == "UNAVAILABLE" and "Socket closed" in error.message:
        # What gRPC makes of a server that hangs up: it tells no reason.
        return PositionsAway(f"the position service {_HANGS_UP}: {error.message}")
    # A connector that was just created or deleted may not be known yet or any more, an internal error may pass: the task can
    # only wait, and says for what.
    return PositionsAway(f"the position service: {error.message}")


def _text(offset: Offset) -> str:
    return json.dumps(offset, separators=(",", ":"))
