"""The other side of the tests, in a process of its own: the C++ library writes logs at home and keeps threads.

Commands come as lines of JSON and are answered by such lines; bodies are in Base64.
"""

import base64
import json
import logging
import queue
import sys
import threading
from typing import Any

from rocketmq_native import Producer, PushConsumer, Received
from rocketmq_remoting import Compression, Message, RocketMQError

NAMES = ("own", "größe", "DELAY", "UNIQ_KEY", "absent")
_TOLD = threading.Lock()


def main() -> None:
    """Does what it is told until its input ends."""
    logging.basicConfig(stream=sys.stderr)
    name_server = sys.argv[1]
    users: dict[str, Any] = {"access_key": sys.argv[2], "secret_key": sys.argv[3]} if len(sys.argv) > 2 else {}
    consumers: list[PushConsumer] = []
    with Producer(name_server, timeout=10, **users) as producer:
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "send":
                tell(_sent(producer, command))
            else:
                try:
                    consumers.append(_consumer(name_server, command, users))
                except RocketMQError as error:
                    tell({"error": type(error).__name__, "text": str(error)})
                else:
                    tell({"consuming": command["topic"]})
        for consumer in consumers:
            consumer.close()


def tell(said: dict[str, Any]) -> None:
    """Writes a line."""
    with _TOLD:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _sent(producer: Producer, command: dict[str, Any]) -> dict[str, Any]:
    told = command["message"]
    compression = told.pop("compression", None)
    message = Message(
        base64.b64decode(told.pop("body")), compression=None if compression is None else Compression[compression], **told
    )
    try:
        sent = producer.send(command["topic"], message, sharding_key=command.get("sharding_key"))
    except RocketMQError as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {"message_id": sent.message_id, "queue_offset": sent.queue_offset}


def _consumer(name_server: str, command: dict[str, Any], users: dict[str, Any]) -> PushConsumer:
    failing = queue.SimpleQueue[str]()
    for name in command.get("fail", ()):
        failing.put(name)

    def handle(message: Received) -> None:
        tell(
            {
                "topic": message.topic,
                "queue_id": message.queue_id,
                "queue_offset": message.queue_offset,
                "body": base64.b64encode(message.body).decode(),
                "tags": message.tags,
                "keys": message.keys,
                "message_id": message.message_id,
                "reconsume_times": message.reconsume_times,
                "properties": {name: found for name in NAMES if (found := message.property(name))},
            }
        )
        if not failing.empty():
            raise {"exit": SystemExit, "error": ValueError}[failing.get()]

    return PushConsumer(
        name_server,
        command["group"],
        command["topic"],
        handle,
        tags=command.get("tags", "*"),
        ordered=command.get("ordered", False),
        **users,
    )


if __name__ == "__main__":
    main()
