"""Topics of MQTT into a topic of RocketMQ, and from there into other topics of MQTT: at least once on both ways."""

import json
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager

from tests.queue_pipelines.comparing import at_least
from tests.queue_pipelines.events import event, key
from tests.queue_pipelines.pipeline import BROKER, EXECUTOR, JSON, TASK, TOPIC, Feed, Pipeline
from tests.servers.mqtt.mosquitto import Mosquitto

_SECONDS = 300.0
"""For hangs alone."""


class MqttToMqtt(Pipeline):
    """See the module. Mosquitto itself is not killed: it may lose what it has confirmed a moment before."""

    kills = (TASK, TASK, EXECUTOR, BROKER, EXECUTOR)

    def start(self, stack: ExitStack) -> None:
        """See Pipeline."""
        self._mosquitto = stack.enter_context(Mosquitto().running())
        self._seen: list[str] = stack.enter_context(self._mosquitto.listening("copies/#"))

    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Pipeline."""
        source = {
            "connector.class": "mqtt_source",
            "url": self._mosquitto.url,
            "filters": "orders/+",
            "value.format": "json",
            "key": "${2}",
            "topic": TOPIC,
        }
        sink = {"connector.class": "mqtt_sink", "url": self._mosquitto.url, "topics": TOPIC, "target.topic": "copies/${key}"}
        return {"mqtt-in": {**source, **JSON}, "mqtt-out": {**sink, **JSON}}

    @contextmanager
    def feeder(self) -> Iterator[Feed]:
        """See Pipeline."""
        with self._mosquitto.client() as client:

            def feed(number: int) -> bool:
                sent = client.publish(f"orders/{key(number)}", json.dumps(event(number)), 1)
                sent.wait_for_publish(_SECONDS)
                return sent.is_published()

            yield feed

    def arrived(self) -> Set[int]:
        """See Pipeline."""
        return {json.loads(text)["number"] for text in self._seen}

    def due(self, given: int) -> Set[int]:
        """See Pipeline. What was published before the source had its session is for nobody."""
        return set(range(min(self.arrived(), default=0), given))

    def compare(self, given: int) -> str:
        """See Pipeline."""
        found = [json.dumps(json.loads(text), sort_keys=True) for text in self._seen]
        expected, possible = (
            [json.dumps(event(number), sort_keys=True) for number in numbers] for numbers in (self.due(given), range(given))
        )
        at_least(expected, found, possible)
        return f"all {len(expected)} messages came, {len(found) - len(set(found))} of them again"
