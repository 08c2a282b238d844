"""One subscription of a task: what was given of it, and what may be acknowledged."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.queues.subscription import Received, Share, Subscription
from rocketconnect_sdk.record import Offset, Position, SourceBatch

REDELIVERED = "redelivered"
"""The header of a message that the broker may have given before: "true"."""
_KEYS, OF_SENDER = "KEYS", "sender.KEYS"
"""What RocketMQ calls the key of a message, and the header that one of a sender with this name becomes where there is a key."""
_KEPT = "kept"
_NOTE = "/subscription"


def partition_of(number: int) -> str:
    """The source partition of a task."""
    return f"task-{number}"


def note_of(number: int) -> str:
    """The source partition whose map says what a task has at the broker."""
    return partition_of(number) + _NOTE


def number_of(name: str) -> int | None:
    """The task of such a partition; None: it is none."""
    text = name.removeprefix("task-").removesuffix(_NOTE)
    return int(text) if name.endswith(_NOTE) and text.isdecimal() else None


def is_kept(at: Position) -> bool:
    """Whether what it says is still at the broker."""
    return _KEPT in at.resume


class Reader:
    """Reads one subscription. Offsets are (epoch, milliseconds of the start, n): nothing that is read again has an offset twice.

    Args:
        subscribe: See QueueSource.
        config: The configuration.
        share: Whose it is.
        context: Of the task.
        rank: What offsets begin with.
    """

    def __init__(
        self,
        subscribe: Callable[[Config, Share, TaskContext], Subscription],
        config: Config,
        share: Share,
        context: TaskContext,
        rank: tuple[int, int],
    ) -> None:
        self.share = share
        self.partition = partition_of(share.number)
        self._subscribe = subscribe
        self._config = config
        self._context = context
        self._rank = rank
        self._given = 0
        self._noted: Mapping[str, object] | None = share.before or None
        self._notes = 0
        self._subscription: Subscription | None = None
        self._unacknowledged: deque[tuple[Offset, Any, int]] = deque()
        self._pinged = self._heard = time.monotonic()
        self.held_bytes = 0

    @property
    def unacknowledged(self) -> int:
        """How many messages were given and are not acknowledged."""
        return len(self._unacknowledged)

    @property
    def ping_seconds(self) -> float:
        """How often `ping` is wanted."""
        return Subscription.ping_seconds if self._subscription is None else self._subscription.ping_seconds

    def open(self) -> Subscription:
        """Subscribes, where it is not done."""
        if self._subscription is None:
            self._subscription = self._subscribe(self._config, self.share, self._context)
            self._pinged = self._heard = time.monotonic()
        return self._subscription

    def read(self, size: int, seconds: float) -> list[SourceBatch]:
        """What there is, at most about so many bytes; and what is at the broker from now on, where that is another thing."""
        subscription = self.open()
        if time.monotonic() - self._pinged >= subscription.ping_seconds:
            self.ping()
        if (note := self._note(subscription)) is not None:
            return [note]
        limit = min(self.share.prefetch - len(self._unacknowledged), self._context.batch_records)
        if limit > 0 and size > 0 and (found := subscription.receive(limit, size, seconds)):
            self._heard = time.monotonic()
            return [self._batch(list(alike)) for _, alike in groupby(found, lambda each: each.schema)]
        return []

    def is_drained(self, seconds: float) -> bool:
        """Whether nothing came for so long, and all that came is acknowledged."""
        return not self._unacknowledged and time.monotonic() - self._heard >= seconds

    def acknowledge(self, until: Offset) -> None:
        """Everything up to an offset is stored."""
        tags = []
        while self._unacknowledged and self._unacknowledged[0][0] <= until:
            _, tag, size = self._unacknowledged.popleft()
            self.held_bytes -= size
            if tag is not None:
                tags.append(tag)
        self._heard = time.monotonic()
        if tags and self._subscription is not None:
            self._subscription.ack(tags)

    def ping(self) -> None:
        """Keeps the connection."""
        if self._subscription is not None:
            self._subscription.ping(self._tags())
            self._pinged = time.monotonic()

    def give_back(self) -> None:
        """What was given and is not acknowledged, others may have."""
        if self._subscription is not None and (tags := self._tags()):
            self._subscription.nack(tags)

    def drop(self) -> None:
        """Ends the connection. Its tags are worth nothing on another one."""
        subscription, self._subscription = self._subscription, None
        self._unacknowledged.clear()
        self.held_bytes = 0
        if subscription is not None:
            subscription.close()

    @contextmanager
    def dropped_after_errors(self) -> Iterator[None]:
        """Ends the connection where the block raises an error of a connector."""
        try:
            yield
        except ConnectorError:
            self.drop()
            raise

    def retired(self) -> SourceBatch:
        """Notes that nothing is at the broker any more."""
        self._notes += 1
        return SourceBatch(note_of(self.share.number), [], [], end=(*self._rank, self._notes))

    def _tags(self) -> list[Any]:
        return [tag for _, tag, _ in self._unacknowledged if tag is not None]

    def _note(self, subscription: Subscription) -> SourceBatch | None:
        state = dict(subscription.state)
        # While a task leaves, what it had stays noted until it is removed.
        if state == self._noted or not state or self.share.leaving or self.share.passing:
            return None
        self._noted = state
        self._notes += 1
        return SourceBatch(note_of(self.share.number), [], [], end=(*self._rank, self._notes), resume={_KEPT: state})

    def _batch(self, found: Sequence[Received]) -> SourceBatch:
        offsets: list[Offset] = [(*self._rank, self._given + number) for number in range(1, len(found) + 1)]
        self._given += len(found)
        size = sum([each.size for each in found])
        self._unacknowledged.extend([(offset, each.tag, each.size) for offset, each in zip(offsets, found, strict=True)])
        self.held_bytes += size
        properties = [each.properties for each in found if each.properties is not None]
        headers = [] if properties else [_headers_of(each) for each in found]
        return SourceBatch(
            self.partition,
            [each.value for each in found],
            offsets,
            keys=[each.key for each in found] if any(each.key is not None for each in found) else None,
            timestamps_ms=[each.timestamp_ms for each in found],
            headers=headers if any(headers) else None,
            topics=[each.topic for each in found] if found[0].topic else None,
            schema=found[0].schema,
            size=size,
            properties=properties or None,
        )


def _headers_of(message: Received) -> Mapping[str, str]:
    headers = {**message.headers, REDELIVERED: "true"} if message.redelivered else message.headers
    if _KEYS not in headers or message.key is None:
        return headers
    # It would stand in the place of the key, which says which row a record changes: that is not for who sends it to say.
    return {OF_SENDER if name == _KEYS else name: text for name, text in headers.items()}
