"""`rocketconnect diagnose` makes one file without secrets, also while parts are down."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketconnect_cli.diagnosis import bundle as bundles
from rocketconnect_cli.diagnosis import machine
from tests.rocketconnect_cli.conftest import Rest, RestFactory
from tests.spoken import rc

CANARY = "canary7Yq2plain"
KNOWN = "known-to-all"


def members(file: Path) -> dict[str, str]:
    """The files in a diagnosis, without the folder that all are in."""
    with zipfile.ZipFile(file) as opened:
        assert opened.testzip() is None
        return {name.partition("/")[2]: opened.read(name).decode() for name in opened.namelist()}


def with_connectors(rest: Rest) -> None:
    """A gateway with a connector whose configuration has what none should have."""
    config = {"connector.class": "x", "password": CANARY, "url": f"mysql://u:{CANARY}@h/d", "sign": CANARY, "table": KNOWN}
    trace = f"can't log in\nAuthorization: Bearer {CANARY}"
    documents = {
        "/v1/plugins": {"plugins": [{"name": "x", "version": "1", "options": [{"key": "sign", "secret": True}]}]},
        "/v1/connectors": {"connectors": [{"name": "a/b", "config": config}]},
        "/v1/states": {"states": [{"connector": "a/b", "state": "STATE_FAILED", "trace": trace}]},
        "/v1/connectors/a%2Fb/logs": {"logs": [{"message": f"token={CANARY}"}]},
    }
    rest.bodies |= {path: json.dumps(document).encode() for path, document in documents.items()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with logs."""
    logs = tmp_path / "data" / "logs"
    logs.mkdir(parents=True)
    (logs / "executor-1.log").write_text(f"{KNOWN}\nJava says {CANARY}\n")
    return logs.parent


