"""The topics of a cluster that are written: how many partitions they have, and making those that are not there."""

import time
from collections.abc import Collection, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from connectors.kafka.client import Client, admin_of, check_brokers, made_of
from connectors.kafka.options import POSITIONS
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config

WRITING_FIX = (
    "Give the user the right Write on the topic, and on its transactions: kafka-acls --add --allow-principal User:NAME "
    "--operation Write --topic TOPIC; the same with --transactional-id PREFIX --resource-pattern-type prefixed"
)
_AGAIN_SECONDS = 0.05
_OF_CLUSTER = -1
_POLICY = "cleanup.policy"


class Topics:
    """Topics by name, as they were when they were looked for first.

    Args:
        config: That of a sink.
        seconds: How long an answer may take; 0: as the configuration says.

    Raises:
        PermanentError: the client refuses its settings.
    """

    def __init__(self, config: Config, seconds: float = 0.0) -> None:
        with made_of(config):
            self._client = Client(config, admin_of, seconds=seconds, rights=WRITING_FIX)
        self.place = self._client.place
        self._makes: bool = config["target.create"]
        self._new = config["target.partitions"] or _OF_CLUSTER
        self._replicas = config["target.replication.factor"] or _OF_CLUSTER
        self._settings = settings_of(config)
        self._kept = {config["positions.topic"], POSITIONS}
        self._partitions: dict[str, int] = {}

    def ping(self) -> None:
        """Returns when the cluster answers, and connectors may speak to its servers."""
        check_brokers(self._client.asked(lambda seconds: self._client.own.list_topics(timeout=seconds)).brokers)

    def partitions(self, name: str) -> int:
        """How many a topic has that `find` has found."""
        return self._partitions[name]

    def find(self, names: Collection[str]) -> Mapping[str, str]:
        """Looks for topics, and makes those that are not there.

        Returns: by name what is wrong with those that no topic can have, or none that records go to.

        Raises:
            SystemAway: one is not there, and is not to be made.
            PermanentError: one can't be made.
        """
        refused: dict[str, str] = {}
        for name, answer in self.described([name for name in names if name not in self._partitions]).items():
            if name in self._kept:
                refused[name] = f"the topic {name} keeps positions, and no record goes there"
            elif isinstance(answer, int):
                self._partitions[name] = answer
            elif answer.code() == KafkaError.TOPIC_EXCEPTION:
                refused[name] = f"no topic of Kafka can have the name {name[:300]!r}"
            elif answer.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise self._client.trouble(answer)
            elif self._makes:
                self._partitions[name] = self.make(name, self._new, self._settings)
            else:
                msg = f"{self._client.place}: the topic {name} is not there. Create it, or set target.create=true"
                raise SystemAway(msg)
        return refused

    def described(self, names: Collection[str]) -> dict[str, int | KafkaError]:
        """How many partitions topics have, or what is wrong with them."""
        return self._client.asked(lambda seconds: self._describe(names, seconds)) if names else {}

    def make(self, name: str, partitions: int, settings: Mapping[str, str]) -> int:
        """Makes a topic, or finds one that somebody else has made; how many partitions it has."""
        new = NewTopic(name, num_partitions=partitions, replication_factor=self._replicas, config=dict(settings))
        wrong = self._client.asked(lambda seconds: self._make(new, seconds))
        if wrong is not None and wrong.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            msg = f"{self._client.trouble(wrong)}. The topic {name} can't be made: create it, or correct target.*"
            raise PermanentError(msg)
        end = time.monotonic() + self._client.seconds
        while time.monotonic() < end:
            found = self.described([name])[name]
            if isinstance(found, int) and found:
                return found
            time.sleep(_AGAIN_SECONDS)
        msg = f"{self._client.place}: the topic {name} was made and is not there within {self._client.seconds:g} s"
        raise SystemAway(msg)

    def policy(self, name: str) -> str:
        """The cleanup.policy of a topic; empty: the user may not ask for it."""
        try:
            return self._client.asked(lambda seconds: self._policy(name, seconds))
        except PermanentError:
            return ""

    def _make(self, new: Any, seconds: float) -> KafkaError | None:
        (future,) = self._client.own.create_topics([new], request_timeout=seconds).values()
        return _wrong(future, seconds)

    def _policy(self, name: str, seconds: float) -> str:
        (future,) = self._client.own.describe_configs([ConfigResource(ResourceType.TOPIC, name)], request_timeout=seconds).values()
        found = future.result(seconds + 1)
        return str(found[_POLICY].value) if _POLICY in found else ""

    def _describe(self, names: Collection[str], seconds: float) -> dict[str, int | KafkaError]:
        futures = self._client.own.describe_topics(TopicCollection(list(names)), request_timeout=seconds)
        found: dict[str, int | KafkaError] = {}
        for name, future in futures.items():
            wrong = _wrong(future, seconds)
            found[name] = len(future.result().partitions) if wrong is None else wrong
        return found


def settings_of(config: Config) -> dict[str, str]:
    """The settings of topics that are made."""
    pairs = (pair.partition("=") for pair in config["target.settings"])
    return {name.strip(): text.strip() for name, _, text in pairs}


def _wrong(future: Any, seconds: float) -> KafkaError | None:
    """What the cluster says against something; None: nothing. Raises KafkaException where nobody says anything."""
    # It is not raised here: the future would hold what calls this, and with it the client, until there is a collection.
    error = future.exception(seconds + 1)
    if error is None:
        return None
    if not isinstance(error, KafkaException) or error.args[0].code() < 0:
        raise error
    told: KafkaError = error.args[0]
    return told
