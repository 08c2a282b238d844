"""The consumer group's offsets at the brokers: for show only, so that RocketMQ's own tools display the lag of a sink."""

import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait

from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RetriableError, RocketMQError
from rocketmq_remoting.model import MessageQueue

_RETRY_PREFIX = "%RETRY%"
"""Begins the name of the topic by whose brokers RocketMQ's tools find a group; it stays empty."""

_CLOSE_SECONDS = 2.0

_log = logging.getLogger(__name__)


class GroupOffsets:
    """Shows positions in the background, under a group that it registers where there is none.

    A thread of its own, so that a broker that is away, or refuses, holds nothing up. For one thread.
    """

    def __init__(self, client: Client, group: str) -> None:
        self._client = client
        self._group = group
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="group offsets")
        self._under_way: Future[None] | None = None
        self._waiting: dict[MessageQueue, int] = {}
        self._registered = False

    def show(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Shows these, at once or with the next ones."""
        self._waiting.update(offsets)
        if self._under_way is None or self._under_way.done():
            self._submit()

    def close(self) -> None:
        """Shows what waits, if that is soon done, and ends."""
        if self._waiting:
            self._submit()
        if self._under_way is not None:
            wait([self._under_way], _CLOSE_SECONDS)
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _submit(self) -> None:
        now, self._waiting = self._waiting, {}
        self._under_way = self._worker.submit(self._commit, now)

    def _commit(self, offsets: Mapping[MessageQueue, int]) -> None:
        try:
            self._register()
            for queue, offset in offsets.items():
                self._client.commit_offset(self._group, queue, offset)
        except RocketMQError as error:
            # Nothing depends on it, and the next commit shows it again.
            _log.debug("offset of group %s not shown: %s", self._group, error)

    def _register(self) -> None:
        """Sees to it that there are the group and its retry topic, for brokers that do not make them at a heartbeat."""
        if self._registered:
            return
        try:
            self._client.create_group(self._group)
            retry = _RETRY_PREFIX + self._group
            if not self._client.topic_on_broker(retry):
                self._client.create_topic(retry, queues=1)
        except RetriableError:
            raise
        except RocketMQError as error:
            # Somebody else has to do it, or has: it is tried once.
            _log.info("group %s is not registered: %s", self._group, error)
        self._registered = True
