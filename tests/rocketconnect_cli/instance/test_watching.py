"""What the Prometheus of `rocketconnect up --watch` is given."""

import subprocess
from pathlib import Path

import pytest
import yaml

from rocketconnect_cli.instance import topology, watching

DEPLOY = Path(__file__).parents[3] / "deploy/prometheus"
PORTS = topology.Ports(rest=1, metrics=2, stores=dict.fromkeys(topology.STORES, 3), executors=(4, 5))
METRICS = {**{kind: 10 + number for number, kind in enumerate(topology.STORES)}, "executor-1": 20, "executor-2": 21, "gateway": 30}


def watched(reachable: str = "127.0.0.1", folder: Path = Path("/d")) -> watching.Watched:
    services = topology.services(PORTS, data=folder, name_server="n:1", metrics=METRICS)
    return watching.watched(services, reachable, METRICS)


def test_the_exporter_and_each_process_of_a_service_is_asked_where_it_listens() -> None:
    assert watched("10.0.0.1") == watching.Watched(
        "10.0.0.1:2",
        [
            *((kind, f"127.0.0.1:{METRICS[kind]}") for kind in topology.STORES),
            ("executor", "127.0.0.1:20"),
            ("executor", "127.0.0.1:21"),
            ("gateway", "10.0.0.1:30"),
        ],
    )


def test_services_listen_where_they_are_asked() -> None:
    services = topology.services(PORTS, data=Path("/d"), name_server="n:1", metrics=METRICS)
    told = {service.name: service.environment.get("ROCKETCONNECT_METRICS_PORT") for service in services}
    assert told == {**{name: str(port) for name, port in METRICS.items()}, "exporter": None}
    assert all(
        "ROCKETCONNECT_METRICS_PORT" not in service.environment
        for service in topology.services(PORTS, data=Path("/d"), name_server="n:1")
    )


@pytest.mark.parametrize("name", ["plain", "with space, [brackets] * and 引用"])
def test_prometheus_takes_the_configuration_with_all_rules_whatever_the_folder_is_called(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "rules").mkdir()
    (folder / "rules/of-before.yaml").write_text("groups: 5")
    watching.prepare(folder, watched())
    assert {path.name for path in (folder / "rules").iterdir()} == {path.name for path in (DEPLOY / "rules").iterdir()}
    ask = ["promtool", "check", "config", "prometheus.yml"]
    checked = subprocess.run(ask, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(list((DEPLOY / 'rules').iterdir()))} rule files found" in checked.stdout
    written = yaml.safe_load((folder / "prometheus.yml").read_text())
    assert [job["job_name"] for job in written["scrape_configs"]] == ["rocketconnect", "rocketconnect-services"]


def test_the_java_of_rocketmq_is_asked_where_its_agent_answers(tmp_path: Path) -> None:
    chosen = watching.Watch.choose("/p", PORTS, [6], {}, tmp_path)
    assert chosen.agent is not None
    services = topology.services(PORTS, data=tmp_path, name_server="n:1", metrics=chosen.metrics)
    watching.prepare(tmp_path, watching.watched(services, "127.0.0.1", chosen.metrics))
    job = yaml.safe_load((tmp_path / "prometheus.yml").read_text())["scrape_configs"][-1]
    asked = {each["labels"]["process"]: each["targets"] for each in job["static_configs"]}
    assert job["job_name"] == "rocketmq-java"
    assert asked == {name: [f"127.0.0.1:{chosen.agent.ports[name]}"] for name in ("name-server", "broker")}
    ask = ["promtool", "check", "config", "prometheus.yml"]
    subprocess.run(ask, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    # They keep their ports, too.
    assert watching.Watch.choose("/p", PORTS, [6], chosen.kept, tmp_path) == chosen


def test_prometheus_listens_on_this_machine_alone_and_keeps_its_data_in_its_folder() -> None:
    own = ["/p", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:7"]
    assert list(watching.command("/p", 7))[:4] == own


def test_the_program_is_found_on_the_path_or_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert watching.find() is None
    program = tmp_path / "prometheus"
    program.touch(mode=0o755)
    assert watching.find() == str(program)
    assert "apt-get install prometheus" in watching.MISSING


def test_ports_are_those_of_the_last_time_where_they_are_free_and_nobody_elses() -> None:
    first = watching.Watch.choose("/p", PORTS, [6], {})
    chosen = {first.port, *first.metrics.values()}
    assert (len(chosen), set(first.metrics)) == (8, set(METRICS))
    assert not chosen & {1, 2, 3, 4, 5, 6}
    assert watching.Watch.choose("/p", PORTS, [6], first.kept) == first
    moved = watching.Watch.choose("/p", PORTS, [first.port], first.kept)
    assert moved.port != first.port
    assert moved.metrics == first.metrics
