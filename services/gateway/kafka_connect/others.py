"""What Kafka Connect's paths of offsets, plugins and loggers do, done by the services of this system."""

from collections.abc import Mapping
from typing import Any

from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.logging.v1 import logging_service_pb2 as logging
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit.errors import FieldProblem
from services.gateway.backends import Backends
from services.gateway.kafka_connect import offsets, shapes
from services.gateway.kafka_connect.connectors import Connectors
from services.gateway.kafka_connect.shapes import Json
from services.gateway.kafka_connect.words import bad_request, no_plugin
from services.gateway.lookups.lookups import Lookups
from services.gateway.orders.signing import sign
from services.gateway.routing import Call

_CONFIG = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name
_POSITION = position.DESCRIPTOR.services_by_name["PositionService"].methods_by_name
_LOGGING = logging.DESCRIPTOR.services_by_name["LoggingService"].methods_by_name
_LEVELS = {"TRACE": "DEBUG", "DEBUG": "DEBUG", "INFO": "INFO", "WARN": "WARNING", "ERROR": "ERROR", "FATAL": "ERROR"}
_THEIRS = {"DEBUG": "DEBUG", "INFO": "INFO", "WARNING": "WARN", "ERROR": "ERROR"}
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


class Plugins:
    """Plugins in the shapes of Kafka Connect. All raise ServiceError."""

    def __init__(self, backends: Backends, lookups: Lookups) -> None:
        self._backends = backends
        self._lookups = lookups

    async def all(self, *, connectors_only: bool) -> list[Json]:
        """Return PluginInfo of each plugin."""
        return list(shapes.plugin_infos(await self._lookups.plugins(), connectors_only=connectors_only))

    async def config(self, name: str) -> list[Json]:
        """Return ConfigKeyInfo of each option of a plugin."""
        return shapes.config_keys(await self._found(name))

    async def validate(self, name: str, connector: str, wanted: Mapping[str, str]) -> Json:
        """Return ConfigInfos of a configuration; nothing is stored.

        Args:
            name: Of the plugin.
            connector: The name that it has or would get; "": not known.
            wanted: The configuration.
        """
        plugin = await self._found(name)
        whole = {"connector.class": name, **wanted}
        if whole["connector.class"] not in (name, plugin.name, *plugin.aliases):
            given = whole["connector.class"][:200]
            raise bad_request("PLUGIN_DIFFERS", f"Included connector type {given} does not match request type {name}")
        request = config.ValidateConnectorRequest(config=whole, name=connector)
        answer = await self._backends.ask(_CONFIG["ValidateConnector"], request, config.ValidateConnectorResponse, reads=False)
        problems = [FieldProblem(each.key, each.value, each.reason, each.fix) for each in answer.problems]
        return shapes.config_infos(plugin.name, plugin.options, whole, problems)

    async def _found(self, name: str) -> connector_pb2.Plugin:
        for plugin in await self._lookups.plugins():
            if name in (plugin.name, *plugin.aliases):
                return plugin
        raise no_plugin(name)


class Loggers:
    """Levels of loggers in the shapes of Kafka Connect: of all processes the one that logs most counts. All raise ServiceError."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def all(self) -> Mapping[str, Json]:
        """Return the level of root, and of each logger that was given one."""
        request = logging.GetLogLevelsRequest()
        answer = await self._backends.ask(_LOGGING["GetLogLevels"], request, logging.GetLogLevelsResponse)
        found: dict[str, int] = {}
        for each in (level for process in answer.processes for level in process.levels if not level.connector):
            found[each.logger] = min(each.level, found.get(each.logger, each.level))
        return {name: _level(level) for name, level in sorted(found.items())}

    async def of(self, name: str) -> Json:
        """Return the level of a logger: its own, else that of the nearest one above it."""
        found = await self.all()
        while name not in found and "." in name:
            name = name.rpartition(".")[0]
        return dict(found.get(name) or found.get("root") or _level(logging.LOG_LEVEL_INFO))

    async def set(self, name: str, body: Any) -> list[str]:
        """Set the level of a logger in all processes; return its name in a list."""
        given = body.get("level") if isinstance(body, dict) else None
        level = _LEVELS.get(str(given).upper()) if given is not None else None
        if level is None:
            raise bad_request(
                "LEVEL_INVALID", f'Send {{"level": LEVEL}} with one of {", ".join(_LEVELS)}; {str(given)[:100]!r} is none'
            )
        request = logging.SetLogLevelRequest(logger=name, level=logging.LogLevel.Value(f"LOG_LEVEL_{level}"))
        await self._backends.ask(_LOGGING["SetLogLevel"], request, logging.SetLogLevelResponse, reads=False)
        return [name]


def _level(level: int) -> Json:
    name = logging.LogLevel.Name(level).removeprefix("LOG_LEVEL_")  # type: ignore[arg-type]
    return {"level": _THEIRS.get(name, "INFO"), "last_modified": None}
