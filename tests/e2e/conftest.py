"""One running instance for all tests that only use it."""

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running

_FOLDER = Path(__file__).parent
_started = ExitStack()


@dataclass(frozen=True)
class Instance:
    """What `rocketconnect up` said, and a client for it."""

    ready: dict[str, Any]
    api: Api
    folder: Path

    @property
    def url(self) -> str:
        return str(self.ready["rest"])


@pytest.fixture(scope="session")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    folder = tmp_path_factory.mktemp("instance")
    ready = _started.enter_context(running(folder / "data"))
    return Instance(ready, _started.enter_context(Api(str(ready["rest"]))), folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """End it behind the last test of this folder: all tests that come later would share the processor with it."""
    yield
    if nextitem is None or not nextitem.path.is_relative_to(_FOLDER):
        _started.close()
