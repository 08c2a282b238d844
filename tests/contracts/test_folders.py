"""A folder of product code is small enough to be read like a page: who looks for something finds the room, then the file."""

import subprocess
from collections import Counter
from pathlib import Path, PurePath

_MOST = 15
_OURS = ("services", "connectors", "rocketconnect_sdk", "rocketconnect_kit", "rocketconnect_cli", "rocketmq_remoting")


def test_no_folder_of_product_code_has_more_than_fifteen_modules() -> None:
    root = Path(__file__).parents[2]
    tracked = subprocess.run(["git", "ls-files", *_OURS], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    modules = [PurePath(path) for path in tracked if path.endswith(".py") and not path.endswith("__init__.py")]
    assert len(modules) > 500
    counts = Counter(str(path.parent) for path in modules)
    assert {folder: count for folder, count in counts.items() if count > _MOST} == {}
