"""What a message of MQTT becomes, and how its topic names others. Pure."""

import re
from collections.abc import Callable

from connectors.mqtt import packets
from connectors.mqtt.packets import Publish
from rocketconnect_sdk.changes.topics import fitted
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.queues.values import rejected, too_large
from rocketconnect_sdk.routes.names import TOPIC_LENGTH

LEVELS = "${topic} stands for the topic of MQTT, ${1} for its first level, ${2} for its second one"
_PLACE = re.compile(r"\$\{([^}]*)\}")
_LEVEL = re.compile("[1-9][0-9]{0,4}")


def levels_problem(template: str) -> str | None:
    """What is wrong with a text that is made of the levels of a topic; None: nothing."""
    for name in _PLACE.findall(template):
        if name != "topic" and not _LEVEL.fullmatch(name):
            return f"has ${{{name}}}, which stands for nothing"
    return "has a ${ that no } closes" if "${" in _PLACE.sub("", template) else None


def from_levels(template: str, topic: str) -> str:
    """The text of a topic; a level that it does not have is empty."""
    levels = topic.split("/")

    def found(match: re.Match[str]) -> str:
        if match[1] == "topic":
            return topic
        number = int(match[1])
        return levels[number - 1] if number <= len(levels) else ""

    return _PLACE.sub(found, template)


def topic_of(template: str, topic: str, otherwise: str) -> str:
    """The topic of RocketMQ; what it takes in no name becomes _."""
    name = fitted(from_levels(template, topic))[:TOPIC_LENGTH]
    return name or otherwise


def headers_of(message: Publish) -> dict[str, str]:
    """The headers of a message: its properties as the user gave them, and those of MQTT."""
    more = message.properties
    found: dict[str, str] = {}
    for given, value in more.get(packets.USER, ()):
        # What MQTT says of it is not for who sends it to say.
        name = f"user.{given}" if given.startswith("mqtt.") else given
        # A name may come again, and none of its values is lost.
        found[name] = f"{found[name]},{value}" if name in found else value
    found["mqtt.topic"] = message.topic
    found["mqtt.qos"] = str(message.qos)
    if message.retain:
        found["mqtt.retained"] = "true"
    for key, name in ((packets.CONTENT_TYPE, "mqtt.content.type"), (packets.RESPONSE_TOPIC, "mqtt.response.topic")):
        if key in more:
            found[name] = more[key]
    if packets.EXPIRY in more:
        found["mqtt.message.expiry"] = str(more[packets.EXPIRY])
    if packets.CORRELATION in more:
        found["mqtt.correlation.data"] = more[packets.CORRELATION].hex()
    return found


def received(
    message: Publish,
    large: tuple[int, str] | None,
    *,
    value: Callable[[bytes], object],
    key: str,
    topic: Callable[[str], str],
    most_bytes: int,
) -> Received:
    """A message as the topic gets it.

    Args:
        message: As it came.
        large: See packets.Packet.
        value: Makes the value of the payload; ValueError says what is wrong with that.
        key: Made of the levels of its topic.
        topic: The topic of RocketMQ that a topic of MQTT goes to; empty: that of the configuration.
        most_bytes: The size of the largest payload.
    """
    length, digest = large or (len(message.payload), "")
    made: object
    if length > most_bytes:
        made = rejected(message.payload, *too_large(length, most_bytes), length, digest)
    else:
        try:
            made = value(message.payload)
        except ValueError as error:
            made = rejected(message.payload, "InvalidPayload", f"the message of {message.topic} {error}")
    return Received(
        (message.number, message.qos) if message.qos else None,
        made,
        from_levels(key, message.topic) or None,
        headers=headers_of(message),
        topic=topic(message.topic),
        redelivered=message.duplicate,
        size=len(message.payload),
    )
