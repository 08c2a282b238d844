"""Wheels that are installed while an executor runs: real services, a real environment, and pip as users call it."""

import os
import time
from pathlib import Path

import grpc
import psutil
import pytest
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.serving.status import decode
from tests.services.executor.system import System, lines
from tests.services.executor.wheels import SOURCE, Environment

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e]

KINDS = {
    "even": connectors.PLUGIN_TYPE_PREDICATE,
    "signed": connectors.PLUGIN_TYPE_TRANSFORM,
    "weather": connectors.PLUGIN_TYPE_CONVERTER,
    "weather_sink": connectors.PLUGIN_TYPE_SINK,
}


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def reload(system: System) -> None:
    """What `rocketconnect plugins reload` asks for."""
    answer = system.config.ReloadPlugins(config.ReloadPluginsRequest(), timeout=60)
    assert list(answer.workers) == ["worker-1"]


def offered(system: System) -> dict[str, tuple[int, str]]:
    """The plugins of the package in `plugins list`: type and version of each."""
    answer = system.config.ListPlugins(config.ListPluginsRequest(page_size=1000), timeout=60)
    return {plugin.name: (plugin.type, plugin.version) for plugin in answer.plugins if plugin.package == "weather-connect"}


def numbers(system: System, name: str, **options: str) -> str:
    """A source without an end whose texts the plugins of the package change; its topic."""
    topic = f"{name}-{os.getpid()}-{time.time_ns()}"
    system.create(
        name,
        **{
            "connector_class": "monitorable_source",
            "topic": topic,
            "records": "1000000",
            "max_rate_records": "50",
            "transforms": "sign",
            "transforms_sign_type": "signed",
            "transforms_sign_predicate": "twos",
            "predicates": "twos",
            "predicates_twos_type": "even",
            "value_converter": "weather",
            **options,
        },
    )
    return topic


def restart(system: System, connector: str) -> None:
    """What `rocketconnect connector restart` asks for."""
    system.config.RestartConnector(config.RestartConnectorRequest(name=connector), timeout=60)


def last(file: Path) -> str:
    return (lines(file) or [""])[-1]


@pytest.mark.slow
def test_plugins_of_a_wheel_that_is_installed_meanwhile_are_used_after_a_reload(
    system: System, tmp_path: Path, environment: Environment
) -> None:
    before, out = tmp_path / "before.txt", tmp_path / "out.txt"
    system.python = environment.python
    system.start("worker-1")
    topic = f"plain-{time.time_ns()}"
    system.create("plain", connector_class="monitorable_source", topic=topic, records="1000000", max_rate_records="50")
    system.create("before", connector_class="file_lines", topics=topic, filename=str(before), engine="native")
    system.until(lambda: len(lines(before)) > 50)
    hosts = {task: system.host_of("worker-1", task) for task in ("plain/0", "before/0")}

    environment.install("1.0")
    assert offered(system) == {}
    reload(system)
    system.until(lambda: offered(system) == {name: (kind, "1.0") for name, kind in KINDS.items()})

    topic = numbers(system, "signed")
    system.create("out", connector_class="weather_sink", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) > 20)
    assert lines(out)[:4] == [
        "1.0: part-0 1 staged 1.0 committed 1.0",
        "1.0: part-0 2 signed 1.0 staged 1.0 committed 1.0",
        "1.0: part-0 3 staged 1.0 committed 1.0",
        "1.0: part-0 4 signed 1.0 staged 1.0 committed 1.0",
    ]
    assert {task: system.host_of("worker-1", task) for task in hosts} == hosts, "what ran before was disturbed"


@pytest.mark.slow
def test_a_task_keeps_its_version_until_it_is_restarted_and_others_begin_with_the_new_one_after_a_reload(
    system: System, tmp_path: Path, environment: Environment
) -> None:
    out, late = tmp_path / "out.txt", tmp_path / "late"
    system.python = environment.python
    environment.install("1.0")
    system.start("worker-1")
    topic = numbers(system, "signed", transforms_sign_late=str(late))
    system.create("out", connector_class="weather_sink", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) > 20)
    hosts = {task: system.host_of("worker-1", task) for task in ("signed/0", "out/0")}

    environment.install("2.0", more=SOURCE)
    late.touch()
    system.until(lambda: " late " in "".join(lines(out)[-3:]))
    reload(system)
    system.until(lambda: {version for _, version in offered(system).values()} == {"2.0"})
    assert offered(system).keys() == {*KINDS, "weather_source"}
    seen = len(lines(out))
    system.until(lambda: len(lines(out)) > seen + 50)
    assert "2.0" not in out.read_text()
    assert {task: system.host_of("worker-1", task) for task in hosts} == hosts

    restart(system, "signed")
    system.until(lambda: lines(out)[-1].startswith("2.0: "))
    system.until(lambda: any("signed 2.0 late 2.0 staged 1.0 committed 1.0" in line for line in lines(out)[-3:]))
    assert system.host_of("worker-1", "out/0") == hosts["out/0"]
    restart(system, "out")
    system.until(lambda: last(out).endswith("staged 2.0 committed 2.0"))
    system.create("blue", connector_class="weather_source", topic=topic)
    system.until(lambda: any("blue" in line for line in lines(out)))
    ours = [line for line in lines(out) if "part-0" in line]
    assert [int(line.split()[2]) for line in ours] == list(range(1, len(ours) + 1)), "something is missing or doubled"


