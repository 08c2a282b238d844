"""Whether a queue still holds what a sink has read from it: offsets alone do not tell (invariant 5).

A topic that was deleted and made anew, or a broker that lost its tail, gives old offsets to new messages. So with a position stands
when the broker stored the message before it: another time there means another message.
"""

from rocketconnect_sdk.sink import QueuePosition
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import QueueGap
from rocketmq_remoting.model import MessageQueue, PullStatus
from services.executor.runtime.rocketmq.queue_names import text


def find_gap(client: Client, queue: MessageQueue, until: int, stored_ms: int, known_end: int = 0) -> QueueGap | None:
    """What is not as it was when a sink read up to an offset; None: nothing, as far as can be told.

    What retention has deleted is not looked for: reading on tells.

    Args:
        client: RocketMQ.
        queue: The queue.
        until: The offset behind what was read.
        stored_ms: When the broker stored the message before it, milliseconds since 1970; 0: not known.
        known_end: A higher end that the broker has told of. What is lost of what was not read yet is a gap behind `until`.

    Returns: a gap whose `resume_at` is the first message that was stored later than what was read; where that is not known, the
        end of the queue.

    Raises:
        RetriableError, TopicNotFound: the broker is away; call it again.
    """
    end = client.max_offset(queue)
    if until > end:
        resume_at = min(end, _first_after(client, queue, stored_ms)) if stored_ms else end
        return QueueGap(queue, end, max(until, known_end), resume_at, "lost")
    unread = QueueGap(queue, end, known_end, end, "lost") if end < known_end else None
    if not stored_ms or not until:
        return unread
    if time_of(client, queue, until - 1) in (None, stored_ms):
        return unread
    first = _first_after(client, queue, stored_ms)
    return QueueGap(queue, first, until, first, "replaced")


def time_of(client: Client, queue: MessageQueue, offset: int) -> int | None:
    """When the broker stored a message, whatever a filter says of it, milliseconds since 1970; None: it is not there any more.

    Raises:
        RetriableError: of RocketMQ: for now.
    """
    result = client.pull(queue, offset, max_messages=1)
    there = result.status is PullStatus.FOUND and result.batch and result.batch.offsets[0] == offset
    return result.batch.store_timestamps_ms[0] if there else None


def refusal(gap: QueueGap, connector: str) -> str:
    """For people: on.gap=fail, and what whoever runs this connector can do about it, with the commands."""
    skip = f"`rocketconnect connector update {connector} -s on.gap=skip`"
    if gap.reason in ("lost", "replaced"):
        # Where it would go on is found by the time of what was read, which a position that somebody sets by hand does not tell.
        reset = f"`rocketconnect position reset {connector} --restart`"
        return f"{gap.lost}. If the topic was made anew, begin anew: {reset}. To go on behind what was read: {skip}"
    place = f"{text(gap.queue)}={gap.resume_at}"
    return f"{gap.lost}. To go on without them: `rocketconnect position set {connector} {place} --restart`, or, always, {skip}"


def behind(position: QueuePosition, gap: QueueGap) -> QueuePosition:
    """Where it goes on when a gap that was found is accepted. The marks stay: what its source sends again is a double there too."""
    return QueuePosition(gap.resume_at, position.incarnation, position.marks, era=position.era + 1)


def _first_after(client: Client, queue: MessageQueue, stored_ms: int) -> int:
    return client.offset_by_time(queue, stored_ms + 1)
