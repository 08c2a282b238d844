"""A worker with a token of its own against the tasks of another one, on the real services: it gets none of them."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_cli.api import ApiError
from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.settings import ServiceSettings
from tests.processes import wait_until
from tests.security.test_callers import Guarded, guarded

__all__ = ["guarded"]
pytestmark = pytest.mark.e2e
OWN, THIEF = "worker-1", "worker-9"


def call(made: Guarded, service: str, name: str, stub: Any, method: str, request: Any) -> Any:
    settings = ServiceSettings(token_file=made.folder / f"{name}.token")
    with sync_channel(f"127.0.0.1:{made.fleet.services[service].port}", settings) as channel:
        return getattr(stub(channel), method)(request, timeout=20)


def held(made: Guarded) -> cluster.Assignment:
    """The one task that runs, as every worker may see it."""
    answer = call(made, "cluster", THIEF, ClusterServiceStub, "ListAssignments", cluster.ListAssignmentsRequest())
    [one] = answer.assignments
    assert isinstance(one, cluster.Assignment)
    return one


def opening(held: cluster.Assignment, worker: str, *, generation: int | None = None, later: int = 0) -> position.OpenTaskRequest:
    return position.OpenTaskRequest(fence=fence(held, generation=generation, later=later), worker_id=worker)


def fence(held: cluster.Assignment, *, generation: int | None = None, later: int = 0) -> position.TaskFence:
    return position.TaskFence(
        connector_uid=held.connector_uid,
        task=held.task,
        generation=held.generation if generation is None else generation,
        epoch=held.epoch + later,
    )


def forged(held: cluster.Assignment, worker: str) -> position.CommitPositionsRequest:
    """Everything of the source is told to be sent: what is not yet would be lost."""
    request = position.CommitPositionsRequest(fence=fence(held), worker_id=worker)
    update = request.updates.add()
    update.position.partition, update.position.offset = "forged", "[1000000]"
    return request


def test_a_worker_gets_at_no_task_of_another_one(guarded: Guarded, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{number}\n" for number in range(100)))

    def created() -> bool:
        options = {"connector.class": "file_source", "topic": "stolen", "filename": str(source)}
        try:
            with guarded.api("alice") as api:
                api.request("POST", "/v1/connectors", body={"name": "in", "config": options})
        except ApiError:
            return False
        return True

    def positions() -> list[tuple[str, str]]:
        with guarded.api("bob") as api:
            return [(each["partition"], each["offset"]) for each in api.pages("/v1/connectors/in/positions", "positions")]

    def all_read() -> bool:
        return any(offset == f"[{source.stat().st_size}]" for _, offset in positions())

    def refused(name: str, method: str, request: Any) -> str:
        return guarded.refused("position", name, PositionServiceStub, method, request)

    wait_until(created, 90)
    wait_until(all_read, 90)
    before, task = positions(), held(guarded)
    assert task.worker_id == OWN

    # In the name of the owner, in its own name, as the next owner, and beyond all of them; the owner itself may not do that either.
    assert refused(THIEF, "OpenTask", opening(task, OWN)) == "NOT_ALLOWED"
    for later in (0, 1, 1 << 60):
        assert refused(THIEF, "OpenTask", opening(task, THIEF, later=later)) == "NOT_ASSIGNED"
    assert refused(OWN, "OpenTask", opening(task, OWN, generation=1 << 60)) == "NOT_ASSIGNED"
    assert refused(THIEF, "CommitPositions", forged(task, OWN)) == "NOT_ALLOWED"
    assert refused(THIEF, "CommitPositions", forged(task, THIEF)) == "NOT_OWNER"
    confirming = position.ConfirmEpochsRequest(fences=[fence(task)], lease=Duration(seconds=600), worker_id=THIEF)
    assert list(call(guarded, "position", THIEF, PositionServiceStub, "ConfirmEpochs", confirming).fenced) == [fence(task)]
    released = cluster.ReleaseAssignmentRequest(
        worker_id=OWN, session=1, key=cluster.AssignmentKey(connector_uid=task.connector_uid, task=task.task), epoch=task.epoch
    )
    assert guarded.refused("cluster", THIEF, ClusterServiceStub, "ReleaseAssignment", released) == "NOT_ALLOWED"

    # Nobody says any more who holds it: what was opened stays its worker's.
    guarded.fleet.kill("cluster")
    assert refused(THIEF, "OpenTask", opening(task, THIEF)) == "NOT_OWNER"
    assert refused(THIEF, "CommitPositions", forged(task, THIEF)) == "NOT_OWNER"
    guarded.fleet.start("cluster")

    assert positions() == before
    with source.open("a") as file:
        file.write("one more\n")
    wait_until(all_read, 90)
