"""The RPCs of the state service: check the request, ask the keeper, convert."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from rocketconnect.state.v1 import state_service_pb2 as pb
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceServicer

from rocketconnect_kit import pages
from rocketconnect_kit.access.gate import check_worker
from rocketconnect_kit.connector_log import DEAD_LETTERS
from rocketconnect_kit.errors import FieldProblem, InvalidArgument
from rocketconnect_kit.serving.interception import ServicerContext
from services.state import checks, wire
from services.state.keeper import Keeper
from services.state.model import LogLine
from services.state.newcomers import Newcomers

DEFAULT_INTERVAL = 0.5
SHORTEST_INTERVAL = 0.05
LONGEST_INTERVAL = 3600.0

_RECHECK_SECONDS = 1.0
"""States change by time alone too: a worker that says nothing changes its tasks."""


class StateService(StateServiceServicer):
    """See state_service.proto for what each RPC promises. Errors of the domain pass through to the kit's interceptor."""

    def __init__(self, keeper: Keeper, newcomers: Newcomers) -> None:
        self._keeper = keeper
        self._newcomers = newcomers

    async def ReportTasks(self, request: pb.ReportTasksRequest, context: ServicerContext) -> pb.ReportTasksResponse:
        """Take what a worker says of its tasks."""
        checks.check_report(request)
        if request.reports or request.worker_id != DEAD_LETTERS:
            check_worker(request.worker_id)
        refused, receipt = await self._keeper.report(wire.reported(request))
        return pb.ReportTasksResponse(refused=map(wire.refused, refused), receipt=receipt)

    async def GetConnectorState(
        self, request: pb.GetConnectorStateRequest, context: ServicerContext
    ) -> pb.GetConnectorStateResponse:
        """Return what a connector shows."""
        await self._newcomers.uid(request.connector)
        return pb.GetConnectorStateResponse(state=self._state(request.connector))

    async def ListConnectorStates(
        self, request: pb.ListConnectorStatesRequest, context: ServicerContext
    ) -> pb.ListConnectorStatesResponse:
        """Return a page of what connectors show."""
        size = pages.page_size(request.page_size)
        after = pages.decode_token("states", request.page_token) or ""
        names = [name for name in self._keeper.states.names() if name > after]
        token = pages.encode_token("states", names[size - 1]) if len(names) > size else ""
        return pb.ListConnectorStatesResponse(states=map(self._state, names[:size]), next_page_token=token)

    async def WatchConnectorState(
        self, request: pb.WatchConnectorStateRequest, context: ServicerContext
    ) -> AsyncIterator[pb.WatchConnectorStateResponse]:
        """Tell what a connector shows, and again when that has changed; ends with NOT_FOUND when it is deleted."""
        interval = _interval(request)
        uid = await self._newcomers.uid(request.connector)
        told: pb.ConnectorState | None = None
        async with self._keeper.listening(uid) as changed:
            while True:
                changed.clear()
                state = self._state(request.connector)
                if state != told:
                    told = state
                    yield pb.WatchConnectorStateResponse(state=state)
                    await asyncio.sleep(interval)
                else:
                    with suppress(TimeoutError):  # Nothing was told: look what time has changed.
                        async with asyncio.timeout(_RECHECK_SECONDS):
                            await changed.wait()

    async def ListTaskLogs(self, request: pb.ListTaskLogsRequest, context: ServicerContext) -> pb.ListTaskLogsResponse:
        """Return the newest lines, or those that came after a page that was answered before."""
        size = pages.page_size(request.page_size)
        uid = await self._newcomers.uid(request.connector)
        scope = f"logs of {uid}"
        token = pages.decode_token(scope, request.page_token)
        lines = self._keeper.states.tracks[uid].lines
        if token is None:
            page: list[LogLine] = list(lines)[-size:]
        else:
            page = [line for line in lines if line.sequence > int(token)][:size]
        last = page[-1].sequence if page else int(token or 0)
        return pb.ListTaskLogsResponse(logs=map(wire.task_log, page), next_page_token=pages.encode_token(scope, str(last)))

    async def GetConnectorSamples(
        self, request: pb.GetConnectorSamplesRequest, context: ServicerContext
    ) -> pb.GetConnectorSamplesResponse:
        """Return how a connector was in the last hour."""
        uid = await self._newcomers.uid(request.connector)
        return pb.GetConnectorSamplesResponse(samples=map(wire.sample, self._keeper.history.of(uid)))

    def _state(self, name: str) -> pb.ConnectorState:
        return wire.connector_state(self._keeper.states.view(name, self._keeper.now()))


def _interval(request: pb.WatchConnectorStateRequest) -> float:
    if not request.HasField("interval"):
        return DEFAULT_INTERVAL
    seconds = request.interval.ToNanoseconds() / 1e9
    if not 0 <= seconds <= LONGEST_INTERVAL:
        problem = FieldProblem("interval", f"{seconds:g}s", "is out of range", f"use 0s to {LONGEST_INTERVAL:g}s")
        raise InvalidArgument("INTERVAL_INVALID", str(problem), [problem])
    return max(seconds, SHORTEST_INTERVAL)
