"""The examples of docs/write-a-connector.md do what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "write-a-connector.md"


@pytest.mark.parametrize("name", ["calendar_source", "sqlite_sink", "parquet_tables"])
def test_the_example_passes_its_suite(name: str, tmp_path: Path) -> None:
    files = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    assert {f"{name}.py", f"test_{name}.py"} <= files.keys()
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error", f"test_{name}.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
    assert " failed" not in done.stdout
