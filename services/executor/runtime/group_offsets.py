"""The consumer group's offsets at the brokers: for show only, so that RocketMQ's own tools display the lag of a sink."""

import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.model import MessageQueue

_log = logging.getLogger(__name__)


class GroupOffsets:
    """Shows positions in the background; a thread of its own, so that a broker that is away holds nothing up."""

    def __init__(self, client: Client, group: str) -> None:
        self._client = client
        self._group = group
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="group offsets")
        self._under_way: Future[None] | None = None
        self._waiting: dict[MessageQueue, int] = {}

    def show(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Shows these, at once or with the next ones."""
        self._waiting.update(offsets)
        if self._under_way is None or self._under_way.done():
            now, self._waiting = self._waiting, {}
            self._under_way = self._worker.submit(self._commit, now)

    def close(self) -> None:
        """Shows what waits, and ends."""
        if self._waiting:
            self._worker.submit(self._commit, self._waiting)
        self._worker.shutdown(wait=True)

    def _commit(self, offsets: Mapping[MessageQueue, int]) -> None:
        for queue, offset in offsets.items():
            try:
                self._client.commit_offset(self._group, queue, offset)
            except RocketMQError as error:
                # Nothing depends on it, and the next commit shows it again.
                _log.debug("offset of group %s not shown: %s", self._group, error)
                return
