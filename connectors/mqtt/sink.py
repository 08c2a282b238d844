"""Topics into topics of MQTT."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from connectors.mqtt import packets
from connectors.mqtt.client import Client, broker_answers, reason_of
from connectors.mqtt.options import BROKER, broker_problems, topic_problem
from connectors.mqtt.packets import Kind as Packets
from connectors.mqtt.packets import Publish
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import (
    FORM,
    TEMPLATE_FIX,
    Addressing,
    Connection,
    Operation,
    Template,
    WriteSink,
    template_option,
    template_problem,
)

_BUSY = (0x97,)
"""Reasons that pass: a quota."""
_WINDOW = 1_000


class MqttSink(WriteSink):
    """Publishes records to topics of MQTT 3.1.1 and 5. A batch is done when the broker has confirmed each message."""

    name = "mqtt_sink"
    guarantee = Guarantee.AT_LEAST_ONCE
    options = (
        *BROKER,
        template_option(
            "target.topic",
            f"The topic of MQTT. {FORM} stand for what a record has: plant/${{key.id}}/state.",
            "${topic}",
            example="shop/${topic}/${key}",
        ),
        Option(
            "qos",
            "The QoS of messages. 0: nobody confirms them, and those that are on their way when a connection ends are lost.",
            default="1",
            choices=("0", "1", "2"),
        ),
        Option("retain", "The broker retains the last message of each topic.", Kind.BOOL, "false"),
        Option(
            "message.expiry", "How long the broker keeps a message for who is away (version 5). 0s: for ever.", Kind.DURATION, "0s"
        ),
        Option("content.type", "What the payloads are, for those who read them (version 5): application/json.", default=""),
        Option(
            "user.properties",
            "Properties of the messages, each NAME=TEXT, separated by commas (version 5): id=${key},trace=${header.trace}.",
            Kind.LIST,
            default="",
            check=lambda pairs: next(filter(None, map(_pair_problem, pairs)), None),
            fix=f"Write NAME=TEXT. {TEMPLATE_FIX}",
        ),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, broker_problems, _version_problems, broker_answers)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        more = {name: Template.of(text) for name, _, text in (pair.partition("=") for pair in config["user.properties"])}
        return Addressing(target=Template.of(config["target.topic"]), more=more)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        return MqttConnection(config, f"rocketconnect-{context.connector_uid}-{context.task}-{uuid4().hex[:8]}")


class MqttConnection(Connection):
    """Publishes, and waits for what the broker says of it. It has no session: what is not confirmed is published again."""

    def __init__(self, config: Config, client_id: str) -> None:
        self._client = Client(config, client_id, clean=True, keep_alive=0)
        self._qos = int(config["qos"])
        self._retain: bool = config["retain"]
        self._properties: dict[int, Any] = {}
        if expiry := round(config["message.expiry"]):
            self._properties[packets.EXPIRY] = expiry
        if content_type := config["content.type"]:
            self._properties[packets.CONTENT_TYPE] = content_type

    def ping(self) -> None:
        """See Connection. It was let in when it connected."""
        self._client.ping()

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        refused: dict[int, str] = {}
        sent: dict[int, int] = {}
        window = min(self._client.window, _WINDOW)
        for index, operation in enumerate(operations):
            number = self._client.number() if self._qos else 0
            data = self._packet(operation, number, index, refused)
            if data is None:
                continue
            self._client.send(data)
            if self._qos:
                sent[number] = index
            while len(sent) >= window:
                self._confirmed(sent, refused)
        while sent:
            self._confirmed(sent, refused)
        return refused

    def close(self) -> None:
        """See Connection."""
        self._client.end()

    def _packet(self, operation: Operation, number: int, index: int, refused: dict[int, str]) -> bytes | None:
        if problem := topic_problem(operation.target):
            refused[index] = f"its topic {operation.target[:200]!r} {problem}"
            return None
        more = {**self._properties, packets.USER: list(operation.more.items())} if operation.more else self._properties
        long = next((name for name, text in operation.more.items() if len(text.encode()) > 0xFFFF), None)
        if long is not None:
            refused[index] = f"its property {long} takes more than the 65,535 bytes that MQTT allows"
            return None
        message = Publish(operation.target, operation.value, self._qos, self._retain, number=number, properties=more)
        data = packets.publish(message, five=self._client.five)
        most = self._client.most_packet or packets.MOST
        if len(data) > most:
            refused[index] = f"it takes {len(data):,} bytes, and the broker allows {most:,}"
            return None
        return data

    def _confirmed(self, sent: dict[int, int], refused: dict[int, str]) -> None:
        """Takes the next answer."""
        done = Packets.PUBACK if self._qos == 1 else Packets.PUBCOMP
        packet = self._client.answer(Packets.PUBACK, Packets.PUBREC, Packets.PUBCOMP)
        number, code, words = self._client.answered(packet)
        if number not in sent:
            return
        if code >= packets.FAILED:
            if code in _BUSY:
                msg = f"{self._client.place}: {reason_of(code, words)}"
                raise SystemAway(msg)
            refused[sent.pop(number)] = reason_of(code, words)
        elif packet.kind is Packets.PUBREC:
            self._client.send(packets.answer(Packets.PUBREL, number))
        elif packet.kind is done:
            del sent[number]


def _pair_problem(pair: str) -> str | None:
    name, equals, text = pair.partition("=")
    return template_problem(text) if name and equals else f"{pair!r} is no NAME=TEXT"


def _version_problems(config: Config) -> Iterable[Problem]:
    for key in ("message.expiry", "content.type", "user.properties"):
        if config[key] and config["version"] != "5":
            yield Problem(key, config.raw[key], "is a matter of version 5", "Remove it, or set version=5.")
    if config["qos"] == "0":
        what = "is at most once: what is on its way when a connection ends is lost"
        yield Problem("qos", "0", what, "Set qos=1, unless that does not matter.", is_warning=True)
