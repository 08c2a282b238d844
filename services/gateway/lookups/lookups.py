"""Connectors, their states, and plugins, as the services tell them; and secrets of a configuration put where they belong."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.keystore.v1 import keystore_service_pb2 as keystore
from rocketconnect.state.v1 import state_service_pb2 as state

from rocketconnect_kit.errors import NotFound
from services.gateway.backends import Backends

_CONFIG = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name
_KEYSTORE = keystore.DESCRIPTOR.services_by_name["KeystoreService"].methods_by_name
_STATE = state.DESCRIPTOR.services_by_name["StateService"].methods_by_name
_CLUSTER = cluster.DESCRIPTOR.services_by_name["ClusterService"].methods_by_name


class Moved(NamedTuple):
    """A configuration as it can be stored.

    Attributes:
        config: With references in the place of secrets.
        warnings: What became of it, where it was that of another system.
    """

    config: dict[str, str]
    warnings: Sequence[connector_pb2.Problem]


class Lookups:
    """For any number of tasks of one event loop at once. All raise ServiceError."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def workers(self) -> list[str]:
        """Return the ids of the living workers."""
        pages = self._backends.pages(_CLUSTER["ListWorkers"], cluster.ListWorkersRequest(), cluster.ListWorkersResponse)
        return [worker.worker_id async for page in pages for worker in page.workers if worker.alive]

    async def plugins(self) -> list[connector_pb2.Plugin]:
        """Return the plugins that executors offer."""
        pages = self._backends.pages(_CONFIG["ListPlugins"], config.ListPluginsRequest(), config.ListPluginsResponse)
        return [plugin async for page in pages for plugin in page.plugins]

    async def connectors(self) -> list[connector_pb2.Connector]:
        """Return all connectors, by name."""
        pages = self._backends.pages(_CONFIG["ListConnectors"], config.ListConnectorsRequest(), config.ListConnectorsResponse)
        return [connector async for page in pages for connector in page.connectors]

    async def states(self) -> dict[str, state.ConnectorState]:
        """Return what all connectors do, by uid."""
        pages = self._backends.pages(
            _STATE["ListConnectorStates"], state.ListConnectorStatesRequest(), state.ListConnectorStatesResponse
        )
        return {said.connector_uid: said async for page in pages for said in page.states}

    async def find(self, name: str) -> connector_pb2.Connector | None:
        """Return a connector; None: there is none of this name."""
        request = config.GetConnectorRequest(name=name)
        try:
            return (await self._backends.ask(_CONFIG["GetConnector"], request, config.GetConnectorResponse)).connector
        except NotFound:
            return None

    async def said_of(self, name: str) -> state.ConnectorState:
        """Return what a connector does. Raises NotFound: nobody has said anything of it."""
        request = state.GetConnectorStateRequest(connector=name)
        return (await self._backends.ask(_STATE["GetConnectorState"], request, state.GetConnectorStateResponse)).state

    async def state_of(self, connector: connector_pb2.Connector) -> state.ConnectorState:
        """Return what a connector does that is there."""
        try:
            return await self.said_of(connector.name)
        except NotFound:
            return unknown_state(connector)

    async def without_secrets(self, name: str, wanted: Mapping[str, str], *, dry_run: bool = False) -> Moved:
        """Return a configuration with references: a secret that is given as a value goes into the keystore, if there is one.

        Args:
            name: Of the connector.
            wanted: Its configuration.
            dry_run: Only say which references would stand there.
        """
        move = keystore.MoveSecretsRequest(connector=name, config=wanted, dry_run=dry_run)
        answer = await self._backends.ask(_KEYSTORE["MoveSecrets"], move, keystore.MoveSecretsResponse, reads=False)
        return Moved(dict(answer.config), answer.warnings)


def unknown_state(connector: connector_pb2.Connector) -> state.ConnectorState:
    """Return the state of a connector that was stored a moment ago, of which nobody has said anything yet."""
    return state.ConnectorState(
        connector=connector.name,
        connector_uid=connector.uid,
        state=connector_pb2.STATE_UNASSIGNED,
        type=connector.type,
    )
