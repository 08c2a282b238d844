"""The folder that all processes of one run of the tests share."""

from pathlib import Path

import pytest


def run_folder(config: pytest.Config) -> Path:
    """It is there, and goes with the folders of the tests."""
    # pytest tells it to fixtures alone.
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    own = factory.getbasetemp()
    # pytest-xdist gives each worker a folder within that of the run.
    return own.parent if hasattr(config, "workerinput") else own