def test_no_secret_is_in_any_file_and_what_is_none_is(
    rest_factory: RestFactory, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = rest_factory(200, {})
    with_connectors(rest)
    for name in ("DB_PASSWORD", "ROCKETCONNECT_TOKEN", "ROCKETCONNECT_ROCKETMQ_SECRET_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("ROCKETCONNECT_STORE_URL", f"postgresql://u:{CANARY}@127.0.0.1:1/d")
    code, out, err = rc(
        rest.url, "diagnose", str(tmp_path / "d.zip"), "--data", str(data), "--metrics", rest.url.removeprefix("http://")
    )
    assert code == 0, err

    found = members(tmp_path / "d.zip")
    assert CANARY not in out + err
    assert [name for name, text in found.items() if CANARY in text] == []
    for name in ("cluster/connectors.json", "logs/executor-1.log"):
        assert KNOWN in found[name]
    assert "connectors/a%2Fb/logs.json" in found
    assert "connector a/b is FAILED: can't log in" in found["summary.md"]
    assert "store of position and config" in found["summary.md"]
    assert (tmp_path / "d.zip").stat().st_mode & 0o777 == 0o600


def test_secrets_that_configurations_refer_to_are_hidden_where_java_prints_them(
    rest_factory: RestFactory, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets").write_text(f"db={CANARY}\n")
    monkeypatch.setenv("NOTHING_SPECIAL", "canary8Zr3value")
    with (data / "logs" / "executor-1.log").open("a") as log:
        log.write("Java says canary8Zr3value\n")
    rest = rest_factory(200, {})
    config = {"a": f"${{file:{tmp_path / 'secrets'}:db}}", "b": "${env:NOTHING_SPECIAL}"}
    rest.bodies["/v1/connectors"] = json.dumps({"connectors": [{"name": "a", "config": config}]}).encode()
    rc(rest.url, "diagnose", str(tmp_path / "d.zip"), "--data", str(data))

    assert members(tmp_path / "d.zip")["logs/executor-1.log"].splitlines() == [KNOWN, "Java says ***", "Java says ***"]
    assert config["a"] in members(tmp_path / "d.zip")["cluster/connectors.json"]


def test_where_nobody_answers_it_tells_what_could_not_be_asked_and_why(tmp_path: Path) -> None:
    code, out, _ = rc(
        "http://127.0.0.1:1", "diagnose", str(tmp_path / "d.zip"), "--data", str(tmp_path), "--namesrv", "127.0.0.1:1", "-o", "json"
    )

    assert code == 0
    answer = json.loads(out)
    missing = {each["what"]: each["why"] for each in answer["missing"]}
    assert {"/v1/connectors", "logs", "metrics", "store of config", "RocketMQ at 127.0.0.1:1"} <= missing.keys()
    assert "nothing answers at 127.0.0.1:1" in missing["/v1/connectors"]
    found = members(tmp_path / "d.zip")
    assert all(what in found["summary.md"] for what in missing)
    assert {"host/facts.json", "host/doctor.json", "versions/here.json"} <= found.keys()


@pytest.mark.parametrize(
    "answer", [b"<html>", b"[]", b'{"connectors": 7}', b'{"connectors": [1]}', b"\xff", b'{"nextPageToken": "x"}']
)
def test_what_answers_otherwise_is_told_and_the_rest_is_there(rest_factory: RestFactory, tmp_path: Path, answer: bytes) -> None:
    code, _, err = rc(rest_factory(200, answer).url, "diagnose", str(tmp_path / "d.zip"), "--data", str(tmp_path))

    assert code == 0, err
    assert "defect" not in members(tmp_path / "d.zip")["summary.md"]


def test_a_refusal_is_told_with_its_words(rest_factory: RestFactory, tmp_path: Path) -> None:
    rest = rest_factory(403, {"detail": "bob may not"})
    rc(rest.url, "diagnose", str(tmp_path / "d.zip"), "--data", str(tmp_path))

    assert "/v1/connectors: it answered 403: bob may not" in members(tmp_path / "d.zip")["summary.md"]


@contextmanager
def silent() -> Iterator[str]:
    """Somebody who takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_it_ends_in_its_time_and_has_what_it_got_till_then(tmp_path: Path, data: Path) -> None:
    with silent() as url:
        began = time.monotonic()
        code, _, _ = rc(url, "diagnose", str(tmp_path / "d.zip"), "--data", str(data), "--timeout", "5")
        took = time.monotonic() - began

    assert code == 0
    assert took < 60
    summary = members(tmp_path / "d.zip")["summary.md"]
    assert "did not answer within" in summary
    assert "the time was over" in summary


def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    with silent() as url:
        command = [str(Path(sys.executable).with_name("rocketconnect")), "diagnose", str(tmp_path / "d.zip"), "--url", url]
        with subprocess.Popen([*command, "--data", str(tmp_path)], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            while "health" not in process.stderr.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()

    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_unless_it_is_to_be_written_over(tmp_path: Path) -> None:
    file = tmp_path / "d.zip"
    file.write_text("mine")
    words = ("diagnose", str(file), "--data", str(tmp_path))

    assert rc("http://127.0.0.1:1", *words)[0] == 4
    assert file.read_text() == "mine"
    assert rc("http://127.0.0.1:1", *words, "--overwrite")[0] == 0
    assert "summary.md" in members(file)
    assert [each.name for each in tmp_path.iterdir()] == ["d.zip"]


def test_a_place_where_nothing_can_be_written_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    code, _, err = rc("http://127.0.0.1:1", "diagnose", str(tmp_path / "no" / "d.zip"))

    assert code == 1
    assert "can't be written" in err
    assert "health" not in err


def test_logs_are_kept_in_their_newest_part_and_all_files_have_a_bound(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MEMBER_BYTES", 1000)
    monkeypatch.setattr(machine, "MEMBER_BYTES", 1000)
    (data / "logs" / "config.log").write_text("".join(f"line {number}\n" for number in range(1000)))
    rc("http://127.0.0.1:1", "diagnose", str(tmp_path / "d.zip"), "--data", str(data))
    found = members(tmp_path / "d.zip")
    assert found["logs/config.log"].endswith("line 998\nline 999\n")
    assert all(len(text) < 1200 for name, text in found.items() if name != "summary.md")

    monkeypatch.setattr(bundles, "MOST_BYTES", 1500)
    rc("http://127.0.0.1:1", "diagnose", str(tmp_path / "e.zip"), "--data", str(data))
    assert "all files together" in members(tmp_path / "e.zip")["summary.md"]


def test_a_part_that_has_a_defect_is_told_and_the_others_follow(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        msg = f"password={CANARY}"
        raise RuntimeError(msg)

    monkeypatch.setattr(machine, "versions", breaks)
    assert rc("http://127.0.0.1:1", "diagnose", str(tmp_path / "d.zip"), "--data", str(data))[0] == 0
    found = members(tmp_path / "d.zip")
    assert "versions: a defect of this command: RuntimeError: password=***" in found["summary.md"]
    assert "logs/executor-1.log" in found


def test_stacks_are_asked_of_py_spy_where_it_is(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "py-spy"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho stack of $4: $(tr '\\0' ' ' < /proc/$4/cmdline | tail -c 20)\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    # What it is called is what it is taken for.
    command = [sys.executable, "-c", "input()", "services.config", "--rocketmq-secret-key", "canary9Ab5flag"]
    told = {**os.environ, "ROCKETCONNECT_DATA_DIR": str(data), "ROCKETCONNECT_ROCKETMQ_SECRET_KEY": CANARY}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=told) as process:
        try:
            rc("http://127.0.0.1:1", "diagnose", str(tmp_path / "d.zip"), "--data", str(data))
        finally:
            process.kill()
    found = members(tmp_path / "d.zip")
    assert found[f"stacks/{process.pid}.txt"] == f"stack of {process.pid}: -key ***\n"
    (shown,) = json.loads(found["host/processes.json"])
    assert shown["settings"]["ROCKETCONNECT_ROCKETMQ_SECRET_KEY"] == "***"
    assert shown["settings"]["ROCKETCONNECT_DATA_DIR"] == str(data)
    assert found["logs/executor-1.log"] == f"{KNOWN}\nJava says ***\n"
