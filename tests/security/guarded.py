"""Seven services that ask who calls, and people and workers with tokens of their own."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from rocketconnect_cli.api import Access, Api
from rocketconnect_cli.instance import topology
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.signing import public_key
from rocketconnect_kit.access.tokens import key_line, line
from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from tests.processes import Fleet
from tests.spoken import rc

CALLERS = {
    "services": Role.SERVICE,
    "worker-0": Role.WORKER,
    "worker-1": Role.WORKER,
    "worker-2": Role.WORKER,
    "worker-9": Role.WORKER,
    "alice": Role.WRITE,
    "bob": Role.READ,
}

SECRET_VARIABLE, SECRET = "REGISTRY_TOKEN", "what-the-registry-asks-for"


class Guarded:
    """Seven processes with tokens of their own, or more: each executor is a worker with a name."""

    def __init__(self, folder: Path, name_server: str, executors: int = 1, extra: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        callers = folder / "callers"
        known = [line(name, role, self.token(name)) for name, role in CALLERS.items()]
        callers.write_text("".join([*known, key_line("services", Role.SERVICE, public_key(self.token("services")))]))
        for name in CALLERS:
            (folder / f"{name}.token").write_text(self.token(name))
        told = {
            "ROCKETCONNECT_TOKENS_FILES": str(callers),
            "ROCKETCONNECT_TOKEN_FILE": str(folder / "services.token"),
            **(extra or {}),
        }
        # What it may is what an executor may, and in its own name.
        worker = {**topology.UNLESS_TOLD, topology.SPARK_WARM: "false", SECRET_VARIABLE: SECRET, **(extra or {})}
        workers = {
            "executor" if number == 1 else f"executor-{number}": {
                **worker,
                "ROCKETCONNECT_TOKEN_FILE": str(folder / f"worker-{number}.token"),
            }
            for number in range(1, executors + 1)
        }
        self.fleet = Fleet(folder, name_server, told, workers, executors)

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
def guarding(folder: Path, name_server: str, executors: int = 1, extra: Mapping[str, str] | None = None) -> Iterator[Guarded]:
    """All of them, with further settings for each, until the end of the block."""
    made = Guarded(folder, name_server, executors, extra)
    with made.fleet.running():
        yield made


def said(*words: str, fails: bool = False) -> str:
    """What a command of the command line prints, on one line."""
    code, out, err = rc("", *words)
    assert (code != 0) is fails, err
    return " ".join((out + err).split())


Sent = tuple[str, tuple[tuple[str, str], ...], bytes]
"""The method, its metadata and its request."""


class Printing(grpc.GenericRpcHandler):
    """An executor that prints all that it is sent: it keeps every call, and answers as one that is just going away."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.address = ""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """See GenericRpcHandler."""
        method = str(handler_call_details.method)
        metadata = tuple((str(key), str(value)) for key, value in handler_call_details.invocation_metadata or ())

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.sent.append((method, metadata, request))
            context.abort(grpc.StatusCode.UNAVAILABLE, "going away")
            raise AssertionError

        return grpc.unary_unary_rpc_method_handler(answer)

    def was_asked(self, method: str) -> bool:
        """Whether it was sent a call of a method, by its last name."""
        return any(each.rpartition("/")[2] == method for each, _, _ in self.sent)

    def shown(self) -> set[str]:
        """What its callers have shown to say who they are."""
        return {value for _, metadata, _ in self.sent for key, value in metadata if key == "authorization"}


@contextmanager
def printing() -> Iterator[Printing]:
    """One that listens until the end of the block."""
    made = Printing()
    server = grpc.server(ThreadPoolExecutor(4), handlers=[made])
    made.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield made
    finally:
        server.stop(None).wait()
