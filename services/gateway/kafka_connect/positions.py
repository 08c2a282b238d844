"""What Kafka Connect's paths of offsets do, done by the position service."""

from typing import Any

from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.record.v1 import record_pb2

from services.gateway.backends import Backends
from services.gateway.kafka_connect import offsets
from services.gateway.kafka_connect.connectors import Connectors
from services.gateway.kafka_connect.shapes import Json
from services.gateway.orders.signing import sign
from services.gateway.routing import Call

_POSITION = position.DESCRIPTOR.services_by_name["PositionService"].methods_by_name
_SINK = connector_pb2.CONNECTOR_TYPE_SINK


class Offsets:
    """Positions in the shapes of Kafka Connect. All raise ServiceError."""

    def __init__(self, backends: Backends, connectors: Connectors) -> None:
        self._backends = backends
        self._connectors = connectors

    async def of(self, name: str) -> Json:
        """Return ConnectorOffsets."""
        connector = await self._connectors.found(name)
        return offsets.offsets(await self._positions(name), sink=connector.type == _SINK)

    async def alter(self, name: str, body: Any, call: Call) -> Json:
        """Move positions of a stopped connector, all or none; return a message."""
        connector = await self._connectors.found(name)
        there = offsets.own(await self._positions(name))
        moved, forgotten = offsets.positions(body, there, sink=connector.type == _SINK)
        if forgotten:
            # Only an import forgets some: of all positions those that stay are given again.
            gone = {*forgotten, *(each.partition for each in moved)}
            left = [each for each in there if each.partition not in gone]
            put = position.ImportPositionsRequest(connector=name, connector_uid=connector.uid, positions=[*left, *moved])
            sign(put, call.author)
            await self._backends.ask(_POSITION["ImportPositions"], put, position.ImportPositionsResponse, reads=False)
        else:
            alter = position.AlterPositionsRequest(connector=name, positions=moved)
            sign(alter, call.author)
            await self._backends.ask(_POSITION["AlterPositions"], alter, position.AlterPositionsResponse, reads=False)
        return {"message": "The offsets for this connector have been altered successfully"}

    async def reset(self, name: str, call: Call) -> Json:
        """Forget all positions of a stopped connector; return a message."""
        await self._connectors.found(name)
        request = position.ResetPositionsRequest(connector=name)
        sign(request, call.author)
        await self._backends.ask(_POSITION["ResetPositions"], request, position.ResetPositionsResponse, reads=False)
        return {"message": "The offsets for this connector have been reset successfully"}

    async def _positions(self, name: str) -> list[record_pb2.Position]:
        request = position.ListPositionsRequest(connector=name)
        pages = self._backends.pages(_POSITION["ListPositions"], request, position.ListPositionsResponse)
        return [each async for page in pages for each in page.positions]
