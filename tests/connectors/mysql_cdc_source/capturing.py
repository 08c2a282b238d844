"""Runs the source against a database of a test."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from connectors.mysql_cdc_source import MysqlCdcSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.source import SourceTask
from rocketconnect_sdk.testing import at
from tests.connectors.mysql_cdc_source.binlog.reading import Database, server_ids
from tests.servers.mariadb import PASSWORD

_SECONDS = 180.0


def options(database: Database, **more: str) -> dict[str, str]:
    """The options for a database; _ in the names of further ones stands for a point."""
    return {
        "hostname": "127.0.0.1",
        "port": str(database.server.port),
        "username": "root",
        "password": "${env:MARIADB_PASSWORD}",
        "database.include": database.name,
        "server.id": str(next(server_ids)),
        "heartbeat.interval": "50ms",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def parsed(given: Mapping[str, str], password: str = PASSWORD) -> Config:
    """As the runtime gives them to a connector: with the secret in its place."""
    config = parse(MysqlCdcSource.options, given)
    return Config({**config, "password": password}, config.raw)


class Run:
    """One run of the task: what it gave, and the positions that a runtime would have stored.

    Args:
        task: The task.
        positions: Those of before.
    """

    def __init__(self, task: SourceTask, positions: Mapping[str, Offset]) -> None:
        self.task = task
        self.positions = dict(positions)
        self.batches: list[SourceBatch] = []
        task.start(at(positions))

    def poll(self) -> SourceBatch | None:
        """One poll, of which everything is stored at once."""
        batch = self.task.poll()
        assert batch is None or isinstance(batch, SourceBatch)
        if batch is not None:
            self.positions[batch.partition] = batch.end or batch.offsets[-1]
            if len(batch):
                self.batches.append(batch)
            self.task.committed(at({batch.partition: self.positions[batch.partition]}))
        return batch

    def until(self, condition: Callable[["Run"], bool]) -> None:
        """Polls until then."""
        deadline = time.monotonic() + _SECONDS
        while not condition(self):
            assert time.monotonic() < deadline, f"it did not come; {[len(batch) for batch in self.batches]}"
            if self.poll() is None:
                time.sleep(self.task.idle_seconds)

    def until_records(self, count: int) -> None:
        """Polls until there are so many records."""
        self.until(lambda run: sum(map(len, run.batches)) >= count)

    def until_position(self, partition: str, at_least: Offset) -> None:
        """Polls until the position of a partition is stored."""
        self.until(lambda run: run.positions.get(partition, ()) >= at_least)

    @property
    def values(self) -> list[Any]:
        """All values, in their order."""
        return [value for batch in self.batches for value in batch.values]

    @property
    def offsets(self) -> list[tuple[str, Offset]]:
        """The partition and the offset of all records."""
        return [(batch.partition, offset) for batch in self.batches for offset in batch.offsets]


@contextmanager
def running(
    given: Mapping[str, str], positions: Mapping[str, Offset] | None = None, context: TaskContext | None = None
) -> Iterator[Run]:
    """The task runs from these positions on."""
    task = MysqlCdcSource().open(parsed(given), {}, context or TaskContext(columns=True))
    try:
        yield Run(task, positions or {})
    finally:
        task.close()


def told(values: Sequence[Any]) -> list[tuple[str, Any, Any]]:
    """What happened, before and after, of envelopes."""
    return [(value["op"], value["before"], value["after"]) for value in values]
