"""Asks the position service where a source is, for its plan."""

import json
from typing import TYPE_CHECKING

import grpc
from rocketconnect.position.v1 import position_service_pb2 as position

from rocketconnect_kit.serving.status import decode
from services.executor.contract.questions import GivenPosition

if TYPE_CHECKING:
    from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceAsyncStub

_CALL_SECONDS = 5.0
_PAGE = 500
_OWN = "~"
"""Begins the partitions of the rows that the runtime keeps for itself among the positions of a connector."""


class PositionsNotTold(Exception):
    """The position service does not answer, or not now."""


class StoredPositions:
    """What is stored of connectors."""

    def __init__(self, stub: "PositionServiceAsyncStub") -> None:
        self._stub = stub

    async def of(self, uid: str) -> dict[str, GivenPosition]:
        """Return the positions of a connector by partition, the runtime's own rows left out.

        Raises:
            PositionsNotTold: with the reason.
        """
        found: dict[str, GivenPosition] = {}
        request = position.ListPositionsRequest(connector_uid=uid, page_size=_PAGE)
        while True:
            try:
                answer = await self._stub.ListPositions(request, timeout=_CALL_SECONDS)
            except grpc.RpcError as error:
                msg = f"the position service does not tell where the connector is: {decode(error).message}"
                raise PositionsNotTold(msg) from error
            for each in answer.positions:
                if not each.partition.startswith(_OWN):
                    found[each.partition] = GivenPosition(json.loads(each.offset or "[]"), each.resume)
            request.page_token = answer.next_page_token
            if not request.page_token:
                return found
