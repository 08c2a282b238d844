"""The reader of compose files that runs them here reads them as Docker Compose does; and what the file of replicas says."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance.topology import STORES
from tests.deploy.containers.file import services
from tests.deploy.dockerfile import ROOT, stage

COMPOSE = ROOT / "deploy/compose"
BELOW = """
services:
  one:
    image: a
    command: [x]
    environment: {A: "1", B: "2"}
    volumes: ["kept:/kept", "./here:/there:ro"]
    ports: ["1:1"]
  seen: {image: "${IMAGE:-b}", profiles: [watch]}
"""
OVER = """
services:
  one:
    command: [y]
    environment: {B: "3"}
    volumes: ["other:/there"]
    ports: !override ["2:2"]
  two:
    extends: {file: below.yaml, service: one}
    environment: {C: "${WORD:?say it}"}
"""


def test_one_file_over_another_reads_as_docker_compose_reads_it(tmp_path: Path) -> None:
    below, over = tmp_path / "below.yaml", tmp_path / "over.yaml"
    below.write_text(BELOW)
    over.write_text(OVER)
    read = services([below, over], [], {"WORD": "w"})
    assert read == {
        "one": {
            "image": "a",
            "command": ["y"],
            "environment": {"A": "1", "B": "3"},
            "volumes": ["kept:/kept", "other:/there"],
            "ports": ["2:2"],
        },
        "two": {
            "image": "a",
            "command": ["x"],
            "environment": {"A": "1", "B": "2", "C": "w"},
            "volumes": ["kept:/kept", f"{tmp_path}/here:/there:ro"],
            "ports": ["1:1"],
        },
    }
    assert services([below], ["watch"], {})["seen"]["image"] == "b"
    with pytest.raises(ValueError, match="WORD is not set: say it"):
        services([below, over], [], {})


def test_who_watches_replicas_is_told_all_that_who_watches_one_machine_is() -> None:
    files = [COMPOSE / "compose.yaml", COMPOSE / "replicas.yaml"]
    below, above = ({*services(each, ["watch"], _VARIABLES)["prometheus"]["command"]} for each in (files[:1], files))
    assert {each for each in below - above if not each.startswith("--config.file=")} == set()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="the reader of Docker Compose is built with Go")
def test_docker_compose_s_own_reader_takes_the_files_by_its_schema_and_reads_them_as_we_do(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent / "compose_reader", tmp_path / "reader")
    subprocess.run(["go", "build", "-o", "read", "."], cwd=tmp_path / "reader", check=True)

    def read(*files: Path) -> "subprocess.CompletedProcess[str]":
        command = [str(tmp_path / "reader/read"), "watch", *map(str, files)]
        return subprocess.run(command, env={**os.environ, **_VARIABLES}, capture_output=True, text=True, check=False)

    for files in ([COMPOSE / "compose.yaml"], [COMPOSE / "compose.yaml", COMPOSE / "replicas.yaml"]):
        answer = read(*files)
        assert answer.returncode == 0, answer.stderr
        theirs = json.loads(answer.stdout)["services"]
        ours = services(files, ["watch"], _VARIABLES)
        assert {name: _as_ours(each) for name, each in theirs.items()} == {name: _compared(each) for name, each in ours.items()}
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("services: {one: {image: a, portz: ['1:1']}}")
    assert "portz" in read(wrong).stderr


_VARIABLES = {"POSTGRES_PASSWORD": "secret", "GRAFANA_PASSWORD": "other"}


def _compared(service: Mapping[str, Any]) -> dict[str, Any]:
    """What the reader that runs the files here acts on."""
    command = service.get("command")
    return {
        "image": service.get("image"),
        "target": service.get("build", {}).get("target"),
        "command": shlex.split(command) if isinstance(command, str) else command,
        "entrypoint": service.get("entrypoint"),
        "environment": {name: str(value) for name, value in service.get("environment", {}).items()},
        "volumes": {_mount(each.split(":")) for each in service.get("volumes", [])},
        "ports": set(service.get("ports", [])),
        "depends_on": {name: each["condition"] for name, each in service.get("depends_on", {}).items()},
        "replicas": service.get("deploy", {}).get("replicas"),
        **{name: service.get(name) or None for name in _PLAIN},
    }


def _as_ours(service: Mapping[str, Any]) -> dict[str, Any]:
    ports = {f"{each['host_ip']}:{each['published']}:{each['target']}" for each in service.get("ports", [])}
    mounts = {(each["source"], each["target"], bool(each.get("read_only"))) for each in service.get("volumes", [])}
    return {**_compared({**service, "volumes": [], "ports": []}), "ports": ports, "volumes": mounts}


def _mount(parts: Sequence[str]) -> tuple[str, str, bool]:
    source = os.path.normpath(parts[0]) if parts[0].startswith("/") else parts[0]
    return source, parts[1], parts[2:] == ["ro"]


_PLAIN = ("cap_drop", "hostname", "read_only", "restart", "security_opt", "tmpfs", "user", "profiles")


def test_the_file_of_replicas_has_two_of_each_service_over_one_postgresql() -> None:
    read = services([COMPOSE / "compose.yaml", COMPOSE / "replicas.yaml"], [], {"POSTGRES_PASSWORD": "secret"})
    for name in (*STORES, "gateway"):
        assert read[name]["deploy"] == {"replicas": 2}
    for name in STORES:
        assert read[name]["environment"]["ROCKETCONNECT_STORE_URL"] == "postgresql://rocketconnect:secret@postgres/rocketconnect"
        assert read[name]["volumes"] == []
    first, second = read["executor"], read["executor-2"]
    port = re.search(r"ROCKETCONNECT_PORT=(\d+)", stage("executor"))
    assert port
    assert second["environment"]["ROCKETCONNECT_ADVERTISE_ADDRESS"] == f"executor-2:{port[1]}"
    assert second["environment"]["ROCKETCONNECT_WORKER_ID"] != first["environment"]["ROCKETCONNECT_WORKER_ID"]
    # Files are there for whoever has the task; what each puts aside is its own.
    assert {*first["volumes"]} & {*second["volumes"]} == {"files:/files"}
    with pytest.raises(ValueError, match="POSTGRES_PASSWORD is not set"):
        services([COMPOSE / "compose.yaml", COMPOSE / "replicas.yaml"], [], {})
