"""The images and the compose file, as far as they can be read; tests/deploy/containers builds and runs them."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocketconnect_cli.embedded.rocketmq_jars import ROCKETMQ
from rocketconnect_cli.embedded.spark import spark_folder
from rocketconnect_cli.instance.topology import SERVICES, STORES
from tests.deploy.dockerfile import ROOT, SOURCES, command, commands, stage

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text())
COMMAND = str(Path(sys.executable).with_name("rocketconnect"))
USER = "rocketconnect"
UID = "10001"
WATCH = {"prometheus", "alertmanager", "grafana"}


def variables(service: str) -> set[str]:
    """What the image and the compose file set for a service."""
    own: dict[str, Any] = COMPOSE["services"][service].get("environment") or {}
    return {*re.findall(r"(ROCKETCONNECT_\w+)=", stage("base") + stage(service)), *own}


def owned(service: str) -> set[str]:
    """The directories that belong to the user in the image of a service."""
    (home,) = re.findall(rf"--uid {UID} --home-dir (\S+) --create-home {USER}$", command("base", "useradd"))
    prefix = f"install -d -o {USER} -g {USER} "
    made = [each.removeprefix(prefix).split() for each in commands(service) if each.startswith(prefix)]
    return {home, *(path for paths in made for path in paths)}


def mounts(service: Mapping[str, Any]) -> list[list[str]]:
    """Source, target and mode of each volume."""
    return [[*volume.split(":"), "rw"][:3] for volume in service.get("volumes", ())]


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_has_a_target_with_its_extra_that_runs_as_an_ordinary_user(service: str) -> None:
    extras = "executor,connectors,openlineage,otel" if service == "executor" else f"{service},otel"
    assert command(f"{service}-packages", "install-rocketconnect").split()[1] == extras
    text = stage(service)
    assert f"COPY --from={service}-packages /opt/rocketconnect /opt/rocketconnect" in text
    assert f'ENTRYPOINT ["rocketconnect", "serve", "{service}"]' in text
    # By its number: Kubernetes cannot tell from a name that it is not root.
    assert text.index(f"\nUSER {UID}\n") < text.index("ENTRYPOINT")


def test_there_is_one_image_of_everything_that_brings_its_rocketmq() -> None:
    assert command("all-packages", "install-rocketconnect").split()[1] == "connectors,openlineage,otel,up"
    text = stage("all")
    assert 'ENTRYPOINT ["rocketconnect", "up", "--data", "/data", "--host", "0.0.0.0"]' in text
    assert text.index(f"\nUSER {UID}\n") < text.index("ENTRYPOINT")
    given = dict(re.findall(r"(ROCKETCONNECT_\w+)=(/\S+)", text))
    assert Path(given["ROCKETCONNECT_ROCKETMQ_JARS"]).name == ROCKETMQ.listing.name.removesuffix(".jars")
    assert spark_folder(given) == Path("/usr/local/lib/rocketconnect/spark-classes")


@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_that_is_set_is_a_setting_of_the_service_or_of_its_peers(service: str) -> None:
    answer = subprocess.run([COMMAND, "serve", service, "--help"], capture_output=True, text=True, timeout=60, check=True)
    known = set(re.findall(r"ROCKETCONNECT_\w+", answer.stdout))
    assert known
    peers = {f"ROCKETCONNECT_{kind.upper()}_ADDRESS" for kind in STORES} | {"ROCKETCONNECT_NAME_SERVER", "ROCKETCONNECT_DATA_DIR"}
    assert variables(service) - known - peers == set()


@pytest.mark.parametrize("service", STORES)
def test_the_others_find_each_store_where_it_listens(service: str) -> None:
    port = re.search(r"ROCKETCONNECT_PORT=(\d+)", stage(service))
    assert port
    shared = COMPOSE["x-service"]["environment"]
    assert shared[f"ROCKETCONNECT_{service.upper()}_ADDRESS"] == f"{service}:{port[1]}"


def test_an_image_is_built_of_every_package_and_of_nothing_that_is_not_there() -> None:
    assert command("tools", "hatchling")
    packages = re.search(r"packages = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    assert packages
    assert {path.split("/")[0] for path in re.findall(r'"([^"]+)"', packages[1])} <= set(SOURCES)
    assert all((ROOT / path).exists() for path in SOURCES)


def test_the_compose_file_runs_every_service_beside_rocketmq() -> None:
    assert set(COMPOSE["services"]) == {*SERVICES, "namesrv", "broker", "broker-store", *WATCH}
    assert {name for name, service in COMPOSE["services"].items() if service.get("profiles") == ["watch"]} == WATCH
    assert all(COMPOSE["services"][name]["restart"] == "unless-stopped" for name in SERVICES)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_can_write_in_each_of_its_volumes(service: str) -> None:
    for source, target, _ in mounts(COMPOSE["services"][service]):
        # Docker makes a missing directory of the host for root; a volume takes the owner that the directory has in the image.
        assert source in COMPOSE["volumes"], f"{source} is a directory of the host"
        assert target in owned(service) | {"/tmp"}


@pytest.mark.parametrize("service", STORES)
def test_what_a_store_keeps_is_in_a_volume(service: str) -> None:
    (data,) = re.findall(r"ROCKETCONNECT_DATA_DIR=(\S+)", stage("base"))
    assert [target for _, target, _ in mounts(COMPOSE["services"][service])] == [data]


def test_the_store_of_the_broker_is_made_its_own_before_it_starts() -> None:
    broker, store = COMPOSE["services"]["broker"], COMPOSE["services"]["broker-store"]
    (mount,) = [mount for mount in mounts(broker) if mount[2] != "ro"]
    assert mount[1] == "/home/rocketmq/store"
    assert mounts(store) == [mount]
    assert mount[0] in COMPOSE["volumes"]
    assert (store["user"], store["entrypoint"]) == ("root", ["chown", "rocketmq:rocketmq", mount[1]])
    assert store["image"] == broker["image"]
    assert broker["depends_on"]["broker-store"] == {"condition": "service_completed_successfully"}


def test_what_is_mounted_from_the_checkout_is_there_and_is_only_read() -> None:
    folder = ROOT / "deploy/compose"
    for service in COMPOSE["services"].values():
        for source, _, mode in mounts(service):
            assert source in COMPOSE["volumes"] or ((folder / source).exists() and mode == "ro")


def watching(service: str) -> dict[str, Path]:
    """What is mounted from the checkout for one that watches, by where it is there."""
    given = mounts(COMPOSE["services"][service])
    return {target: ROOT / "deploy/compose" / source for source, target, _ in given if source not in COMPOSE["volumes"]}


def flag(service: str, name: str) -> str:
    (value,) = [word.removeprefix(f"{name}=") for word in COMPOSE["services"][service]["command"] if word.startswith(f"{name}=")]
    return str(value)


def test_prometheus_and_alertmanager_have_their_configuration_where_they_look_and_keep_their_data() -> None:
    for service, option, kept in (
        ("prometheus", "--config.file", "--storage.tsdb.path"),
        ("alertmanager", "--config.file", "--storage.path"),
    ):
        path = Path(flag(service, option))
        there = watching(service)
        assert (there.get(str(path)) or there[str(path.parent)] / path.name).is_file()
        assert flag(service, kept) in {target for source, target, _ in mounts(COMPOSE["services"][service]) if source == service}


def test_prometheus_asks_and_tells_hosts_that_there_are_at_the_ports_of_their_images() -> None:
    given = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
    jobs = [*given["scrape_configs"], *given["alerting"]["alertmanagers"]]
    targets = {target for job in jobs for static in job["static_configs"] for target in static["targets"]}
    ports = {name: set(re.findall(r"EXPOSE (.*)", stage(name))[0].split()) for name in SERVICES} | {"alertmanager": {"9093"}}
    assert {target.partition(":")[0] for target in targets} == {*SERVICES, "alertmanager"}
    assert all(port in ports[name] for name, _, port in (target.partition(":") for target in targets))


def test_grafana_is_given_the_prometheus_of_the_file_and_all_dashboards() -> None:
    given = watching("grafana")
    (source,) = yaml.safe_load(given["/etc/grafana/provisioning/datasources/rocketconnect.yaml"].read_text())["datasources"]
    assert (source["type"], source["url"], source["isDefault"]) == ("prometheus", "http://prometheus:9090", True)
    # Grafana puts variables of its process in place of what begins with one $.
    (leads,) = source["jsonData"]["exemplarTraceIdDestinations"]
    assert (leads["name"], leads["url"]) == ("trace_id", "$TRACES$${__value.raw}")
    assert "--enable-feature=exemplar-storage" in COMPOSE["services"]["prometheus"]["command"]
    (provider,) = yaml.safe_load(given["/etc/grafana/provisioning/dashboards/rocketconnect.yaml"].read_text())["providers"]
    assert given[provider["options"]["path"]].resolve() == (ROOT / "deploy/grafana").resolve()


def test_what_watches_is_published_on_this_machine_alone() -> None:
    assert all(port.startswith("127.0.0.1:") for name in WATCH for port in COMPOSE["services"][name]["ports"])
