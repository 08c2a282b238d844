"""A source as the runtime runs it: what is sent, what is stored, and what a killed one sends again."""

import random
from typing import Any, ClassVar

from bson.json_util import JSONMode, JSONOptions, loads

from connectors.mongodb.source import MongodbSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, Option, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Offset, Position
from rocketconnect_sdk.resume import read, written
from rocketconnect_sdk.source import SourceTask

SOURCE = MongodbSource()
_ON_GAP = Option("on.gap", "As the runtime has it.", default="fail")
_JSON = JSONOptions(json_mode=JSONMode.CANONICAL, tz_aware=True)


class Sent:
    """A record in a topic."""

    def __init__(self, partition: str, offset: Offset, key: Any, value: Any, topic: str) -> None:
        self.partition, self.offset, self.key, self.value, self.topic = partition, offset, key, value, topic

    @property
    def op(self) -> str:
        """What happened; empty: it is a tombstone."""
        return "" if self.value is None else str(self.value["op"])

    @property
    def after(self) -> Any:
        """The document afterwards."""
        text = None if self.value is None else self.value["after"]
        return None if text is None else loads(text, json_options=_JSON)


class Reading:
    """Of one server, as long as a test takes.

    Attributes:
        sent: All records in the topic.
        positions: What is stored.
        opened: All of a test, which ends them.
    """

    opened: ClassVar[list["Reading"]] = []

    def __init__(self, url: str, records: int = 10_000, /, **options: str) -> None:
        given = {"url": url, "heartbeat.interval": "50ms", "request.timeout": "5s"}
        self.config = parse((*SOURCE.options, _ON_GAP), {**given, **{key.replace("_", "."): each for key, each in options.items()}})
        self.sent: list[Sent] = []
        self.positions: dict[str, Position] = {}
        self.epoch = 0
        self._records = records
        self._newest: dict[str, Offset] = {}
        self._unstored: list[tuple[str, Position]] = []
        self.task: SourceTask | None = None
        self.opened.append(self)

    def knows(self, **values: str) -> None:
        """Secrets are in their places, as the runtime puts them there."""
        self.config = Config({**self.config, **values}, self.config.raw)

    def start(self) -> None:
        """A process begins."""
        self.epoch += 1
        self.task = SOURCE.open(self.config, {}, TaskContext(epoch=self.epoch, batch_records=self._records))
        self.task.start(dict(self.positions))

    def poll(self) -> int:
        """One poll: how many records came, also those that are in the topic already."""
        if self.task is None:
            self.start()
        assert self.task is not None
        came = 0
        for batch in batches_of(self.task.poll()):
            came += len(batch)
            keys, topics = batch.keys or [None] * len(batch), batch.topics or [""] * len(batch)
            for offset, key, value, topic in zip(batch.offsets, keys, batch.values, topics, strict=True):
                if offset > self._newest.get(batch.partition, ()):
                    self._newest[batch.partition] = offset
                    self.sent.append(Sent(batch.partition, offset, key, value, topic))
                if batch.resume is None:
                    self._unstored.append((batch.partition, Position(offset)))
            end = batch.end or batch.offsets[-1]
            self._unstored.append((batch.partition, Position(end, read(written(batch.resume or {})))))
        return came

    def store(self, count: int | None = None) -> None:
        """Stores the first positions that are not stored; None: all."""
        some = self._unstored[:count]
        moved = dict(some)
        assert all(self.positions.get(name, Position(())).offset <= at.offset for name, at in some), "a position goes back"
        self.positions |= moved
        self._unstored = self._unstored[len(some) :]
        if self.task is not None and moved:
            self.task.committed(moved)

    def kill(self) -> None:
        """The process ends as it stands."""
        if self.task is not None:
            self.task.close()
        self.task, self._unstored = None, []

    def all(self, *, store: bool = True) -> list[Sent]:
        """What comes until nothing does for a while."""
        before, empty = len(self.sent), 0
        while empty < 4:
            empty = 0 if self.poll() else empty + 1
            if store:
                self.store()
        return self.sent[before:]


def applied(sent: list[Sent]) -> dict[str, dict[Any, Any]]:
    """By topic the documents that a target has which does what the records say."""
    found: dict[str, dict[Any, Any]] = {}
    for each in sent:
        documents = found.setdefault(each.topic, {})
        identity = str(each.key["_id"])
        if each.op in ("d", ""):
            documents.pop(identity, None)
        else:
            documents[identity] = each.after
    return found


def shaken(reading: Reading, chance: random.Random) -> None:
    """A poll, a store or a kill."""
    what = chance.random()
    if what < 0.6:
        reading.poll()
    elif what < 0.85:
        reading.store(chance.randint(1, 9))
    else:
        reading.kill()
