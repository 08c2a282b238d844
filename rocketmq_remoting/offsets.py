"""Offsets of queues, and those that consumer groups go on from, asked of brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketmq_remoting.errors import GroupNotFound
from rocketmq_remoting.protocol.codes import RequestCode, ResponseCode
from rocketmq_remoting.protocol.requests import Request, check, number, queue_fields

if TYPE_CHECKING:
    from rocketmq_remoting.connections.heartbeat import Heartbeat
    from rocketmq_remoting.model import MessageQueue
    from rocketmq_remoting.protocol.frame import Frame
    from rocketmq_remoting.routes import Routes


class Offsets:
    """See the methods of Client. Safe for concurrent use."""

    def __init__(self, routes: Routes, heartbeat: Heartbeat, timeout: float) -> None:
        self._routes = routes
        self._heartbeat = heartbeat
        self._timeout = timeout

    def first(self, queue: MessageQueue) -> int:
        """See Client.min_offset."""
        # The empty queue of a batch topic answers -1, from where nothing can be pulled.
        return max(0, self._ask(queue, RequestCode.GET_MIN_OFFSET, "minimum offset of"))

    def end(self, queue: MessageQueue) -> int:
        """See Client.max_offset."""
        return self._ask(queue, RequestCode.GET_MAX_OFFSET, "maximum offset of")

    def by_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """See Client.offset_by_time."""
        return self._ask(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, "offset by time of", timestamp=str(timestamp_ms))

    def committed(self, group: str, queue: MessageQueue) -> int | None:
        """See Client.committed_offset."""
        what = f"offset of group {group} in {_name(queue)}"

        def read(frame: Frame) -> int | None:
            return None if frame.code == ResponseCode.QUERY_NOT_FOUND else number(check(frame, what), "offset")

        fields = queue_fields(queue, consumerGroup=group, setZeroIfNotFound="false")
        request = Request(RequestCode.QUERY_CONSUMER_OFFSET, fields)
        return self._routes.submit(queue.broker, request, read, timeout=self._timeout, what=what).result()

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """See Client.commit_offset."""
        self._heartbeat.subscribe(group, queue.topic)
        try:
            self.put(group, queue, offset)
        except GroupNotFound:
            # A broker that creates groups on its own does so at the first heartbeat or pull.
            self._heartbeat.beat()
            self.put(group, queue, offset)

    def put(self, group: str, queue: MessageQueue, offset: int) -> None:
        """As `commit`, in the name of nobody; raises GroupNotFound where there is none."""
        what = f"commit of group {group} in {_name(queue)}"
        fields = queue_fields(queue, consumerGroup=group, commitOffset=str(offset))
        request = Request(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
        self._routes.submit(queue.broker, request, lambda frame: check(frame, what), timeout=self._timeout, what=what).result()

    def _ask(self, queue: MessageQueue, code: RequestCode, of: str, **more: str) -> int:
        what = f"{of} {_name(queue)}"
        request = Request(code, queue_fields(queue, **more))

        def read(frame: Frame) -> int:
            return number(check(frame, what), "offset")

        return self._routes.submit(queue.broker, request, read, timeout=self._timeout, what=what).result()


def _name(queue: MessageQueue) -> str:
    return f"{queue.topic}/{queue.broker}/{queue.queue_id}"
