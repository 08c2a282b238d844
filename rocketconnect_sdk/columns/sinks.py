"""Sinks that write whole batches as columns."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import Sink, SinkCommit, SinkTask
from rocketconnect_sdk.spark.needs import NOTHING, SparkNeeds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class ColumnarSink(Sink):
    """A sink that writes whole batches as columns: an ArrowSink or a DataFrameSink.

    Class attributes:
        columns: Those of a batch, and no others, of: value, key, topic, queue, offset, row, timestamp, headers, and
            header:NAME for the text of one header, which costs less. The row is null but for packed messages, see SinkBatch.
    """

    columns: ClassVar[Sequence[str]] = ("value",)


class ColumnarSinkTask(SinkTask):
    """What the tasks of an ArrowSink and of a DataFrameSink have."""

    @property
    def columns(self) -> Sequence[str] | None:
        """The columns of a batch, where this task does not look at all of the sink's: keys and headers cost time to read."""
        return None

    @property
    def rows_as(self) -> Schema | None:
        """The columns of which values without a schema are rows: the column value is then a struct of them.

        Fields that are no columns are left out, absent ones are null. What is no such row goes by the error policy, before
        write(). None, as by default: such values come as text.
        """
        return None

    def columns_for(self, schema: Schema) -> Schema | None:
        """The columns of the target for values of a schema, immediately before write(): the column value is then a struct of them.

        May change the target, as rocketconnect_sdk.evolution says; is called again when the batch is tried again. What the columns
        do not have goes by the error policy. None, as by default: values come as they are.

        Raises:
            RecordError: no value of the schema can be written.
            SystemAway, RetriableError, PermanentError: as write.
        """
        del schema
        return None

    def unwritable(self, values: "pa.Array") -> Mapping[int, str]:
        """Which of these values can't be written: by index, what is wrong with each, and how the value begins.

        They are those of the column value that write() was given last. Asked only when it has raised a RecordError. The error
        policy decides about these records, and write() is called with the others, for the same ranges. Empty, as by default:
        the task can't tell, and is FAILED.
        """
        del values
        return {}


class ArrowSink(ColumnarSink):
    """A sink that writes tables of Arrow, in the executor. Spark takes no part; engine=spark is accepted and changes nothing."""

    @abstractmethod
    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ArrowSinkTask":
        """Makes the task. Must not block for long."""


class ArrowSinkTask(ColumnarSinkTask):
    """Writes tables."""

    @abstractmethod
    def write(self, table: "pa.Table", commit: SinkCommit) -> None:
        """Writes all rows and, where the target can, commit.after with them in one transaction. Durable when it returns.

        Rows are in the order of their queues and offsets. The column value is of text, of bytes, or a struct of types that Spark
        has too (rocketconnect_sdk.spark.types), whatever its schema says beside.

        Raises:
            SystemAway, RetriableError: nothing was written, or it was undone; called again with the same batch.
            RecordError: there are values that can't be written; nothing was, or it was undone. See unwritable.
            PermanentError: the task is FAILED. For instance another owner has claimed the target.
        """


class DataFrameSink(ColumnarSink):
    """A sink that writes with Spark.

    Class attributes:
        needs: Jars and settings of Spark without which it does not work. TaskContext.spark is a session that has them.
    """

    needs: ClassVar[SparkNeeds] = NOTHING

    @abstractmethod
    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "DataFrameSinkTask":
        """Makes the task. Must not block for long."""


class DataFrameSinkTask(ColumnarSinkTask):
    """Writes DataFrames."""

    @abstractmethod
    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """Writes all rows and, where the target can, commit.after with them in one transaction. Durable when it returns.

        Rows are in the order of their queue within each Spark partition. The column value has the type of its schema: a string,
        binary or a struct.

        Raises: as ArrowSinkTask.write.
        """
