"""One running instance for all tests that only use it."""

import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import Api, ApiError
from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_cli.instance import topology
from rocketconnect_cli.instance.running import running
from tests import stores
from tests.processes import wait_until
from tests.security.guarded import guarding

_FOLDER = Path(__file__).parent
_TOKEN = "ROCKETCONNECT_TOKEN"
_started = ExitStack()


@dataclass(frozen=True)
class Instance:
    """What `rocketconnect up` said, and a client for it.

    Attributes:
        ready: What it said; of guarded services only where they are reached.
        api: The client.
        folder: For files of tests.
        is_guarded: Every service asks who calls, executors are workers with names of their own, and commands show the token of
            somebody who may write.
    """

    ready: dict[str, Any]
    api: Api
    folder: Path
    is_guarded: bool = False

    @property
    def url(self) -> str:
        return str(self.ready["rest"])


@pytest.fixture(
    scope="session",
    params=[pytest.param(False, id=pytest.HIDDEN_PARAM), pytest.param(True, id="guarded", marks=pytest.mark.slow)],
)
def instance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("instance")
    if request.param:
        yield _guarded(folder)
    else:
        stores.prepare(folder / "data")
        ready = _started.enter_context(running(folder / "data"))
        yield Instance(ready, _started.enter_context(Api(str(ready["rest"]))), folder)
    _started.close()


def _guarded(folder: Path) -> Instance:
    # Of its own, as `up` has: tests give topics the names that documents show.
    (folder / "rocketmq").mkdir()
    rocketmq = EmbeddedRocketMQ(folder / "rocketmq")
    rocketmq.start()
    _started.callback(rocketmq.kill)
    name_server = rocketmq.name_server
    # As under `up` a driver is ready: commands that documents show wait no longer.
    made = _started.enter_context(guarding(folder, name_server, 2, {topology.SPARK_WARM: "true"}))
    api = _started.enter_context(made.api("alice"))
    # Commands of tests, in this process and in others, show it; who asks nobody does not look at it.
    os.environ[_TOKEN] = made.token("alice")
    _started.callback(os.environ.pop, _TOKEN)

    def joined() -> bool:
        with suppress(ApiError):
            return len([each for each in api.pages("/v1/workers", "workers") if each.get("alive")]) == 2 and bool(
                list(api.pages("/v1/plugins", "plugins"))
            )
        return False

    wait_until(joined, 180)
    pids = {f"executor-{number}": made.fleet.processes[name].pid for number, name in ((1, "executor"), (2, "executor-2"))}
    return Instance({"rest": made.fleet.rest, "nameServer": name_server, "pids": pids}, api, folder, is_guarded=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """End it behind the last test of this folder: all tests that come later would share the processor with it."""
    yield
    if nextitem is None or not nextitem.path.is_relative_to(_FOLDER):
        _started.close()
