"""Executors as real processes: what they do with assignments, leases, signals, and with hosts that die or hang."""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from tests.ended import ended

Plane = Any
Executor = Any
Start = Callable[..., Any]


def gone(processes: list[psutil.Process], seconds: float) -> bool:
    """Whether all of them have ended after at most so many seconds."""
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return all(map(ended, alive))


def running(plane: Plane, executor: Executor, uid: str, task: int = 0) -> int:
    """The process id of the host of a task, once it runs there (it waits for a broker, which is not there)."""
    plane.wait_for(lambda: plane.state(uid, task) == "WAITING")
    (pid,) = executor.hosts_of(executor.stub(), f"name-{uid}/{task}")
    return int(pid)


def test_it_registers_with_what_it_offers(executor: Executor, plane: Plane) -> None:
    (registration,) = plane.registrations
    assert registration.worker_id == "worker-1"
    assert registration.address == executor.address
    assert {"monitorable_source", "org.example.MonitorableSource", "direct"} <= set(registration.plugins)
    assert not {"json", "JsonConverter"} & set(registration.plugins), "no connector can be of a converter"


@pytest.mark.slow
def test_it_tells_the_config_service_what_it_offers(executor: Executor, plane: Plane) -> None:
    plane.wait_for(lambda: plane.plugin_reports)
    plugins = {plugin.name: plugin for plugin in plane.plugin_reports[0].plugins}
    monitorable = plugins["monitorable_source"]
    assert monitorable.type == connectors.PLUGIN_TYPE_SOURCE
    assert monitorable.summary == "A source for tests: counts from 1, and does at each step what it is ordered."
    assert {option.key: option.secret for option in monitorable.options}["password"] is True
    assert plugins["json"].type == connectors.PLUGIN_TYPE_CONVERTER
    assert "org.apache.rocketmq.connect.runtime.converter.record.json.JsonConverter" in plugins["json"].aliases
    json = [option.key for option in plugins["json"].options]
    assert json == ["schemas.enable", "schemas.cache.size", "decimal.format", "names", "replace.null.with.default"]
    assert plugins["cast"].type == connectors.PLUGIN_TYPE_TRANSFORM
    assert [option.key for option in plugins["cast"].options][:2] == ["on", "spec"]
    assert plugins["is_tombstone"].type == connectors.PLUGIN_TYPE_PREDICATE


def test_an_assigned_task_runs_in_a_host_and_is_reported(executor: Executor, plane: Plane) -> None:
    epoch = plane.assign("a")
    pid = running(plane, executor, "a")
    report = plane.reports["a", 0]
    assert report.epoch == epoch
    assert report.stall_after.seconds == 60
    assert psutil.Process(pid).ppid() == executor.process.pid


def test_the_next_process_of_a_worker_that_was_killed_tells_that_it_has_ended(start_executor: Start, plane: Plane) -> None:
    first = start_executor()
    plane.wait_for(lambda: plane.registrations)
    first.process.kill()
    first.process.wait(60)
    beats = len(plane.heartbeats)
    second = start_executor()
    plane.wait_for(lambda: len(plane.heartbeats) > beats)
    before, after = plane.registrations
    assert before.process in after.ended_processes
    assert after.process != before.process
    second.process.terminate()
    second.process.wait(60)
    assert plane.left
    assert not list(Path(tempfile.gettempdir()).glob(f"rocketconnect-worker-*-{after.process}")), "nothing is left of one that left"


def test_a_task_is_paused_and_resumed(executor: Executor, plane: Plane) -> None:
    plane.assign("a", paused=True)
    plane.wait_for(lambda: plane.state("a") in ("PAUSED", "WAITING"))
    plane.change("a", paused=False)
    running(plane, executor, "a")


@pytest.mark.slow
def test_native_tasks_do_not_share_a_host_unless_that_is_set(executor: Executor, plane: Plane) -> None:
    plane.assign("a", 0)
    plane.assign("a", 1)
    assert running(plane, executor, "a", 0) != running(plane, executor, "a", 1)


