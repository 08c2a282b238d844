"""Plugins clean up behind deleted connectors: which ones is kept by the config service, any executor with the plugin does it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.config.v1 import config_service_pb2 as config

from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import remote_errors
from services.executor.contract.answers import CleanedUp, CleanUpFailed
from services.executor.contract.questions import CleanUp
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub

LOOK_SECONDS = 5.0
"""How often this executor asks whether there is something to do, on average."""

_CALL_SECONDS = 5.0
_SPARE_SECONDS = 30
"""Beside what the plugin takes: the calls, and the wait for a process."""
_PAGE = 1000

_log = get_logger(__name__)


class Cleanups:
    """Does one cleanup after the other. What it does not report, since it or a service is lost, is given out again.

    Args:
        worker_id: Who does it.
        configs: The config service.
        clusters: The cluster service, which knows what tasks there are.
        fresh: Where processes come from.
        plugins: Gives the names of what is offered now.
        plugin_seconds: How long a plugin may take.
        give_up_seconds: So long after the deletion a cleanup that fails is not tried again.
        now: Seconds since 1970.
    """

    def __init__(
        self,
        worker_id: str,
        configs: "ConfigServiceAsyncStub",
        clusters: "ClusterServiceAsyncStub",
        fresh: FreshHosts,
        plugins: Callable[[], Sequence[str]],
        plugin_seconds: float,
        give_up_seconds: float,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._worker_id = worker_id
        self._configs = configs
        self._clusters = clusters
        self._fresh = fresh
        self._plugins = plugins
        self._plugin_seconds = plugin_seconds
        self._give_up_seconds = give_up_seconds
        self._now = now
        self._random = Random()  # noqa: S311 - keeps executors from asking at the same moment

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            try:
                found = await self.look()
            except ServiceError as error:
                _log.debug("can't look for what deleted connectors leave behind, trying on", cause=error.message)
                found = False
            if not found:
                await asyncio.sleep(LOOK_SECONDS * self._random.uniform(0.5, 1.5))

    async def look(self) -> bool:
        """Do the cleanup that is due, if any; return whether there was one.

        Raises:
            ServiceError: a service does not answer; what was taken is given out again later.
        """
        seconds = int(self._plugin_seconds) + _SPARE_SECONDS
        with remote_errors():
            request = config.TakeCleanupRequest(plugins=self._plugins(), seconds=seconds)
            taken = await self._configs.TakeCleanup(request, timeout=_CALL_SECONDS)
        if not taken.HasField("cleanup"):
            return False
        outcome, error = await self._outcome(taken.cleanup)
        report = config.ReportCleanupRequest(
            worker_id=self._worker_id,
            connector_uid=taken.cleanup.connector_uid,
            delete_time=taken.cleanup.delete_time,
            outcome=outcome,
            error=error,
        )
        with remote_errors():
            await self._configs.ReportCleanup(report, timeout=_CALL_SECONDS)
        return True

    async def _outcome(self, cleanup: config.Cleanup) -> tuple["config.CleanupOutcome.ValueType", str]:
        """Return how it went, and why it failed."""
        if await self._has_tasks(cleanup.connector_uid):
            return config.CLEANUP_OUTCOME_TOO_EARLY, ""
        answer = await self._ask(cleanup)
        match answer:
            case CleanedUp(called=True):
                _log.info("cleaned up behind a deleted connector", connector=cleanup.connector)
                return config.CLEANUP_OUTCOME_DONE, ""
            case CleanedUp():
                return config.CLEANUP_OUTCOME_NOTHING, ""
        is_late = self._now() - cleanup.delete_time.ToMicroseconds() / 1e6 >= self._give_up_seconds
        is_over = answer.permanent or is_late
        told = "given up" if is_over else "trying on"
        _log.warning(f"can't clean up behind a deleted connector, {told}", connector=cleanup.connector, cause=answer.error)
        return config.CLEANUP_OUTCOME_GIVEN_UP if is_over else config.CLEANUP_OUTCOME_FAILED, answer.error

    async def _ask(self, cleanup: config.Cleanup) -> CleanedUp | CleanUpFailed:
        try:
            what = f"{cleanup.connector} (cleaning up)"
            answer = await self._fresh.ask(CleanUp(dict(cleanup.config), cleanup.connector_uid), self._plugin_seconds, what)
        except (PluginLate, PluginCrashed) as error:
            return CleanUpFailed(str(error), permanent=False)
        if isinstance(answer, CleanedUp | CleanUpFailed):
            return answer
        return CleanUpFailed("the host process answered another question than the one it was asked", permanent=False)

    async def _has_tasks(self, uid: str) -> bool:
        """Whether the cluster has anything of a connector: what nobody holds may be given out until it hears of the deletion."""
        request = cluster.ListAssignmentsRequest(page_size=_PAGE)
        while True:
            with remote_errors():
                page = await self._clusters.ListAssignments(request, timeout=_CALL_SECONDS)
            if any(each.connector_uid == uid for each in page.assignments):
                return True
            if not page.next_page_token:
                return False
            request.page_token = page.next_page_token
