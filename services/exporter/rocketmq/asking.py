"""Asks all brokers within a deadline: many questions at a time, and none to a broker that has not answered."""

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from rocketmq_remoting import Admin, MessageQueue, Pending, RetriableError, RocketMQError
from services.exporter.rocketmq.snapshot import Broker, Snapshot

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_AT_A_TIME = 64
_ANSWER_SECONDS = 5.0
"""A broker that hangs takes no more from the others."""
_STATUS_SECONDS = 3.0
"""A broker asks a client in its turn; one that hangs is not waited for."""
_RETRIED, _DEAD = "%RETRY%", "%DLQ%"
_OF_TOPICS = ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE")
_OF_GROUPS = ("GROUP_GET_NUMS", "GROUP_GET_SIZE", "SNDBCK_PUT_NUMS")


class Round:
    """One round of questions.

    Args:
        admin: Who asks.
        seconds: How long it may take together.
        most: Of topics, of groups in them and of clients no more than so many are asked for.
        clock: The time of day in seconds, for what a message has waited.
    """

    def __init__(self, admin: Admin, *, seconds: float, most: int, clock: Callable[[], float] = time.time) -> None:
        self._admin = admin
        self._deadline = time.monotonic() + seconds
        self._most = most
        self._clock = clock
        self._said = Snapshot()
        self.away: dict[str, str] = {}
        """By address of a broker that does not answer: why."""
        self.refused: dict[str, str] = {}
        """By address of a broker: what it refused first, and why."""

    def ask(self, brokers: Collection[Broker]) -> Snapshot:
        """Return what all of them say."""
        said, admin = self._said, self._admin
        said.runtime = self._answers(brokers, lambda b, s: admin.runtime(b.address, s), _itself)
        masters = [broker for broker in brokers if broker.is_master]
        said.put = self._answers(masters, lambda b, s: admin.counted(b.address, "BROKER_PUT_NUMS", b.cluster, s), _itself)
        said.got = self._answers(masters, lambda b, s: admin.counted(b.address, "BROKER_GET_NUMS", b.cluster, s), _itself)
        said.producers = self._answers(masters, lambda b, s: admin.producers(b.address, s), _itself)
        topics = self._topics(masters)
        said.ends = self._answers(topics, lambda k, s: admin.ends(k[0].address, k[1], s), _first)
        counts = ((broker, topic, name) for broker, topic in topics if not topic.startswith("%") for name in _OF_TOPICS)
        said.topic_counts = self._answers(counts, lambda k, s: admin.counted(k[0].address, k[2], k[1], s), _first)
        self._groups(self._pairs(topics))
        return said

    def _topics(self, masters: Iterable[Broker]) -> list[tuple[Broker, str]]:
        have = self._answers(masters, lambda b, s: self._admin.topics(b.address, s), _itself)
        # Those of users first, then dead letters, then what is tried again.
        names = sorted({topic for topics in have.values() for topic in topics}, key=lambda topic: (topic.startswith("%"), topic))
        kept = set(self._within("topics", names))
        return [(broker, topic) for broker, topics in have.items() for topic in topics if topic in kept]

    def _pairs(self, topics: Iterable[tuple[Broker, str]]) -> list[tuple[Broker, str, str]]:
        """A broker, a topic that it has, and a group that reads it."""
        wanted = [each for each in topics if not each[1].startswith(_DEAD)]
        groups = self._answers(wanted, lambda k, s: self._admin.groups(k[0].address, k[1], s), _first)
        pairs = {(topic, group) for (_, topic), found in groups.items() for group in found}
        kept = set(self._within("groups", sorted(pairs, key=lambda pair: (pair[0].startswith("%"), *pair))))
        return [(broker, topic, group) for (broker, topic), found in groups.items() for group in found if (topic, group) in kept]

    def _groups(self, pairs: Collection[tuple[Broker, str, str]]) -> None:
        said, admin = self._said, self._admin
        said.progress = self._answers(pairs, lambda k, s: admin.progress(k[0].address, k[2], k[1], s), _first)
        counts = ((*pair, name) for pair in pairs if not pair[1].startswith(_RETRIED) for name in _OF_GROUPS)
        counted = self._answers(counts, lambda k, s: admin.counted(k[0].address, k[3], f"{k[1]}@{k[2]}", s), _first)
        said.group_counts = counted
        asked = dict.fromkeys((broker, group) for broker, _, group in pairs)
        connected = self._answers(asked, lambda k, s: admin.connections(k[0].address, k[1], s), _first)
        via: dict[str, Broker] = {}
        for (broker, group), found in sorted(connected.items(), key=lambda each: each[0]):
            if group not in said.members or len(found.connections) > len(said.members[group].connections):
                said.members[group], via[group] = found, broker
        self._clients(via)
        self._waits()

    def _clients(self, via: Mapping[str, Broker]) -> None:
        clients: dict[tuple[str, str], str] = {}
        for group, found in self._said.members.items():
            for each in found.connections:
                clients.setdefault((group, each.client_id), each.address)
        kept = self._within("clients", list(clients))
        status = self._admin.status
        ask = self._answers(
            kept, lambda k, s: status(via[k[0]].address, k[0], k[1], min(s, _STATUS_SECONDS)), lambda k: via[k[0]], of_clients=True
        )
        self._said.statuses = {(clients[group, client], client, group): said for (group, client), said in ask.items()}

    def _waits(self) -> None:
        wanted: dict[tuple[Broker, str, str, MessageQueue], int] = {}
        told: set[tuple[Broker, str, str]] = set()
        for (broker, topic, group), progress in self._said.progress.items():
            members = self._said.members.get(group)
            if members is not None and members.broadcasting:
                continue
            told.add((broker, topic, group))
            first = self._said.ends.get((broker, topic), {})
            for queue, at in progress.queues.items():
                if at.end > at.committed:
                    wanted[broker, topic, group, queue] = max(at.committed, first[queue].first if queue in first else 0)
        stored = self._answers(wanted, lambda k, s: self._admin.stored_at(k[0].address, k[3], wanted[k], s), _first)
        now = self._clock() * 1000
        # Where an answer is missing nothing is known; that nothing waits would be another thing.
        told -= {key[:3] for key in wanted.keys() - stored.keys()}
        self._said.waits = dict.fromkeys(told, 0.0)
        for (broker, topic, group, _), at_ms in stored.items():
            if at_ms is not None and (broker, topic, group) in told:
                waited = max(now - at_ms, self._said.waits[broker, topic, group])
                self._said.waits[broker, topic, group] = waited

    def _within(self, kind: str, found: list[T]) -> list[T]:
        if len(found) > self._most:
            self._said.left_out[kind] += len(found) - self._most
        return found[: self._most]

    def _answers(
        self,
        keys: Iterable[K],
        ask: Callable[[K, float], Pending[T]],
        broker_of: Callable[[K], Broker],
        *,
        of_clients: bool = False,
    ) -> dict[K, T]:
        """By key the answers that came.

        Args:
            keys: One for each question.
            ask: Ask it, of a key, for so many seconds.
            broker_of: Who is asked.
            of_clients: The broker asks somebody else: that it has no answer does not mean that it is away.
        """
        answers: dict[K, T] = {}
        remaining: Iterator[K] = iter(keys)
        while chunk := list(islice(remaining, _AT_A_TIME)):
            left = self._deadline - time.monotonic()
            if left <= 0:
                self._said.left_out["time"] = 1
                break
            under_way: list[tuple[K, Pending[T]]] = []
            for key in chunk:
                address = broker_of(key).address
                if address not in self.away:
                    try:
                        under_way.append((key, ask(key, min(left, _ANSWER_SECONDS))))
                    except RetriableError as error:
                        self.away[address] = str(error)
            for key, pending in under_way:
                try:
                    answers[key] = pending.result()
                except RocketMQError as error:
                    # What the broker refuses, or what has gone meanwhile, such as a topic, is one answer that is missing.
                    if time.monotonic() >= self._deadline:
                        self._said.left_out["time"] = 1
                    elif isinstance(error, RetriableError) and error.code is None and not of_clients:
                        self.away.setdefault(broker_of(key).address, str(error))
                    else:
                        self.refused.setdefault(broker_of(key).address, str(error))
        return answers


def _itself(broker: Broker) -> Broker:
    return broker


def _first(key: tuple[Broker, *tuple[object, ...]]) -> Broker:
    return key[0]
