"""What the pictures show: pipelines on a real RocketMQ, of which one is paused, one fails, and one loses its service."""

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import kill
from pathlib import Path
from typing import Any

from rocketconnect_cli.api import Api
from rocketmq_remoting import Client, Message, RocketMQError

_RATE = 200
_CSV = {"format": "csv", "transforms": "types", "transforms.types.type": "cast", "transforms.types.spec": "id:int64"}
_LETTERS = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "orders-letters"}
_FILE = {"connector.class": "file_lines", "engine": "native"}


def run(instance: Mapping[str, Any], folder: Path, seconds: float) -> None:
    """Let it run for so long.

    Args:
        instance: What `rocketconnect up` said when it was ready.
        folder: For the files of connectors.
        seconds: How long, from the first connector on.
    """
    source, began = folder / "orders.csv", time.monotonic()
    rows = ("x" if number % 100 == 0 else str(number) for number in range(1, int(_RATE * seconds * 2)))
    source.write_text("id,name\n" + "".join(f"{number},n\n" for number in rows), encoding="utf-8")

    def until(part: float) -> None:
        # What is to be seen needs time to pass; nothing is waited for.
        time.sleep(max(0.0, began + part * seconds - time.monotonic()))

    with Api(instance["rest"]) as api, _producing(instance["nameServer"]):

        def create(name: str, **config: str) -> None:
            api.request("POST", "/v1/connectors", body={"name": name, "config": config})

        slowly = {"connector.class": "file_source", "topic": "orders", "filename": str(source), "max.rate.records": str(_RATE)}
        create("orders-in", **slowly, **_CSV, **_LETTERS)
        create("orders-out", **{**_FILE, "topics": "orders", "filename": str(folder / "orders.txt")})
        create("clicks-out", **{**_FILE, "topics": "clicks", "filename": str(folder / "clicks.txt")})
        until(0.2)
        create("payments-in", **{**slowly, "topic": "payments"}, **_CSV, **{"errors.tolerance": "none"})
        until(0.4)
        api.request("POST", "/v1/connectors/clicks-out:pause", body={})
        until(0.6)
        api.request("POST", "/v1/connectors/clicks-out:resume", body={})
        until(0.75)
        kill(instance["pids"]["position"], signal.SIGKILL)
        until(1)


@contextmanager
def _producing(name_server: str) -> Iterator[None]:
    """A producer that is no connector: its messages have a time, from which latency and freshness are known."""
    ended = threading.Event()

    def produce() -> None:
        with Client(name_server, timeout=10) as client:
            client.create_topic("clicks", queues=4)
            queues = client.queues("clicks")
            while not ended.wait(0.5):
                for queue in queues:
                    try:
                        client.send_batch(queue, [Message(b'{"page": 1}')] * 10)
                    except RocketMQError:
                        return

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
