"""The config service: revisions and wanted states with a number of the last change, told to whoever watches."""

from dataclasses import replace

from services.cluster.model import Connector, TargetState
from tests.simulation.world import Process, Reply, World


class ConfigStore:
    """What is durable: connectors as they are wanted, and the number of the last change."""

    def __init__(self) -> None:
        self.connectors: dict[str, Connector] = {}
        self.sequence = 0

    def put(self, connector: Connector) -> None:
        self.connectors[connector.uid] = connector
        self.sequence += 1

    def change(self, uid: str, **changes: object) -> None:
        self.put(replace(self.connectors[uid], **changes))  # type: ignore[arg-type]

    def delete(self, uid: str) -> None:
        del self.connectors[uid]
        self.sequence += 1

    def is_stopped(self, uid: str) -> bool:
        return self.connectors[uid].wanted is TargetState.STOPPED


class ConfigServer(Process):
    """Answers `watch`: the connectors, if anything has changed since a number. Mirrors the watch, which is told by polling."""

    def __init__(self, world: World, store: ConfigStore) -> None:
        super().__init__(world, "config")
        self._store = store

    def handle(self, method: str, args: int, reply: Reply) -> None:
        if args == self._store.sequence:
            reply(None)
        else:
            reply((self._store.sequence, tuple(self._store.connectors[uid] for uid in sorted(self._store.connectors))))
