"""Writes into a cluster: each master gets what is its own."""

from collections.abc import Mapping, Sequence

from connectors.redis.client import own_errors
from connectors.redis.commands import StoredAs
from connectors.redis.connection import RedisConnection
from connectors.redis.servers.cluster import Cluster
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.writes import Connection, Operation


class ClusterConnection(Connection):
    """Writes without positions: a transaction of Redis has keys of one slot alone.

    Args:
        config: With the URL of the cluster.
        stored: What records become.
    """

    def __init__(self, config: Config, stored: StoredAs) -> None:
        self._cluster = Cluster(config)
        self._place: str = config["url"]
        self._stored = stored

    def ping(self) -> None:
        """See Connection."""
        for client in self._cluster.nodes.values():
            with own_errors(self._place):
                client.ping()

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        shares: dict[str, list[int]] = {}
        for index, operation in enumerate(operations):
            shares.setdefault(self._cluster.owner(self._stored.key(operation).encode()), []).append(index)
        refused: dict[int, str] = {}
        for node, indexes in shares.items():
            part = RedisConnection(self._cluster.nodes[node], self._place, self._stored)
            found = part.write([operations[index] for index in indexes])
            refused |= {indexes[at]: why for at, why in found.items()}
        return refused

    def close(self) -> None:
        """See Connection."""
        self._cluster.close()
