"""An executor with the real config, position, state and cluster services and the real broker, and what kills do to it."""

import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import grpc
import psutil
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.position.v1.position_service_pb2 import ListPositionsRequest
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.errors import InvalidArgument, ServiceError
from rocketconnect_kit.serving.status import decode
from tests.ended import ended
from tests.services.executor.system import STORES, System, is_exact, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


def is_state(system: System, connector: str, state: int) -> Callable[[], bool]:
    return lambda: system.state(connector).state == state


def test_rows_arrive_once_though_hosts_and_executors_are_killed(system: System, tmp_path: Path) -> None:
    rows, out = 6_000, tmp_path / "out.txt"
    system.start("worker-1")
    topic = f"once-{os.getpid()}-{time.time_ns()}"
    limited = {"max_rate_records": "600"}
    system.create("numbers", connector_class="monitorable_source", topic=topic, records=str(rows), max_tasks="1", **limited)
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) > rows / 10)
    for task in ("numbers/0", "lines/0"):
        os.kill(system.host_of("worker-1", task), signal.SIGKILL)
        seen = len(lines(out))
        system.until(lambda seen=seen: len(lines(out)) > seen + 200)  # type: ignore[misc]
    assert [task.restarts for name in ("numbers", "lines") for task in system.state(name).tasks] == [1, 1]
    system.start("worker-2")
    system.kill("worker-1")
    system.until(lambda: len(lines(out)) == rows)
    assert Counter(lines(out)) == Counter(f"part-0 {number}" for number in range(1, rows + 1))
    system.until(lambda: all(task.worker_id == "worker-2" for name in ("numbers", "lines") for task in system.state(name).tasks))
    system.until(is_state(system, "numbers", connectors.STATE_IDLE))


def test_a_drained_worker_hands_over_at_once_and_clean(system: System, tmp_path: Path) -> None:
    rows, out = 3_000, tmp_path / "out.txt"
    system.start("worker-1")
    topic = f"drain-{os.getpid()}-{time.time_ns()}"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records=str(rows), max_rate_records="500")
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) > rows / 10)
    system.start("worker-2")
    system.until(lambda: len(system.cluster.ListWorkers(cluster.ListWorkersRequest(), timeout=60).workers) == 2)
    hosts = psutil.Process(system.processes["worker-1"].pid).children(recursive=True)
    system.processes["worker-1"].send_signal(signal.SIGTERM)
    assert system.processes["worker-1"].wait(15) == 0
    assert all(map(ended, hosts))
    system.until(lambda: len(lines(out)) == rows)
    assert Counter(lines(out)) == Counter(f"part-0 {number}" for number in range(1, rows + 1))


def test_a_task_that_sees_more_to_do_asks_for_a_plan_and_one_with_the_same_tasks_restarts_nothing(
    system: System, tmp_path: Path
) -> None:
    rows, out, shares = 500, tmp_path / "out.txt", tmp_path / "shares"
    shares.write_text("1")
    system.start("worker-1")
    topic = f"asked-{os.getpid()}-{time.time_ns()}"
    system.create(
        "numbers", connector_class="monitorable_source", topic=topic, records=str(rows), shares=str(shares), max_tasks="3"
    )
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) == rows)
    (task,) = system.state("numbers").tasks
    # While the plan that it asks for is made, and after it.
    shares.write_text("3 of them")
    system.until(lambda: len(lines(out)) == 3 * rows)
    assert Counter(lines(out)) == Counter(f"part-{part} {number}" for part in range(3) for number in range(1, rows + 1))
    epochs = epochs_of(system, "numbers")
    assert len(epochs) == 3
    assert min(epochs.values()) > task.epoch
    changes = listed(system).assignment_changes
    shares.write_text("3 as before")
    # The planning is given out once, though all three ask, and is over when it is not listed any more.
    system.until(lambda: listed(system).assignment_changes > changes)
    system.until(lambda: not [view for view in listed(system).assignments if view.unit == cluster.UNIT_PLAN])
    assert epochs_of(system, "numbers") == epochs
    assert listed(system).assignment_changes == changes + 1


