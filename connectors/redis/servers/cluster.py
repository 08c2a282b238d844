"""The masters of a cluster. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.crc import key_slot
from redis.exceptions import RedisError

from connectors.redis.client import node_client, own_errors
from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config

_SLOTS = 1 << 14


class Cluster:
    """A client for each master, and which of them has a key. When that has changed, another one is made.

    Args:
        config: With the URL of the cluster.
        seconds: An answer may take so long; 0: as configured.

    All methods raise SystemAway where nobody answers, or slots have no master, and PermanentError where we are refused.
    """

    def __init__(self, config: Config, seconds: float = 0.0) -> None:
        self._config = config
        self._seconds = seconds
        self._place: str = config["url"]
        self._nodes: dict[str, redis.Redis] = {}
        self._owners: list[str] = []

    @property
    def nodes(self) -> Mapping[str, redis.Redis]:
        """By its id each master."""
        self._look()
        return self._nodes

    def owner(self, key: bytes) -> str:
        """The id of the master that has a key."""
        self._look()
        owner = self._owners[key_slot(key)]
        if not owner:
            msg = f"{self._place}: the cluster has no master for the key {key!r}"
            raise SystemAway(msg)
        return owner

    def close(self) -> None:
        """Ends it. Never raises."""
        nodes, self._nodes, self._owners = self._nodes, {}, []
        for client in nodes.values():
            with suppress(RedisError, OSError):
                client.close()

    def _look(self) -> None:
        """Asks one of the nodes for the slots of all, once."""
        if self._owners:
            return
        address = Address.of(self._place)
        for number, node in enumerate(address.nodes, 1):
            try:
                with own_errors(self._place), node_client(self._config, *node, seconds=self._seconds) as client:
                    client.response_callbacks.pop("CLUSTER SLOTS", None)
                    self._take(client.execute_command("CLUSTER SLOTS"), node[0])
            except SystemAway:
                if number == len(address.nodes):
                    raise
            else:
                return

    def _take(self, slots: Sequence[Sequence[Any]], host: str) -> None:
        owners = [""] * _SLOTS
        nodes: dict[str, redis.Redis] = {}
        for first, last, (given, port, identity, *_), *_ in slots:
            name = bytes(identity).decode()
            owners[first : last + 1] = [name] * (last + 1 - first)
            if name not in nodes:
                # A node that does not know its own address is where it was asked.
                where = bytes(given or b"").decode().strip("?") or host
                nodes[name] = node_client(self._config, where, port, seconds=self._seconds)
        self._owners, self._nodes = owners, nodes
