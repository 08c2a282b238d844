"""Writing to topics: a DataFrame, or the batches of a stream."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from pyspark_rocketmq.settings import Settings
from pyspark_rocketmq.writing import RowsWriter, check_columns
from rocketconnect_sdk.errors import ConfigError, PermanentError, Problem

_PREFIX = "spark-"
"""Before who writes: no connector has such a uid."""
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""The local properties of a task that say which stream it belongs to, and which batch of it."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has sent.

    Attributes:
        rows: So many.
    """

    rows: int


class BatchWriter(DataSourceArrowWriter):
    """Sends a DataFrame. A row that could not be sent fails the job, and what was sent stays."""

    def __init__(self, settings: Settings, schema: StructType, *, overwrite: bool) -> None:
        check_columns(settings, schema)
        if overwrite:
            raise ConfigError([_no_overwriting('mode("append")')])
        self._settings = settings
        self._schema = schema
        name = settings.config["producer.name"]
        # Every attempt of this job has the same.
        self._producer = _PREFIX + (name or uuid.uuid4().hex)
        self._batch = max(0, settings.config["batch.number"])

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Sends the rows of a partition."""
        partition = _task().partitionId()
        return Written(RowsWriter(self._settings, self._schema, self._producer, self._batch, partition).write(iterator))


class StreamWriter(DataSourceStreamArrowWriter):
    """Sends the batches of a stream. A batch that Spark runs again has the same number, so that it counts once."""

    def __init__(self, settings: Settings, schema: StructType, *, overwrite: bool) -> None:
        check_columns(settings, schema)
        if overwrite:
            raise ConfigError([_no_overwriting('outputMode("append") or outputMode("update")')])
        self._settings = settings
        self._schema = schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Sends the rows of a partition of a batch."""
        task = _task()
        query, batch = task.getLocalProperty(_QUERY), task.getLocalProperty(_BATCH)
        if not query or batch is None:
            msg = "Spark does not tell which batch of which stream this is"
            raise PermanentError(msg)
        producer = _PREFIX + query.replace("-", "")
        return Written(RowsWriter(self._settings, self._schema, producer, int(batch), task.partitionId()).write(iterator))


def _task() -> TaskContext:
    task = TaskContext.get()
    if task is None:
        msg = "this is no task of Spark"
        raise PermanentError(msg)
    return task


def _no_overwriting(instead: str) -> Problem:
    return Problem("mode", "overwrite", "can't be: a topic is only ever added to", f"Use {instead}.")