def listed(system: System) -> cluster.ListAssignmentsResponse:
    answer: cluster.ListAssignmentsResponse = system.cluster.ListAssignments(cluster.ListAssignmentsRequest(), timeout=60)
    return answer


def epochs_of(system: System, connector: str) -> dict[int, int]:
    tasks = [view for view in listed(system).assignments if (view.connector, view.unit) == (connector, cluster.UNIT_TASK)]
    return {view.task: view.epoch for view in tasks}


def tell(system: System, worker: str, connector: str, signal: str, **arguments: str) -> pb.SignalConnectorResponse:
    stub = ExecutorServiceStub(grpc.insecure_channel(system.addresses[worker]))
    request = pb.SignalConnectorRequest(connector=connector, signal=signal, arguments=arguments)
    answer: pb.SignalConnectorResponse = stub.SignalConnector(request, timeout=60, wait_for_ready=True)
    return answer


def refused(system: System, worker: str, connector: str, signal: str, **arguments: str) -> ServiceError:
    with pytest.raises(grpc.RpcError) as failed:
        tell(system, worker, connector, signal, **arguments)
    return decode(failed.value)


def test_a_signal_reaches_all_running_tasks_from_any_executor_and_what_they_say_or_what_is_wrong_comes_back(
    system: System, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    for worker in ("worker-1", "worker-2"):
        system.start(worker)
    request = cluster.ListWorkersRequest()
    system.until(lambda: len(system.cluster.ListWorkers(request, timeout=60, wait_for_ready=True).workers) == 2)
    topic = f"signals-{os.getpid()}-{time.time_ns()}"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records="10", max_tasks="2")
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) == 20)
    system.until(
        lambda: (
            len({task.worker_id for task in system.state("numbers").tasks}) == 2
            and is_state(system, "numbers", connectors.STATE_IDLE)()
        )
    )
    answers = tell(system, "worker-2", "numbers", "more", records="5").answers
    assert [(each.task, each.text) for each in answers] == [(0, "more: 15 records"), (1, "more: 15 records")]
    system.until(lambda: len(lines(out)) == 30)
    wrong = refused(system, "worker-2", "numbers", "more", records="-1", how="what", who="me")
    assert isinstance(wrong, InvalidArgument)
    assert (wrong.reason, {problem.field for problem in wrong.problems}) == ("SIGNAL_INVALID", {"records", "how", "who"})
    for name, connector in (("less", "numbers"), ("more", "lines")):
        assert refused(system, "worker-1", connector, name).reason == "SIGNAL_INVALID"
    failed = refused(system, "worker-1", "numbers", "more", records="1", how="give up")
    assert (failed.reason, "gave up as ordered" in failed.message) == ("SIGNAL_REFUSED", True)
    assert "a defect of the connector" in refused(system, "worker-1", "numbers", "more", records="1", how="fail").message
    assert refused(system, "worker-2", "numbers", "more", records="1", how="exit").reason == "SIGNAL_REFUSED"
    assert refused(system, "worker-2", "missing", "more").reason == "CONNECTOR_NOT_FOUND"
    system.config.StopConnector(config.StopConnectorRequest(name="lines"), timeout=60)
    system.until(is_state(system, "lines", connectors.STATE_STOPPED))
    assert refused(system, "worker-2", "lines", "more").reason == "NO_TASK_RUNS"
    system.until(is_state(system, "numbers", connectors.STATE_IDLE))
    assert refused(system, "worker-2", "numbers", "more", records="1", how="hang").reason == "SIGNAL_LATE"


def changes(system: System, connector: str) -> list[tuple[str, str]]:
    """What the history says, the oldest first."""
    found = system.config.ListChanges(config.ListChangesRequest(name=connector), timeout=60, wait_for_ready=True).changes
    return [(connectors.Action.Name(each.action).removeprefix("ACTION_"), each.reason) for each in reversed(found)]


