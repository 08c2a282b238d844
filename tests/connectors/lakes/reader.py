"""A source of a lake as the runtime runs it."""

from typing import Any

from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.conformance import SourceCase
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position


class Reader:
    """The plan is made once, positions are kept, and each run is a new task."""

    def __init__(self, case: SourceCase, *, gaps: str = "fail") -> None:
        self.source = case.source
        given = {"connector.class": case.source.name, "topic": "rows", "on.gap": gaps, **case.config}
        self.config = parse_source(case.source, given)
        self.positions: dict[str, Position] = {}
        self.seen: list[Any] = []
        """All values, also of a run that has failed."""
        self.plan()

    def plan(self) -> None:
        (self.share,) = self.source.plan(self.config, 1, self.positions).tasks

    def run(self, *, columns: bool = True) -> list[Any]:
        """The values that are new."""
        before = len(self.seen)
        task = self.source.open(self.config, self.share, TaskContext(columns=columns))
        try:
            task.start(dict(self.positions))
            while batches := batches_of(task.poll()):
                for batch in batches:
                    self.positions[batch.partition] = Position(tuple(batch.end or batch.offsets[-1]))
                    self.seen += batch.values
        finally:
            task.close()
        return self.seen[before:]
