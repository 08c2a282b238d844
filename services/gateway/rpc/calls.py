"""The calls of gRPC that are answered here: those that REST has, each passed on to the service that answers it."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any, NoReturn

import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.errors import ServiceError, Unavailable
from rocketconnect_kit.serving.interception import ServicerContext
from services.gateway.api.rules import rules
from services.gateway.backends import Backends
from services.gateway.opening import Opening
from services.gateway.orders.signing import identify, sign
from services.gateway.problems import RequestRejected, of_service_error
from services.gateway.rpc.peers import Peers

_DETAILS = "grpc-status-details-bin"
_PASSED_ON = (_DETAILS, "grpc-retry-pushback-ms")
"""What of the end of a call is the service's answer."""


class Calls:
    """Passes calls on. For any number of them at once.

    Args:
        backends: The services.
        opening: Whether this gateway answers yet.
        peers: Whose connections were passed on.
    """

    def __init__(self, backends: Backends, opening: Opening, peers: Peers) -> None:
        self._backends = backends
        self._opening = opening
        self._peers = peers

    def handlers(self) -> Iterator[grpc.GenericRpcHandler]:
        """Yield what a server is to answer, a handler for each gRPC service."""
        by_service: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = defaultdict(dict)
        for rule in rules():
            handler = self._handler(rule.method, reads=rule.verb == "GET")
            by_service[rule.method.containing_service.full_name][rule.method.name] = handler
        for service, methods in by_service.items():
            yield grpc.method_handlers_generic_handler(service, methods)

    def _handler(self, method: MethodDescriptor, *, reads: bool) -> "grpc.RpcMethodHandler[Any, Any]":
        make: Callable[..., grpc.RpcMethodHandler[Any, Any]]
        if method.server_streaming:
            make, answer = grpc.unary_stream_rpc_method_handler, self._stream(method)
        else:
            make, answer = grpc.unary_unary_rpc_method_handler, self._unary(method, reads=reads)
        asked, told = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        return make(answer, request_deserializer=asked.FromString, response_serializer=told.SerializeToString)

    def _unary(self, method: MethodDescriptor, *, reads: bool) -> Callable[..., Any]:
        async def answer(request: Message, context: ServicerContext) -> Message:
            await self._check_open()
            identify(request)
            sign(request, self._author(context))
            try:
                return await self._backends.unary(method, request, reads=reads, seconds=context.time_remaining())
            except ServiceError as error:
                await self._refuse(context, error)

        return answer

    def _stream(self, method: MethodDescriptor) -> Callable[..., Any]:
        async def answers(request: Message, context: ServicerContext) -> AsyncIterator[Message]:
            await self._check_open()
            try:
                async with aclosing(self._backends.stream(method, request)) as told:
                    async for answer in told:
                        yield answer
            except ServiceError as error:
                await self._refuse(context, error)

        return answers

    def _author(self, context: ServicerContext) -> str:
        who, peer = IDENTITY.get(), self._peers.of(context.peer())
        return who.name if who is not None else peer.address if peer is not None else ""

    async def _check_open(self) -> None:
        try:
            await self._opening.check()
        except RequestRejected as refused:
            raise Unavailable(refused.problem.reason, refused.problem.detail) from None

    async def _refuse(self, context: ServicerContext, error: ServiceError) -> NoReturn:
        """End a call as the service has ended it, with all that it said; where none has answered, with what that means."""
        said = self._opening.told(of_service_error(error))
        if said.reason != error.reason:
            raise Unavailable(said.reason, said.detail) from error
        cause = error.__cause__
        if isinstance(cause, grpc.aio.AioRpcError):
            trailing = tuple((key, value) for key, value in cause.trailing_metadata() if key in _PASSED_ON)
            is_unknown = error.code == "INTERNAL" != cause.code().name
            if is_unknown or any(key == _DETAILS for key, _ in trailing):
                await context.abort(cause.code(), cause.details() or "", trailing)
        raise error