def test_behind_a_deleted_connector_its_plugin_cleans_up_though_it_fails_first_and_executor_and_service_are_killed_in_the_middle(
    system: System, tmp_path: Path
) -> None:
    cleaned, obstacle = tmp_path / "cleaned.txt", tmp_path / "obstacle"
    obstacle.touch()
    system.start("worker-1", plugin_seconds="10")
    options = {"connector_class": "monitorable_source", "records": "1000000", "max_rate_records": "100", "on_deleted": str(cleaned)}
    system.create("numbers", topic=f"deleted-{os.getpid()}-{time.time_ns()}", obstacle=str(obstacle), **options)
    system.until(is_state(system, "numbers", connectors.STATE_RUNNING))
    system.config.DeleteConnector(config.DeleteConnectorRequest(name="numbers"), timeout=60)
    failed = ("CLEANUP_FAILED", f"{obstacle} is in the way")
    system.until(lambda: changes(system, "numbers")[-1] == failed)
    obstacle.write_text("hang")
    system.until(lambda: obstacle.read_text() == "hanging")
    for name in ("worker-1", "config"):
        system.kill(name)
    assert not cleaned.exists()
    obstacle.unlink()
    system.start("config")
    system.start("worker-2")
    system.until(lambda: changes(system, "numbers")[-1] == ("CLEAN_UP", ""), seconds=180)
    assert [action for action, _ in changes(system, "numbers")] == ["CREATE", "DELETE", "CLEANUP_FAILED", "CLEAN_UP"]
    time.sleep(10)
    assert len(lines(cleaned)) == 1


