"""Which plugins this worker offers: found in a fresh host process, told to the config service."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import grpc
from rocketconnect.config.v1 import config_service_pb2 as config

from rocketconnect_kit.errors import DeadlineExceeded, Internal, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import decode
from rocketconnect_sdk.plugins.loader import PluginType
from rocketconnect_sdk.spark.needs import NOTHING, SparkNeeds
from services.executor import wire
from services.executor.contract.answers import Plugin, PluginsFound
from services.executor.contract.questions import FindPlugins
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate
from services.executor.hosts.placement import SPARK
from services.executor.worker.membership import Identity

REPORT_SECONDS = 30.0
"""How often the config service is told, also when nothing has changed: it forgets what workers offer when they are gone."""

_RETRY_SECONDS = 1.0

_log = get_logger(__name__)


class Plugins:
    """The plugins that were found last."""

    def __init__(self, fresh: FreshHosts, seconds: float) -> None:
        self.found: tuple[Plugin, ...] = ()
        self._fresh = fresh
        self._seconds = seconds

    @property
    def names(self) -> list[str]:
        """All names that a connector.class may call them by."""
        connectors = (plugin for plugin in self.found if PluginType(plugin.type).is_connector)
        return [name for plugin in connectors for name in (plugin.name, *plugin.aliases)]

    def needs(self, name: str) -> SparkNeeds:
        """What a connector.class needs of Spark; nothing when there is none of that name, or it is an alias of none."""
        return next((plugin.needs for plugin in self._named(name)), NOTHING)

    def engine(self, name: str, asked: str) -> str:
        """What a connector.class runs on.

        Args:
            name: The class. What has none of that name runs on what is asked for.
            asked: What its configuration asks for; empty: nothing. What does not run on that runs on its default.
        """
        for plugin in self._named(name):
            if asked not in plugin.engines:
                return next((option.default for option in plugin.options if option.key == "engine"), SPARK)
        return asked or SPARK

    def _named(self, name: str) -> Iterator[Plugin]:
        return (plugin for plugin in self.found if name in (plugin.name, *plugin.aliases))

    async def reload(self) -> None:
        """Look again.

        Raises:
            DeadlineExceeded: PLUGIN_TIMEOUT: some plugin does not load in time.
            Internal: PLUGIN_CRASHED: some plugin ends the process while it loads.
        """
        await self._fresh.load_anew()
        await self._find()

    async def load(self) -> None:
        """Look for the first time; again and again until it succeeds, since nothing can run before."""
        delay = _RETRY_SECONDS
        while True:
            try:
                return await self._find()
            except ServiceError as error:
                _log.error("plugins can't be found, trying again", cause=error.message)
            await asyncio.sleep(delay)
            delay = min(delay * 2, REPORT_SECONDS)

    async def _find(self) -> None:
        try:
            answer = await self._fresh.ask(FindPlugins(), self._seconds, "plugins")
        except PluginLate as error:
            raise DeadlineExceeded("PLUGIN_TIMEOUT", f"while looking for plugins: {error}") from error
        except PluginCrashed as error:
            raise Internal("PLUGIN_CRASHED", f"while looking for plugins: {error}") from error
        if not isinstance(answer, PluginsFound):
            raise Internal("PLUGIN_CRASHED", "the host process answered another question than the one it was asked")
        for broken in answer.broken:
            _log.error("plugin can't be loaded", cause=broken)
        self.found = tuple(answer.plugins)
        _log.info("plugins found", plugins=[plugin.name for plugin in self.found])


class PluginReports:
    """Tells the config service what is offered: at once, when it comes back, when something changed, and regularly.

    Args:
        plugins: What there is.
        identity: Who offers it.
        send: Calls the config service; raises grpc.RpcError.
        channel: The channel to it, whose state shows that it came back.
    """

    def __init__(
        self,
        plugins: Plugins,
        identity: Identity,
        send: Callable[[config.ReportPluginsRequest], Awaitable[config.ReportPluginsResponse]],
        channel: grpc.aio.Channel,
    ) -> None:
        self._plugins = plugins
        self._identity = identity
        self._send = send
        self._channel = channel
        self._changed = asyncio.Event()
        self._is_away = False

    def changed(self) -> None:
        """Other plugins are offered now."""
        self._changed.set()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            arrived = await self._report()
            seconds = REPORT_SECONDS if arrived else _RETRY_SECONDS
            await self._pause(seconds)

    async def _report(self) -> bool:
        self._changed.clear()
        plugins = map(wire.plugin, self._plugins.found)
        request = config.ReportPluginsRequest(worker_id=self._identity.worker_id, address=self._identity.address, plugins=plugins)
        try:
            await self._send(request)
        except grpc.RpcError as error:
            if not self._is_away:
                _log.warning("the config service does not take the list of plugins", cause=decode(error).message)
            self._is_away = True
            return False
        self._is_away = False
        return True

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until something changed or the config service was away."""
        waiting = [asyncio.create_task(self._changed.wait()), asyncio.create_task(self._reconnected())]
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)

    async def _reconnected(self) -> None:
        state = self._channel.get_state(try_to_connect=True)
        was_away = state is not grpc.ChannelConnectivity.READY
        while not (was_away and state is grpc.ChannelConnectivity.READY):
            await self._channel.wait_for_state_change(state)
            was_away = was_away or state is grpc.ChannelConnectivity.READY
            state = self._channel.get_state(try_to_connect=True)
