"""The examples of docs/write-a-connector.md do what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "write-a-connector.md"


def written(folder: Path) -> set[str]:
    """Write the files that the page shows; return their names."""
    files = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    for file, text in files.items():
        (folder / file).write_text(text)
    return set(files)


@pytest.mark.parametrize(
    "name",
    [
        "calendar_source",
        "sqlite_sink",
        "hex_converter",
        "celsius",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "journal_source",
                "inbox_source",
                "spool_source",
                "lines_source",
                "notes_sink",
                "ledger_sink",
                "journal_sink",
                "freezing",
                "parquet_tables",
            )
        ),
    ],
)
def test_the_example_passes_its_suite(name: str, tmp_path: Path) -> None:
    assert {f"{name}.py", f"test_{name}.py"} <= written(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error", f"test_{name}.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
    assert " failed" not in done.stdout


FOUND = """
from rocketconnect_sdk.plugins.loader import catalogue, plugins
assert not catalogue().broken, catalogue().broken
for plugin in plugins():
    if plugin.package.name == "weather-connect":
        print(plugin.name, plugin.type.value, plugin.package.version)
"""


def test_the_package_of_the_page_offers_what_the_page_has_written(tmp_path: Path) -> None:
    written(tmp_path)
    pip = [sys.executable, "-m", "pip"]
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "dist", "."], cwd=tmp_path, check=True, timeout=120
    )
    wheel = "dist/weather_connect-1.0-py3-none-any.whl"
    subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", "--target", "there", wheel], cwd=tmp_path, check=True)
    assert not (tmp_path / "there" / "test_celsius.py").exists()
    paths = os.pathsep.join(filter(None, (str(tmp_path / "there"), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", FOUND], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "calendar_source SOURCE 1.0",
        "hex CONVERTER 1.0",
        "is_freezing PREDICATE 1.0",
        "journal_sink SINK 1.0",
        "parquet_source SOURCE 1.0",
        "sqlite_sink SINK 1.0",
        "to_celsius TRANSFORM 1.0",
    ]
