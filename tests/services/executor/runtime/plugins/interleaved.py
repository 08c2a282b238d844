"""A source whose tables change row by row in turns, as a log of changes has them."""

from collections.abc import Mapping

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.schema import STRING
from rocketconnect_sdk.source import Plan, Source, SourceTask


class Interleaved(Source):
    """Rows of tables, each of which is a partition, in turns: the next rows of one table, then those of the next one."""

    name = "interleaved"
    options = (
        Option("tables", "How many.", Kind.INT, required=True),
        Option("rows", "Of all tables.", Kind.INT, required=True),
        Option("together", "So many of a table at once.", Kind.INT, required=True),
        Option("polled", "So many rows are given at a poll, in batches that are given together. 0: one batch.", Kind.INT, "0"),
        Option("topics", "Each table has a topic of its own, of this and its number. Empty: all have one.", default=""),
    )

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "InterleavedTask":
        return InterleavedTask(config["tables"], config["rows"], config["together"], config["polled"], config["topics"])


class InterleavedTask(SourceTask):
    def __init__(self, tables: int, rows: int, together: int, polled: int, topics: str) -> None:
        self._tables = tables
        self._rows = rows // tables
        self._together = together
        self._polled = polled
        self._topics = topics

    def start(self, positions: Mapping[str, Position]) -> None:
        begin = Position((0,))
        self._at = [positions.get(f"table-{number}", begin).offset[0] for number in range(self._tables)]
        self._turn = 0

    def poll(self) -> Polled:
        if not self._polled:
            return self._next()
        batches: list[SourceBatch] = []
        rows = 0
        while rows < self._polled and (batch := self._next()) is not None:
            batches.append(batch)
            rows += len(batch)
        return batches

    def _next(self) -> SourceBatch | None:
        for _ in range(self._tables):
            table, self._turn = self._turn, (self._turn + 1) % self._tables
            at = self._at[table]
            rows = range(at, min(at + self._together, self._rows))
            if rows:
                self._at[table] = rows.stop
                values = [f"table {table} row {row} {'x' * 80}" for row in rows]
                topics = [f"{self._topics}{table}"] * len(rows) if self._topics else None
                return SourceBatch(
                    f"table-{table}",
                    values,
                    [(row + 1,) for row in rows],
                    [str(row) for row in rows],
                    topics=topics,
                    schema=STRING,
                    size=sum(map(len, values)),
                )
        return None

    @property
    def idle_seconds(self) -> float:
        return 0.01

    def close(self) -> None:
        return
