"""Looks where consumer groups are in one cluster, and sets them to the same place in the other."""

import logging
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from connectors.rocketmq import messages
from connectors.rocketmq.client import told
from connectors.rocketmq.replicator.clusters import Clusters, Round, Row
from connectors.rocketmq.replicator.translation import Copy, Window, passed, read_of_own, translated
from connectors.rocketmq.selection import topics_of_brokers
from rocketconnect_sdk.cursors import Mark, Session, StreamGone
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketmq_remoting import Client, MessageQueue, PulledMessage, TopicNotFound

SCHEMA = struct(
    [
        ("group", STRING),
        ("topic", STRING),
        ("queue", STRING),
        ("offset", Schema(Type.INT64)),
        ("target_topic", STRING),
        ("target_queue", STRING),
        ("target_offset", Schema(Type.INT64)),
        ("is_set", Schema(Type.BOOLEAN)),
    ]
)
"""Of a record: a group goes on at `offset` of a queue there, and so at `target_offset` here; whether it is set to that here."""
_WINDOW = 32
"""Messages of one look: a broker gives no more at a time by default."""
_TAIL = 4 * _WINDOW
"""So many of the newest messages of a queue tell copies of which queues are in it."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a group is: the offset there, and that of the queue with the copies."""

    offset: int
    copies: MessageQueue
    target: int


