"""What is told of positions that a task has moved because its consumer group was reset."""

import pytest
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit.errors import InvalidArgument
from services.position import wire
from services.position.domain import Change, ConnectorRow, Effects, Ledger, Position, Update
from services.position.resets import followed

LEDGER = Ledger(ConnectorRow("c", 1, 0, carried_clean=True), {}, {"t/b/0": Position("t/b/0", "[9]", 0, "", 1)})


def update(partition: str, offset: str, group: str) -> Update:
    return Update(partition, offset, 5, "", "", reset_group=group)


def stored(partition: str, offset: str) -> Position:
    return Position(partition, offset, 5, "", 2)


def test_only_what_a_reset_moves_is_told_and_only_when_it_is_stored_now() -> None:
    updates = [update("t/b/0", "[2]", "g"), update("t/b/1", "[0]", "g"), update("t/b/2", "[4]", ""), update("t/b/3", "[4]", "g")]
    effects = Effects(positions=(stored("t/b/0", "[2]"), stored("t/b/1", "[0]"), stored("t/b/2", "[4]")))
    assert followed(LEDGER, updates, effects) == {"g": [Change("t/b/0", "[9]", "[2]"), Change("t/b/1", None, "[0]")]}


@pytest.mark.parametrize(
    ("partition", "group", "said"),
    [
        ("~queues", "g", "a row that the runtime keeps for itself"),
        ("t/b/0", "g" * 256, "no consumer group"),
        ("t/b/0", "a\nb", "group"),
    ],
)
def test_a_reset_that_makes_no_sense_is_refused(partition: str, group: str, said: str) -> None:
    request = pb.CommitPositionsRequest(fence=pb.TaskFence(connector_uid="c"))
    request.updates.add(reset_group=group).position.CopyFrom(record_pb2.Position(partition=partition, offset="[1]"))
    with pytest.raises(InvalidArgument, match=said):
        wire.commit(request)
