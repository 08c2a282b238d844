"""Streams of a cluster as a log: each master has some of them."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from connectors.redis.entries import own_key
from connectors.redis.servers.cluster import Cluster
from connectors.redis.streams import StreamLog
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions import Bounds, Entries, Log, LogPartition, OutOfRange
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.resume import JSON

_WAIT_SECONDS = 0.05


class ClusterStreamLog(Log):
    """Reads streams of all masters. When one of them loses a stream to another, this is away, and another log finds it there.

    Args:
        config: That of a source.
        context: What the runtime gives.
        seconds: An answer may take so long; 0: as configured.
    """

    def __init__(self, config: Config, context: TaskContext, seconds: float = 0.0) -> None:
        self._config = config
        self._cluster = Cluster(config, seconds)
        names: Sequence[str] = config["streams"]
        try:
            self._logs = {
                node: StreamLog(client, config, context, self._of_node(node, names), apart=True)
                for node, client in self._cluster.nodes.items()
            }
        except BaseException:
            self._cluster.close()
            raise
        self._out: deque[str] = deque()
        self._stopping = context.stopping

    def is_cluster(self) -> bool:
        """See StreamLog."""
        return True

    def types(self) -> Mapping[str, str]:
        """See StreamLog."""
        return {name: kind for log in self._logs.values() for name, kind in log.types().items()}

    def try_reading(self, name: str) -> None:
        """See StreamLog."""
        self._of(name).try_reading(name)

    def streams(self) -> Sequence[str]:
        """See StreamLog. While slots move two masters may know a key, and one has it."""
        return sorted(name for node, log in self._logs.items() for name in log.streams() if self._owner(name) == node)

    def partitions(self) -> Sequence[LogPartition]:
        """See Log."""
        names = self.streams()
        topics = topics_of(self._config["topic.template"], "stream", names)
        for log in self._logs.values():
            log.topics = topics
        return [LogPartition(name) for name in names]

    def bounds(self, names: Iterable[str]) -> Mapping[str, Bounds]:
        """See Log."""
        return {name: each for log, some in self._shared(names) for name, each in log.bounds(some).items()}

    def find(self, names: Iterable[str], seconds: float) -> Mapping[str, Offset]:
        """See Log."""
        return {name: each for log, some in self._shared(names) for name, each in log.find(some, seconds).items()}

    def lost(self, name: str, place: Offset, bounds: Bounds) -> str:
        """See Log."""
        return self._of(name).lost(name, place, bounds)

    def note(self, name: str) -> Mapping[str, JSON] | None:
        """See Log."""
        return self._of(name).note(name)

    def recall(self, name: str, note: Mapping[str, JSON]) -> None:
        """See Log."""
        self._of(name).recall(name, note)

    def seek(self, places: Mapping[str, Offset]) -> None:
        """See Log."""
        for node, log in self._logs.items():
            log.seek({name: place for name, place in places.items() if self._owner(name) == node})
        self._out.clear()

    def read(self, records: int, size: int) -> Sequence[Entries]:
        """See Log. The masters are asked in turn."""
        if self._out:
            raise OutOfRange(self._out.popleft())
        found: list[Entries] = []
        share = len(self._logs)
        for log in self._logs.values():
            try:
                found += log.read(max(1, records // share), max(1, size // share))
            except OutOfRange as error:
                self._out.append(error.name)
        if self._out and not found:
            raise OutOfRange(self._out.popleft())
        if not found:
            self._stopping.wait(_WAIT_SECONDS)
        return found

    def left(self, name: str, place: Offset) -> int | None:
        """See Log."""
        return self._of(name).left(name, place)

    def close(self) -> None:
        """See Log."""
        self._cluster.close()

    def _of_node(self, node: str, names: Sequence[str]) -> Sequence[str]:
        return [name for name in names if self._cluster.owner(name.encode()) == node]

    def _owner(self, name: str) -> str:
        return self._cluster.owner(own_key(name))

    def _of(self, name: str) -> StreamLog:
        return self._logs[self._owner(name)]

    def _shared(self, names: Iterable[str]) -> Iterable[tuple[StreamLog, list[str]]]:
        """Which master is asked for which."""
        some: dict[str, list[str]] = {}
        for name in names:
            some.setdefault(self._owner(name), []).append(name)
        return [(self._logs[node], mine) for node, mine in some.items()]