class Checkpoints(Clusters):
    """Both clusters. See Clusters."""

    def __init__(
        self, config: Config, log: logging.Logger | logging.LoggerAdapter[logging.Logger] | None = None, seconds: float = 0.0
    ) -> None:
        super().__init__(config, log, seconds)
        self._sets: bool = config["offsets.sync"]
        self._seconds: float = seconds or config["request.timeout"]
        self._known: dict[tuple[str, MessageQueue], _Place] = {}
        self._homes: dict[MessageQueue, MessageQueue] = {}
        self._told: set[str] = set()

    def topics(self) -> list[str]:
        """The topics of the other cluster that are meant and there."""
        with told(self._places[0]):
            found = self._selection.of_cluster(self._there.topics(), topics_of_brokers(self._there.admin.brokers()))
        # Two that would share one are refused.
        topics_of(self._template, "topic", found)
        return found

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        """See Connection."""
        del since, token
        return Round(partial(self.changed, stream), SCHEMA, ("group", "topic", "queue"))

    def changed(self, topic: str) -> list[Row]:
        """What has changed of a topic since this was asked last: see SCHEMA. Offsets here are set.

        Raises:
            StreamGone: the topic is not there.
            SystemAway, RetriableError, PermanentError: see Session.
        """
        there, here = self._places
        with told(there):
            try:
                queues = self._there.queues(topic, fresh=True)
            except TopicNotFound as error:
                raise StreamGone(str(error)) from error
            at = {
                group: {queue: offset for queue in queues if (offset := self._there.committed_offset(group, queue)) is not None}
                for group in self._groups.of_topic(self._groups_of(topic))
            }
        target = topics_of(self._template, "topic", [topic])[topic]
        with told(here):
            try:
                copies = self._here.queues(target, fresh=True)
            except TopicNotFound:
                # Nothing was copied yet.
                return []
            return [row for group, offsets in at.items() for row in self._of_group(group, offsets, copies)]

    def _groups_of(self, topic: str) -> set[str]:
        found: set[str] = set()
        for broker in self._there.admin.brokers():
            if broker.master is not None:
                found.update(self._there.admin.groups(broker.master, topic, self._seconds).result())
        return found

    def _of_group(self, group: str, offsets: Mapping[MessageQueue, int], copies: Sequence[MessageQueue]) -> Iterator[Row]:
        names = frozenset(map(_name, offsets))
        places = {
            queue: place for queue, offset in offsets.items() if (place := self._place_of(group, queue, offset, copies, names))
        }
        # Where copies of several queues share one, the group goes on at the first that it has not read of any.
        wanted: dict[MessageQueue, int] = {}
        for place in places.values():
            wanted[place.copies] = min(place.target, wanted.get(place.copies, place.target))
        are_set = {queue: self._set(group, queue, offset) for queue, offset in wanted.items()} if self._may_set(group) else {}
        for queue, place in places.items():
            if self._known.get((group, queue)) != place:
                self._known[group, queue] = place
                yield {
                    "group": group,
                    "topic": queue.topic,
                    "queue": _name(queue),
                    "offset": place.offset,
                    "target_topic": place.copies.topic,
                    "target_queue": _name(place.copies),
                    "target_offset": place.target,
                    "is_set": are_set.get(place.copies, False) and wanted[place.copies] == place.target,
                }

    def _place_of(
        self, group: str, queue: MessageQueue, offset: int, copies: Sequence[MessageQueue], read: Container[str]
    ) -> _Place | None:
        """Where a group is among the copies; None: there are none yet."""
        home = self._homes.get(queue) or self._home_of(queue, copies)
        if home is None:
            return None
        self._homes[queue] = home
        begin, end = self._here.min_offset(home), self._here.max_offset(home)
        last = self._known.get((group, queue))
        if last is not None and last.copies == home and last.offset <= offset:
            # The group has not gone back, so what it had read it has read.
            begin = min(max(begin, last.target), end)
        found = translated(partial(self._window, self._here, home), begin, end, queue.topic, _name(queue), offset)
        own = self._read_of_own(queue, offset, home)
        if own is None and found.has_own:
            self._tell(
                f"{home.topic}: it has messages that are no copies of {queue.topic}, and these are not copied back, so offsets of "
                "groups can't be translated. Copy in both directions, or give the copies a topic of their own (topic.template)"
            )
            return None
        if own is None:
            return _Place(offset, home, found.position)
        # Behind what is known to be read of its own there may be copies that were read there.
        look = partial(self._window, self._here, home)
        return _Place(offset, home, passed(look, max(own, begin), found.position, queue.topic, read))

    def _read_of_own(self, queue: MessageQueue, offset: int, home: MessageQueue) -> int | None:
        """Up to where a group has read by copies there what is no copy here; None: nothing is copied back."""
        with told(self._places[0]):
            begin, end = self._there.min_offset(queue), self._there.max_offset(queue)
            look = partial(self._window, self._there, queue)
            return read_of_own(look, begin, end, min(max(begin, offset), end), home.topic, _name(home))

    def _home_of(self, queue: MessageQueue, copies: Sequence[MessageQueue]) -> MessageQueue | None:
        """The queue with the copies of another one: all of them are in one. None: it has none among the newest."""
        likely = sorted(copies, key=lambda each: (each.queue_id != queue.queue_id % len(copies), each.broker != queue.broker, each))
        for each in likely:
            begin, end = self._here.min_offset(each), self._here.max_offset(each)
            at = max(begin, end - _TAIL)
            while at < end:
                window = self._window(self._here, each, at)
                if any((copy.topic, copy.queue) == (queue.topic, _name(queue)) for copy in window.copies):
                    return each
                at = max(window.next, at + 1)
        return None

    @staticmethod
    def _window(client: Client, queue: MessageQueue, at: int) -> Window:
        result = client.pull(queue, at, max_messages=_WINDOW)
        copies = [copy for message in result.messages if (copy := _copy_of(message)) is not None]
        return Window(max(result.next_offset, at + 1), copies, len(copies) < len(result.messages))

    def _may_set(self, group: str) -> bool:
        if not self._sets:
            return False
        with_somebody = [
            broker.name
            for broker in self._here.admin.brokers()
            if broker.master is not None and self._here.admin.connections(broker.master, group, self._seconds).result().connections
        ]
        return not with_somebody

    def _set(self, group: str, queue: MessageQueue, offset: int) -> bool:
        """Whether the offset of the group is this one now; it goes forwards alone."""
        now = self._here.committed_offset(group, queue)
        if now is None or now < offset:
            self._here.set_offset(group, queue, offset)
            return True
        return now == offset

    def _tell(self, text: str) -> None:
        if self._log is not None and text not in self._told:
            self._told.add(text)
            self._log.warning(text)


def _name(queue: MessageQueue) -> str:
    return f"{queue.broker}/{queue.queue_id}"


def _copy_of(message: PulledMessage) -> Copy | None:
    said = message.properties
    try:
        return Copy(message.queue_offset, said[messages.TOPIC], said[messages.QUEUE], int(said[messages.OFFSET]))
    except (KeyError, ValueError):
        return None
