"""Code that runs around every call of a server, written once for unary and for streaming methods."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc
import grpc.aio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

ServicerContext: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class AroundCalls(grpc.aio.ServerInterceptor, ABC):
    """Enters `around` before a method's handler runs and leaves it when the handler has ended, with its exception if any.

    Handlers must be coroutine functions or asynchronous generators; the few others (none of ours) pass untouched.
    """

    @abstractmethod
    def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AbstractAsyncContextManager[None]:
        """Return the context for one call of `method` ("/package.Service/Method"); `streaming`: many responses."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of the call, wrapped; None when there is none: gRPC then answers UNIMPLEMENTED."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        attribute = _behaviour_attribute(handler)
        inner = getattr(handler, attribute)
        wrapped = self._wrap(inner, handler_call_details.method, streaming=handler.response_streaming)
        make = getattr(grpc, f"{attribute}_rpc_method_handler")
        made: grpc.RpcMethodHandler[Any, Any] = make(
            wrapped, request_deserializer=handler.request_deserializer, response_serializer=handler.response_serializer
        )
        return made

    def _wrap(self, inner: Callable[..., Any], method: str, *, streaming: bool) -> Callable[..., Any]:
        async def call(request: object, context: ServicerContext) -> object:
            async with self.around(method, context, streaming=streaming):
                return await inner(request, context)

        async def generate(request: object, context: ServicerContext) -> AsyncIterator[object]:
            async with self.around(method, context, streaming=streaming):
                async for response in inner(request, context):
                    yield response

        if inspect.isasyncgenfunction(inner):
            return generate
        return call if inspect.iscoroutinefunction(inner) else inner


def _behaviour_attribute(handler: grpc.RpcMethodHandler[Any, Any]) -> str:
    request = "stream" if handler.request_streaming else "unary"
    response = "stream" if handler.response_streaming else "unary"
    return f"{request}_{response}"
