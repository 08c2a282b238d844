"""Pulls from one queue over one connection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rocketmq_remoting.protocol.requests import pull_request, read_pull

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocketmq_remoting.connections.connection import Connection
    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import MessageQueue, SqlFilter, TagFilter
    from rocketmq_remoting.pulls.pulled import PullResult

# Beyond the time that the broker may hold a pull.
_SLACK = 5.0


@dataclass(frozen=True, slots=True)
class PullLane:
    """How pulls of one reader are made; `Client.pull_lane` returns one. Safe for concurrent use.

    Attributes:
        connection: where they go; when it has closed, ask the client for a new lane.
        queue: where from.
        group: in whose name.
        suspend: how long the broker may hold a pull at the queue's end, seconds.
        max_bytes: at most so many bytes in an answer, if the broker's own limit isn't lower; compressed bodies count as what they
            become, and one message is given out whatever it becomes.
        message_filter: deliver only these.
        timeout: for the answer, without the time that the broker holds it.
    """

    connection: Connection
    queue: MessageQueue
    group: str
    suspend: float
    max_bytes: int
    message_filter: TagFilter | SqlFilter | None
    timeout: float

    def pull(self, ranges: Sequence[tuple[int, int]]) -> list[Pending[PullResult]]:
        """Write a pull for each (offset, most messages), all at once; waits for nothing but the socket.

        Raises:
            NotSent: the connection is closed.
        """
        queue = self.queue
        return self.connection.submit_all(
            [
                (
                    pull_request(
                        queue,
                        offset,
                        group=self.group,
                        max_messages=max_messages,
                        max_bytes=self.max_bytes,
                        suspend=self.suspend,
                        message_filter=self.message_filter,
                    ),
                    partial(
                        read_pull,
                        queue=queue,
                        offset=offset,
                        message_filter=self.message_filter,
                        max_bytes=self.max_bytes,
                    ),
                )
                for offset, max_messages in ranges
            ],
            timeout=self.suspend + max(self.timeout, _SLACK),
            what=f"pull from {queue.topic}/{queue.broker}/{queue.queue_id}",
        )
