"""The reader of compose files that runs them here reads them as Docker Compose does; and what the file of replicas says."""

import re
from pathlib import Path

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
