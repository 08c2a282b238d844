"""A target of its own for each topic."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.claims import merged

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_APART = "a batch of several topics cannot be written: each topic has a target of its own"


class ByTopic(DataFrameSinkTask):
    """Writes each topic by a task of its own, exactly once where these do: each has the positions of its topic.

    A batch has records of one topic alone: columns_for, move, write and unwritable of of_topic() are called for it. What comes back
    from the dead letters is of the topics in which it failed, so the queue through which it comes has a position with several
    tasks: the furthest counts, as its batches are written one after the other.

    Args:
        tasks: By topic; all with the same columns, rows_as and flush; at least one.
    """

    def __init__(self, tasks: Mapping[str, DataFrameSinkTask]) -> None:
        self._tasks = tasks
        self._any = next(iter(tasks.values()))

    def of_topic(self, topic: str) -> DataFrameSinkTask:
        """What writes the records that were read from a topic, whatever transforms make of its name; refuses those of others."""
        return self._tasks.get(topic) or _Refusing(topic)

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._any.flush

    @property
    def columns(self) -> Sequence[str] | None:
        """See DataFrameSinkTask."""
        return self._any.columns

    @property
    def rows_as(self) -> Schema | None:
        """See DataFrameSinkTask."""
        return self._any.rows_as

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        return merged([task.start() for task in self._tasks.values()])

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask. Raises PermanentError: of_topic() writes."""
        del frame, commit
        raise PermanentError(_APART)

    def close(self) -> None:
        """See SinkTask."""
        for task in self._tasks.values():
            task.close()


class _Refusing(DataFrameSinkTask):
    """Refuses the records of a topic that is none of the connector's: letters that do not say where they failed come back so."""

    def __init__(self, topic: str) -> None:
        self._reason = f"is of the topic {topic}, which is none of topics, so it has no target"

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask: nothing is kept."""
        return {}

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask. Raises RecordError: always."""
        del frame, commit
        raise RecordError(self._reason)

    def unwritable(self, values: "pa.Array") -> Mapping[int, str]:
        """See DataFrameSinkTask: none can be."""
        return dict.fromkeys(range(len(values)), self._reason)

    def close(self) -> None:
        """See SinkTask."""
