"""Calls to executors, for what only they can do: any living one will do, and the cluster service knows which live."""

import time
from collections.abc import Awaitable, Callable, Sequence

import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster

from rocketconnect_kit.access.asking import ASKED_BY, asked_by
from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.errors import DeadlineExceeded, ServiceError, Unavailable
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings

PACKAGES = ("executor", "deadletter", "topic")
"""The areas of the API that executors serve: the second part of their proto packages."""

_MAXIMUM_TRIES = 3


class Executors:
    """Tries living executors in turn until one answers. For any number of tasks of one event loop at once.

    They are told for whom they are asked, which is what they allow.

    Args:
        settings: TLS.
        workers: Asks the cluster service for all workers; raises ServiceError.
        monotonic: The clock, in seconds.

    Attributes:
        channels: To executors.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        workers: Callable[[], Awaitable[Sequence[cluster.Worker]]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workers = workers
        self._monotonic = monotonic
        self.channels = Channels(settings)
        self._known: Sequence[str] = ()
        self._answered = ""

    async def close(self) -> None:
        """Close all channels."""
        await self.channels.close()

    async def unary(self, method: MethodDescriptor, request: Message, seconds: float, *, reads: bool) -> Message:
        """Return the answer of the first executor that gives one.

        One that does not answer at all is passed over. One that is late is passed over only when `reads`: what it was asked to
        change it may still change.

        Args:
            method: Of one of PACKAGES.
            request: What to ask.
            seconds: For all of them together.
            reads: Nothing is changed.

        Raises:
            ServiceError: what an executor answered; NO_EXECUTOR when none does, SERVICE_TIMEOUT when the time is over.
        """
        until = self._monotonic() + seconds
        addresses = await self._addresses()
        silent: list[str] = []
        for number, address in enumerate(addresses[:_MAXIMUM_TRIES], start=1):
            left = until - self._monotonic()
            if left <= 0:
                break
            is_last = number == min(len(addresses), _MAXIMUM_TRIES)
            try:
                answer = await self._ask(address, method, request, left / 2 if reads and not is_last else left)
            except grpc.aio.AioRpcError as error:
                said = decode(error)
                if not _is_silence(said, error.code()):
                    raise said from error
                if isinstance(said, DeadlineExceeded) and (is_last or not reads):
                    raise _late(address, seconds) from error
                silent.append(f"{address}: {said.message}")
                continue
            self._answered = address
            return answer
        raise _none(silent)

    async def _addresses(self) -> Sequence[str]:
        """Return where living executors answer, the one that answered last first: it has its connections open."""
        try:
            self._known = [worker.address for worker in await self._workers() if worker.alive and worker.address]
        except ServiceError:
            # Invariant 9: while the cluster service is away, those that it named last are asked.
            if not self._known:
                raise
        return sorted(self._known, key=lambda address: address != self._answered)

    async def _ask(self, address: str, method: MethodDescriptor, request: Message, seconds: float) -> Message:
        opened = await self.channels.to(address)
        call = opened.unary_unary(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        said = asked_by()
        answer: Message = await call(request, timeout=seconds, metadata=((ASKED_BY, said),) if said else None)
        return answer


def _is_silence(error: ServiceError, code: grpc.StatusCode) -> bool:
    # An error without a reason of ours comes from the channel; UNIMPLEMENTED, from an executor that is older than this gateway.
    is_ours = error.reason != error.code
    return code is grpc.StatusCode.UNIMPLEMENTED or (isinstance(error, Unavailable | DeadlineExceeded) and not is_ours)


def _late(address: str, seconds: float) -> DeadlineExceeded:
    message = f"the executor at {address} did not answer in {seconds:g} s; whether the request was carried out is not known"
    return DeadlineExceeded("SERVICE_TIMEOUT", message, service="executor")


def _none(silent: Sequence[str]) -> Unavailable:
    why = f"none of those that live answers ({'; '.join(silent)})" if silent else "none lives"
    message = f"only an executor can do this, and {why}; start one (rocketconnect serve executor), or try again in a moment"
    return Unavailable("NO_EXECUTOR", message, service="executor")