def test_nothing_is_cleaned_up_as_long_as_a_task_may_still_run(system: System, tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned.txt"
    system.start("worker-1")
    options = {"connector_class": "monitorable_source", "records": "1000000", "max_rate_records": "100", "on_deleted": str(cleaned)}
    system.create("numbers", topic=f"running-{os.getpid()}-{time.time_ns()}", **options)
    system.until(is_state(system, "numbers", connectors.STATE_RUNNING))
    system.start("worker-2")
    system.until(
        lambda: len(system.cluster.ListWorkers(cluster.ListWorkersRequest(), timeout=60, wait_for_ready=True).workers) == 2
    )
    system.processes["worker-1"].send_signal(signal.SIGSTOP)
    system.config.DeleteConnector(config.DeleteConnectorRequest(name="numbers"), timeout=60)
    stopped = time.time()
    system.until(lambda: len(lines(cleaned)) == 1, seconds=180)
    # Its lease of 5 s was renewed within the last second before, and the deadline of a send is 2 s.
    assert float(lines(cleaned)[0]) - stopped > 5
    system.kill("worker-1")


def pipeline(system: System, out: Path, name: str, **options: str) -> None:
    """A source without an end and a sink, with a topic of their own, under way."""
    topic = f"{name}-{os.getpid()}-{time.time_ns()}"
    limited = {"max_rate_records": "200", "records": "1000000", **options}
    system.create(f"numbers-{name}", connector_class="monitorable_source", topic=topic, **limited)
    system.create(f"lines-{name}", connector_class="file_lines", topics=topic, filename=str(out), engine="native", **options)
    system.until(lambda: len(lines(out)) > 200, seconds=180)


def moves_for(seconds: float, out: Path) -> None:
    """Every two seconds something arrives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen = len(lines(out))
        time.sleep(2)
        assert len(lines(out)) > seen, f"nothing moved {end - time.monotonic():.0f} s before the end"


def busy_hosts(system: System) -> set[int]:
    return {int(host.pid) for host in system.hosts("worker-1") if host.tasks}


@pytest.mark.parametrize("service", ["cluster", "position", "state", "config"])
def test_pipelines_go_on_without_a_pause_while_a_service_is_away_for_more_than_two_leases(
    system: System, tmp_path: Path, service: str
) -> None:
    out = tmp_path / "out.txt"
    system.start("worker-1")
    pipeline(system, out, "away")
    hosts = busy_hosts(system)
    system.kill(service)
    moves_for(12, out)
    system.start(service)
    stub = PositionServiceStub(grpc.insecure_channel(system.addresses["position"]))
    seen = len(lines(out))

    def is_committed() -> bool:
        positions = stub.ListPositions(ListPositionsRequest(connector="lines-away"), timeout=60, wait_for_ready=True).positions
        return bool(sum(json.loads(one.offset)[0] for one in positions if "/" in one.partition) >= seen)

    system.until(is_committed)
    moves_for(3, out)
    assert is_exact(out)
    assert busy_hosts(system) == hosts


def test_without_any_service_pipelines_pause_after_the_lease_or_continue_as_on_isolation_says_and_go_on_in_place(
    system: System, tmp_path: Path
) -> None:
    paused, continued = tmp_path / "paused.txt", tmp_path / "continued.txt"
    system.start("worker-1")
    pipeline(system, paused, "paused")
    pipeline(system, continued, "continued", on_isolation="continue")
    hosts = busy_hosts(system)
    for service in STORES:
        system.kill(service)
    moves_for(3, paused)
    time.sleep(4)
    seen = len(lines(paused))
    moves_for(6, continued)
    assert len(lines(paused)) == seen, "something was written without a lease"
    for service in STORES:
        system.start(service)
    for service in STORES:
        host, _, port = system.addresses[service].rpartition(":")
        system.until(lambda place=(host, int(port)): answers(*place))  # type: ignore[misc]
    system.until(lambda: len(lines(paused)) > seen)
    moves_for(3, continued)
    assert is_exact(paused)
    assert is_exact(continued)
    assert busy_hosts(system) == hosts


def answers(host: str, port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex((host, port)) == 0


def _steps(task: states.TaskState) -> tuple[object, ...]:
    said = task.metrics
    return (*(each.step for each in said.spark_steps), 0 < said.spark_driver.heap_used_bytes < said.spark_driver.heap_max_bytes)


@pytest.mark.spark
def test_spark_sinks_of_one_profile_share_a_driver_that_is_started_again_when_its_java_process_dies(
    system: System, tmp_path: Path
) -> None:
    rows = 2_000
    system.start("worker-1", spark_warm="true")
    topic = f"spark-{os.getpid()}-{time.time_ns()}"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records=str(rows), max_rate_records="150")
    outs = {name: tmp_path / f"{name}.txt" for name in ("first", "second")}
    for name, out in outs.items():
        system.create(name, connector_class="file_lines", topics=topic, filename=str(out), engine="spark")
    system.until(lambda: all(len(lines(out)) > rows / 20 for out in outs.values()), seconds=180)
    (spark,) = [host for host in system.hosts("worker-1") if host.profile == "spark"]
    assert sorted(spark.tasks) == ["first/0", "second/0"]
    # They are told once a second, and the driver by both.
    system.until(
        lambda: {_steps(task) for name in outs for task in system.state(name).tasks if not task.task} == {("stage", "commit", True)}
    )
    (java,) = [child for child in psutil.Process(spark.pid).children(recursive=True) if child.name() == "java"]
    java.kill()
    # On a slow machine all of the first ones may be there by then.
    system.create("more", connector_class="monitorable_source", topic=topic, records=str(rows))
    system.until(lambda: all(len(lines(out)) == 2 * rows for out in outs.values()), seconds=180)
    for out in outs.values():
        assert Counter(lines(out)) == Counter(f"part-0 {number}" for number in range(1, rows + 1) for _ in range(2))
    (again,) = [host for host in system.hosts("worker-1") if host.profile == "spark"]
    assert (again.pid != spark.pid, again.restarts) == (True, 1)
    children = psutil.Process(system.processes["worker-1"].pid).children(recursive=True)
    assert "java" in {child.name() for child in children}
    system.kill("worker-1")
    _, alive = psutil.wait_procs(children, timeout=60)
    assert [child for child in alive if not ended(child)] == []
