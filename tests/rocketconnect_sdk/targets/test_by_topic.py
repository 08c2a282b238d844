"""A target of its own for each topic."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.by_topic import ByTopic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMMIT = SinkCommit("uid", 0, 1, {}, {"a/b/0": QueuePosition(1)}, 1, "token")
FRAME: Any = None


class One(DataFrameSinkTask):
    """A target that keeps what it is told."""

    def __init__(self, positions: Mapping[str, QueuePosition]) -> None:
        self.positions = positions
        self.written: list[SinkCommit] = []
        self.closed = False

    @property
    def flush(self) -> FlushPolicy:
        return FlushPolicy(rows=7)

    def start(self) -> Mapping[str, QueuePosition]:
        return self.positions

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        del frame
        self.written.append(commit)

    def close(self) -> None:
        self.closed = True


def made() -> tuple[ByTopic, One, One]:
    a = One({"a/b/0": QueuePosition(3), "RCREPLAY_u/b/0": QueuePosition(5)})
    b = One({"b/b/0": QueuePosition(4), "RCREPLAY_u/b/0": QueuePosition(2)})
    return ByTopic({"a": a, "b": b}), a, b


def test_each_topic_goes_to_its_target_and_of_what_two_know_the_latest_position_counts() -> None:
    task, a, b = made()
    assert task.start() == {"a/b/0": QueuePosition(3), "b/b/0": QueuePosition(4), "RCREPLAY_u/b/0": QueuePosition(5)}
    assert task.flush == FlushPolicy(rows=7)
    task.of_topic("b").write(FRAME, COMMIT)
    assert (a.written, b.written) == ([], [COMMIT])
    task.close()
    assert (a.closed, b.closed) == (True, True)


def test_what_is_of_no_topic_of_the_connector_is_refused_record_by_record_and_its_position_is_not_kept() -> None:
    other = made()[0].of_topic("c")
    with pytest.raises(RecordError, match="is of the topic c, which is none of topics"):
        other.write(FRAME, COMMIT)
    assert list(other.unwritable(pa.array(["x", "y"]))) == [0, 1]
    other.move(COMMIT)
    assert other.start() == {}


def test_a_batch_that_is_not_of_one_topic_is_not_written() -> None:
    with pytest.raises(PermanentError, match="a batch of several topics"):
        made()[0].write(FRAME, COMMIT)
