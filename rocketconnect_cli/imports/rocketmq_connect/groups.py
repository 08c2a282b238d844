"""Where sinks of RocketMQ Connect are: their consumer groups, as brokers have them."""

import json
import os
from collections.abc import Sequence

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.diagnosis.broker import client_of
from rocketconnect_cli.imports.rocketmq_connect.positions import Position
from rocketmq_remoting import Client, MessageQueue, RocketMQError, TopicNotFound


def committed(name_servers: str, wanted: Sequence[tuple[str, Sequence[str]]]) -> list[list[Position]]:
    """By group and its topics the positions of a sink here: what the group has read. A queue that it never read has none.

    Raises:
        ApiError: WRONG, when the cluster does not answer.
    """
    try:
        with client_of(name_servers, os.environ) as client:
            found: list[list[Position]] = []
            for group, topics in wanted:
                queues = [queue for topic in topics for queue in _queues(client, topic)]
                offsets = [(queue, client.committed_offset(group, queue)) for queue in queues]
                found.append(
                    [
                        {"partition": f"{queue.topic}/{queue.broker}/{queue.queue_id}", "offset": json.dumps([offset])}
                        for queue, offset in offsets
                        if offset is not None
                    ]
                )
            return found
    except (RocketMQError, OSError, ValueError) as error:
        detail = f"the cluster at {name_servers} does not say where sinks are: {error}. Nothing was changed."
        raise ApiError(Exit.WRONG, {"detail": detail}) from None


def _queues(client: Client, topic: str) -> Sequence[MessageQueue]:
    try:
        return client.queues(topic)
    except TopicNotFound:
        return ()