@pytest.mark.slow
def test_native_tasks_share_a_host_up_to_the_number_that_is_set(start_executor: Start, plane: Plane) -> None:
    executor = start_executor(tasks_per_host="2")
    plane.wait_for(lambda: plane.registrations)
    for task in range(3):
        plane.assign("a", task)
    pids = [running(plane, executor, "a", task) for task in range(3)]
    assert pids[0] == pids[1] != pids[2]


@pytest.mark.slow
def test_a_revoked_task_is_stopped_and_released(executor: Executor, plane: Plane) -> None:
    epoch = plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.change("a", revoked=True)
    plane.wait_for(lambda: plane.releases)
    (release,) = plane.releases
    assert (release.key.connector_uid, release.key.task, release.epoch, release.failed) == ("a", 0, epoch, False)
    assert plane.state("a") == "STOPPED"
    assert gone([host], 60)


@pytest.mark.slow
def test_a_removed_task_is_fenced_and_not_released(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.remove("a")
    assert gone([host], 60)
    assert plane.releases == []


@pytest.mark.slow
def test_a_task_whose_report_is_refused_is_stopped(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.refused.add(("a", 0))
    plane.wait_for(lambda: plane.releases)
    assert plane.releases[0].failed
    assert gone([host], 60)


def test_a_task_that_gives_up_is_released_as_permanently_failed_with_its_error(executor: Executor, plane: Plane) -> None:
    plane.assign("a", on_open="give up")
    plane.wait_for(lambda: plane.releases)
    assert (plane.releases[0].failed, plane.releases[0].permanent) == (True, True)
    assert plane.state("a") == "FAILED"
    assert "gave up as ordered" in plane.trace("a")


def test_a_task_that_a_newer_plan_has_shut_out_is_released_with_the_generation_of_that(executor: Executor, plane: Plane) -> None:
    plane.opened_generation = 7
    plane.assign("a")
    plane.wait_for(lambda: plane.releases)
    assert (plane.releases[0].failed, plane.releases[0].permanent, plane.releases[0].opened_generation) == (True, False, 7)


@pytest.mark.slow
def test_a_task_that_fails_is_released_as_failed(executor: Executor, plane: Plane) -> None:
    plane.assign("a", on_open="fail")
    plane.wait_for(lambda: plane.releases)
    assert (plane.releases[0].failed, plane.releases[0].permanent) == (True, False)
    assert "failed as ordered" in plane.trace("a")


@pytest.mark.slow
def test_a_task_whose_host_is_killed_is_started_again_under_the_same_epoch(executor: Executor, plane: Plane) -> None:
    epoch = plane.assign("a")
    pid = running(plane, executor, "a")
    os.kill(pid, signal.SIGKILL)
    plane.wait_for(lambda: ("a", 0, "RESTARTING") in plane.history)
    plane.wait_for(lambda: plane.state("a") == "WAITING" and plane.reports["a", 0].restarts == 1)
    assert running(plane, executor, "a") != pid
    assert plane.reports["a", 0].epoch == epoch
    assert any("SIGKILL" in line for line in plane.logs)
    assert plane.releases == []


def test_a_killed_host_leaves_other_tasks_alone(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    plane.assign("b")
    other = running(plane, executor, "b")
    os.kill(running(plane, executor, "a"), signal.SIGKILL)
    plane.wait_for(lambda: plane.reports["a", 0].restarts == 1)
    assert running(plane, executor, "b") == other


@pytest.mark.slow
def test_a_task_that_always_ends_its_host_is_in_the_end_released_as_failed(executor: Executor, plane: Plane) -> None:
    plane.assign("a", on_open="exit")
    plane.wait_for(lambda: plane.releases, seconds=60)
    assert plane.releases[0].failed
    assert "exit status 7" in plane.trace("a")
    assert plane.reports["a", 0].restarts == 5


@pytest.mark.slow
def test_a_task_that_does_not_stop_is_killed_and_released(start_executor: Start, plane: Plane) -> None:
    executor = start_executor(drain_seconds="2")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", on_open="hang")
    plane.wait_for(lambda: plane.state("a") == "STARTING")
    plane.wait_for(lambda: executor.hosts_of(executor.stub(), "name-a/0"))
    (host,) = executor.hosts_of(executor.stub(), "name-a/0")
    process = psutil.Process(host)
    plane.change("a", revoked=True)
    plane.wait_for(lambda: plane.releases)
    assert gone([process], 60)


@pytest.mark.slow
def test_programs_that_a_plugin_started_end_with_its_task(executor: Executor, plane: Plane) -> None:
    plane.assign("a", on_open="stay behind")
    running(plane, executor, "a")
    (child,) = [process for process in executor.children() if process.name() == "sleep"]
    plane.change("a", revoked=True)
    assert gone([child], 60)


@pytest.mark.slow
def test_programs_that_a_plugin_started_end_when_its_host_dies(executor: Executor, plane: Plane) -> None:
    plane.assign("a", on_open="stay behind")
    host = running(plane, executor, "a")
    (child,) = [process for process in executor.children() if process.name() == "sleep"]
    os.kill(host, signal.SIGKILL)
    assert gone([child], 60)


@pytest.mark.slow
def test_what_plugins_print_is_in_the_log_with_the_name_of_the_connector(executor: Executor, plane: Plane) -> None:
    plane.assign("a", on_open="chatter")
    running(plane, executor, "a")
    plane.wait_for(lambda: "lines were not logged" in executor.log or "chatter 99999" in executor.log)
    assert "name-a/0" in next(line for line in executor.log.splitlines() if "chatter 1" in line)
    assert len(executor.log) < 1_000_000


def test_no_secret_leaves_the_host(executor: Executor, plane: Plane) -> None:
    plane.assign("a", password="${env:SECRET_FOR_TESTS}", shout="true")
    plane.wait_for(lambda: plane.releases)
    assert "the password *** is wrong" in plane.trace("a")
    plane.wait_for(lambda: "the password is ***" in executor.log)
    assert "s3cr3t-value" not in executor.log + "".join(plane.logs) + str(plane.reports)


def test_a_reference_that_stands_for_nothing_fails_the_task_for_good_and_is_named(executor: Executor, plane: Plane) -> None:
    plane.assign("a", password="${env:NOT_THERE}")
    plane.wait_for(lambda: plane.releases)
    assert plane.releases[0].permanent
    assert "${env:NOT_THERE}" in plane.trace("a")


def test_a_connector_is_planned_in_a_fresh_host_and_each_task_is_told_how_many_there_are(executor: Executor, plane: Plane) -> None:
    plane.assign("a", -1, max_tasks="3")
    plane.wait_for(lambda: plane.plans)
    (plan,) = plane.plans
    assert [dict(task.config) for task in plan.tasks] == [{"share": str(number), "tasks": "3"} for number in range(3)]
    assert plan.replan_after.seconds == 3600


def test_a_planning_that_ends_its_process_is_released_as_failed(executor: Executor, plane: Plane) -> None:
    plane.assign("a", -1, on_plan="exit")
    plane.wait_for(lambda: plane.releases)
    assert (plane.releases[0].key.task, plane.releases[0].failed, plane.releases[0].permanent) == (-1, True, False)
    assert "exit status 7" in plane.trace("a", -1)


def test_a_planning_that_hangs_is_ended(start_executor: Start, plane: Plane) -> None:
    start_executor(plugin_seconds="1")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", -1, on_plan="hang")
    plane.wait_for(lambda: plane.releases)
    assert "did not answer in 1 s" in plane.trace("a", -1)


def test_a_planning_waits_for_a_system_that_does_not_answer_and_is_not_given_up(
    executor: Executor, plane: Plane, tmp_path: Path
) -> None:
    shares = tmp_path / "shares"
    plane.assign("a", -1, shares=str(shares), max_tasks="2")
    plane.wait_for(lambda: plane.state("a", -1) == "WAITING")
    assert (
        plane.trace("a", -1) == f"the connector could not be split into tasks: nobody says yet how many shares there are: {shares}"
    )
    shares.write_text("2")
    plane.wait_for(lambda: plane.plans)
    assert (len(plane.plans[0].tasks), plane.releases) == (2, [])


def test_a_planning_that_waits_ends_when_it_is_taken_away(executor: Executor, plane: Plane, tmp_path: Path) -> None:
    plane.assign("a", -1, shares=str(tmp_path / "shares"))
    plane.wait_for(lambda: plane.state("a", -1) == "WAITING")
    plane.change("a", -1, revoked=True)
    plane.wait_for(lambda: plane.releases)
    assert not plane.releases[0].failed


def test_a_planning_that_is_taken_away_is_ended(executor: Executor, plane: Plane) -> None:
    plane.assign("a", -1, on_plan="hang")
    plane.wait_for(lambda: plane.state("a", -1) == "STARTING")
    before = executor.children()
    plane.change("a", -1, revoked=True)
    plane.wait_for(lambda: plane.releases)
    assert not plane.releases[0].failed
    time.sleep(0.5)
    assert any(map(ended, before))


def test_a_worker_whose_session_ended_stops_everything_and_registers_again(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.end_session()
    plane.wait_for(lambda: len(plane.registrations) == 2)
    assert gone([host], 0.5), "a task of the session before was alive after the registration"


ISOLATED = "no service confirms this worker"


@pytest.mark.slow
def test_a_worker_that_reaches_no_service_keeps_session_and_processes_and_goes_on_in_place(
    executor: Executor, plane: Plane
) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.silent.set()
    plane.wait_for(lambda: ISOLATED in executor.log)
    assert not gone([host], plane.lease + 1)
    seen = len(plane.heartbeats)
    plane.silent.clear()
    plane.wait_for(lambda: len(plane.heartbeats) > seen + 2 and "everything goes on" in executor.log, seconds=5)
    plane.assign("b")
    running(plane, executor, "b")
    assert running(plane, executor, "a") == host.pid
    assert len(plane.registrations) == 1


@pytest.mark.slow
def test_a_worker_that_was_judged_while_it_reached_no_service_stops_everything_on_its_return(
    executor: Executor, plane: Plane
) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.silent.set()
    plane.wait_for(lambda: ISOLATED in executor.log)
    plane.end_session()
    plane.silent.clear()
    plane.wait_for(lambda: len(plane.registrations) == 2, seconds=5)
    assert gone([host], 0.5)


@pytest.mark.slow
def test_the_position_service_confirms_every_task_while_the_cluster_service_is_away(executor: Executor, plane: Plane) -> None:
    epochs = {uid: plane.assign(uid) for uid in ("a", "b")}
    hosts = [psutil.Process(running(plane, executor, uid)) for uid in epochs]
    plane.confirms.set()
    plane.silent.set()
    plane.wait_for(lambda: len(plane.confirmed) >= 6)
    for request in plane.confirmed:
        assert {fence.connector_uid: fence.epoch for fence in request.fences} == epochs
        assert request.lease.ToNanoseconds() == plane.lease * 1e9
        assert request.worker_id == plane.registrations[0].worker_id
    assert ISOLATED not in executor.log
    plane.silent.clear()
    seen = len(plane.heartbeats)
    plane.wait_for(lambda: len(plane.heartbeats) > seen + 2)
    assert not gone(hosts, 0.1)
    assert len(plane.registrations) == 1


@pytest.mark.slow
def test_a_task_that_somebody_else_has_opened_is_stopped_before_the_others_are_confirmed(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    plane.assign("b")
    host, other = (psutil.Process(running(plane, executor, uid)) for uid in ("a", "b"))
    plane.fenced.add(("a", 0))
    plane.confirms.set()
    plane.silent.set()
    plane.wait_for(lambda: len(plane.confirmed) >= 2)
    assert gone([host], 0.1), "the others were confirmed again while it ran"
    plane.wait_for(lambda: len(plane.confirmed) >= 4)
    assert {fence.connector_uid for fence in plane.confirmed[-1].fences} == {"b"}
    assert not gone([other], 0.1)


@pytest.mark.slow
def test_nothing_that_the_cluster_service_says_is_begun_while_it_does_not_take_heartbeats(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    running(plane, executor, "a")
    plane.confirms.set()
    plane.deaf.set()
    plane.wait_for(lambda: plane.confirmed)
    plane.assign("b")
    plane.wait_for(lambda: len(plane.confirmed) >= 5)
    assert all({fence.connector_uid for fence in request.fences} == {"a"} for request in plane.confirmed)
    assert plane.state("b") == ""
    plane.deaf.clear()
    running(plane, executor, "b")


@pytest.mark.slow
def test_hosts_stay_when_a_stopped_executor_lets_the_lease_pass_and_end_when_it_learns_that_it_is_fenced(
    executor: Executor, plane: Plane
) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    executor.process.send_signal(signal.SIGSTOP)
    try:
        assert not gone([host], plane.lease + 2)
        plane.end_session()
    finally:
        executor.process.send_signal(signal.SIGCONT)
    plane.wait_for(lambda: len(plane.registrations) == 2)
    assert gone([host], 0.5)


@pytest.mark.slow
def test_a_worker_registers_again_only_when_a_host_that_does_not_answer_is_gone(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    host.send_signal(signal.SIGSTOP)
    plane.end_session()
    plane.wait_for(lambda: len(plane.registrations) == 2)
    assert gone([host], 0.1)


def test_killed_executors_take_their_hosts_along_within_a_second(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    plane.assign("b", on_open="hang")
    plane.assign("c", -1, on_plan="hang")
    running(plane, executor, "a")
    plane.wait_for(lambda: plane.state("b") and plane.state("c", -1))
    hosts = executor.children()
    assert len(hosts) >= 4
    executor.process.kill()
    assert gone(hosts, 60)


def test_the_first_sigterm_drains_and_leaves(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    running(plane, executor, "a")
    hosts = executor.children()
    executor.process.send_signal(signal.SIGTERM)
    assert executor.process.wait(60) == 0
    assert plane.left == [1]
    assert plane.state("a") == "STOPPED"
    assert plane.releases == []
    assert gone(hosts, 60)


@pytest.mark.slow
def test_a_drain_ends_in_time_though_a_task_does_not(start_executor: Start, plane: Plane) -> None:
    executor = start_executor(drain_seconds="2")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", on_open="hang")
    plane.wait_for(lambda: plane.state("a"))
    hosts = executor.children()
    executor.process.send_signal(signal.SIGTERM)
    assert executor.process.wait(60) == 0
    assert gone(hosts, 60)


@pytest.mark.slow
def test_the_second_sigterm_ends_at_once(start_executor: Start, plane: Plane) -> None:
    executor = start_executor(drain_seconds="600")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", on_open="hang")
    plane.wait_for(lambda: "hangs as ordered" in executor.log)
    hosts = executor.children()
    executor.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert executor.process.poll() is None
    executor.process.send_signal(signal.SIGTERM)
    assert executor.process.wait(60) == 128 + signal.SIGTERM
    assert gone(hosts, 60)


def test_the_executor_itself_never_loads_plugins_spark_or_arrow(executor: Executor, plane: Plane) -> None:
    plane.assign("a", -1)
    plane.wait_for(lambda: plane.plans)
    plane.assign("a")
    running(plane, executor, "a")
    maps = Path(f"/proc/{executor.process.pid}/maps").read_text()
    assert "libarrow" not in maps
    opened = [line for line in executor.log.splitlines() if "monitorable.py" in line]
    assert opened == []


@pytest.mark.slow
def test_describe_worker_tells_processes_and_tasks(executor: Executor, plane: Plane) -> None:
    plane.assign("a")
    pid = running(plane, executor, "a")
    answer = executor.stub().DescribeWorker(pb.DescribeWorkerRequest(), timeout=60)
    assert answer.worker_id == "worker-1"
    assert [(host.pid, host.profile, list(host.tasks), host.restarts) for host in answer.hosts] == [
        (pid, "native", ["name-a/0"], 0)
    ]
