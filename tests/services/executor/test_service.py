"""The RPCs of an executor that is a real process: checks of configurations, plugins."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import psutil
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from rocketconnect_kit.serving.status import decode

Plane = Any
Executor = Any
GOOD = {"connector.class": "monitorable_source", "topic": "topic-1"}


def check(executor: Executor, config: Mapping[str, str], timeout: float = 20) -> pb.ValidateConnectorResponse:
    request = pb.ValidateConnectorRequest(name="orders", config=config)
    answer: pb.ValidateConnectorResponse = executor.stub().ValidateConnector(request, timeout=timeout)
    return answer


def test_a_good_configuration_has_no_problems(standing: Executor) -> None:
    answer = check(standing, {**GOOD, "password": "${env:ANY}"})
    assert list(answer.problems) == []
    assert (answer.plugin, answer.type) == ("monitorable_source", connectors.CONNECTOR_TYPE_SOURCE)
    assert list(answer.secret_keys) == ["password"]


def test_an_alias_is_answered_with_the_name_of_the_plugin(standing: Executor) -> None:
    assert check(standing, {**GOOD, "connector.class": "org.example.MonitorableSource"}).plugin == "monitorable_source"


def test_all_problems_come_in_one_answer_and_no_secret_with_them(standing: Executor) -> None:
    answer = check(standing, {"connector.class": "monitorable_source", "records": "many", "password": "literal", "topik": "x"})
    assert {problem.key for problem in answer.problems} == {"topic", "records", "password", "topik"}
    assert all(problem.reason and problem.fix for problem in answer.problems)
    assert "literal" not in "".join(problem.value + problem.fix for problem in answer.problems)


def test_what_the_plugin_itself_checks_is_a_problem(standing: Executor) -> None:
    (problem,) = check(standing, {**GOOD, "records": "-1"}).problems
    assert (problem.key, problem.reason) == ("records", "is negative")
    answer = check(standing, {**GOOD, "records": "-1", "max.tasks": "x", "password": "literal"})
    assert {problem.key for problem in answer.problems} == {"records", "max.tasks", "password"}


@pytest.mark.parametrize("name", ["json", "org.apache.rocketmq.connect.runtime.converter.record.StringConverter"])
def test_a_converter_is_no_connector(standing: Executor, name: str) -> None:
    answer = check(standing, {"connector.class": name, "max.tasks": "x"})
    assert [(problem.key, problem.reason) for problem in answer.problems] == [
        ("connector.class", "is a converter, not a connector"),
        ("max.tasks", "is not a whole number"),
    ]


@pytest.mark.parametrize("config", [{}, {"connector.class": "no.such.Class"}])
def test_a_configuration_without_a_plugin_is_a_problem_of_its_class(standing: Executor, config: Mapping[str, str]) -> None:
    (problem,) = check(standing, config).problems
    assert problem.key == "connector.class"


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("exit", "exit status 7"),
        ("crash", "SIGSEGV"),
        ("fail", "RuntimeError: failed as ordered"),
        ("give up", "gave up as ordered"),
    ],
)
def test_a_plugin_that_breaks_while_it_checks_is_a_problem_that_says_how(standing: Executor, order: str, reason: str) -> None:
    (problem,) = check(standing, {**GOOD, "on.check": order}).problems
    assert problem.key == "connector.class"
    assert reason in problem.reason
    assert list(check(standing, GOOD).problems) == []


def test_a_plugin_that_prints_while_it_checks_does_not_disturb_the_answer(standing: Executor) -> None:
    assert list(check(standing, {**GOOD, "on.check": "chatter"}).problems) == []


def test_a_plugin_that_hangs_while_it_checks_is_ended_in_time(start_executor: Callable[..., Executor]) -> None:
    executor = start_executor(plugin_seconds="1")
    time.sleep(1)
    with pytest.raises(grpc.RpcError) as raised:
        check(executor, {**GOOD, "on.check": "hang"})
    error = decode(raised.value)
    assert (error.code, error.reason) == ("DEADLINE_EXCEEDED", "PLUGIN_TIMEOUT")
    assert "did not answer in 1 s" in error.message
    deadline = time.monotonic() + 60
    while len(executor.children()) != 1:
        assert time.monotonic() < deadline, "more than the spare host is left"
        time.sleep(0.05)


def test_a_caller_with_little_time_still_gets_a_reason(standing: Executor) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        check(standing, {**GOOD, "on.check": "hang"}, timeout=2)
    assert decode(raised.value).reason == "PLUGIN_TIMEOUT"


def test_a_check_that_nobody_waits_for_is_ended(executor: Executor) -> None:
    call = executor.stub().ValidateConnector.future(
        pb.ValidateConnectorRequest(name="orders", config={**GOOD, "on.check": "hang"}), timeout=20
    )
    time.sleep(1)
    busy = executor.children()
    assert len(busy) == 2
    call.cancel()
    _, alive = psutil.wait_procs(busy, timeout=3)
    assert len([process for process in alive if process.status() != psutil.STATUS_ZOMBIE]) == 1


def test_checks_at_the_same_time_do_not_disturb_each_other(standing: Executor) -> None:
    orders = ["", "exit", "fail", ""] * 3
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda order: check(standing, {**GOOD, "on.check": order}, timeout=60), orders))
    assert [len(answer.problems) for answer in answers] == [0, 1, 1, 0] * 3


def test_plugins_are_listed(standing: Executor) -> None:
    plugins = standing.stub().ListPlugins(pb.ListPluginsRequest(), timeout=60).plugins
    assert {"monitorable_source", "file_source", "direct"} <= {plugin.name for plugin in plugins}


def test_a_plugin_says_what_its_tasks_can_be_told(standing: Executor) -> None:
    plugins = standing.stub().ListPlugins(pb.ListPluginsRequest(), timeout=60).plugins
    (signal,) = next(plugin for plugin in plugins if plugin.name == "monitorable_source").signals
    assert (signal.name, signal.documentation) == ("more", "Gives so many records more.")
    assert [(argument.key, argument.type, argument.required) for argument in signal.arguments] == [
        ("records", "int", True),
        ("how", "string", False),
    ]


def test_a_reload_finds_the_same_plugins_without_disturbing_tasks_and_tells_the_config_service(
    executor: Executor, plane: Plane
) -> None:
    plane.wait_for(lambda: plane.plugin_reports)
    plane.assign("a")
    plane.wait_for(lambda: plane.state("a") == "WAITING")
    answer = executor.stub().ReloadPlugins(pb.ReloadPluginsRequest(), timeout=60)
    assert "monitorable_source" in {plugin.name for plugin in answer.plugins}
    plane.wait_for(lambda: len(plane.plugin_reports) >= 2)
    time.sleep(0.5)
    assert len(plane.registrations) == 1


@pytest.mark.slow
def test_a_reload_that_finds_another_connector_offers_it_and_disturbs_nothing(
    start_executor: Callable[..., Executor], plane: Plane, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    executor = start_executor()
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a")
    plane.wait_for(lambda: plane.state("a") == "WAITING")
    hosts = executor.hosts_of(executor.stub(), "name-a/0")
    info = tmp_path / "more-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rocketconnect.connectors]\nmore_source = more:MoreSource\n")
    (tmp_path / "more.py").write_text(
        "import monitorable\nclass MoreSource(monitorable.MonitorableSource):\n    name = 'more_source'\n"
    )
    plane.deaf.set()  # it is told again until it is taken note of
    executor.stub().ReloadPlugins(pb.ReloadPluginsRequest(), timeout=60)
    plane.wait_for(lambda: plane.offers)
    plane.deaf.clear()
    plane.wait_for(lambda: len(plane.offers) >= 2)
    assert {tuple(offer.plugins) for offer in plane.offers} == {tuple(sorted([*plane.registrations[0].plugins, "more_source"]))}
    plane.assign("b", connector_class="more_source")
    plane.wait_for(lambda: plane.state("b") == "WAITING")
    assert (len(plane.registrations), plane.left) == (1, [])
    assert executor.hosts_of(executor.stub(), "name-a/0") == hosts
