"""An instance that is started by one command asks who calls, too."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance import topology
from rocketconnect_kit.tethered import tethered
from tests.processes import COMMAND
from tests.security.guarded import said

pytestmark = pytest.mark.e2e
CURVE = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1"


def test_up_listens_beyond_this_machine_only_where_it_asks_who_calls_in_secret_and_knows_what_they_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROCKETCONNECT_READ_ROOTS", raising=False)
    words = ["up", "--data", str(tmp_path / "data"), "--host", "0.0.0.0"]
    told = said(*words, fails=True)
    assert (
        "--host 0.0.0.0 lets in others than this machine, and nobody is asked who it is: give --tokens-file; and what is said"
        in told
    )
    assert "give --tls-cert and --tls-key; or give --insecure on a trusted network" in told
    assert "And what connectors may read and write here is not said: set ROCKETCONNECT_READ_ROOTS (folders beneath which" in told
    assert "--tls-cert and --tls-key go together" in said(*words, "--tls-cert", __file__, fails=True)


def test_an_instance_with_tokens_and_tls_answers_who_shows_one_and_trusts_it(tmp_path: Path, rocketmq: Any) -> None:
    cert, key = tmp_path / "rest.pem", tmp_path / "rest.key"
    made = f"req -x509 {CURVE} -nodes -days 2 -subj /CN=rest -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    callers = tmp_path / "callers"
    token = said("token", "create", "alice", "--role", "write", "--file", str(callers))
    command = [COMMAND, "up", "--data", str(tmp_path / "data"), "--namesrv", rocketmq.name_server, "-o", "json", "--rest-port", "0"]
    guarded = ["--tokens-file", str(callers), "--tls-cert", str(cert), "--tls-key", str(key)]
    started = tethered([*command, *guarded])
    cold = {**os.environ, topology.SPARK_WARM: "false"}
    with subprocess.Popen(started, env=cold, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line_said = process.stdout.readline()
            assert line_said, process.stderr.read()
            rest = json.loads(line_said)["rest"]
            assert rest.startswith("https://127.0.0.1:")
            asked = ["plugins", "list", "--url", rest]
            assert "file_source" in said("--token", token, "--cacert", str(cert), *asked)
            assert "CERTIFICATE_VERIFY_FAILED" in said("--token", token, *asked, fails=True)
            assert "who asks is not known" in said("--cacert", str(cert), *asked, fails=True)
            assert {path.name for path in (tmp_path / "data").iterdir()} <= set(topology.KEPT)
            own = ["connector", "validate", "-s", "connector.class=file_source", "-s", "topic=t", "-s", f"filename={callers}"]
            refused = said("--token", token, "--cacert", str(cert), *own, "--url", rest, fails=True)
            assert "belongs to RocketConnect itself, so no connector may read it" in " ".join(refused.split())
            logs = [path.read_text(errors="replace") for path in (tmp_path / "data" / "logs").glob("*.log")]
            assert not any(token in log for log in logs)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=90)
        assert process.returncode == 0
