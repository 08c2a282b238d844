"""What Kafka Connect's paths of plugins do, done by the config service."""

from collections.abc import Mapping, Sequence

from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.errors import FieldProblem
from services.gateway.backends import Backends
from services.gateway.kafka_connect import shapes
from services.gateway.kafka_connect.shapes import Json
from services.gateway.kafka_connect.words import bad_request, no_plugin
from services.gateway.lookups.lookups import Lookups

_CONFIG = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name
_NOBODY = "validate"
"""Whose secrets they would be, where a check names no connector."""


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

    async def validate(self, name: str, connector: str, wanted: Mapping[str, str]) -> tuple[Json, Sequence[connector_pb2.Problem]]:
        """Return ConfigInfos of a configuration, and what is told of it beside; nothing is stored.

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
        # A secret that a create would put into the keystore is no error; that nobody can look it up yet is none either.
        moved, told = await self._lookups.without_secrets(connector or _NOBODY, whole, dry_run=True)
        request = config.ValidateConnectorRequest(config=moved, name=connector)
        answer = await self._backends.ask(_CONFIG["ValidateConnector"], request, config.ValidateConnectorResponse, reads=False)
        wrong = [each for each in answer.problems if whole.get(each.key) == moved.get(each.key)]
        problems = [FieldProblem(each.key, each.value, each.reason, each.fix) for each in wrong]
        return shapes.config_infos(plugin.name, plugin.options, whole, problems), (*told, *answer.warnings)

    async def _found(self, name: str) -> connector_pb2.Plugin:
        for plugin in await self._lookups.plugins():
            if name in (plugin.name, *plugin.aliases):
                return plugin
        raise no_plugin(name)
