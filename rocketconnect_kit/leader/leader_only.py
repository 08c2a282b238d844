"""Lets only the leader among the replicas of a service answer its calls, in each term with a servicer of its own."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar

from rocketconnect_kit.leader.election import Election, not_leading
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext

S = TypeVar("S")


class TermServicer(Generic[S]):
    """Stands for the servicer of the present term. For one event loop.

    Args:
        service: such as "cluster".
        kind: the class of the servicers; its methods that begin with a capital are the RPCs.
    """

    def __init__(self, service: str, kind: type[S]) -> None:
        self._service = service
        self._present: S | None = None
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name[0].isupper():
                setattr(self, name, self._stream(name) if inspect.isasyncgenfunction(method) else self._unary(name))

    @contextmanager
    def term(self, servicer: S) -> Iterator[None]:
        """Let this servicer answer while the block runs."""
        self._present = servicer
        try:
            yield
        finally:
            self._present = None

    def _method(self, name: str) -> Callable[..., Any]:
        if self._present is None:
            raise not_leading(self._service)
        method: Callable[..., Any] = getattr(self._present, name)
        return method

    def _unary(self, name: str) -> Callable[..., Any]:
        async def call(request: object, context: ServicerContext) -> object:
            return await self._method(name)(request, context)

        return call

    def _stream(self, name: str) -> Callable[..., Any]:
        async def generate(request: object, context: ServicerContext) -> AsyncIterator[object]:
            async for response in self._method(name)(request, context):
                yield response

        return generate


class LeaderOnly(AroundCalls):
    """Answers NOT_LEADER for a replica that does not lead, and ends the calls that run when it leads no longer.

    Args:
        service: such as "cluster"; calls of other gRPC services (health, reflection) pass.
        election: says who leads.
    """

    def __init__(self, service: str, election: Election) -> None:
        self._service = service
        self._election = election
        self._running: set[asyncio.Task[Any]] = set()
        self._ended: set[asyncio.Task[Any]] = set()
        election.listen(self._changed)

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:  # noqa: ARG002
        """Run one call for as long as this replica leads."""
        if not method.startswith(f"/rocketconnect.{self._service}."):
            yield
            return
        task = asyncio.current_task()
        # By the clock, not by what was told last: a replica that was stopped for a while must not answer from what it knew.
        if task is None or not self._election.leads:
            raise not_leading(self._service)
        self._running.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if task in self._ended:
                task.uncancel()
                raise not_leading(self._service) from None
            raise
        finally:
            self._running.discard(task)
            self._ended.discard(task)

    async def _changed(self, leads: bool) -> None:
        if not leads:
            for task in self._running:
                self._ended.add(task)
                task.cancel()
