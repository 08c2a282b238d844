"""A folder is small enough to be read like a page: who looks for something finds the room, then the file."""

import subprocess
from collections import Counter
from pathlib import Path, PurePath

_MOST = 15
_LINES = 400
_OURS = (
    "services",
    "connectors",
    "pyspark_rocketmq",
    "rocketconnect_sdk",
    "rocketconnect_kit",
    "rocketconnect_cli",
    "rocketmq_native",
    "rocketmq_remoting",
)


_ROOT = Path(__file__).parents[2]


def _tracked(*folders: str) -> list[PurePath]:
    tracked = subprocess.run(["git", "ls-files", *folders], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.split()
    modules = [PurePath(path) for path in tracked if path.endswith(".py") and (_ROOT / path).exists()]
    assert len(modules) > 500
    return modules


def test_no_folder_has_more_than_fifteen_modules() -> None:
    counts = Counter(str(path.parent) for path in _tracked(".") if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > _MOST} == {}


def test_no_file_of_product_code_has_more_than_four_hundred_lines() -> None:
    lines = {str(path): len((_ROOT / path).read_text(encoding="utf-8").splitlines()) for path in _tracked(*_OURS)}
    assert {path: count for path, count in lines.items() if count > _LINES} == {}
