"""The client: send, pull, offsets, topics."""

from __future__ import annotations

import os
import random
import socket
import time
from typing import TYPE_CHECKING, Self

from rocketmq_remoting.admin import Admin
from rocketmq_remoting.batch import EncodedBatch
from rocketmq_remoting.connections.heartbeat import Heartbeat
from rocketmq_remoting.connections.network import Lane, Network
from rocketmq_remoting.errors import GroupNotFound, InvalidRequest, NotSent, RequestTimeout, TopicNotFound
from rocketmq_remoting.model import Message, MessageQueue, Permission, SqlFilter
from rocketmq_remoting.offsets import Offsets
from rocketmq_remoting.protocol.requests import filter_expression
from rocketmq_remoting.protocol.signature import Credentials
from rocketmq_remoting.pulls.filters import Filters
from rocketmq_remoting.pulls.lookup import Lookup
from rocketmq_remoting.pulls.pulling import PullLane
from rocketmq_remoting.routes import Routes
from rocketmq_remoting.sending import Sender, encode_messages
from rocketmq_remoting.settings import Settings
from rocketmq_remoting.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import SendReceipt, TagFilter, TlsOptions, TopicConfig, TopicRoute
    from rocketmq_remoting.pulls.pulled import PullResult

BARRIER_TOPIC = "rocketmq_remoting_barrier"
DEFAULT_GROUP = "rocketmq_remoting"
_HEARTBEAT_INTERVAL = 30.0


