"""Looks how topics and groups of one cluster are set, and sets those of the other."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from connectors.rocketmq.client import fault_of, told
from connectors.rocketmq.replicator.clusters import Clusters, Round, Row
from connectors.rocketmq.replicator.decision import Decision, GroupConfig, merged_groups, merged_topics, of_group, of_topic
from connectors.rocketmq.selection import topics_of_brokers
from rocketconnect_sdk.cursors import Mark, Session
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.routes.reserved import is_reserved
from rocketconnect_sdk.schema import STRING, struct
from rocketmq_remoting import BrokerFailed, Client, RocketMQError, TopicConfig, Unauthenticated

T = TypeVar("T")
Key = tuple[str, str, str]
"""Of what is told: "topic" or "group", its name there, and the broker here; "": all of them."""
TOPICS, GROUPS = "topics", "groups"
"""The streams."""
_KEY = ("kind", "name", "broker")
_COLUMNS = ("kind", "name", "target_name", "broker", "outcome", "what")
SCHEMA = struct([(name, STRING) for name in _COLUMNS])
"""Of a record: what became of a topic or a group on a broker here; see Outcome."""


class Outcome(StrEnum):
    """What became of it."""

    MADE = "made"
    CHANGED = "changed"
    DIFFERS = "differs"
    FAILED = "failed"
    SAME = "same"
    GONE = "gone"


_BAD = (Outcome.DIFFERS, Outcome.FAILED)


class Following(Clusters):
    """Both clusters. See Clusters."""

    def __init__(
        self, config: Config, log: logging.Logger | logging.LoggerAdapter[logging.Logger] | None = None, seconds: float = 0.0
    ) -> None:
        super().__init__(config, log, seconds)
        self._narrow: bool = config["rights.narrow"]
        self._sets: bool = config["settings.sync"]
        self._topics_there: dict[str, Mapping[str, TopicConfig]] = {}
        self._groups_there: dict[str, Mapping[str, GroupConfig]] = {}
        self._told: dict[Key, tuple[Outcome, str]] = {}
        self._asked: dict[Key, Sequence[str]] = {}
        self._seen: dict[str, set[str]] = {TOPICS: set(), GROUPS: set()}

    def topics(self) -> dict[str, TopicConfig]:
        """The topics of the other cluster that are meant and there. What a broker said last holds while it is away."""
        found = self._merged(self._topics_there, self._there.settings.topics, merged_topics)
        own = self._own(self._there, self._places[0])
        return {name: found[name] for name in self._selection.of_cluster(found, own)}

    def groups(self) -> dict[str, GroupConfig]:
        """The groups of the other cluster that are meant and there."""
        found = self._merged(self._groups_there, self._there.settings.groups, merged_groups)
        return {name: found[name] for name in self._groups.of_topic(found)}

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        """See Connection."""
        del since, token
        return Round(self.topics_followed if stream == TOPICS else self.groups_followed, SCHEMA, _KEY)

    def topics_followed(self) -> list[Row]:
        """Sets the topics here, and tells what has come of it since this was asked last: see SCHEMA.

        Raises:
            SystemAway, RetriableError, PermanentError: see Session.
        """
        wanted = self.topics()
        names = topics_of(self._template, "topic", wanted)
        own = self._own(self._here, self._places[1])
        rows: list[Row] = []
        at_end: dict[str, dict[str, TopicConfig]] = {}
        for broker, address, configs in self._of_here(self._here.settings.topics):
            for name, there in wanted.items():
                target = names[name]
                if is_reserved(target) or target in own:
                    rows += self._tell(("topic", name, ""), target, Outcome.FAILED, "its name here is one of RocketMQ itself")
                    continue
                decision = of_topic(there, configs.get(target), target, narrow=self._narrow)
                rows += self._follow(
                    ("topic", name, broker), target, decision, target not in configs, self._here.settings.set_topic, address
                )
                at_end.setdefault(name, {})[broker] = decision.config
        for name, by_broker in at_end.items():
            rows += self._follow_order(name, names[name], wanted[name], by_broker)
        return [*rows, *self._gone("topic", TOPICS, wanted)]

    def groups_followed(self) -> list[Row]:
        """Sets the groups here. See `topics_followed`."""
        wanted = self.groups()
        rows: list[Row] = []
        for broker, address, configs in self._of_here(self._here.settings.groups):
            for name, there in wanted.items():
                decision = of_group(there, configs.get(name), name, narrow=self._narrow)
                key = ("group", name, broker)
                rows += self._follow(key, name, decision, name not in configs, self._here.settings.set_group, address)
        return [*rows, *self._gone("group", GROUPS, wanted)]

    @staticmethod
    def _own(client: Client, place: str) -> frozenset[str]:
        with told(place):
            return topics_of_brokers(client.admin.brokers())

    def _merged(
        self, known: dict[str, Mapping[str, T]], ask: Callable[[str], Mapping[str, T]], merge: Callable[[Iterable[T]], T]
    ) -> dict[str, T]:
        with told(self._places[0]):
            for broker, address in _masters(self._there, self._places[0]):
                known[broker] = ask(address)
        by_name: dict[str, list[T]] = {}
        for _, configs in sorted(known.items()):
            for name, config in configs.items():
                by_name.setdefault(name, []).append(config)
        return {name: merge(configs) for name, configs in sorted(by_name.items())}

    def _of_here(self, ask: Callable[[str], Mapping[str, T]]) -> Iterator[tuple[str, str, Mapping[str, T]]]:
        with told(self._places[1]):
            for broker, address in _masters(self._here, self._places[1]):
                yield broker, address, ask(address)

    def _follow(
        self,
        key: Key,
        target: str,
        decision: Decision[T],
        is_new: bool,
        do: Callable[[str, T, Mapping[str, str | None]], None],
        address: str,
    ) -> list[Row]:
        """Does what was decided, and tells it."""
        if not decision.changes:
            self._asked.pop(key, None)
            return self._tell(key, target, Outcome.DIFFERS if decision.left else Outcome.SAME, _sentence(decision.left))
        if not self._sets:
            return self._tell(key, target, Outcome.DIFFERS, _sentence((*decision.changes, *decision.left)))
        what = _sentence(decision.changes)
        if (why := self._refusal(lambda: do(address, decision.config, decision.attributes))) is not None:
            return self._tell(key, target, Outcome.FAILED, f"{what}: {why}")
        if self._asked.get(key) == decision.changes:
            return self._tell(key, target, Outcome.FAILED, f"{what}: it was set so before, and was not so any more")
        self._asked[key] = decision.changes
        return self._tell(key, target, Outcome.MADE if is_new else Outcome.CHANGED, what)

    def _follow_order(self, name: str, target: str, there: TopicConfig, here: Mapping[str, TopicConfig]) -> list[Row]:
        """The name servers tell producers of the queues of an ordered topic."""
        key = ("topic", name, "")
        if not there.order and key not in self._told:
            return []
        wanted = ";".join(f"{broker}:{config.write_queues}" for broker, config in sorted(here.items())) if there.order else None
        with told(self._places[1]):
            now = self._here.settings.order(target)
        if now == wanted:
            return self._tell(key, target, Outcome.SAME, "")
        what = f"queues of the order at the name servers {now or 'none'} -> {wanted or 'none'}"
        if not self._sets:
            return self._tell(key, target, Outcome.DIFFERS, what)
        if (why := self._refusal(lambda: self._here.settings.set_order(target, wanted))) is not None:
            return self._tell(key, target, Outcome.FAILED, f"{what}: {why}")
        return self._tell(key, target, Outcome.CHANGED, what)

    def _refusal(self, do: Callable[[], None]) -> str | None:
        """Why it is not done; None: it is.

        Raises:
            ConnectorError: nothing more can be done now.
        """
        try:
            do()
        except RocketMQError as error:
            fault = fault_of(error, self._places[1])
            if isinstance(fault, SystemAway) or isinstance(error, Unauthenticated):
                raise fault from error
            # A broker that does not take what it was told says no more than that it failed.
            return str(error) if not isinstance(error, BrokerFailed) else f"the broker does not take it: {error}"
        return None

    def _gone(self, kind: str, stream: str, now: Iterable[str]) -> list[Row]:
        gone = sorted(self._seen[stream] - set(now))
        self._seen[stream] = set(now)
        rows: list[Row] = []
        for name in gone:
            rows += self._tell((kind, name, ""), name, Outcome.GONE, "is not there any more; here nothing is deleted")
        return rows

    def _tell(self, key: Key, target: str, outcome: Outcome, what: str) -> list[Row]:
        """The row of it, if it is new; that all is the same is told after what was not."""
        last = self._told.get(key)
        self._told[key] = (outcome, what)
        if last == (outcome, what) or (outcome is Outcome.SAME and (last is None or last[0] not in _BAD)):
            return []
        kind, name, broker = key
        if self._log is not None:
            place = f" on {broker}" if broker else ""
            level = logging.WARNING if outcome in (*_BAD, Outcome.GONE) else logging.INFO
            self._log.log(level, "%s %s%s: %s%s", kind, name, place, outcome, f": {what}" if what else "")
        return [dict(zip(_COLUMNS, (kind, name, target, broker, str(outcome), what), strict=True))]


def _masters(client: Client, place: str) -> list[tuple[str, str]]:
    found = [(broker.name, broker.master) for broker in client.admin.brokers() if broker.master is not None]
    if not found:
        msg = f"{place}: the name servers know no broker. Start one"
        raise SystemAway(msg)
    return sorted(found)


def _sentence(parts: Iterable[str]) -> str:
    return "; ".join(parts)
