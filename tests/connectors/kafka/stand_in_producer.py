"""What kafka_sink asks of confluent-kafka's producer, answered from memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from tests.connectors.kafka.stand_in import MARKER, Cluster

Report = Callable[[KafkaError | None, object], None]
_OVERHEAD = 70


@dataclass(slots=True)
class Sent:
    """A message on its way."""

    place: tuple[str, int]
    data: tuple[bytes | None, bytes | None, Any, int]
    report: Report | None

    @property
    def size(self) -> int:
        return len(self.data[0] or b"") + len(self.data[1] or b"")


class ProducerInMemory:
    """A producer. What a transaction writes is there when that is committed; who begins under its name ends it for others."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._name = settings.get("transactional.id")
        self._largest = settings.get("message.max.bytes", 1 << 20)
        self._alone = settings.get("batch.num.messages") == 1
        self._sent: list[Sent] = []
        self._arrived: list[Sent] = []
        self._wrong: KafkaError | None = None

    def init_transactions(self, timeout: float) -> None:
        self._cluster.ask()
        if self._cluster.without_transactions:
            raise KafkaException(KafkaError(KafkaError.UNSUPPORTED_VERSION, "no transactions here"))
        self._cluster.owners[self._name] = self

    def begin_transaction(self) -> None:
        self._own()
        self._wrong = None

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        callback: Report | None = None,
        on_delivery: Report | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        if headers is not None and not isinstance(headers, list):
            # As the client does.
            msg = "expected headers to be dict or list of (key, value) tuples"
            raise TypeError(msg)
        value, key = (each.encode() if isinstance(each, str) else each for each in (value, key))
        count = len(self._cluster.topics[topic][1])
        number = sum(key or b"") % count if partition < 0 else partition
        made = Sent((topic, number), (value, key, list(headers or ()), timestamp or 1), callback or on_delivery)
        if made.size + _OVERHEAD > self._largest:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        self._sent.append(made)

    def flush(self, timeout: float) -> int:
        self._cluster.ask()
        batches: dict[Any, list[Sent]] = {}
        for index, message in enumerate(self._sent):
            batches.setdefault(index if self._alone else message.place, []).append(message)
        self._sent = []
        for batch in batches.values():
            if sum(message.size for message in batch) + _OVERHEAD > self._cluster.limits.get(batch[0].place[0], 1 << 30):
                self._wrong = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, txn_requires_abort=self._name is not None)
                for message in batch:
                    if message.report is not None:
                        message.report(self._wrong, None)
            elif self._name is None:
                self._written(batch)
            else:
                self._arrived += batch
        return 0

    def commit_transaction(self, timeout: float) -> None:
        self.flush(timeout)
        self._own()
        if self._wrong is not None:
            raise KafkaException(self._wrong)
        self._written(self._arrived)
        for topic, number in {message.place for message in self._arrived}:
            self._cluster.topics[topic][1][number].slots.append(MARKER)
        self._arrived = []

    def abort_transaction(self, timeout: float) -> None:
        self._own()
        self._sent, self._arrived = [], []

    def poll(self, timeout: float) -> int:
        return 0

    def purge(self) -> None:
        self._sent, self._arrived = [], []

    def _own(self) -> None:
        if self._cluster.owners[self._name] is not self:
            raise KafkaException(KafkaError(KafkaError._FENCED, "fenced", fatal=True))

    def _written(self, batch: list[Sent]) -> None:
        for message in batch:
            topic, number = message.place
            self._cluster.topics[topic][1][number].slots.append(message.data)
