"""Messages that a sink task has read before, read once more for bad records: its batches keep neither bodies nor properties."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from functools import partial

from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.sink import QueuePosition, SourceMark
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import QueueGap
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.sink.decode.origins import own
from services.executor.runtime.sink.duplicates import select

_PULL_SECONDS = 5.0
_NEAR = 1_000
"""Messages: over fewer than that it is quicker to read on than to pull anew."""


Told = Callable[[MessageQueue, int], None]
"""Gets where somebody has reset the group to, if that was told here: a broker tells it once, to whoever pulls next."""


def _nobody(queue: MessageQueue, to: int) -> None:
    del queue, to


def messages(client: Client, queue: MessageQueue, offsets: Iterable[int], told: Told = _nobody) -> dict[int, tuple[bytes, bytes]]:
    """The bodies and encoded properties of messages by their offsets; those that are gone from the queue are left out.

    Raises:
        SystemAway, RetriableError: the broker is away; call it again.
    """
    end = client.max_offset(queue)
    wanted = sorted({offset for offset in offsets if offset < end}, reverse=True)
    found: dict[int, tuple[bytes, bytes]] = {}
    with _stream(client, queue, wanted[-1] if wanted else end, told) as stream:
        while wanted:
            if wanted[-1] - stream.position > _NEAR:
                stream.seek(wanted[-1])
            try:
                batch = _next(stream)
            except QueueGap as gap:
                stream.seek(max(gap.resume_at, stream.position + 1))
                batch = DecodedBatch.empty(queue)
            there = dict(zip(batch.offsets, zip(batch.bodies, batch.raw_properties, strict=True), strict=True))
            while wanted and wanted[-1] < stream.position:
                offset = wanted.pop()
                if offset in there:
                    found[offset] = there[offset]
    return found


def marks_before(
    client: Client, queue: MessageQueue, position: QueuePosition, until: int, told: Told = _nobody
) -> Mapping[str, SourceMark] | None:
    """The marks that the messages from a position up to an offset have moved; None: some of them are gone from the queue.

    Raises:
        SystemAway, RetriableError: the broker is away; call it again.
    """
    moved: dict[str, SourceMark] = {}
    if client.max_offset(queue) < until:
        return None
    try:
        with closing(_range(client, queue, position.until, until, told)) as batches:
            for batch in batches:
                moved.update(select(own(batch).raw_properties, {**position.marks, **moved}).moved)
    except QueueGap:
        return None
    return moved


def _stream(client: Client, queue: MessageQueue, start: int, told: Told) -> PullStream:
    return PullStream(client, queue, start, suspend=0.0, on_reset=partial(told, queue))


def _range(client: Client, queue: MessageQueue, start: int, until: int, told: Told) -> Generator[DecodedBatch]:
    with _stream(client, queue, start, told) as stream:
        while stream.position < until:
            yield _next(stream).between(start, until)


def _next(stream: PullStream) -> DecodedBatch:
    batch = stream.next(_PULL_SECONDS)
    if batch is None:
        msg = f"queue {text(stream.queue)} gives no answer at offset {stream.position}"
        raise SystemAway(msg)
    return batch
