"""The folder that all workers of one run of the tests share."""

from pathlib import Path

import pytest


def run_folder(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """It is there, and goes with the folders of the tests."""
    own = factory.getbasetemp()
    # pytest-xdist gives each worker a folder within that of the run.
    return own.parent if hasattr(config, "workerinput") else own
