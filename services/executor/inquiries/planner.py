"""Plans connectors in fresh host processes."""

from services.executor.contract.answers import PlanFailed, Planned
from services.executor.contract.assignment import Assigned, End, PlanResult
from services.executor.contract.questions import PlanConnector
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate
from services.executor.inquiries.stored_positions import PositionsNotTold, StoredPositions


class HostPlanner:
    """Asks a plugin to split its work.

    Args:
        fresh: Where processes come from.
        seconds: How long a plugin may take.
        stored: Where sources are, which their plans see.
    """

    def __init__(self, fresh: FreshHosts, seconds: float, stored: StoredPositions) -> None:
        self._fresh = fresh
        self._seconds = seconds
        self._stored = stored

    async def plan(self, assigned: Assigned) -> End:
        """Return the plan, or why there is none. Cancelled, it ends the process."""
        try:
            # Queues have no part in how a sink is split.
            positions = {} if assigned.type == "SINK" else await self._stored.of(assigned.key.connector_uid)
            question = PlanConnector(dict(assigned.config), positions)
            answer = await self._fresh.ask(question, self._seconds, f"{assigned.connector} (planning)")
        except (PluginLate, PluginCrashed, PositionsNotTold) as error:
            away = isinstance(error, PositionsNotTold)
            return End(failed=True, away=away, error=f"the connector could not be split into tasks: {error}")
        match answer:
            case Planned():
                return End(plan=PlanResult(tuple(answer.tasks), answer.replan_after))
            case PlanFailed():
                error_text = f"the connector could not be split into tasks: {answer.error}"
                return End(failed=True, permanent=answer.permanent, away=answer.away, error=error_text)
            case _:
                return End(failed=True, error="the host process answered another question than the one it was asked")