class Client:
    """A RocketMQ client over the remoting protocol; one for a process is enough. Safe for concurrent use.

    All times are seconds unless a name says `_ms`. Every call ends by its timeout. What can be raised is in
    `rocketmq_remoting.errors`; each call may raise `RetriableError` in its forms and `NoPermission`.

    What brokers know of themselves, of topics, groups and clients is asked by `admin`; `settings` has those of topics and groups,
    and `lookup` finds messages by their keys.

    Order within a queue holds only with at most one send under way for it: a broker runs several send threads.

    Args:
        name_servers: `host:port` addresses; a string separates them by semicolons.
        access_key: for brokers with ACL; needs `secret_key`.
        secret_key: its secret; kept out of every message and log.
        tls: for servers that speak TLS.
        group: the producer group, and the consumer group of pulls that name none.
        timeout: for a call that gives none.
        unacknowledged: how long the operating system (Linux) tries to bring bytes to a server that acknowledges none.
        locate: gives the address that is connected to for a host and a port, before each connection, or raises. Default: the host.
    """

    def __init__(
        self,
        name_servers: Sequence[str] | str,
        *,
        access_key: str | None = None,
        secret_key: str | None = None,
        tls: TlsOptions | None = None,
        group: str = DEFAULT_GROUP,
        timeout: float = 3.0,
        unacknowledged: float = 15.0,
        locate: Callable[[str, int], str] | None = None,
    ) -> None:
        if (access_key is None) != (secret_key is None):
            msg = "access_key and secret_key belong together: give both or none"
            raise InvalidRequest(msg)
        credentials = Credentials(access_key, secret_key) if access_key is not None and secret_key is not None else None
        self.group = group
        self.client_id = f"{socket.gethostname()}@{os.getpid()}@{random.getrandbits(32):08x}"
        self._timeout = timeout
        self._network = Network(credentials, tls, timeout, unacknowledged, locate)
        try:
            self._routes = Routes(self._network, name_servers, timeout, max_age=_HEARTBEAT_INTERVAL * 2)
        except BaseException:
            self._network.close()
            raise
        self.admin = Admin(self._network, self._routes)
        self._topics = Topics(self._network, self._routes, max(timeout, 5.0))
        self.settings = Settings(self._network, self._routes, timeout)
        self._heartbeat = Heartbeat(self._network, self._routes, self.client_id, group, _HEARTBEAT_INTERVAL)
        self._offsets = Offsets(self._routes, self._heartbeat, timeout)
        self.lookup = Lookup(self._routes, timeout)
        self._sender = Sender(self._network, self._routes, group)
        self._barrier_brokers: set[str] = set()
        self._filters = Filters(self._routes, self.client_id, timeout)

    def close(self) -> None:
        """End all connections. Requests under way fail; calls after it raise `ClientClosed`."""
        self._heartbeat.close()
        self._network.close()

    def __enter__(self) -> Self:
        """Return the client; it is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close it."""
        self.close()

    # --- routes

    def route(self, topic: str, *, fresh: bool = False) -> TopicRoute:
        """Return where a topic's queues are; remembered for a minute unless `fresh`.

        Raises:
            TopicNotFound: no broker has announced it.
        """
        return self._routes.topic(topic, fresh=fresh)

    def queues(self, topic: str, *, writable: bool = False, fresh: bool = False) -> list[MessageQueue]:
        """Return the queues of a topic that can be read (or, if `writable`, written), sorted; `fresh` as `route`.

        Raises:
            TopicNotFound: no broker has announced it.
        """
        return self.route(topic, fresh=fresh).message_queues(Permission.WRITE if writable else Permission.READ)

    # --- send

    def send(
        self, queue: MessageQueue, message: Message, timeout: float | None = None, *, not_after: float | None = None
    ) -> SendReceipt:
        """Send one message and wait until the broker confirms it; arguments and errors as `send_batch`."""
        timeout = self._timeout if timeout is None else timeout
        return self._sender.confirmed(queue, self._sender.message(queue, message), 1, timeout, not_after, retry=False)

    def send_batch(
        self,
        queue: MessageQueue,
        messages: Sequence[Message] | EncodedBatch,
        timeout: float | None = None,
        *,
        not_after: float | None = None,
        retry: bool = False,
    ) -> SendReceipt:
        """Send messages in one request and wait until the broker confirms them: then all are stored, in order.

        A refusal (busy, no connection) is tried again with a growing pause until the timeout, always on the same
        queue: it had no effect. After an unknown outcome all may be stored, or none, or, if the broker died while it
        wrote, the first ones.

        Args:
            queue: where to.
            messages: the messages, or what `encode_batch` made of them.
            timeout: for everything together, seconds.
            not_after: time (`clock.boot_seconds`) after which nothing may be written.
            retry: try again after an unknown outcome as well; the messages may then be stored twice.

        Raises:
            RequestRejected: the last refusal, when the timeout has come; nothing is stored.
            OutcomeUnknown: the messages may or may not be stored.
            MessageTooLarge, InvalidMessage, InvalidRequest, TopicNotFound, NoPermission: nothing is stored.
        """
        batch = messages if isinstance(messages, EncodedBatch) else encode_messages(messages)
        timeout = self._timeout if timeout is None else timeout
        request = self._sender.batch(queue, batch)
        return self._sender.confirmed(queue, request, batch.count, timeout, not_after, retry=retry)

    def send_batch_async(
        self,
        queue: MessageQueue,
        messages: Sequence[Message] | EncodedBatch,
        timeout: float | None = None,
        *,
        not_after: float | None = None,
    ) -> Pending[SendReceipt]:
        """Write a batch and return its future receipt, for sends to many queues at once; nothing is tried again.

        Raises:
            RequestRejected: it could not be written; nothing is stored. All else is raised by the receipt's `result()`.
        """
        batch = messages if isinstance(messages, EncodedBatch) else encode_messages(messages)
        timeout = self._timeout if timeout is None else timeout
        return self._sender.submit(queue, self._sender.batch(queue, batch), batch.count, timeout, not_after)

    # --- pull

    def pull(
        self,
        queue: MessageQueue,
        offset: int,
        *,
        max_messages: int = 1024,
        max_bytes: int = 4 << 20,
        suspend: float = 0.0,
        message_filter: TagFilter | SqlFilter | None = None,
        group: str | None = None,
    ) -> PullResult:
        """Pull messages from a queue, beginning at an offset.

        Args:
            queue: where from.
            offset: of the first message.
            max_messages: at most so many; a broker has its own limit (32 by default). A batch topic's unit comes whole.
            max_bytes: at most so many bytes; a broker has its own limit (256 KiB by default).
            suspend: how long the broker waits for a message while there is none; 0: answer at once.
            message_filter: deliver only these; the broker skips the others.
            group: the consumer group in whose name the pull is made.

        Raises:
            TopicNotFound, GroupNotFound, InvalidFilter, InvalidRequest: see the message.
        """
        lane = self.pull_lane(queue, max_bytes=max_bytes, suspend=suspend, message_filter=message_filter, group=group)
        return lane.pull([(offset, max_messages)])[0].result()

    def pull_async(
        self,
        queue: MessageQueue,
        offset: int,
        *,
        max_messages: int = 1024,
        max_bytes: int = 4 << 20,
        suspend: float = 0.0,
        message_filter: TagFilter | SqlFilter | None = None,
        group: str | None = None,
    ) -> Pending[PullResult]:
        """Pull without waiting; several may be under way for one queue. Arguments and errors as `pull`."""
        lane = self.pull_lane(queue, max_bytes=max_bytes, suspend=suspend, message_filter=message_filter, group=group)
        return lane.pull([(offset, max_messages)])[0]

    def pull_lane(
        self,
        queue: MessageQueue,
        *,
        max_bytes: int,
        suspend: float,
        message_filter: TagFilter | SqlFilter | None,
        group: str | None,
    ) -> PullLane:
        """Return what many pulls from one queue can be made with; arguments as `pull`.

        Raises:
            NotSent: the broker can't be reached.
            InvalidFilter: the broker can't make sense of the SQL expression, or doesn't allow any.
        """
        group = group or self.group
        if isinstance(message_filter, SqlFilter):
            self._filters.check(queue, group, message_filter)
        self._heartbeat.subscribe(group, queue.topic, filter_expression(message_filter))
        address = self._routes.master(queue.broker)
        try:
            connection = self._network.connection(address, Lane.PULL)
        except NotSent:
            self._routes.doubt(queue.broker)
            raise
        return PullLane(connection, queue, group, suspend, max_bytes, message_filter, self._timeout)

    # --- offsets

    def min_offset(self, queue: MessageQueue) -> int:
        """Return the offset of the first message that the queue still has."""
        return self._offsets.first(queue)

    def max_offset(self, queue: MessageQueue) -> int:
        """Return the offset that the next message will get; it lags behind sends by the broker's dispatch."""
        return self._offsets.end(queue)

    def offset_by_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the first message stored at or after a time, in milliseconds since 1970."""
        return self._offsets.by_time(queue, timestamp_ms)

    def committed_offset(self, group: str, queue: MessageQueue) -> int | None:
        """Return the offset that a consumer group goes on from, None if it never committed one."""
        return self._offsets.committed(group, queue)

    def commit_offset(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Set the offset that a consumer group goes on from; RocketMQ's tools show lag by it."""
        self._offsets.commit(group, queue, offset)

    def set_offset(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Set the offset that a consumer group goes on from without joining it; it is made where it is not there.

        Consumers that it has go on where they are, and overwrite it.
        """
        try:
            self._offsets.put(group, queue, offset)
        except GroupNotFound:
            self.create_group(group)
            self._offsets.put(group, queue, offset)

    # --- topics

    def create_topic(
        self,
        topic: str,
        *,
        queues: int = 8,
        read_queues: int | None = None,
        topic_type: str = "normal",
        permission: Permission = Permission.READ | Permission.WRITE,
        brokers: Sequence[str] | None = None,
        attributes: Mapping[str, str] | None = None,
        keep: bool = False,
    ) -> None:
        """Create a topic, or change one that exists, and wait until the name server announces it.

        Args:
            topic: its name.
            queues: on each broker.
            read_queues: how many of them consumers see; default: all.
            topic_type: `normal`, or `batch` for the fast form that only RocketMQ 5 clients read; can't be changed.
            permission: what it allows.
            brokers: names of broker groups; default: all.
            attributes: RocketMQ's topic attributes, such as {"cleanup.policy": "COMPACTION"}.
            keep: leave the topic of a broker that has it as it is, whatever its queues, type and attributes are.

        Raises:
            InvalidRequest: a name or value that RocketMQ doesn't take, or another type than the topic has.
        """
        self._topics.create(
            topic,
            queues=queues,
            read_queues=queues if read_queues is None else read_queues,
            topic_type=topic_type,
            permission=permission,
            brokers=brokers,
            attributes=attributes,
            keep=keep,
        )

    def delete_topic(self, topic: str) -> None:
        """Delete a topic on all its brokers and name servers; one that doesn't exist is no error."""
        self._topics.delete(topic)

    def topics(self) -> list[str]:
        """Return the names of all topics, RocketMQ's own among them, sorted."""
        return self._routes.topics()

    def topic_exists(self, topic: str) -> bool:
        """Whether a broker has announced this topic."""
        try:
            self.route(topic, fresh=True)
        except TopicNotFound:
            return False
        return True

    def topic_on_broker(self, topic: str) -> bool:
        """Whether a broker has this topic, announced or not: one that was just started announces its topics a moment later.

        Raises:
            NameServersUnavailable: no broker is registered, so there is nobody to ask.
        """
        return self._topics.on_broker(topic)

    def topic_config(self, topic: str) -> TopicConfig:
        """Return a topic's configuration as its first broker has it.

        Raises:
            TopicNotFound: there is none.
        """
        return self._topics.describe(topic)

    def create_group(self, group: str) -> None:
        """Create a consumer group on each broker that has none of this name, for those that don't create groups on their own.

        A group that is there keeps its settings.
        """
        self._topics.create_group(group)

    # --- barrier

    def barrier(self, broker: str, timeout: float | None = None) -> None:
        """Return when everything that this broker had stored before the call can be pulled and counts in `max_offset`.

        A broker makes stored messages readable a moment later, in the order in which it stored them, whatever their
        topic: so a message is sent to a topic of the client's own, and when that one is readable, all before it are.

        Raises:
            RequestTimeout: the broker did not get that far in time.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        queue = MessageQueue(BARRIER_TOPIC, broker, 0)
        if broker not in self._barrier_brokers:
            if queue not in (self.queues(BARRIER_TOPIC) if self.topic_exists(BARRIER_TOPIC) else ()):
                self.create_topic(BARRIER_TOPIC, queues=1, brokers=[broker])
            self._barrier_brokers.add(broker)
        try:
            receipt = self.send(queue, Message(b"barrier"), max(deadline - time.monotonic(), 0.001))
        except TopicNotFound:
            # Deleted, or on a broker that has lost its store: the next call makes it anew.
            self._barrier_brokers.discard(broker)
            raise
        pause = 0.001
        while self.max_offset(queue) <= receipt.queue_offset:
            if time.monotonic() + pause > deadline:
                msg = f"barrier on broker {broker}: stored messages are not readable yet; the broker's dispatch lags"
                raise RequestTimeout(msg)
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
