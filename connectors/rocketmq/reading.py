"""Messages of a queue of another cluster as entries of a log. Pure."""

from connectors.rocketmq import messages
from connectors.rocketmq.identity import Seen
from rocketconnect_sdk.partitions import Entries
from rocketconnect_sdk.partitions.decoding import rejected
from rocketmq_remoting import DecodedBatch, PulledMessage

_DAMAGED = "the broker has it in a form that can't be read: {0}"
_NO_TEXT = "its properties are no text in UTF-8 at byte {0}, so they can't be copied as they are"


class Reader:
    """Makes entries.

    Args:
        source: The name of the cluster that is read.
        target: That of the one that is written: messages that were there before are left out.
    """

    def __init__(self, source: str, target: str) -> None:
        self._source = source
        self._target = target

    def entries(self, name: str, batch: DecodedBatch, era: int, topic: str) -> tuple[Entries, tuple[Seen, Seen]]:
        """What of some messages, at least one, goes on, and the first and the last of all of them.

        Args:
            name: Of the partition.
            batch: The messages.
            era: Of the queue.
            topic: Where they go.
        """
        entries = Entries(name, topic=topic, queue=(batch.queue.broker, batch.queue.queue_id))
        for message in batch:
            if self._target not in messages.clusters_of(message.properties):
                self._add(entries, message, batch, era)
        first, last = batch[0], batch[len(batch) - 1]
        return entries, (Seen(first.queue_offset, first.message_id), Seen(last.queue_offset, last.message_id))

    def _add(self, entries: Entries, message: PulledMessage, batch: DecodedBatch, era: int) -> None:
        value: object = message.body
        if message.queue_offset in batch.damaged:
            why = batch.damaged[message.queue_offset]
            value = rejected(type(why).__name__, _DAMAGED.format(why), message.body)
        else:
            try:
                message.raw_properties.decode()
            except UnicodeDecodeError as error:
                value = rejected("BadProperty", _NO_TEXT.format(error.start), message.body)
        entries.values.append(value)
        entries.offsets.append((era, message.queue_offset + 1))
        entries.timestamps_ms.append(message.store_timestamp_ms)
        entries.properties.append(messages.copied(message.properties, self._source, _origin(message)))


def _origin(message: PulledMessage) -> dict[str, str]:
    """What is said of the place of a message."""
    return {
        messages.TOPIC: message.queue.topic,
        messages.QUEUE: f"{message.queue.broker}/{message.queue.queue_id}",
        messages.OFFSET: str(message.queue_offset),
        messages.MESSAGE_ID: message.message_id,
        messages.STORE_TIME: str(message.store_timestamp_ms),
        messages.BORN_TIME: str(message.born_timestamp_ms),
        messages.BORN_HOST: message.born_host,
    }
