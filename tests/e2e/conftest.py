"""One running instance for all tests that only use it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running


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
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("instance")
    with running(folder / "data", "--executors", "2") as ready, Api(str(ready["rest"])) as api:
        yield Instance(ready, api, folder)
