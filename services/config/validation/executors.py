"""Who checks configurations: executors, tried in turn until one answers."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1 import executor_service_pb2_grpc as rpc

from rocketconnect_kit.calls.in_turn import Channels, NobodyAnswers, Peer, ask_in_turn
from rocketconnect_kit.errors import FieldProblem, Unavailable
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_sdk.targets.owned import Target
from services.config import wire
from services.config.domain import Connector, ConnectorType, Worker
from services.config.origins.reads import Reads
from services.config.predecessors.sameness import TOPICS

Answer = TypeVar("Answer")

VALIDATE_SECONDS = 30.0
"""How long one executor may take to check a configuration: on a machine that is busy a plugin alone loads for seconds."""

POSITIONS_SECONDS = 5.0
"""How long one executor may take to look at the positions of a deleted connector, which decides only what is told."""

RELOAD_SECONDS = 30.0
"""How long one executor may take to look for its plugins again."""

_TOPIC = ("topic", "connect.topicname")
"""The option and its other name, of a source and of a sink."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an executor says of a configuration.

    Attributes:
        problems: everything that is wrong.
        plugin: its own name; empty: there is none.
        type: the direction.
        secret_keys: the keys whose values are secrets.
        targets: what the connector writes and no other one may; None: not known.
        warnings: what is told and refuses nothing.
        notes: what is to be expected of the connector.
        reads: what a source reads; None: not known.
    """

    problems: tuple[FieldProblem, ...]
    plugin: str
    type: ConnectorType
    secret_keys: frozenset[str]
    targets: tuple[Target, ...] | None = None
    warnings: tuple[FieldProblem, ...] = ()
    notes: tuple[str, ...] = ()
    reads: Reads | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A connector that there is; `reads`: it is a sink that reads the topic of the one that is checked."""

    name: str
    uid: str
    reads: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source does until now: its configuration, and how far it came."""

    config: Mapping[str, str]
    positions: Mapping[str, str]


class Executors(Protocol):
    """Calls to one executor, by the address of its service.

    Raises:
        Unavailable, DeadlineExceeded: nobody answers there, or not in time.
    """

    async def validate(
        self, address: str, name: str, config: dict[str, str], around: Sequence[Neighbour] = (), former: Reading | None = None
    ) -> Verdict:
        """Check a configuration; `around`: the connectors that there are; `former`: what the connector does until now."""

    async def preview(self, address: str, request: pb.PreviewConnectorRequest) -> pb.PreviewConnectorResponse:
        """Run a configuration on a few records."""

    async def verify(self, address: str, request: pb.VerifyConnectorRequest) -> pb.VerifyConnectorResponse:
        """Compare rows for a while."""

    async def check_positions(self, address: str, request: pb.CheckPositionsRequest) -> pb.CheckPositionsResponse:
        """Say whether positions are possible."""

    async def reload(self, address: str) -> Sequence[connector_pb2.Plugin]:
        """Let it look for its plugins again, and return those that it offers now."""


class GrpcExecutors:
    """Executors over gRPC; keeps a channel to each of the last few addresses."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._channels = Channels(settings)

    async def validate(
        self, address: str, name: str, config: dict[str, str], around: Sequence[Neighbour] = (), former: Reading | None = None
    ) -> Verdict:
        """Check a configuration (see `Executors`)."""
        known = [pb.Neighbour(name=each.name, uid=each.uid, reads=each.reads) for each in around]
        request = pb.ValidateConnectorRequest(name=name, config=config, neighbours=known)
        if former is not None:
            request.previous.update(former.config)
            for partition, offset in former.positions.items():
                request.positions.add(partition=partition, offset=offset)
        with remote_errors():
            answer = await (await self._stub(address)).ValidateConnector(request, timeout=VALIDATE_SECONDS)
        problems, warnings = _fields(answer.problems), _fields(answer.warnings)
        targets = tuple(Target(each.key, each.name) for each in answer.targets.targets) if answer.HasField("targets") else None
        kind, secrets = wire.connector_type(answer.type), frozenset(answer.secret_keys)
        reads = wire.reads(answer.origins) if answer.HasField("origins") else None
        return Verdict(problems, answer.plugin, kind, secrets, targets, warnings, tuple(answer.notes), reads)

    async def preview(self, address: str, request: pb.PreviewConnectorRequest) -> pb.PreviewConnectorResponse:
        """Run a configuration on a few records (see `Executors`)."""
        with remote_errors():
            return await (await self._stub(address)).PreviewConnector(request, timeout=VALIDATE_SECONDS)

    async def verify(self, address: str, request: pb.VerifyConnectorRequest) -> pb.VerifyConnectorResponse:
        """Compare rows for a while (see `Executors`)."""
        with remote_errors():
            return await (await self._stub(address)).VerifyConnector(request, timeout=VALIDATE_SECONDS)

    async def check_positions(self, address: str, request: pb.CheckPositionsRequest) -> pb.CheckPositionsResponse:
        """Say whether positions are possible (see `Executors`)."""
        with remote_errors():
            return await (await self._stub(address)).CheckPositions(request, timeout=POSITIONS_SECONDS)

    async def reload(self, address: str) -> Sequence[connector_pb2.Plugin]:
        """Let it look for its plugins again (see `Executors`)."""
        with remote_errors():
            answer = await (await self._stub(address)).ReloadPlugins(pb.ReloadPluginsRequest(), timeout=RELOAD_SECONDS)
        return answer.plugins

    async def close(self) -> None:
        """Close all channels."""
        await self._channels.close()

    async def _stub(self, address: str) -> "rpc.ExecutorServiceAsyncStub":
        return rpc.ExecutorServiceStub(await self._channels.to(address))


