"""Topics of Mosquitto: one to which somebody listens, and one whose messages wait in sessions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.mqtt.sink import MqttSink
from connectors.mqtt.source import MqttSource
from rocketconnect_sdk.queues import identity
from tests.servers.mqtt.mosquitto import Mosquitto

_TOPIC, _FULL = "orders", "full"
_OURS, _ALONE = identity("bench", 0), "alone"
"""Who has a session in which messages wait."""
_WINDOW = 500
"""Messages that paho is given at once: at each answer it looks through all that are not answered."""
_PATIENCE = 60.0


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink and the source, QoS 1, until the end of the block."""
    with Mosquitto().running() as server, server.listening(_TOPIC) as seen:

        def found() -> list[str]:
            server.settle(_TOPIC, seen)
            return [text for text in seen if text != "end"]

        config = {"url": server.url, "target.topic": _TOPIC}
        reading = {"url": server.url, "filters": _FULL}
        yield [
            Compared(
                "mqtt_sink",
                "paho",
                lambda: sinking(MqttSink(), config, records),
                lambda: _publish(server, records),
                found,
                seen.clear,
            ),
            Compared(
                "mqtt_source",
                "paho",
                lambda: sourcing(MqttSource(), reading, records),
                lambda: _receive(server, records),
                clear=lambda: _fill(server, records),
            ),
        ]


@contextmanager
def _publish(server: Mosquitto, records: int) -> Iterator[Move]:
    texts = [moved.text(number) for number in range(records)]
    with _publisher(server) as client:

        def move() -> tuple[str, ...]:
            _send(client, _TOPIC, texts)
            return ()

        yield move


@contextmanager
def _publisher(server: Mosquitto) -> Iterator[paho.Client]:
    client, there = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5), Event()
    client.max_inflight_messages_set(_WINDOW)
    client.on_connect = lambda *_: there.set()
    client.connect("localhost", server.port)
    client.loop_start()
    try:
        assert there.wait(_PATIENCE), f"the broker at {server.port} does not take a client"
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def _send(client: paho.Client, topic: str, texts: Sequence[str]) -> None:
    for begin in range(0, len(texts), _WINDOW):
        for sent in [client.publish(topic, text, 1) for text in texts[begin : begin + _WINDOW]]:
            sent.wait_for_publish(_PATIENCE)


@contextmanager
def _receive(server: Mosquitto, records: int) -> Iterator[Move]:
    """In the thread that has asked for it, as ours does it, and with the acknowledgements that paho makes by itself."""
    client, found = paho.Client(CallbackAPIVersion.VERSION2, _ALONE, protocol=paho.MQTTv5), list[bytes]()
    client.on_message = lambda _, __, message: found.append(bytes(message.payload))
    client.connect("localhost", server.port, **_kept())

    def move() -> list[bytes]:
        while len(found) < records:
            assert client.loop(_PATIENCE) == paho.MQTT_ERR_SUCCESS
        return found

    yield move
    client.disconnect()


def _kept() -> dict[str, Any]:
    """With these a client goes on with its session, which stays behind it."""
    properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = 0xFFFFFFFF
    return {"clean_start": False, "properties": properties}


def _fill(server: Mosquitto, records: int) -> None:
    """Sessions begin anew, and all messages wait in each of them."""
    for name in (_OURS, _ALONE):
        with server.client(name, clean_start=True):
            pass
        with server.client(name, **_kept()) as client:
            there = Event()
            client.on_subscribe = lambda *_, there=there: there.set()
            client.subscribe(_FULL, 1)
            assert there.wait(_PATIENCE), "the broker does not answer"
    with _publisher(server) as client:
        _send(client, _FULL, [moved.text(number) for number in range(records)])