@pytest.mark.slow
def test_what_is_installed_is_taken_up_by_a_reload_and_by_nothing_else(
    system: System, tmp_path: Path, environment: Environment
) -> None:
    out = tmp_path / "out.txt"
    system.python = environment.python
    environment.install("1.0")
    system.start("worker-1")
    topic = numbers(system, "signed")
    system.create("out", connector_class="weather_sink", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) > 20)
    environment.install("2.0")
    restart(system, "out")
    hosts = {task: system.host_of("worker-1", task) for task in ("signed/0", "out/0")}
    psutil.Process(hosts["signed/0"]).kill()
    system.until(lambda: system.host_of("worker-1", "signed/0") not in (0, hosts["signed/0"]))
    seen = len(lines(out))
    system.until(lambda: len(lines(out)) > seen + 50)
    assert "2.0" not in out.read_text()
    assert {version for _, version in offered(system).values()} == {"1.0"}


@pytest.mark.slow
def test_a_task_goes_on_though_its_plugin_is_taken_away_or_its_new_version_is_broken(
    system: System, tmp_path: Path, environment: Environment
) -> None:
    out = tmp_path / "out.txt"
    system.python = environment.python
    environment.install("1.0")
    system.start("worker-1")
    topic = numbers(system, "signed")
    system.create("out", connector_class="weather_sink", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) > 20)
    hosts = {task: system.host_of("worker-1", task) for task in ("signed/0", "out/0")}
    environment.install("2.0", broken=True)
    reload(system)
    system.until(lambda: offered(system) == {})
    environment.uninstall()
    reload(system)
    seen = len(lines(out))
    system.until(lambda: len(lines(out)) > seen + 50)
    assert {task: system.host_of("worker-1", task) for task in hosts} == hosts
    given = {"connector.class": "weather_sink", "topics": "t", "filename": str(out)}
    with pytest.raises(grpc.RpcError) as refused:
        system.config.CreateConnector(config.CreateConnectorRequest(name="another", config=given), timeout=60)
    assert decode(refused.value).code == "INVALID_ARGUMENT"
    psutil.Process(hosts["signed/0"]).kill()
    system.until(lambda: "is not a transform (given: 'signed')" in system.state("signed").trace)
    environment.install("1.1")
    reload(system)
    restart(system, "signed")
    system.until(lambda: lines(out)[-1].startswith("1.1: "))
    assert system.host_of("worker-1", "out/0") == hosts["out/0"]


def python_workers(driver: psutil.Process) -> list[psutil.Process]:
    """Those in which writers run: children of the daemon that is a child of Java."""
    (java,) = [child for child in driver.children() if child.name() == "java"]
    return [worker for daemon in java.children() for worker in daemon.children()]


@pytest.mark.slow
@pytest.mark.spark
def test_writers_in_spark_workers_keep_the_version_of_their_task(system: System, tmp_path: Path, environment: Environment) -> None:
    out = tmp_path / "out.txt"
    system.python = environment.python
    environment.install("1.0")
    system.start("worker-1")
    topic = numbers(system, "signed")
    system.create("out", connector_class="weather_sink", topics=topic, filename=str(out), engine="spark")
    system.until(lambda: len(lines(out)) > 20, seconds=180)
    environment.install("2.0")
    reload(system)
    driver = psutil.Process(system.host_of("worker-1", "out/0"))
    for worker in python_workers(driver):
        # Spark makes others, which load what they need: as it does by itself when one was idle for a minute.
        worker.kill()
    seen = len(lines(out))
    system.until(lambda: len(lines(out)) > seen + 100, seconds=180)
    assert not any("staged 2.0" in line for line in lines(out))
    assert system.host_of("worker-1", "out/0") == driver.pid
    restart(system, "out")
    system.until(lambda: last(out).endswith("staged 2.0 committed 2.0"), seconds=180)
