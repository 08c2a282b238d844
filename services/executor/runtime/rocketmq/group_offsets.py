"""The consumer group's offsets at the brokers: for show only, so that RocketMQ's own tools display the lag of a sink."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait

from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RetriableError, RocketMQError
from rocketmq_remoting.model import MessageQueue

_RETRY_PREFIX = "%RETRY%"
"""Begins the name of the topic by whose brokers RocketMQ's tools find a group; it stays empty."""

_CLOSE_SECONDS = 2.0
_WATCH_SECONDS = 30.0

_log = logging.getLogger(__name__)


class GroupOffsets:
    """Shows positions in the background, under a group that it registers where there is none.

    A thread of its own, so that a broker that is away, or refuses, holds nothing up. For one thread.

    Args:
        client: RocketMQ.
        group: The consumer group.
        connector: The name of the connector, for the command that is told.
        log: For people: (level, message); called in another thread.
        follows: The task follows resets that a broker tells it of: what is found is told only when it is found again.
        every: Seconds between two looks whether somebody else has set the offsets, more than a broker holds a pull.
    """

    def __init__(
        self,
        client: Client,
        group: str,
        connector: str,
        log: Callable[[str, str], None],
        *,
        follows: bool = False,
        every: float = _WATCH_SECONDS,
    ) -> None:
        self._client = client
        self._group = group
        self._connector = connector
        self._tell = log
        self._follows = follows
        self._every = every
        self._look_at = 0.0
        self._shown: dict[MessageQueue, int] = {}
        """What brokers were told last. Of the worker."""
        self._found: Mapping[MessageQueue, int | None] = {}
        """Offsets that were found to be other ones when that was looked at last. Of the worker."""
        self._told: set[MessageQueue] = set()
        """Queues of which that was told, and whose offset is not that of the sink yet. Of the worker."""
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="group offsets")
        self._under_way: Future[None] | None = None
        self._waiting: dict[MessageQueue, int] = {}
        self._registered = False

    def show(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Shows these, at once or with the next ones."""
        self._waiting.update(offsets)
        if self._under_way is None or self._under_way.done():
            self._submit()

    def watch(self, now: float, *, may_look: bool = True) -> None:
        """Called often: shows what waits, and looks from time to time whether somebody else has set an offset, which is then told.

        The group's offset becomes that of the sink again: the sink goes on where it is.
        """
        if self._under_way is not None and not self._under_way.done():
            return
        if self._waiting:
            self._submit()
        elif may_look and now >= self._look_at:
            self._look_at = now + self._every
            self._under_way = self._worker.submit(self._look)

    def was_reset(self, resets: Mapping[MessageQueue, int]) -> None:
        """A broker has told of these: they are told as what is found is, and set back."""
        self._under_way = self._worker.submit(self._set_back, dict(resets))

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
                self._shown[queue] = offset
        except RocketMQError as error:
            # Nothing depends on it, and the next commit shows it again.
            _log.debug("offset of group %s not shown: %s", self._group, error)

    def _look(self) -> None:
        try:
            found = {queue: self._client.committed_offset(self._group, queue) for queue in self._shown}
        except RocketMQError as error:
            _log.debug("offsets of group %s not looked at: %s", self._group, error)
            return
        moved = {queue: at for queue, at in found.items() if at != self._shown[queue]}
        again = {queue: at for queue, at in moved.items() if queue in self._found and self._found[queue] == at}
        self._found = moved
        self._told &= moved.keys()
        self._set_back(again if self._follows else moved)

    def _set_back(self, moved: Mapping[MessageQueue, int | None]) -> None:
        new = sorted((queue, at) for queue, at in moved.items() if at is not None and queue not in self._told)
        self._told |= {queue for queue, _ in new}
        if new:
            queue, at = new[0]
            where = f"{queue.topic}/{queue.broker}/{queue.queue_id}"
            more = f", and {counted(len(new) - 1, 'offset')} more" if len(new) > 1 else ""
            who = "somebody else, such as resetOffsetByTime of mqadmin,"
            told = f"{who} has set the offset of group {self._group} in {where} from {self._shown.get(queue, 'none')} to {at}{more}"
            move = f"To move it: rocketconnect position set {self._connector} --to-time TIME --restart"
            self._tell("WARNING", f"{told}. The sink goes on where it is. {move}")
        if moved:
            self._commit({queue: self._shown[queue] for queue in moved if queue in self._shown})

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
