"""Attacks on secrets by who may write a configuration: each is carried out against a real executor, and gets nothing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from rocketconnect_kit.private import SECRETS
from rocketconnect_kit.settings import ENV_PREFIX, StoreSettings
from rocketconnect_kit.tethered import tethered
from services.executor.settings import ExecutorSettings
from tests.security.environments import environments

Executor = Any
Plane = Any
Start = Callable[..., Executor]
CANARY = "s3cr3t-value"
"""What the executor of the tests has in its variable SECRET_FOR_TESTS."""


def test_a_secret_in_the_name_of_a_topic_or_of_a_file_is_refused(start_executor: Start, plane: Plane, tmp_path: Path) -> None:
    executor = start_executor(secret_variables="SECRET_*")
    plane.wait_for(lambda: plane.registrations)
    reference = "${env:SECRET_FOR_TESTS}"
    sink = {"connector.class": "file_lines", "topics": "t", "filename": f"{tmp_path}/out"}
    for key, config in (
        ("topic", {"connector.class": "monitorable_source", "topic": f"x-{reference}"}),
        ("filename", {**sink, "filename": f"{tmp_path}/{reference}"}),
        ("errors.deadletterqueue.topic.name", {**sink, "errors.deadletterqueue.topic.name": reference}),
        (
            "value.converter.schema.registry.url",
            {**sink, "value.converter": "avro", "value.converter.schema.registry.url": reference},
        ),
        ("transforms.a.value", {**sink, "transforms": "a", "transforms.a.type": "insert_field", "transforms.a.value": reference}),
    ):
        answer = executor.stub().ValidateConnector(pb.ValidateConnectorRequest(name="x", config=config), timeout=60)
        assert any("refers to a secret, and is no place for one" in one.reason for one in answer.problems if one.key == key), key
        assert CANARY not in str(answer)


def test_a_variable_that_nobody_allowed_is_refused_and_is_in_no_environment_of_a_host(start_executor: Start, plane: Plane) -> None:
    executor = start_executor(secret_variables="", secret_folders="")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", password="${env:SECRET_FOR_TESTS}", shout="true")
    plane.wait_for(lambda: plane.releases)
    assert "lets no connector read" in plane.trace("a")
    hosts = environments(executor.started)
    hosts.pop(executor.process.pid)
    assert hosts
    assert not [pid for pid, text in hosts.items() if CANARY in text]


def test_a_file_that_nobody_allowed_is_refused(start_executor: Start, plane: Plane, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text(f"key={CANARY}")
    start_executor(secret_folders="/run/secrets")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", password=f"${{file:{secrets}:key}}", shout="true")
    plane.wait_for(lambda: plane.releases)
    assert "lets no connector read" in plane.trace("a")
    assert CANARY not in plane.trace("a")


def test_a_service_that_was_started_with_a_secret_has_it_in_no_environment(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/{CANARY}.db"
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "services.position", "--announce-fd", str(writing)]
    process = subprocess.Popen(tethered(command), env={**os.environ, "ROCKETCONNECT_STORE_URL": url}, pass_fds=[writing])
    try:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert pipe.readline()
        assert (tmp_path / f"{CANARY}.db").exists()
        assert not [pid for pid, text in environments(psutil.Process(process.pid)).items() if CANARY in text]
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("settings", [StoreSettings, ExecutorSettings])
def test_every_setting_that_is_a_secret_is_taken_out(settings: type[StoreSettings]) -> None:
    secret = {name for name, field in settings.__dataclass_fields__.items() if field.metadata["told"].secret}
    assert {ENV_PREFIX + name.upper() for name in secret} <= set(SECRETS)
    assert secret
