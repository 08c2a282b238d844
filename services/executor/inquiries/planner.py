"""Plans connectors in fresh host processes."""

from collections.abc import Mapping

from services.executor.contract.answers import PlanFailed, Planned
from services.executor.contract.assignment import End, PlanResult
from services.executor.contract.questions import PlanConnector
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate


class HostPlanner:
    """Asks a plugin to split its work.

    Args:
        fresh: Where processes come from.
        seconds: How long a plugin may take.
    """

    def __init__(self, fresh: FreshHosts, seconds: float) -> None:
        self._fresh = fresh
        self._seconds = seconds

    async def plan(self, connector: str, config: Mapping[str, str]) -> End:
        """Return the plan, or why there is none. Cancelled, it ends the process."""
        try:
            answer = await self._fresh.ask(PlanConnector(dict(config)), self._seconds, f"{connector} (planning)")
        except (PluginLate, PluginCrashed) as error:
            return End(failed=True, error=f"the connector could not be split into tasks: {error}")
        match answer:
            case Planned():
                return End(plan=PlanResult(tuple(answer.tasks), answer.replan_after))
            case PlanFailed():
                error_text = f"the connector could not be split into tasks: {answer.error}"
                return End(failed=True, permanent=answer.permanent, error=error_text)
            case _:
                return End(failed=True, error="the host process answered another question than the one it was asked")
