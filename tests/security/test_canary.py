"""Passwords go through everything that an instance does, and are found nowhere that anybody could look at them."""

import base64
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psutil
import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running
from rocketconnect_cli.states import wait_for
from rocketconnect_kit.sealing import new_key
from rocketmq_remoting import Client
from rocketmq_remoting.batch import encode_batch
from tests.security.environments import environments
from tests.servers.mariadb import Mariadb
from tests.spoken import rc

pytestmark = [pytest.mark.e2e, pytest.mark.mariadb]
RIGHT, WRONG, KEPT = "canary-right-7Yq2", "canary-wrong-9Zx4", "canary-kept-3Wv8"
"""Passwords: of a user of the database, in a file; one that is wrong; of another user, in the keystore."""
USERS = {"right": RIGHT, "kept": KEPT}
KNOWN = "known-to-all"
"""In the name of a table, which is no secret: it has to be found wherever a configuration gets to."""
NAMES = ("good", "wrong", "kept", "letters")
LISTS = ("connectors", "states", "plugins", "secrets", "topics", "workers", "assignments")
PARTS = ("", "/changes", "/revisions", "/state", "/logs", "/positions", "/positions/snapshots", "/deadLetters")
COMMANDS = (
    "connector list",
    "doctor",
    "secret list",
    "plugins show jdbc_sink",
    "topic peek canary",
    *(
        f"{words} {name}"
        for name in NAMES
        for words in ("connector get", "connector status", "connector logs", "connector history")
    ),
    "dlq list letters",
    "position get good",
)


@pytest.fixture
def mariadb_with_users(mariadb: Mariadb) -> Iterator[Mariadb]:
    """With a database `canary` and two users, until the end of the test."""
    with mariadb.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE canary")
        for user, password in USERS.items():
            cursor.execute("CREATE USER %s@'%%' IDENTIFIED BY %s", (user, password))
            cursor.execute("GRANT ALL ON canary.* TO %s@'%%'", (user,))
        try:
            yield mariadb
        finally:
            cursor.execute("DROP DATABASE canary")
            for user in USERS:
                cursor.execute("DROP USER %s@'%%'", (user,))


def forms(secret: str) -> set[bytes]:
    """How it may be written: as it is, as in a URL, and in base64 wherever it begins."""
    encoded = {base64.b64encode(b" " * before + secret.encode())[4:20] for before in range(3)}
    return {secret.encode(), quote(secret, safe="").encode(), *encoded}


def holding(places: dict[str, bytes], secret: str) -> list[str]:
    """The places where it can be read."""
    return [place for place, content in places.items() if any(form in content for form in forms(secret))]


