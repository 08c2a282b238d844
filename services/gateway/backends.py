"""The services behind the gateway: one channel to each, every call with a deadline, their errors as domain errors.

What executors serve goes to one of those that live: see `executors`.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import grpc.aio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters

from rocketconnect_kit.access.asking import ASKED_BY, asked_by
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import DeadlineExceeded, InvalidArgument, ServiceError, Unavailable
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from services.gateway import executors
from services.gateway.identity import caller
from services.gateway.levels.everywhere import LevelsEverywhere
from services.gateway.masking.masking import Masking
from services.gateway.masking.rules import Rules
from services.gateway.orders.orders import Orders

SERVICES = ("config", "position", "state", "cluster")
_SERVED_BY = {"keystore": "config"}
"""Packages that another service serves than the one of their name."""
PROBE_SECONDS = 2.0
WATCH_SECONDS = 3600.0
PAGE_SIZE = 500

_LIST_WORKERS = cluster.DESCRIPTOR.services_by_name["ClusterService"].methods_by_name["ListWorkers"]
_LIST_CONNECTORS = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name["ListConnectors"]
_GET_LETTER = letters.DESCRIPTOR.services_by_name["DeadletterService"].methods_by_name["GetDeadLetter"]

M = TypeVar("M", bound=Message)


class Backends:
    """Calls services by descriptor. For any number of tasks of one event loop at once.

    Args:
        settings: The addresses.
        read_seconds: The deadline of calls that only read.
        write_seconds: The deadline of calls that change or check something.
        mask: What is masked in answers that show records: see `Rules`.
    """

    def __init__(self, settings: ServiceSettings, *, read_seconds: float, write_seconds: float, mask: str = "") -> None:
        self._read_seconds = read_seconds
        self._write_seconds = write_seconds
        self._channels = {name: channel(getattr(settings, f"{name}_address"), settings, service=name) for name in SERVICES}
        self._executors = executors.Executors(settings, self.workers)
        self._levels = LevelsEverywhere(settings, self._channels, self._executors.channels, self.workers)
        self._orders = Orders(partial(self.unary, reads=False), self._channels, self._executors.channels, write_seconds)
        self._masking = Masking(Rules(mask), self.connectors, partial(self.unary, _GET_LETTER, reads=True))
        self._watches: set[grpc.aio.UnaryStreamCall[Message, Message]] = set()

    async def close(self) -> None:
        """Close all channels."""
        await asyncio.gather(self._executors.close(), self._levels.close(), *(each.close() for each in self._channels.values()))

    def end_watches(self) -> None:
        """End all streams: their readers see a clean end and connect again."""
        for call in self._watches:
            call.cancel()

    async def unary(self, method: MethodDescriptor, request: Message, *, reads: bool, seconds: float | None = None) -> Message:
        """Return the answer to one call. Who answers is told for whom it is asked, and allows no more than that one may.

        Args:
            method: What is called.
            request: What is asked.
            reads: Nothing is changed.
            seconds: The caller's own deadline; None: the one of its kind.

        Raises:
            ServiceError: the service's answer; SERVICE_AWAY or SERVICE_TIMEOUT when it gave none, with its name; NO_EXECUTOR;
                MASKED: see `Masking`.
        """
        if not self._masking.concerns(request):
            return await self._answered(method, request, reads=reads, seconds=seconds)
        fields = await self._masking.check(request)
        try:
            answer = await self._answered(method, request, reads=reads, seconds=seconds)
        except InvalidArgument as error:
            if (masked := self._masking.refusal(error, fields)) is error:
                raise
            # Whoever looks for what the service has said finds nothing.
            raise masked from None
        self._masking.hide(request, answer, fields)
        return answer

    async def _answered(self, method: MethodDescriptor, request: Message, *, reads: bool, seconds: float | None) -> Message:
        service = service_of(method)
        if seconds is None:
            seconds = self._read_seconds if reads else self._write_seconds
        if service == "logging":
            return await self._levels.answer(method.name, request, seconds)
        if service == "access":
            return caller.told()
        if service in executors.PACKAGES:
            answered = await self._orders.carried_out(request)
            return answered or await self._executors.unary(method, request, seconds, reads=reads)
        call = self._channels[service].unary_unary(
            _path(method),
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        try:
            answer: Message = await call(request, timeout=seconds, metadata=_for_whom())
        except grpc.aio.AioRpcError as error:
            raise _explained(decode(error), service, seconds) from error
        return answer

    async def ask(self, method: MethodDescriptor, request: Message, answer: type[M], *, reads: bool = True) -> M:
        """Return the answer to one call as a message of the class `answer`; raises as `unary` does."""
        reply = await self.unary(method, request, reads=reads)
        if not isinstance(reply, answer):
            msg = f"{method.full_name} answers {type(reply).__name__}, not {answer.__name__}"
            raise TypeError(msg)
        return reply

    async def pages(self, method: MethodDescriptor, request: Message, answer: type[M]) -> AsyncIterator[M]:
        """Yield every page of a list."""
        page_request: Any = type(request)()
        page_request.CopyFrom(request)
        page_request.page_size = PAGE_SIZE
        while True:
            page: Any = await self.ask(method, page_request, answer)
            yield page
            if not page.next_page_token:
                return
            page_request.page_token = page.next_page_token

    async def stream(self, method: MethodDescriptor, request: Message) -> AsyncGenerator[Message, None]:
        """Yield the answers of a watch until it ends, its hour or the caller's token is over, or `end_watches` is called.

        Raises:
            ServiceError: as `unary` does.
        """
        service = service_of(method)
        multi = self._channels[service].unary_stream(
            _path(method),
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        # Who is not known any more gets nothing more: the clean end makes it ask again, and show a token.
        seconds = min(WATCH_SECONDS, caller.seconds_left())
        call = multi(request, timeout=seconds, metadata=_for_whom())
        self._watches.add(call)
        try:
            async for answer in call:
                yield answer
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise _explained(decode(error), service, seconds) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # Either the call was ended here, which is a clean end, or the task that reads it was.
            if task is None or task.cancelling():
                raise
        finally:
            self._watches.discard(call)
            call.cancel()

    async def health(self) -> Mapping[str, str]:
        """Return what each service says of its health: SERVING, NOT_SERVING, or AWAY."""
        said = await asyncio.gather(*(self._probe(name) for name in SERVICES))
        return dict(zip(SERVICES, said, strict=True))

    async def workers(self) -> Sequence[cluster.Worker]:
        """Return all workers, living and dead; raises as `unary` does."""
        request = cluster.ListWorkersRequest()
        return [worker async for page in self.pages(_LIST_WORKERS, request, cluster.ListWorkersResponse) for worker in page.workers]

    async def connectors(self) -> Sequence[connector_pb2.Connector]:
        """Return all connectors; raises as `unary` does."""
        request = config.ListConnectorsRequest()
        pages = self.pages(_LIST_CONNECTORS, request, config.ListConnectorsResponse)
        return [connector async for page in pages for connector in page.connectors]

    async def _probe(self, service: str) -> str:
        request = health_pb2.HealthCheckRequest()
        stub: Any = health_pb2_grpc.HealthStub(self._channels[service])
        try:
            answer = await stub.Check(request, timeout=PROBE_SECONDS)
        except grpc.aio.AioRpcError:
            return "AWAY"
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


def service_of(method: MethodDescriptor) -> str:
    """Return who answers a method: "config"; of those in `executors.PACKAGES` any executor does."""
    package = str(method.containing_service.full_name.split(".")[1])
    return _SERVED_BY.get(package, package)


def _for_whom() -> tuple[tuple[str, str], ...] | None:
    said = asked_by()
    return ((ASKED_BY, said),) if said else None


def _path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _explained(error: ServiceError, service: str, seconds: float) -> ServiceError:
    # An error without a reason of ours comes from the channel: nobody answered.
    if isinstance(error, Unavailable) and error.reason == error.code:
        return Unavailable("SERVICE_AWAY", f"the {service} service does not answer; try again in a moment", service=service)
    if isinstance(error, DeadlineExceeded) and error.reason == error.code:
        message = f"the {service} service did not answer in {seconds:g} s; whether the request was carried out is not known"
        return DeadlineExceeded("SERVICE_TIMEOUT", message, service=service)
    return error
