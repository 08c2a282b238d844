"""Queues as texts: topic/broker/number."""

from rocketmq_remoting.model import MessageQueue


def text(queue: MessageQueue) -> str:
    """The queue as "topic/broker/queue"."""
    return f"{queue.topic}/{queue.broker}/{queue.queue_id}"


def parse(name: str) -> MessageQueue:
    """The queue of a text; raises ValueError when it is none."""
    topic, broker, number = name.rsplit("/", 2)
    return MessageQueue(topic, broker, int(number))
