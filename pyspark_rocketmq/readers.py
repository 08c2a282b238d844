"""Reading a topic: once, or as a stream."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_rocketmq.ranges import Range, between
from pyspark_rocketmq.reading import RangeReader
from pyspark_rocketmq.settings import FIRST, LAST, Settings, place
from pyspark_rocketmq.topic import ends, offsets, opened

_log = logging.getLogger("pyspark_rocketmq")


class BatchReader(DataSourceReader):
    """Reads what a topic has between two places."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self._settings = settings
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges, as the topic is now."""
        config = self._settings.config
        with opened(self._settings) as (topics, queues):
            there = ends(topics, queues)
            start = offsets(topics, there, place(config["start"] or FIRST))
            stop = offsets(topics, there, place(config["end"]))
            return list(_between(self._settings, start, stop, there))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range."""
        return _read(self._settings, self._schema, partition)


class StreamReader(DataSourceStreamReader):
    """Reads a topic for ever. Its offsets, which Spark keeps in the checkpoint: {"queues": {"orders/broker-a/0": 12}}."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self._settings = settings
        self._schema = schema

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's name
        """Where a stream without a checkpoint begins."""
        config = self._settings.config
        with opened(self._settings) as (topics, queues):
            there = ends(topics, queues)
            begun = offsets(topics, there, place(config["start"] or LAST))
        if not config["start"] and (count := sum(end - first for first, end in there.values())):
            # Which trigger the stream has is not told here.
            _log.warning(
                "the stream begins behind the %d messages that topic %s has, as the option start is not set: one that ends "
                "when it has what is there (availableNow) gives nothing. Set start=%s to read them, or start=%s to "
                "leave them out",
                count,
                config["topic"],
                FIRST,
                LAST,
            )
        return {"queues": begun}

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's name
        """Where the queues end now."""
        with opened(self._settings) as (topics, queues):
            return {"queues": {queue: end for queue, (_, end) in ends(topics, queues).items()}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of a batch. A queue that is new in it is read from its beginning."""
        with opened(self._settings) as (topics, queues):
            return list(_between(self._settings, start["queues"], end["queues"], ends(topics, queues)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range."""
        return _read(self._settings, self._schema, partition)


def _read(settings: Settings, schema: StructType, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    # Where there is nothing to read Spark asks for no partition all the same.
    return RangeReader(settings, schema).read(partition) if isinstance(partition, Range) else iter(())


def _between(
    settings: Settings, start: Mapping[str, int], stop: Mapping[str, int], there: Mapping[str, tuple[int, int]]
) -> Iterator[Range]:
    config = settings.config
    return between(start, stop, there, config["messages.per.partition"], skip=config["on.gap"] == "skip")
