"""Messages of MQTT into topics."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from connectors.mqtt.client import KEEP_ALIVE_SECONDS, Client, broker_answers
from connectors.mqtt.messages import LEVELS, levels_problem, received, topic_of
from connectors.mqtt.options import BROKER, broker_problems, filter_problem
from connectors.mqtt.packets import Kind as Packets
from connectors.mqtt.packets import answer
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.queues import QueueSource, Received, Share, Subscription
from rocketconnect_sdk.queues.values import VALUE_FORMAT, VALUES
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.routes.allowed import naming_problems

_FOR_EVER = 0xFFFFFFFF
_NEW_ALONE = 1 << 4
"""Retained messages come where the subscription is new, and not each time that it is made again (version 5)."""
_NO_RETAINED = 2 << 4
_AS_PUBLISHED = 1 << 3


def _filters_problem(filters: Sequence[str]) -> str | None:
    if not filters:
        return "names no filter"
    return next((f"{name!r} {problem}" for name in filters if (problem := filter_problem(name))), None)


class MqttSource(QueueSource):
    """Reads messages of MQTT 3.1.1 and 5, acknowledged when the topic has them, over sessions that survive restarts."""

    name = "mqtt_source"
    leaves = True
    options = (
        *BROKER,
        Option(
            "filters",
            "Which topics of MQTT, separated by commas: sensors/+/temperature, plant/#.",
            Kind.LIST,
            required=True,
            check=_filters_problem,
            fix="Write filters such as sensors/+/temperature or plant/#.",
            example="sensors/+/temperature",
        ),
        Option(
            "qos",
            "The QoS that is asked for. 0: messages are lost while nobody is connected, or when a process ends.",
            default="1",
            choices=("0", "1", "2"),
        ),
        Option(
            "share.group",
            "Several tasks share the messages out: those of a shared subscription with this name. It has no retained messages. "
            "Empty: one task reads all.",
            default="",
            check=lambda text: "has a /, a + or a #" if set("/+#") & set(text) else None,
            fix="Write a name such as rocketconnect.",
        ),
        Option("retained", "Whether messages that the broker retains are read.", default="read", choices=("read", "skip")),
        VALUE_FORMAT,
        Option(
            "key",
            f"The key of a record, by which it is in order. {LEVELS}. Empty: it has none.",
            default="${topic}",
            check=levels_problem,
            fix=f"Write a text in which {LEVELS}.",
        ),
        Option(
            "topic.template",
            f"The topic of RocketMQ, one that topic.allowed allows: plant-${{2}}. {LEVELS}; what a topic can't have becomes _. "
            "Empty: `topic`.",
            default="",
            check=levels_problem,
            fix=f"Write a text in which {LEVELS}.",
        ),
        *QueueSource.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See QueueSource."""
        return run_checks(config, broker_problems, _share_problems, _naming_problems, broker_answers)

    def origins(self, config: Config) -> Iterable[Origin]:
        """Its filters. See Source."""
        for name in config["filters"]:
            yield Origin("filters", config["url"], name, into=config["topic.template"])

    def most_tasks(self, config: Config) -> int:
        """See QueueSource."""
        return 0xFFFF if config["share.group"] else 1

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        return MqttSubscription(config, share, context)

    def retire(self, config: Config, share: Share) -> None:
        """Ends the session. See QueueSource."""
        Client(config, share.identity, clean=True).end()


class MqttSubscription(Subscription):
    """A connection over the session of a task."""

    ping_seconds = KEEP_ALIVE_SECONDS / 3

    def __init__(self, config: Config, share: Share, context: TaskContext) -> None:
        self._most_bytes = context.max_record_bytes
        template: str = config["topic.template"]
        self._make = partial(
            received,
            value=VALUES[config["value.format"]],
            key=config["key"],
            topic=partial(_topic, template, config.get("topic", "")),
            most_bytes=self._most_bytes,
        )
        group = "" if share.passing else config["share.group"]
        self._filters = [f"$share/{group}/{name}" if group else name for name in config["filters"]]
        self._qos = int(config["qos"])
        name = f"{share.identity}-{uuid4().hex[:8]}" if share.passing else share.identity
        self._client = Client(
            config, name, clean=share.passing, expiry=_FOR_EVER, receive=share.prefetch, most_bytes=self._most_bytes
        )
        try:
            self._subscribe(share, retained=config["retained"] == "read", context=context)
        except BaseException:
            self._client.end()
            raise

    @property
    def state(self) -> Mapping[str, JSON]:
        """What the session has subscribed to."""
        return {"filters": self._filters, "qos": self._qos}

    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """See Subscription."""
        found: list[Received] = []
        while len(found) < limit and size > 0:
            packet = self._client.next(0.0 if found else seconds)
            if packet is None:
                break
            if packet.kind is Packets.PUBLISH:
                found.append(self._make(self._client.message(packet), packet.large))
                size -= found[-1].size
            elif packet.kind is Packets.PUBREL:
                number, _, _ = self._client.answered(packet)
                self._client.send(answer(Packets.PUBCOMP, number))
        return found

    def ack(self, tags: Sequence[Any]) -> None:
        """See Subscription. PUBREC is what hands a message of QoS 2 over."""
        self._client.send(b"".join(answer(Packets.PUBACK if qos == 1 else Packets.PUBREC, number) for number, qos in tags))

    def ping(self, tags: Sequence[Any]) -> None:
        """See Subscription."""
        del tags
        self._client.ping()

    def close(self) -> None:
        """See Subscription."""
        self._client.end()

    def _subscribe(self, share: Share, *, retained: bool, context: TaskContext) -> None:
        client, before = self._client, share.before
        if before and not client.session and not share.leaving:
            context.log.warning("the broker does not know the session of %s any more: what came meanwhile is lost", share.identity)
        had = [name for name in before.get("filters", ()) if isinstance(name, str)] if client.session else []  # type: ignore[union-attr]
        if share.leaving:
            if had:
                client.unsubscribe(had)
            return
        if gone := [name for name in had if name not in self._filters]:
            client.unsubscribe(gone)
        if had == self._filters and before.get("qos") == self._qos:
            # The session goes on; a broker of version 3.1.1 would send what it retains again.
            return
        client.subscribe(self._filters, self._qos | _AS_PUBLISHED | (_NEW_ALONE if retained else _NO_RETAINED))


def _topic(template: str, otherwise: str, topic: str) -> str:
    return topic_of(template, topic, otherwise) if template else ""


_naming_problems = partial(naming_problems, key="topic.template")


def _share_problems(config: Config) -> Iterable[Problem]:
    if config.get("max.tasks", 1) > 1 and not config["share.group"]:
        why = "is more than the one task that can read without a shared subscription"
        yield Problem("max.tasks", str(config["max.tasks"]), why, "Set share.group, or max.tasks=1.")
    if config["share.group"] and config.raw.get("retained") == "read":
        yield Problem("retained", "read", "means nothing with share.group: brokers retain nothing for these", "Remove it.")
    if config["retained"] == "skip" and config["version"] != "5":
        yield Problem("retained", "skip", "is a matter of version 5", "Leave such records out by their header mqtt.retained.")
    if config["qos"] == "0":
        what = "is at most once: messages are lost while nobody is connected, and when a process ends"
        yield Problem("qos", "0", what, "Set qos=1, unless that does not matter.", is_warning=True)
