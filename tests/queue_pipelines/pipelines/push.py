"""Streams of Redis into a topic, exactly once, while RocketMQ's own client for Java reads the topic: a push consumer."""

import base64
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.tethered import tethered
from tests.queue_pipelines.comparing import Difference, in_order
from tests.queue_pipelines.events import event
from tests.queue_pipelines.pipeline import BROKER, EXECUTOR, JSON, TASK, TOPIC, Feed, Pipeline
from tests.servers.redis import Redis

_STREAMS = 4
_PROGRAM = Path(__file__).parent / "java" / "PushReader.java"
_GROUP = "of-java"


class RedisToJava(Pipeline):
    """See the module."""

    kills = (TASK, TASK, EXECUTOR, "source", BROKER, EXECUTOR)

    def start(self, stack: ExitStack) -> None:
        """See Pipeline."""
        self._redis = stack.enter_context(Redis().running())
        self.servers = {"source": self._redis}
        self._told = _Told(self.folder / "told")

    def attach(self, stack: ExitStack, name_server: str) -> None:
        """See Pipeline."""
        java = [str(find_javac().resolve().with_name("java")), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
        java += [f"-Duser.home={self.folder}", f"-Drocketmq.client.logRoot={self.folder}", "-Dfile.encoding=UTF-8"]
        command = [*java, "-cp", f"{rocketmq_jars()}/*", str(_PROGRAM), name_server, _GROUP, TOPIC]
        with self._told.path.open("wb") as out, (self.folder / "java.log").open("wb") as log:
            self._java = stack.enter_context(subprocess.Popen(tethered(command), stdout=out, stderr=log))
        stack.callback(self._java.kill)

    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Pipeline."""
        source = {
            "connector.class": "redis_source",
            "url": self._redis.url,
            "streams.pattern": "orders:*",
            "discover.interval": "1s",
            "topic": TOPIC,
            "max.tasks": "2",
        }
        return {"redis-in": {**source, **JSON}}

    @contextmanager
    def feeder(self) -> Iterator[Feed]:
        """See Pipeline. What the server has taken without a word is in its stream twice, and so is what is expected."""
        with redis.Redis(port=self._redis.port) as client:

            def feed(number: int) -> bool:
                fields = {"number": number, "event": json.dumps(event(number))}
                try:
                    client.xadd(f"orders:{number % _STREAMS}", fields)
                except (redis.ConnectionError, redis.TimeoutError):
                    return False
                return True

            yield feed

    def arrived(self) -> Set[int]:
        """See Pipeline."""
        assert self._java.poll() is None, (self.folder / "java.log").read_text(errors="replace")[-5_000:]
        return {int(fields["number"]) for those in self._told.by_key().values() for fields in those}

    def compare(self, given: int) -> str:
        """See Pipeline."""
        sent = self._sent()
        there = {json.loads(fields["event"])["number"] for those in sent.values() for fields in those}
        if there != set(range(given)):
            msg = f"the streams have {len(there)} of {given} events"
            raise Difference(msg)
        in_order(sent, self._told.by_key())
        again = self._told.again
        return f"{sum(map(len, sent.values()))} messages came to the consumer in order; {again} it was given again by itself"

    def _sent(self) -> Mapping[str, list[dict[str, str]]]:
        """What the streams have."""
        with redis.Redis(port=self._redis.port, decode_responses=True) as client:
            names = [f"orders:{number}" for number in range(_STREAMS)]
            return {name: [fields for _, fields in client.xrange(name)] for name in names}


class _Told:
    """What the consumer has been given.

    Attributes:
        path: What it writes.
        again: How many messages it was given once more: it stores its offsets each few seconds, and begins there when a broker was
            killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.again = 0
        self._read = 0
        self._seen: dict[tuple[int, int], tuple[str, str]] = {}

    def by_key(self) -> Mapping[str, list[dict[str, str]]]:
        """The bodies of its messages by their keys, each once, in the order in which it was given them first.

        Raises:
            Difference: one is another one than it was before.
        """
        self._read_on()
        found: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
        for name, body in self._seen.values():
            found[name].append(json.loads(body))
        return found

    def _read_on(self) -> None:
        with self.path.open("rb") as file:
            file.seek(self._read)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read += len(whole) + len(end)
        for line in whole.splitlines():
            queue, offset, *texts = line.split(b" ")
            place = (int(queue), int(offset))
            name, body = (base64.b64decode(text[1:-1]).decode() for text in texts)
            if place in self._seen:
                self.again += 1
            if self._seen.setdefault(place, (name, body)) != (name, body):
                msg = f"the message at {place} was {self._seen[place]}, and is {name, body}"
                raise Difference(msg)
