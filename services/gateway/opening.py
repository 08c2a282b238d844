"""Whether this gateway may answer yet. One that is started together with its executors would otherwise refuse what they offer."""

from dataclasses import replace

from rocketconnect.config.v1 import config_service_pb2 as config

from services.gateway.backends import Backends
from services.gateway.problems import Problem, RequestRejected

_COMES_BACK = ("NO_CAPABLE_EXECUTOR", "NO_EXECUTOR")
"""Reasons of refusals for which whoever started this gateway does what is to be done: no executor has carried anything out."""
_STARTING = "STARTING"
_AGAIN = {"Retry-After": "1"}
_LIST_PLUGINS = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name["ListPlugins"]


class Opening:
    """Refuses until an executor lives and has said what it offers; from then on never again. For any number of requests at once.

    Where it waits, executors were started together with the gateway by somebody who starts again what has died.

    Args:
        backends: Ask the services.
        waits: False: it is open from the start.
    """

    def __init__(self, backends: Backends, *, waits: bool) -> None:
        self._backends = backends
        self._waits = waits
        self._is_open = not waits

    async def check(self) -> None:
        """Return when requests may be answered.

        Raises:
            RequestRejected: 503 STARTING.
            ServiceError: a service that would know does not answer.
        """
        if self._is_open:
            return
        offers = await self._backends.ask(_LIST_PLUGINS, config.ListPluginsRequest(page_size=1), config.ListPluginsResponse)
        self._is_open = bool(offers.plugins) and any(worker.alive for worker in await self._backends.workers())
        if not self._is_open:
            detail = "no executor has joined yet, so nothing can be created or checked; try again in a moment"
            raise RequestRejected(Problem(503, _STARTING, detail, headers=_AGAIN))

    def told(self, problem: Problem) -> Problem:
        """Return a refusal as this instance has it: executors that are started together with the gateway are started again."""
        if not self._waits or problem.reason not in _COMES_BACK:
            return problem
        detail = (
            f"no executor answers now; `rocketconnect up` starts one that has ended again, within seconds: try again in a moment. "
            f"If none comes back, its log says why. What was said: {problem.detail}"
        )
        return replace(problem, reason=_STARTING, detail=detail, headers=_AGAIN)
