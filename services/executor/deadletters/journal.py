"""Who did what with dead letters, for the log of the connector that failed at them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocketconnect_kit.connector_log import DEAD_LETTERS, write_lines
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.logs import get_logger

if TYPE_CHECKING:
    from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceAsyncStub

_SECONDS = 5.0

_log = get_logger(__name__)


class Journal:
    """Tells the state service. That it is away stops nobody: then only this process has logged it."""

    def __init__(self, state: "StateServiceAsyncStub") -> None:
        self._state = state

    async def tell(self, uid: str, lines: Sequence[str]) -> None:
        """Put lines into the log of a connector."""
        for line in lines:
            _log.info(line, connector_uid=uid)
        try:
            await write_lines(self._state, DEAD_LETTERS, uid, lines, _SECONDS)
        except ServiceError as error:
            _log.warning("the log of the connector does not show what was done with its dead letters", uid=uid, cause=error.message)
