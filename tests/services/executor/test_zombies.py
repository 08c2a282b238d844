"""Owners that are stopped in the middle of a send or a write, lose their tasks, and then go on where they were."""

import os
import time
from collections import Counter
from pathlib import Path

import grpc
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.position.v1 import position_service_pb2 as positions
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.serving.status import decode
from rocketmq_remoting.client import Client
from rocketmq_remoting.pulls.stream import PullStream
from tests.ended import ended
from tests.services.executor.system import System, is_exact, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e]


def pipeline(system: System, out: Path, **options: str) -> str:
    """A source without an end and a sink on worker-1, under way; returns their topic."""
    system.start("worker-1")
    topic = f"zombie-{os.getpid()}-{time.time_ns()}"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records="1000000", max_rate_records="300")
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native", **options)
    system.until(lambda: len(lines(out)) > 300, seconds=180)
    return topic


def arrive(system: System, out: Path, more: int) -> None:
    """So many lines more have to come."""
    wanted = len(lines(out)) + more
    system.until(lambda: len(lines(out)) >= wanted)


def sent(system: System, topic: str) -> Counter[str]:
    """How often each record is in the topic."""
    found: Counter[str] = Counter()
    with Client([system.name_server], group="zombies") as client:
        for queue in client.queues(topic):
            end = client.max_offset(queue)
            with PullStream(client, queue, client.min_offset(queue)) as stream:
                while stream.position < end:
                    found.update(message.body.decode() for message in stream.next(5) or ())
    return found


def doubled(system: System, topic: str) -> list[str]:
    """The records that are in the topic more than once."""
    return [record for record, times in sent(system, topic).items() if times > 1]


def refuses_the_owner_of(system: System, before: states.ConnectorState) -> None:
    """What an owner of that time commits and reports is refused."""
    (task,) = before.tasks
    fence = positions.TaskFence(connector_uid=before.connector_uid, task=0, generation=task.generation, epoch=task.epoch)
    stub = PositionServiceStub(grpc.insecure_channel(system.addresses["position"]))
    with pytest.raises(grpc.RpcError) as refused:
        stub.CommitPositions(positions.CommitPositionsRequest(fence=fence), timeout=60)
    assert decode(refused.value).reason == "FENCED"
    report = states.TaskReport(
        connector_uid=before.connector_uid, generation=task.generation, epoch=task.epoch, state=connectors.STATE_RUNNING
    )
    answer = system.states.ReportTasks(states.ReportTasksRequest(worker_id="worker-1", reports=[report]), timeout=60)
    assert [one.epoch for one in answer.refused] == [task.epoch]


@pytest.mark.slow
def test_what_a_source_that_was_stopped_in_the_middle_of_a_send_pushes_out_after_its_lease_is_dropped_by_the_sink(
    system: System, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    topic = pipeline(system, out)
    before = system.state("numbers")
    executor, old = system.stopped_at("worker-1", "source.in-send")
    system.start("worker-2")
    # What the successor sends comes after the half of a batch that stands in the broker's socket since then.
    arrive(system, out, 300)
    assert not doubled(system, topic), "the successor itself sends nothing twice"
    # The executor stays stopped: its host alone has to know what it may not do.
    old.resume()
    system.until(lambda: doubled(system, topic))
    there = sent(system, topic)
    refuses_the_owner_of(system, before)
    executor.resume()
    system.until(lambda: ended(old))
    arrive(system, out, len(there) - len(lines(out)) + 300)
    assert is_exact(out)


@pytest.mark.slow
def test_what_a_sink_that_was_stopped_in_the_middle_of_a_write_writes_after_another_one_has_begun_is_refused(
    system: System, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    # With `pause` the host would end itself before it writes; here the target alone refuses.
    pipeline(system, out, on_isolation="continue")
    executor, old = system.stopped_at("worker-1", "sink.before-append")
    system.start("worker-2")
    arrive(system, out, 300)
    old.resume()
    arrive(system, out, 300)
    executor.resume()
    system.until(lambda: ended(old))
    arrive(system, out, 300)
    assert is_exact(out)
