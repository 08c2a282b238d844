"""Topics of Kafka as topics of RocketMQ, which allows fewer characters: shop.public.orders is shop_public_orders. Pure."""

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins.kafka_names import topic_name


class TopicNames:
    """Those that a task has met; "" stays "", the topic of the configuration."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._origins: dict[str, str] = {}

    def of(self, topic: str) -> str:
        """The name here.

        Raises:
            PermanentError: another topic has it already.
        """
        name = self._known.get(topic)
        if name is None:
            name = topic_name(topic)
            if (other := self._origins.setdefault(name, topic)) != topic:
                msg = (
                    f"the topics {other} and {topic} of Kafka would both be {name} here: rename one with a transform, such as "
                    "org.apache.kafka.connect.transforms.RegexRouter"
                )
                raise PermanentError(msg)
            self._known[topic] = name
        return name