async def validate_in_turn(
    executors: Executors,
    workers: Sequence[Worker],
    name: str,
    config: dict[str, str],
    around: Sequence[Neighbour] = (),
    former: Reading | None = None,
) -> Verdict:
    """Return the verdict of the first of the workers that answers.

    Raises:
        Unavailable: NO_CAPABLE_EXECUTOR when none does, with what each of them said.
        ServiceError: what an executor answered, when that is not a verdict.
    """
    return await _in_turn(workers, lambda address: executors.validate(address, name, config, around, former))


async def preview_in_turn(
    executors: Executors, workers: Sequence[Worker], request: pb.PreviewConnectorRequest
) -> pb.PreviewConnectorResponse:
    """Return what the first of the workers that answers shows. Raises as validate_in_turn."""
    return await _in_turn(workers, lambda address: executors.preview(address, request))


async def verify_in_turn(
    executors: Executors, workers: Sequence[Worker], request: pb.VerifyConnectorRequest
) -> pb.VerifyConnectorResponse:
    """Return what the first of the workers that answers found. Raises as validate_in_turn."""
    return await _in_turn(workers, lambda address: executors.verify(address, request))


async def _in_turn(workers: Sequence[Worker], ask: Callable[[str], Awaitable[Answer]]) -> Answer:
    peers = [Peer(worker.worker_id, worker.address) for worker in workers]
    try:
        return await ask_in_turn(peers, lambda peer: ask(peer.address))
    except NobodyAnswers as silence:
        msg = f"none of those that offer this plugin answers ({silence})"
        raise no_executor(msg) from silence


def no_executor(why: str) -> Unavailable:
    """Return the error of a configuration that nobody can check now."""
    message = (
        f"nobody can check the configuration: {why}; start an executor (rocketconnect serve executor), or wait until one "
        "is back, and try again"
    )
    return Unavailable("NO_CAPABLE_EXECUTOR", message)


def names_topic(config: Mapping[str, str]) -> bool:
    """Return whether a configuration is one of a source with a topic."""
    return bool(_option(config, _TOPIC))


def neighbours(config: Mapping[str, str], connectors: Iterable[Connector]) -> tuple[Neighbour, ...]:
    """Return all of the connectors as neighbours of a source with this configuration."""
    topic = _option(config, _TOPIC)
    return tuple(Neighbour(each.name, each.uid, topic in _topics(each)) for each in connectors)


def _fields(problems: Iterable[connector_pb2.Problem]) -> tuple[FieldProblem, ...]:
    return tuple(FieldProblem(item.key, item.value, item.reason, item.fix) for item in problems)


def _topics(connector: Connector) -> list[str]:
    if connector.type is not ConnectorType.SINK:
        return []
    return [name.strip() for name in _option(connector.config, TOPICS).split(",")]


def _option(config: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((config[key].strip() for key in keys if config.get(key, "").strip()), "")
