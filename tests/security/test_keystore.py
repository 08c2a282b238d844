"""Attacks on the keystore: by who may write a configuration, and by who has the store or what goes over the network."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from rocketconnect.keystore.v1 import keystore_service_pb2 as pb
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import KeystoreServiceStub

from rocketconnect_kit.sealing import new_key
from rocketconnect_kit.tethered import tethered
from tests.security.environments import environments

Executor = Any
Plane = Any
Start = Callable[..., Executor]
CANARY = "canary-of-the-keystore"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "outside" / "keys"
    file.parent.mkdir()
    file.write_text(f"{new_key()}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def config_service(tmp_path: Path, keys: Path) -> Iterator[str]:
    """A real config service with a keystore, its store in tmp_path/store; its address."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "services.config", "--announce-fd", str(writing), "--keystore-keys", str(keys)]
    command += ["--data-dir", str(tmp_path / "store")]
    with (tmp_path / "config.log").open("wb") as log:
        process = subprocess.Popen(tethered(command), pass_fds=[writing], stdout=log, stderr=log)
    try:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            yield json.loads(pipe.readline())["address"]
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def stub(address: str) -> Iterator[KeystoreServiceStub]:
    with grpc.insecure_channel(address) as channel:
        yield KeystoreServiceStub(channel)


def test_a_task_opens_a_secret_that_nobody_else_sees(
    start_executor: Start, plane: Plane, config_service: str, keys: Path, tmp_path: Path
) -> None:
    with stub(config_service) as keystore:
        for name in ("team.db", "other.db"):
            keystore.SetSecret(pb.SetSecretRequest(name=name, value=CANARY), timeout=60)
        sealed = keystore.ReadSealedSecret(pb.ReadSealedSecretRequest(name="team.db"), timeout=60).sealed
    executor = start_executor(config_address=config_service, keystore_keys=str(keys), keystore_names="team.*", secret_folders="/")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("allowed", password="${keystore:team.db}", shout="true")
    plane.assign("other", password="${keystore:other.db}", shout="true")
    plane.assign("keys", password=f"${{file:{keys}:x}}", shout="true")
    plane.assign("named", password="${env:ROCKETCONNECT_KEYSTORE_KEYS}", shout="true")
    plane.wait_for(lambda: len(plane.releases) == 4)
    assert "the password *** is wrong" in plane.trace("allowed")
    for uid in ("other", "keys", "named"):
        assert "lets no connector read" in plane.trace(uid), uid
    told = [executor.log, (tmp_path / "config.log").read_text(), sealed, *plane.logs, *environments(executor.started).values()]
    told += [report.trace for report in plane.reports.values()]
    assert not [text for text in told if CANARY in text or keys.read_text().strip() in text]
    stored = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    assert b"team.db" in stored
    assert CANARY.encode() not in stored
    assert keys.read_bytes().strip() not in stored


@pytest.mark.slow
def test_a_sealed_secret_that_is_put_under_another_name_opens_for_nobody(
    start_executor: Start, plane: Plane, config_service: str, keys: Path, tmp_path: Path
) -> None:
    import sqlite3

    with stub(config_service) as keystore:
        for name in ("admin", "team.db"):
            keystore.SetSecret(pb.SetSecretRequest(name=name, value=f"{CANARY}-{name}"), timeout=60)
    with contextlib.closing(sqlite3.connect(tmp_path / "store" / "config.db")) as store, store:
        store.execute("UPDATE config_secrets SET sealed = (SELECT sealed FROM config_secrets WHERE name = 'admin')")
    start_executor(config_address=config_service, keystore_keys=str(keys), keystore_names="team.*")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", password="${keystore:team.db}", shout="true")
    plane.wait_for(lambda: plane.releases)
    assert "it was sealed for another name" in plane.trace("a")


@pytest.mark.slow
def test_a_task_waits_for_a_config_service_that_is_away_and_one_without_keys_reads_nothing(
    start_executor: Start, plane: Plane, config_service: str, keys: Path
) -> None:
    with stub(config_service) as keystore:
        keystore.SetSecret(pb.SetSecretRequest(name="db", value=CANARY), timeout=60)
    executor = start_executor(config_address="127.0.0.1:1", keystore_keys=str(keys))
    plane.wait_for(lambda: plane.registrations)
    plane.assign("away", password="${keystore:db}", shout="true")
    plane.wait_for(lambda: plane.state("away") == "WAITING")
    assert "looking up secrets: the config service does not give the secret 'db'" in plane.trace("away")
    executor.end()
    plane.end_session()
    start_executor(config_address=config_service)
    plane.wait_for(lambda: len(plane.registrations) == 2)
    plane.assign("without", password="${keystore:db}", shout="true")
    plane.wait_for(lambda: "without" in {uid for uid, _ in plane.reports} and plane.state("without") == "FAILED")
    assert "it has no keys" in plane.trace("without")
