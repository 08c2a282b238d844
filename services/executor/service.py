"""The RPCs of the executor service: ask a host, convert the answer."""

from collections.abc import Callable
from functools import partial

from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer

from rocketconnect_kit.calls.signals import Own, Signals
from rocketconnect_kit.errors import DeadlineExceeded, Unavailable
from rocketconnect_kit.serving.interception import ServicerContext
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import Problem
from services.executor import wire
from services.executor.contract.answers import Checked, Previewed, Verified
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import (
    CheckConnector,
    NamedConnector,
    Neighbour,
    PreviewConnector,
    TableKey,
    VerifyConnector,
)
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate
from services.executor.inquiries.plugins import Plugins
from services.executor.inquiries.positions import Places
from services.executor.worker.signals import tell_task
from services.executor.worker.worker import Worker

_OF_PREVIEW = 0.7
"""The part of its time in which a preview reads; the rest is for starting and ending."""

_OF_COMPARISON = 0.4
"""The part of its time in which a comparison goes on; the rest is for the databases to find where it begins."""

_SIGNAL_SECONDS = 20.0
"""So long a task may take to answer a signal: it may be in the middle of a poll, or wait for its start."""

_MARGIN_SECONDS = 0.5
"""So much earlier than the caller gives up it gets an answer that says why there is none."""


