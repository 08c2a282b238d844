"""A topic of Mosquitto, to which somebody listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench.systems import moved
from bench.systems.driving import sinking
from bench.systems.system import Compared, Move
from connectors.mqtt.sink import MqttSink
from tests.servers.mqtt.mosquitto import Mosquitto

_TOPIC = "orders"
_WINDOW = 500
"""Messages that paho is given at once: at each answer it looks through all that are not answered."""
_PATIENCE = 60.0


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, QoS 1, until the end of the block."""
    with Mosquitto().running() as server, server.listening(_TOPIC) as seen:

        def found() -> list[str]:
            server.settle(_TOPIC, seen)
            return [text for text in seen if text != "end"]

        config = {"url": server.url, "target.topic": _TOPIC}
        yield [
            Compared(
                "mqtt_sink",
                "paho",
                lambda: sinking(MqttSink(), config, records),
                lambda: _publish(server, records),
                found,
                seen.clear,
            )
        ]


@contextmanager
def _publish(server: Mosquitto, records: int) -> Iterator[Move]:
    texts = [moved.text(number) for number in range(records)]
    client, there = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5), Event()
    client.max_inflight_messages_set(_WINDOW)
    client.on_connect = lambda *_: there.set()
    client.connect("localhost", server.port)
    client.loop_start()
    try:
        assert there.wait(_PATIENCE), f"the broker at {server.port} does not take a client"

        def move() -> tuple[str, ...]:
            for begin in range(0, records, _WINDOW):
                for sent in [client.publish(_TOPIC, text, 1) for text in texts[begin : begin + _WINDOW]]:
                    sent.wait_for_publish(_PATIENCE)
            return ()

        yield move
    finally:
        client.disconnect()
        client.loop_stop()
