"""`${env:NAME}`: variables of the executor's environment."""

from collections.abc import Mapping

from services.executor.environment import VARIABLES, may_be_named
from services.executor.secrets.providers.provider import Unresolved


class Variables:
    """Finds the variables that the operator lets connectors name. A Provider.

    Args:
        environment: That of this process.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._allowed = environment.get(VARIABLES, "")

    def look_up(self, name: str) -> str:
        """See Provider."""
        if not may_be_named(name, self._allowed):
            raise Unresolved(
                reason="stands for an environment variable that this executor lets no connector read",
                fix=f"Add {name} to the executor's --secret-variables (or {VARIABLES}), and start it again.",
            )
        if name not in self._environment:
            raise Unresolved(
                reason="stands for an environment variable that the executor does not have",
                fix=f"Set {name} where the executor is started, and start it again.",
            )
        return self._environment[name]
