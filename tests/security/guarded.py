"""Seven services that ask who calls, and people and workers with tokens of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from rocketconnect_cli.api import Access, Api
from rocketconnect_cli.instance import topology
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line
from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from tests.processes import Fleet
from tests.spoken import rc

CALLERS = {"services": Role.SERVICE, "worker-1": Role.WORKER, "worker-9": Role.WORKER, "alice": Role.WRITE, "bob": Role.READ}

SECRET_VARIABLE, SECRET = "REGISTRY_TOKEN", "what-the-registry-asks-for"


class Guarded:
    """Seven processes with tokens of their own."""

    def __init__(self, folder: Path, name_server: str) -> None:
        self.folder = folder
        callers = folder / "callers"
        callers.write_text("".join(line(name, role, self.token(name)) for name, role in CALLERS.items()))
        for name in CALLERS:
            (folder / f"{name}.token").write_text(self.token(name))
        told = {
            "ROCKETCONNECT_TOKENS_FILES": str(callers),
            "ROCKETCONNECT_TOKEN_FILE": str(folder / "services.token"),
        }
        # What it may is what an executor may, and in its own name.
        worker = {
            **topology.UNLESS_TOLD,
            topology.SPARK_WARM: "false",
            "ROCKETCONNECT_TOKEN_FILE": str(folder / "worker-1.token"),
            SECRET_VARIABLE: SECRET,
        }
        self.fleet = Fleet(folder, name_server, told, {"executor": worker})

    @staticmethod
    def token(name: str) -> str:
        return f"token-of-{name}"

    def api(self, name: str) -> Api:
        return Api(self.fleet.rest, Access(self.token(name)))

    def refused(self, service: str, name: str | None, stub: Any, method: str, request: Any) -> str:
        """With which reason a call of a service is refused to who shows this token."""
        settings = ServiceSettings(token_file=None if name is None else self.folder / f"{name}.token")
        address = f"127.0.0.1:{self.fleet.services[service].port}"
        with sync_channel(address, settings) as channel, pytest.raises(grpc.RpcError) as raised:
            getattr(stub(channel), method)(request, timeout=20)
        return decode(raised.value).reason


@contextmanager
def guarding(folder: Path, name_server: str) -> Iterator[Guarded]:
    """All of them, until the end of the block."""
    made = Guarded(folder, name_server)
    for kind in topology.SERVICES:
        made.fleet.start(kind)
    try:
        yield made
    finally:
        for process in made.fleet.processes.values():
            process.kill()
            process.wait()


def said(*words: str, fails: bool = False) -> str:
    """What a command of the command line prints, on one line."""
    code, out, err = rc("", *words)
    assert (code != 0) is fails, err
    return " ".join((out + err).split())
