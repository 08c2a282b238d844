"""Plugins of Kafka Connect, and processes that run them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.kafka_connect.installed import file_plugin, strict_plugin

Do = Callable[..., Any]


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of plugins: Kafka's of files, and one of ours."""
    return strict_plugin(file_plugin(tmp_path_factory.mktemp("kafka") / "plugins"))


@pytest.fixture
def do(plugins: Path) -> Do:
    """Has a process of its own do something; see child.py."""

    def asked(**order: object) -> Any:
        command = [sys.executable, "-m", "tests.connectors.kafka_connect.child", json.dumps(order)]
        environment = {**os.environ, "ROCKETCONNECT_KAFKA_PLUGINS": str(plugins)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return asked
