"""Whether a target has a batch."""

import pytest

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.targets.commits import is_written

QUEUE = "orders/broker-a/0"


def commit(before: QueuePosition, after: QueuePosition) -> SinkCommit:
    return SinkCommit("uid", 0, 1, {QUEUE: before}, {QUEUE: after}, 10, "token")


def test_a_batch_that_is_there_is_left_out_and_one_that_overlaps_is_refused() -> None:
    batch = commit(QueuePosition(10), QueuePosition(20))
    assert not is_written({}, batch)
    assert not is_written({QUEUE: QueuePosition(10)}, batch)
    assert is_written({QUEUE: QueuePosition(20)}, batch)
    for there in (QueuePosition(15), QueuePosition(25), QueuePosition(20, stored_ms=7), QueuePosition(0, era=1)):
        with pytest.raises(PermanentError, match="is there; restart"):
            is_written({QUEUE: there}, batch)
