"""Which of the parts that wait are the next batch of a sink. Pure."""

from rocketconnect_sdk.schema import Schema
from services.executor.runtime.sink.decode.part import Part


class Cut:
    """A batch of one schema, gathered over all queues; what does not go with it is kept in its order.

    Its schema is that of the oldest part, so none waits for ever: what is left has its turn when nothing older is. Of a queue only
    what stands in front is taken, so its order stays. A part with an error is taken only behind all others.

    Args:
        rows: It is full with so many records.
        size: And with so many bytes.
        topics_apart: It has records of one topic alone, that of the oldest part.

    Attributes:
        taken: The parts of the batch, in order.
        left: Those that it has left out, in order.
        rows: How many records are in it.
        size: And bytes.
    """

    def __init__(self, rows: int, size: int, *, topics_apart: bool = False) -> None:
        self.taken: list[Part] = []
        self.left: list[Part] = []
        self.rows = 0
        self.size = 0
        self._limits = (rows, size)
        self._topics_apart = topics_apart
        self._schema: Schema | None = None
        self._blocked: set[str] = set()
        self._newest: dict[str, Part] = {}
        """Of each queue the part that was offered last."""

    @property
    def full(self) -> bool:
        """Whether it takes nothing more."""
        rows, size = self._limits
        return bool(self.taken) and (self.rows >= rows or self.size >= size)

    def offer(self, part: Part) -> None:
        """Takes a part or leaves it; parts are offered in the order in which they came."""
        before = self._newest.get(part.queue)
        if part.is_nothing and before is not None and before.error is None:
            # Invariant 7: while nothing is written, a queue of which a filter leaves out all is passed for hours.
            before.until, before.stored_ms = part.until, part.stored_ms
            return
        self._newest[part.queue] = part
        if self.full or not self._fits(part):
            self._blocked.add(part.queue)
            self.left.append(part)
            return
        if len(part.records):
            self._schema = part.records.schema or self._schema
        self.taken.append(part)
        self.rows += len(part.records)
        self.size += part.records.size

    def _fits(self, part: Part) -> bool:
        if part.queue in self._blocked or (part.error is not None and self.left):
            return False
        if self._topics_apart and self.taken and part.topic != self.taken[0].topic:
            return False
        schema = part.records.schema if len(part.records) else None
        return schema is None or self._schema is None or schema == self._schema

    def following(self) -> "Cut":
        """The batch behind this one, of what is left."""
        following = Cut(*self._limits, topics_apart=self._topics_apart)
        for part in self.left:
            following.offer(part)
        return following
