"""Asks brokers what they know of themselves, of topics, consumer groups and clients. Nothing is changed by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rocketmq_remoting.model import GroupConnections, PullStatus
from rocketmq_remoting.protocol import statistics
from rocketmq_remoting.protocol.codes import RequestCode, ResponseCode
from rocketmq_remoting.protocol.requests import Request, check, pull_request, read_pull

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocketmq_remoting.connections.network import Network
    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import BrokerData, ConsumerStatus, Counted, GroupProgress, MessageQueue, QueueEnds
    from rocketmq_remoting.protocol.frame import Frame
    from rocketmq_remoting.routes import Routes

T = TypeVar("T")

_TOOLS_GROUP = "TOOLS_CONSUMER"
"""A group that each broker has from the start, for those who look: a pull in its name is nobody's progress."""
_LARGEST_BYTES = 256 << 10


class Admin:
    """What `Client.admin` gives. Safe for concurrent use.

    Each call takes the address of a broker and gives the future answer, so that many can be under way at a time. It is
    written at once; a broker that cannot be reached raises `NotSent`.
    """

    def __init__(self, network: Network, routes: Routes) -> None:
        self._network = network
        self._routes = routes

    def brokers(self) -> tuple[BrokerData, ...]:
        """Return the brokers of all clusters that the name server knows now; waits for the answer.

        Raises:
            NameServersUnavailable: none answered.
        """
        return self._routes.cluster()

    def runtime(self, address: str, timeout: float) -> Pending[dict[str, str]]:
        """What a broker says of itself, in its own names and texts."""
        request = Request(RequestCode.GET_BROKER_RUNTIME_INFO, {})
        return self._ask(address, request, statistics.decode_runtime, timeout, f"state of broker {address}")

    def topics(self, address: str, timeout: float) -> Pending[list[str]]:
        """The topics that a broker has, its own among them, sorted."""
        request = Request(RequestCode.GET_ALL_TOPIC_CONFIG, {})
        return self._ask(address, request, statistics.decode_topics, timeout, f"topics of broker {address}")

    def ends(self, address: str, topic: str, timeout: float) -> Pending[dict[MessageQueue, QueueEnds]]:
        """Where the queues of a topic begin and end on a broker."""
        request = Request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
        return self._ask(address, request, statistics.decode_ends, timeout, f"offsets of topic {topic}")

    def groups(self, address: str, topic: str, timeout: float) -> Pending[list[str]]:
        """The consumer groups that read a topic, or have committed an offset in it, sorted."""
        request = Request(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic})
        return self._ask(address, request, statistics.decode_groups, timeout, f"groups of topic {topic}")

    def connections(self, address: str, group: str, timeout: float) -> Pending[GroupConnections]:
        """Who is connected to a broker for a consumer group; nobody is an answer, too."""
        what = f"connections of group {group}"

        def read(frame: Frame) -> GroupConnections:
            if frame.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return GroupConnections((), broadcasting=False)
            return statistics.decode_connections(check(frame, what).body)

        request = Request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        return self._network.submit(address, request, read, timeout=timeout, what=what)

    def progress(self, address: str, group: str, topic: str, timeout: float) -> Pending[GroupProgress]:
        """How far a consumer group is in the queues that a broker has of a topic."""
        request = Request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})
        return self._ask(address, request, statistics.decode_progress, timeout, f"progress of group {group} in topic {topic}")

    def producers(self, address: str, timeout: float) -> Pending[dict[str, int]]:
        """How many connections each producer group has to a broker."""
        request = Request(RequestCode.GET_ALL_PRODUCER_INFO, {})
        return self._ask(address, request, statistics.decode_producers, timeout, f"producers of broker {address}")

    def counted(self, address: str, name: str, key: str, timeout: float) -> Pending[Counted | None]:
        """What a broker has counted in the last minute, such as `TOPIC_PUT_NUMS` of a topic; None: nothing since it started."""
        what = f"{name} of {key}"

        def read(frame: Frame) -> Counted | None:
            if frame.code == ResponseCode.SYSTEM_ERROR and "not exist" in frame.remark:
                return None
            return statistics.decode_counted(check(frame, what).body)

        request = Request(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key})
        return self._network.submit(address, request, read, timeout=timeout, what=what)

    def status(self, address: str, group: str, client_id: str, timeout: float) -> Pending[dict[str, ConsumerStatus]]:
        """What a consumer says of itself, by topic: the broker asks it. One that cannot answer fails as `Unsupported`."""
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        request = Request(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)
        return self._ask(address, request, statistics.decode_status, timeout, f"state of consumer {client_id}")

    def stored_at(self, address: str, queue: MessageQueue, offset: int, timeout: float) -> Pending[int | None]:
        """When the message at an offset was stored, in milliseconds since 1970; None: there is none."""
        request = pull_request(
            queue,
            offset,
            group=_TOOLS_GROUP,
            max_messages=1,
            max_bytes=_LARGEST_BYTES,
            suspend=0.0,
            message_filter=None,
        )

        def read(frame: Frame) -> int | None:
            pulled = read_pull(frame, queue, offset, None, _LARGEST_BYTES)
            stored = pulled.batch.store_timestamps_ms
            return stored[0] if pulled.status is PullStatus.FOUND and stored else None

        return self._network.submit(address, request, read, timeout=timeout, what=f"message {offset} of {queue.topic}")

    def _ask(self, address: str, request: Request, decode: Callable[[bytes], T], timeout: float, what: str) -> Pending[T]:
        return self._network.submit(address, request, lambda frame: decode(check(frame, what).body), timeout=timeout, what=what)
