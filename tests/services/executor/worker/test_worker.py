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


def test_the_next_process_of_a_worker_that_was_killed_tells_that_it_has_ended(start_executor: Start, plane: Plane) -> None:
    # Executors of other tests that run now are another worker: whoever begins takes what is told of those that ended.
    worker = f"worker-{os.getpid()}"
    first = start_executor(worker_id=worker)
    plane.wait_for(lambda: plane.registrations)
    first.process.kill()
    first.process.wait(60)
    beats = len(plane.heartbeats)
    second = start_executor(worker_id=worker)
    plane.wait_for(lambda: len(plane.heartbeats) > beats)
    before, after = plane.registrations
    assert before.process in after.ended_processes
    assert after.process != before.process
    second.process.terminate()
    second.process.wait(60)
    assert plane.left
    assert not list(Path(tempfile.gettempdir()).glob(f"rocketconnect-worker-*-{after.process}")), "nothing is left of one that left"


@pytest.mark.slow
def test_native_tasks_share_a_host_up_to_the_number_that_is_set(start_executor: Start, plane: Plane) -> None:
    executor = start_executor(tasks_per_host="2")
    plane.wait_for(lambda: plane.registrations)
    for task in range(3):
        plane.assign("a", task)
    pids = [running(plane, executor, "a", task) for task in range(3)]
    assert pids[0] == pids[1] != pids[2]


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


def test_a_planning_that_hangs_is_ended(start_executor: Start, plane: Plane) -> None:
    start_executor(plugin_seconds="5")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", -1, on_plan="hang")
    plane.wait_for(lambda: plane.releases)
    plane.wait_for(lambda: "did not answer in 5 s" in plane.trace("a", -1))


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
