"""A plugin of RocketMQ Connect, and processes that run it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.rocketmq_connect.installed import plain_plugin

Do = Callable[..., Any]


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of plugins, with one of ours."""
    return plain_plugin(tmp_path_factory.mktemp("rocketmq") / "plugins")


@pytest.fixture
def do(plugins: Path) -> Do:
    """Has a process of its own do something; see child.py."""

    def asked(**order: object) -> Any:
        command = [sys.executable, "-m", "tests.connectors.rocketmq_connect.child", json.dumps(order)]
        environment = {**os.environ, "ROCKETCONNECT_KAFKA_PLUGINS": str(plugins), "SHOP_PASSWORD": "s3cret"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return asked
