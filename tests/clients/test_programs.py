"""The programs of examples/clients, built as they stand there and run against an instance that asks who calls, over TLS."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance import topology
from rocketconnect_cli.instance.running import running
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
PROGRAMS = {"go": ["./client"], "java": ["./run"], "typescript": ["node", "built/client.js"]}
RECORDS = 1000


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """What a program is told of an instance, in its environment."""
    folder = tmp_path_factory.mktemp("clients")
    cert, key, callers = folder / "rest.pem", folder / "rest.key", folder / "callers"
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
    made = f"req -x509 {curve} -nodes -days 2 -subj /CN=rest -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    callers.write_text(line("alice", Role.WRITE, "rct_alice") + line("bob", Role.READ, "rct_bob"))
    guarded = ("--tokens-file", str(callers), "--tls-cert", str(cert), "--tls-key", str(key))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(topology.SPARK_WARM, "false")
        with running(folder / "data", *guarded, drain=False) as ready:
            address = str(ready["rest"]).removeprefix("https://")
            yield {"ROCKETCONNECT_ADDRESS": address, "ROCKETCONNECT_CACERT": str(cert), "ROCKETCONNECT_TOKEN": "rct_alice"}


def built(name: str, folder: Path) -> Path:
    """The program in a folder of its own, with what it is made of: fetched now."""
    shutil.copytree(ROOT / "examples/clients" / name, folder / name)
    # buf is beside the interpreter.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["./build", str(ROOT / "protos")],
        cwd=folder / name,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / name


def said(program: Path, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, **environment}
    return subprocess.run([*PROGRAMS[program.name], *words], cwd=program, env=told, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_lists_creates_and_watches_with_its_token_over_tls(instance: Any, tmp_path: Path, name: str) -> None:
    program = built(name, tmp_path)
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"line {number}\n" for number in range(RECORDS)))
    words = (f"from-{name}", str(lines), str(RECORDS))
    answer = said(program, words, instance)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    shown = answer.stdout.splitlines()
    assert shown[0].startswith("connectors: ")
    assert shown[1].replace("_", "").lower() == "refused: invalidargument"
    assert shown[2] == f"created: from-{name}, revision 1"
    assert any(each.endswith(("RUNNING", "IDLE")) for each in shown if each.startswith("state: "))
    assert shown[-1] == f"moved: {RECORDS}"
    # Who may only read lists connectors and is refused the rest; who shows a wrong token is not let in.
    read = said(program, words, {**instance, "ROCKETCONNECT_TOKEN": "rct_bob"})
    assert read.returncode != 0
    assert read.stdout.startswith("connectors: ")
    assert "the role read, which may not call" in read.stderr
    guessed = said(program, words, {**instance, "ROCKETCONNECT_TOKEN": "rct_guessed"})
    assert (guessed.returncode != 0, guessed.stdout) == (True, "")
    assert "is not known" in guessed.stderr