def answers(ready: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """What REST answers to everything that can be asked, and what Prometheus gets."""
    paths = [f"/v1/{name}" for name in LISTS] + [f"/v1/connectors/{name}{part}" for name in NAMES for part in PARTS]
    paths += ["/connectors/list", *(f"/connectors/{name}/{what}" for name in NAMES for what in ("config", "status"))]
    with httpx.Client(base_url=ready["rest"], timeout=60) as rest:
        for path in paths:
            # On a busy machine a service may be late.
            for _ in range(5):
                answer = rest.get(path)
                yield f"GET {path}", answer.content
                if answer.status_code != httpx.codes.GATEWAY_TIMEOUT:
                    break
            assert answer.status_code == 200, (path, answer.text)
        for letter in rest.get("/v1/connectors/letters/deadLetters").json()["deadLetters"]:
            yield "a dead letter", rest.get(f"/v1/connectors/letters/deadLetters/{quote(letter['id'], safe='')}").content
    yield "metrics", httpx.get(ready["metrics"], timeout=60).content


def said(ready: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """What the command line says."""
    for words in COMMANDS:
        code, out, err = rc(str(ready["rest"]), *words.split())
        # `status` of a connector that has failed is 1, and `doctor` finds that the ports are taken.
        assert code in (0, 1), (words, out, err)
        yield f"rocketconnect {words}", (out + err).encode()


def diagnosed(ready: dict[str, Any], data: Path, file: Path) -> Iterator[tuple[str, bytes]]:
    """What is in the file that goes into a report of a fault."""
    code, out, err = rc(str(ready["rest"]), "diagnose", str(file), "--data", str(data))
    assert code == 0, (out, err)
    yield "rocketconnect diagnose", (out + err).encode()
    with zipfile.ZipFile(file) as opened:
        for name in opened.namelist():
            yield f"diagnosis: {name.partition('/')[2]}", opened.read(name)


def kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    """What lies on the disk: stores, logs, and what the broker stores."""
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            yield f"file {file.relative_to(folder)}", written(file)


def written(file: Path) -> bytes:
    """What is in a file without its holes: those of the broker have hundreds of megabytes of them."""
    parts, end = [], 0
    with file.open("rb") as opened, suppress(OSError):  # there are no more
        while True:
            begin = os.lseek(opened.fileno(), end, os.SEEK_DATA)
            end = os.lseek(opened.fileno(), begin, os.SEEK_HOLE)
            parts.append(os.pread(opened.fileno(), end - begin, begin))
    return b"".join(parts)


def processes() -> Iterator[tuple[str, bytes]]:
    """What others of the same user see of processes."""
    me = psutil.Process()
    for process in me.children(recursive=True):
        try:
            yield f"command line of {process.pid}", " ".join(process.cmdline()).encode()
        except psutil.NoSuchProcess:
            continue
    for pid, text in environments(me).items():
        if pid != me.pid:
            yield f"environment of {pid}", text.encode()


def test_a_password_is_in_no_answer_no_log_no_store_no_metric_no_letter_no_process_and_on_no_topic(
    mariadb_with_users: Mariadb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets, keys, data = tmp_path / "secrets", tmp_path / "keys", tmp_path / "data"
    secrets.write_text(f"right={RIGHT}\nwrong={RIGHT}\n")
    keys.write_text(f"{new_key()}\n")
    for file in (secrets, keys):
        file.chmod(0o600)
    monkeypatch.setenv("ROCKETCONNECT_KEYSTORE_KEYS", str(keys))

    def sink(user: str, password: str, **more: str) -> dict[str, str]:
        return {
            "connector.class": "jdbc_sink",
            "topics": "canary",
            "connection.url": f"mysql://127.0.0.1:{mariadb_with_users.port}/canary",
            "user": user,
            "password": password,
            "table.name.format": f"{KNOWN}-{user}",
            "auto.create": "true",
            "columns": "id:int64,name:string",
            "value.converter": "json",
            "value.converter.schemas.enable": "false",
            **more,
        }

    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "canary-dead"}
    with running(data, "--log-level", "DEBUG") as ready, Api(str(ready["rest"])) as api, Client(ready["nameServer"]) as client:
        put = httpx.put(f"{ready['rest']}/v1/secrets/canary", json={"value": KEPT}, timeout=60)
        assert put.status_code == 200, put.text
        for topic in ("canary", "canary-dead"):
            client.create_topic(topic, queues=1)
        (queue,) = client.queues("canary")
        for body in ('{"id": 1, "name": "a"}', "no json at all", '{"id": "no number", "name": "c"}'):
            client.send_batch(queue, encode_batch([body.encode()]), 10)
        for name, config in (
            ("good", sink("right", f"${{file:{secrets}:right}}", **tolerant)),
            ("letters", sink("right", f"${{file:{secrets}:right}}", **tolerant) | {"table.name.format": "others"}),
            ("kept", sink("kept", "${keystore:canary}", **tolerant)),
            ("wrong", sink("right", f"${{file:{secrets}:wrong}}", **tolerant) | {"table.name.format": f"{KNOWN}-wrong"}),
        ):
            api.request("POST", "/v1/connectors", body={"name": name, "config": config})
        for name in ("good", "letters", "kept"):
            wait_for(api, name, ("IDLE",), 180)
        (dead,) = client.queues("canary-dead")
        deadline = time.monotonic() + 120
        while client.max_offset(dead) < 2 * 3:
            assert time.monotonic() < deadline, "no letters came"
            time.sleep(0.1)
        # What was right when it was checked is wrong when the task starts.
        wait_for(api, "wrong", ("IDLE",), 180)
        secrets.write_text(f"right={RIGHT}\nwrong={WRONG}\n")
        api.request("POST", "/v1/connectors/wrong:restart", body={})
        wait_for(api, "wrong", ("FAILED", "WAITING"), 180)
        places = dict([*answers(ready), *said(ready), *processes()])
        places["answer to a literal"] = httpx.post(
            f"{ready['rest']}/v1/connectors:validate", json={"name": "x", "config": sink("right", WRONG)}, timeout=60
        ).content
        places |= dict(kept(data))
        # Java and plugins print what they like; a diagnosis of that has no secret either.
        (data / "logs" / "printed.log").write_text(
            f"Java: login as right with {WRONG} failed\nkeystore.password={KEPT}\nmysql://kept:{KEPT}@db/x\n"
        )
        places |= dict(diagnosed(ready, data, tmp_path / "d.zip"))
    places |= {f"stopped: {place}": content for place, content in kept(data) if place != "file logs/printed.log"}

    assert [(secret, found) for secret in (RIGHT, WRONG, KEPT) if (found := holding(places, secret))] == []
    # The same search finds what is no secret.
    found = holding(places, KNOWN)
    assert [
        place for place in ("logs/printed.log", "rocketmq.json", "metrics/config.txt") if f"diagnosis: {place}" not in places
    ] == []
    for place in (
        "diagnosis: cluster/connectors.json",
        "GET /v1/connectors/good",
        "rocketconnect connector get good",
        "file config.db",
        "stopped: file config.db",
    ):
        assert any(one.startswith(place) for one in found), (place, found)
    for place in ("file logs/", "command line of ", "environment of "):
        assert any(one.startswith(place) for one in holding(places, str(data))), place
    assert holding(places, "no json at all")
