"""What tests of redis_replication_source share."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from connectors.redis.replication_source import RedisReplicationSource
from rocketconnect_sdk import Config, Position, SourceBatch, SourceTask, TaskContext, parse
from rocketconnect_sdk.conformance.source import stored
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.polled import batches_of
from tests.servers.redis import Redis

SOURCE = RedisReplicationSource()
LIMIT = 120.0
ON_GAP = Option("on.gap", "As the runtime has it.", default="fail", choices=("fail", "skip"))
QUICK = ("--repl-diskless-sync-delay", "0")
"""A server waits for no other replicas before it makes a snapshot."""
_OPENED: list[SourceTask] = []


def close_all() -> None:
    """Ends the links of all tasks."""
    while _OPENED:
        _OPENED.pop().close()


def config_of(redis: Redis, **options: str) -> Config:
    given = {"url": f"redis://127.0.0.1:{redis.port}", **{name.replace("_", "."): value for name, value in options.items()}}
    return parse((*SOURCE.options, ON_GAP), given)


def opened(config: Config, positions: Mapping[str, Position] | None = None, context: TaskContext | None = None) -> SourceTask:
    task = SOURCE.open(config, {}, context or TaskContext())
    _OPENED.append(task)
    task.start(positions or {})
    return task


def until(task: SourceTask, done: Callable[[list[SourceBatch]], object], *, stores: bool = True) -> list[SourceBatch]:
    """Polls until what came is enough; all of it is stored at once."""
    found: list[SourceBatch] = []
    end = time.monotonic() + LIMIT
    while not done(found):
        assert time.monotonic() < end, f"within {LIMIT} s came only {values(found)}"
        found += (some := batches_of(task.poll()))
        if some and stores:
            task.committed(after(some))
    return found


def values(batches: list[SourceBatch]) -> list[Any]:
    return [value for batch in batches for value in batch.values]


def after(batches: list[SourceBatch]) -> dict[str, Position]:
    """What is stored behind them."""
    return {batch.partition: stored(Position(batch.end or batch.offsets[-1], batch.resume or {})) for batch in batches}


def has_keys(batches: list[SourceBatch]) -> bool:
    """Whether the snapshot was read to its end."""
    return any(batch.end[2:3] == (2,) for batch in batches)


def has(count: int) -> Callable[[list[SourceBatch]], bool]:
    """Whether so many records came."""
    return lambda batches: len(values(batches)) >= count