class ExecutorService(ExecutorServiceServicer):
    """See executor_service.proto for what each RPC promises.

    Args:
        fresh: Where checks run.
        plugins: What is offered.
        places: Who knows about positions.
        plugin_seconds: How long a plugin may take to check a configuration.
        endpoints: Where the brokers are.
        signals: Brings signals to tasks, wherever they run.
    """

    def __init__(
        self,
        fresh: FreshHosts,
        plugins: Plugins,
        places: Places,
        plugin_seconds: float,
        endpoints: Endpoints,
        signals: Signals,
    ) -> None:
        self._signals = signals
        self._endpoints = endpoints
        self._fresh = fresh
        self._plugins = plugins
        self._places = places
        self._plugin_seconds = plugin_seconds
        self._worker: Worker | None = None
        self._on_reload: Callable[[], None] = lambda: None

    def begin(self, worker: Worker, on_reload: Callable[[], None]) -> None:
        """From now on there is a worker; `on_reload` is called when it may offer others than before."""
        self._worker, self._on_reload = worker, on_reload

    async def ValidateConnector(
        self, request: pb.ValidateConnectorRequest, context: ServicerContext
    ) -> pb.ValidateConnectorResponse:
        """Check a configuration in a fresh process, which ends with the answer, the time limit or the caller."""
        seconds = self._seconds(context)
        config = dict(request.config)
        neighbours = [Neighbour(each.name, each.uid, each.reads) for each in request.neighbours]
        positions = wire.given_positions(request.positions)
        order = CheckConnector(config, self._endpoints, request.name, neighbours, dict(request.previous), positions)
        try:
            answer = await self._fresh.ask(order, seconds, f"{request.name} (check)")
        except PluginLate as error:
            raise DeadlineExceeded("PLUGIN_TIMEOUT", f"connector {request.name!r} was not checked: {error}") from error
        except PluginCrashed as error:
            answer = _crashed(config, str(error))
        return wire.checked(answer if isinstance(answer, Checked) else _crashed(config, "it answered another question"))

    async def PreviewConnector(self, request: pb.PreviewConnectorRequest, context: ServicerContext) -> pb.PreviewConnectorResponse:
        """Show what becomes of a few records, in a fresh process, which ends with the answer, the time limit or the caller."""
        seconds = self._seconds(context)
        # The preview ends by itself before its process is ended: what it has until then is shown.
        config, source = dict(request.config), dict(request.source)
        order = PreviewConnector(request.name, config, request.records, seconds * _OF_PREVIEW, self._endpoints, source)
        try:
            answer = await self._fresh.ask(order, seconds, f"{request.name} (preview)")
        except (PluginLate, PluginCrashed) as error:
            answer = Previewed("", [], [], str(error))
        if not isinstance(answer, Previewed):
            answer = Previewed("", [], [], "the host process answered another question")
        return wire.previewed(answer)

    async def VerifyConnector(self, request: pb.VerifyConnectorRequest, context: ServicerContext) -> pb.VerifyConnectorResponse:
        """Compare for a while, in a fresh process; what went wrong is told in the answer."""
        seconds = self._seconds(context)
        order = VerifyConnector(
            NamedConnector(request.source.name, dict(request.source.config)),
            [NamedConnector(sink.name, dict(sink.config)) for sink in request.sinks],
            dict(request.tables),
            [TableKey(each.table, each.key) for each in request.keys],
            request.page_token,
            seconds * _OF_COMPARISON,
            request.next_table,
        )
        try:
            answer = await self._fresh.ask(order, seconds, f"{request.source.name} (verify)")
        except (PluginLate, PluginCrashed) as error:
            answer = Verified([], [], [], "", str(error))
        if not isinstance(answer, Verified):
            answer = Verified([], [], [], "", "the host process answered another question")
        return wire.verified(answer)

    async def ListPlugins(self, request: pb.ListPluginsRequest, context: ServicerContext) -> pb.ListPluginsResponse:
        """Answer with what was found last."""
        return pb.ListPluginsResponse(plugins=map(wire.plugin, self._plugins.found))

    async def ReloadPlugins(self, request: pb.ReloadPluginsRequest, context: ServicerContext) -> pb.ReloadPluginsResponse:
        """Look again and tell the others."""
        await self._plugins.reload()
        self._on_reload()
        return pb.ReloadPluginsResponse(plugins=map(wire.plugin, self._plugins.found))

    async def CheckPositions(self, request: pb.CheckPositionsRequest, context: ServicerContext) -> pb.CheckPositionsResponse:
        """Say whether positions are possible."""
        return await self._places.check(request, self._seconds(context))

    async def ResolvePositions(self, request: pb.ResolvePositionsRequest, context: ServicerContext) -> pb.ResolvePositionsResponse:
        """Say which positions stand for an edge or a time."""
        return await self._places.resolve(request, self._seconds(context))

    async def SignalConnector(self, request: pb.SignalConnectorRequest, context: ServicerContext) -> pb.SignalConnectorResponse:
        """Bring a signal to the executors that run the connector."""
        worker = self._begun()
        own = Own(worker.identity.worker_id, partial(tell_task, worker))
        return await self._signals.tell(request, self._signal_seconds(context), own)

    async def SignalTask(self, request: pb.SignalTaskRequest, context: ServicerContext) -> pb.SignalTaskResponse:
        """Bring a signal to a task in one of the hosts."""
        return await tell_task(self._begun(), request, self._signal_seconds(context))

    async def DescribeWorker(self, request: pb.DescribeWorkerRequest, context: ServicerContext) -> pb.DescribeWorkerResponse:
        """Answer with the processes and what runs in them."""
        worker = self._begun()
        hosts = [(host, max((worker.restarts_of(run) for run, _ in host.runs), default=0)) for host in worker.pool.describe()]
        return wire.described(worker.identity.worker_id, worker.identity.labels, hosts)

    def _begun(self) -> Worker:
        if self._worker is None:
            raise Unavailable("STARTING", "the executor is only just starting; ask again")
        return self._worker

    @staticmethod
    def _signal_seconds(context: ServicerContext) -> float:
        """How long tasks may take to answer a signal."""
        left = context.time_remaining()
        return _SIGNAL_SECONDS if left is None else min(_SIGNAL_SECONDS, max(0.1, left - _MARGIN_SECONDS))

    def _seconds(self, context: ServicerContext) -> float:
        """How long a plugin may take to answer this call."""
        left = context.time_remaining()
        return self._plugin_seconds if left is None else min(self._plugin_seconds, max(0.1, left - _MARGIN_SECONDS))


def _crashed(config: dict[str, str], cause: str) -> Checked:
    fix = "This is a defect of the plugin; what it printed is in the log of the executor."
    reason = f"the check of the plugin ended without an answer: {cause}"
    return Checked("", "", [Problem(CLASS.key, config.get(CLASS.key, "")[:200], reason, fix)], [])
