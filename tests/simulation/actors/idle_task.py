"""A task that does nothing but be there, and fails while it shall: for what is looked at in the cluster service alone."""

from rocketconnect_sdk.errors import ConnectorError
from tests.simulation.actors.host import Host
from tests.simulation.world import Steps


class IdleRun:
    """Opens its task, waits the older owner out, and holds it."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def run(self) -> Steps:
        host = self._host
        _, _, wait = yield from host.open()
        yield from host.wait_out(wait)
        host.is_running = True
        while not host.stopping:
            if host.assigned.connector in host.sides.failing:
                message = "it fails as it was told to"
                raise ConnectorError(message)
            yield from host.wait(0.5)
