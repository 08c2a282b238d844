"""The images and the compose file, as far as they can be checked without a Docker engine: their commands run here."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocketconnect_cli.topology import SERVICES, STORES

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy/docker/Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text())
COMMAND = str(Path(sys.executable).with_name("rocketconnect"))


def stage(service: str) -> str:
    """The part of the Dockerfile that makes the image of a service."""
    found = re.search(rf"^FROM base AS {service}$(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    assert found, f"no target {service}"
    return found[1]


def variables(service: str) -> set[str]:
    """What the image and the compose file set for a service."""
    base = DOCKERFILE[DOCKERFILE.index("AS base") : DOCKERFILE.index("AS config")]
    own: dict[str, Any] = COMPOSE["services"][service].get("environment") or {}
    return {*re.findall(r"(ROCKETCONNECT_\w+)=", base + stage(service)), *own}


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_has_a_target_with_its_extra_that_runs_as_an_ordinary_user(service: str) -> None:
    text = stage(service)
    assert f"[{service}]" in text
    assert f'ENTRYPOINT ["rocketconnect", "serve", "{service}"]' in text
    assert text.index("USER rocketconnect") < text.index("ENTRYPOINT")


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


def test_every_path_that_an_image_copies_is_there_and_every_package_is_copied() -> None:
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]}
    assert all((ROOT / path).exists() for path in copied)
    packages = re.search(r"packages = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    assert packages
    assert {path.split("/")[0] for path in re.findall(r'"([^"]+)"', packages[1])} <= copied


def test_the_compose_file_runs_every_service_beside_rocketmq() -> None:
    assert set(COMPOSE["services"]) == {*SERVICES, "namesrv", "broker"}
    assert all(COMPOSE["services"][name]["restart"] == "unless-stopped" for name in SERVICES)
