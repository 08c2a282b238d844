"""Tells all processes the levels of their loggers, or asks them: services with all their replicas, executors, and this gateway."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc.aio
from google.protobuf.message import Message
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.logging.v1 import logging_service_pb2 as pb
from rocketconnect.logging.v1.logging_service_pb2_grpc import LoggingServiceStub

from rocketconnect_kit.access.asking import ASKED_BY, asked_by
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.errors import FieldProblem, InvalidArgument, NotFound, ServiceError
from rocketconnect_kit.serving.levels import Levels, LoggingService, check
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings, parse_addresses

EXECUTOR, GATEWAY = "executor", "gateway"
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Process:
    """One that is asked: what it is, where it is, and how it is reached; None: it is this one."""

    service: str
    worker_id: str
    address: str
    reach: Callable[[], Awaitable[grpc.aio.Channel]] | None


class LevelsEverywhere:
    """Asks processes side by side. For any number of tasks of one event loop at once.

    Args:
        settings: The addresses, and TLS.
        channels: To the services, by name.
        executors: To executors.
        workers: Asks the cluster service for all workers; raises ServiceError.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        channels: Mapping[str, grpc.aio.Channel],
        executors: Channels,
        workers: Callable[[], Awaitable[Sequence[cluster.Worker]]],
    ) -> None:
        self._settings = settings
        self._channels = channels
        self._executors = executors
        self._workers = workers
        self._own = LoggingService(GATEWAY, Levels())
        self._replicas: dict[str, grpc.aio.Channel] = {}

    async def close(self) -> None:
        """Close the channels to replicas."""
        await asyncio.gather(*(each.close() for each in self._replicas.values()))

    async def answer(self, method: str, request: Message, seconds: float) -> Message:
        """Return what all processes say that are meant; of those that do not answer, why.

        Args:
            method: Its name.
            request: That of the method.
            seconds: How long it may take.

        Raises:
            ServiceError: LEVEL_INVALID, SERVICE_UNKNOWN, WORKER_NOT_FOUND; of the cluster service, where executors are meant.
        """
        sets = isinstance(request, pb.SetLogLevelRequest)
        if isinstance(request, pb.SetLogLevelRequest):
            check(request)
        asked: Any = request
        found, trouble = await self._meant(asked.service, asked.worker_id, of_tasks=sets and bool(asked.connector))
        told = await asyncio.gather(*(self._ask(each, method, request, min(seconds, _SECONDS)) for each in found))
        return (pb.SetLogLevelResponse if sets else pb.GetLogLevelsResponse)(processes=[*told, *trouble])

    async def _meant(self, service: str, worker_id: str, *, of_tasks: bool) -> tuple[list[_Process], list[pb.ProcessLevels]]:
        known = (*self._channels, EXECUTOR, GATEWAY)
        if service not in ("", *known):
            problem = FieldProblem("service", service[:100], "is not asked here", f"give one of {', '.join(known)}, or none")
            raise InvalidArgument("SERVICE_UNKNOWN", str(problem), [problem])
        found: list[_Process] = []
        if not worker_id and not of_tasks:
            found += [each for name in self._channels if service in ("", name) for each in self._of(name)]
            found += [_Process(GATEWAY, "", "", None)] if service in ("", GATEWAY) else []
        if service not in ("", EXECUTOR):
            return found, []
        try:
            workers = [worker for worker in await self._workers() if worker.alive and worker.address]
        except ServiceError as error:
            if worker_id or of_tasks or service:
                raise
            return found, [pb.ProcessLevels(service=EXECUTOR, problem=f"which there are is not known: {error.message}")]
        meant = [worker for worker in workers if worker_id in ("", worker.worker_id)]
        if worker_id and not meant:
            message = f"no worker {worker_id[:128]!r} lives; `rocketconnect worker list` shows those there are"
            raise NotFound("WORKER_NOT_FOUND", message, worker=worker_id[:128])
        found += [_Process(EXECUTOR, each.worker_id, each.address, self._to_executor(each.address)) for each in meant]
        return found, []

    def _of(self, name: str) -> list[_Process]:
        addresses = [f"{host}:{port}" for host, port in parse_addresses(getattr(self._settings, f"{name}_address"))]
        if len(addresses) < 2:
            # One DNS name may stand for several: one of them is asked.
            return [_Process(name, "", "".join(addresses), self._opened(self._channels[name]))]
        for address in addresses:
            if address not in self._replicas:
                self._replicas[address] = channel(address, self._settings, retry=False)
        return [_Process(name, "", address, self._opened(self._replicas[address])) for address in addresses]

    def _to_executor(self, address: str) -> Callable[[], Awaitable[grpc.aio.Channel]]:
        return lambda: self._executors.to(address)

    @staticmethod
    def _opened(opened: grpc.aio.Channel) -> Callable[[], Awaitable[grpc.aio.Channel]]:
        async def give() -> grpc.aio.Channel:
            return opened

        return give

    async def _ask(self, process: _Process, method: str, request: Message, seconds: float) -> pb.ProcessLevels:
        if process.reach is None:
            answer: Any = await getattr(self._own, method)(request, None)
            return pb.ProcessLevels.FromString(answer.processes[0].SerializeToString())
        said = asked_by()
        told = pb.ProcessLevels(service=process.service, worker_id=process.worker_id, address=process.address)
        try:
            stub = LoggingServiceStub(await process.reach())
            answer = await getattr(stub, method)(request, timeout=seconds, metadata=((ASKED_BY, said),) if said else None)
            told.levels.extend(level for each in answer.processes for level in each.levels)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                told.problem = "it is of a version that knows no levels: start it again with another --log-level"
            else:
                told.problem = decode(error).message or error.code().name
        return told
