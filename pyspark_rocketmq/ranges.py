"""Which messages a read is of: ranges of queues, and how they are shared out to Spark partitions. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition


@dataclass(frozen=True)
class Range(InputPartition):
    """Messages of a queue that follow each other: a Spark partition.

    Attributes:
        queue: "topic/broker/queue".
        start: The queue offset of the first one.
        stop: The queue offset behind the last one.
    """

    queue: str
    start: int
    stop: int


class Missing(Exception):
    """Messages that were to be read are gone.

    Attributes:
        queue: "topic/broker/queue".
        start: The queue offset of the first that is gone.
        stop: The queue offset behind the last one.
    """

    def __init__(self, queue: str, start: int, stop: int) -> None:
        super().__init__(
            f"queue {queue}: the messages from offset {start} to {stop - 1} are not there (retention, or the topic was made anew). "
            "To go on behind them: on.gap=skip"
        )
        self.queue, self.start, self.stop = queue, start, stop


def between(
    start: Mapping[str, int], stop: Mapping[str, int], there: Mapping[str, tuple[int, int]], most: int, *, skip: bool
) -> Iterator[Range]:
    """The ranges of a read, each of at most `most` messages.

    Args:
        start: By queue where it begins. A queue that is not named is read from its beginning.
        stop: By queue where it ends.
        there: By queue the offset of its first message and the one behind its last.
        most: So many messages are a range.
        skip: What is gone is passed over.

    Raises:
        Missing: something of it is gone, and that is not to be passed over.
    """
    for queue, until in sorted(stop.items()):
        first, end = there.get(queue, (until, until))
        begin = start.get(queue, first)
        for gone_from, gone_to in ((begin, min(first, until)), (end, max(begin, until))):
            if gone_from < gone_to and not skip:
                raise Missing(queue, gone_from, gone_to)
        last = min(until, end)
        for at in range(min(max(begin, first), end), last, most):
            yield Range(queue, at, min(at + most, last))
