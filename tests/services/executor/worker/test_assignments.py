"""What an executor, a real process, does with assignments and with hosts that die; one for all, as each takes seconds to start."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from tests.ended import ended
from tests.services.executor.conftest import Executor, Plane, served
from tests.services.executor.worker.test_worker import gone, running


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plane, Executor]]:
    plane = Plane(lease=60.0)
    with served(plane) as address:
        executor = Executor(address, tmp_path_factory.mktemp("executor"), log_format="json")
        try:
            plane.wait_for(lambda: plane.registrations)
            yield plane, executor
        finally:
            executor.end()


@pytest.fixture
def plane(registered: tuple[Plane, Executor]) -> Iterator[Plane]:
    plane, executor = registered
    yield plane
    plane.take_all()
    stub = executor.stub()
    plane.wait_for(lambda: not stub.DescribeWorker(pb.DescribeWorkerRequest(), timeout=60).hosts)
    plane.forget()


@pytest.fixture
def executor(registered: tuple[Plane, Executor]) -> Executor:
    return registered[1]


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
def test_a_revoked_task_is_stopped_and_released(executor: Executor, plane: Plane) -> None:
    epoch = plane.assign("a")
    host = psutil.Process(running(plane, executor, "a"))
    plane.change("a", revoked=True)
    plane.wait_for(lambda: plane.releases)
    (release,) = plane.releases
    assert (release.key.connector_uid, release.key.task, release.epoch, release.failed) == ("a", 0, epoch, False)
    plane.wait_for(lambda: plane.state("a") == "STOPPED")
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
    plane.wait_for(lambda: plane.state("a") == "FAILED")
    plane.wait_for(lambda: "gave up as ordered" in plane.trace("a"))


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
    plane.wait_for(lambda: "failed as ordered" in plane.trace("a"))


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
    plane.wait_for(lambda: plane.releases, seconds=180)
    assert plane.releases[0].failed
    plane.wait_for(lambda: "exit status 7" in plane.trace("a"))
    assert plane.reports["a", 0].restarts == 5


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
    line = json.loads(next(line for line in executor.log.splitlines() if "chatter 1" in line))
    assert (line["connector"], line["task"]) == ("name-a", 0)
    assert len(executor.log) < 1_000_000


def test_what_a_task_its_plugin_and_libraries_say_is_an_object_a_line_with_whose_it_is(executor: Executor, plane: Plane) -> None:
    epoch = plane.assign("a", on_open="say")
    plane.wait_for(lambda: "not a record" in executor.log)
    # The core of gRPC, which is C++, writes lines of its own.
    lines = [json.loads(line) for line in executor.log.split("\n") if line.startswith("{")]
    mine = [line for line in lines if line.get("connector") == "name-a" and line.get("epoch") == epoch]
    assert {(line["service"], line["worker"], line["task"]) for line in mine} == {("executor", "worker-1", 0)}
    said = {line["message"]: line for line in mine}
    own = said[f"starts with revision 1, plan generation 1, epoch {epoch}"]
    assert (own["logger"], own["level"]) == ("rocketconnect.task", "info")
    library = said['a "quoted"\nmessage\x1b[31m </script>']
    assert (library["logger"], library["level"]) == ("org.library", "error")
    assert library["exception"].startswith("Traceback")
    assert library["exception"].endswith("RuntimeError: failed as ordered")
    assert said["the thread of a library ended with an error"]["exception"].endswith("RuntimeError: failed as ordered")
    assert any("deprecated as ordered" in text and line["logger"] == "py.warnings" for text, line in said.items())
    assert {said[text]["logger"] for text in ('{"level": "forged"}', "\x1enot a record")} == {"rocketconnect.host"}


def test_how_a_task_failed_is_a_message_and_its_traceback_a_field(executor: Executor, plane: Plane) -> None:
    plane.assign("broken", on_open="fail")

    def failed() -> list[dict[str, str]]:
        lines = [json.loads(line) for line in executor.log.split("\n") if "name-broken" in line and line.endswith("}")]
        return [line for line in lines if (line["level"], line["logger"]) == ("error", "rocketconnect.task")]

    plane.wait_for(failed)
    assert "failed as ordered" in failed()[0]["message"]
    assert "Traceback" not in failed()[0]["message"]
    assert failed()[0]["exception"].startswith("Traceback (most recent call last):\n")


def test_no_secret_leaves_the_host(executor: Executor, plane: Plane) -> None:
    plane.assign("a", password="${env:SECRET_FOR_TESTS}", shout="true")
    plane.wait_for(lambda: plane.releases)
    plane.wait_for(lambda: "the password *** is wrong" in plane.trace("a"))
    plane.wait_for(lambda: "the password is ***" in executor.log)
    assert "s3cr3t-value" not in executor.log + "".join(plane.logs) + str(plane.reports)


def test_a_reference_that_stands_for_nothing_fails_the_task_for_good_and_is_named(executor: Executor, plane: Plane) -> None:
    plane.assign("a", password="${env:NOT_THERE}")
    plane.wait_for(lambda: plane.releases)
    assert plane.releases[0].permanent
    plane.wait_for(lambda: "${env:NOT_THERE}" in plane.trace("a"))


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
    plane.wait_for(lambda: "exit status 7" in plane.trace("a", -1))


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
    said = len(executor.log)
    plane.assign("a", -1, on_plan="hang")
    plane.wait_for(lambda: "hangs as ordered" in executor.log[said:])
    before = executor.children()
    plane.change("a", -1, revoked=True)
    plane.wait_for(lambda: plane.releases)
    assert not plane.releases[0].failed
    plane.wait_for(lambda: any(map(ended, before)))


def test_the_executor_itself_never_loads_plugins_spark_or_arrow(executor: Executor, plane: Plane) -> None:
    said = len(executor.log)
    plane.assign("a", -1)
    plane.wait_for(lambda: plane.plans)
    plane.assign("a")
    running(plane, executor, "a")
    maps = Path(f"/proc/{executor.process.pid}/maps").read_text()
    assert "libarrow" not in maps
    opened = [line for line in executor.log[said:].splitlines() if "monitorable.py" in line]
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
