"""Connectors of installed packages, sound and broken."""

import os
import subprocess
import sys
from pathlib import Path

SOUND = '''
from rocketconnect_sdk import Plan, RecordSink

class Nowhere(RecordSink):
    """Writes nowhere."""
    name = "nowhere_sink"
    aliases = ("org.example.Nowhere",)
    def open(self, config, task, context):
        raise NotImplementedError
'''


def run(directory: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def install(directory: Path, entry_points: str) -> None:
    info = directory / "nowhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nowhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rocketconnect.connectors]\n{entry_points}\n")
    (directory / "nowhere.py").write_text(SOUND)


def test_a_connector_of_an_installed_package_is_found_by_name_and_alias(tmp_path: Path) -> None:
    install(tmp_path, "nowhere_sink = nowhere:Nowhere")
    code = "from rocketconnect_sdk.loader import find; print(find('nowhere_sink').name, find('org.example.Nowhere').name)"
    assert run(tmp_path, code) == "nowhere_sink nowhere_sink"


def test_a_broken_package_says_why_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "taken.py").write_text(SOUND.replace("nowhere_sink", "json"))
    places = ["gone_sink = gone:Gone", "odd_sink = nowhere:SOUND", "wrong_sink = os:path", "taken_sink = taken:Nowhere"]
    install(tmp_path, "\n".join([*places, "nowhere_sink = nowhere:Nowhere"]))
    code = """
from rocketconnect_sdk.connector_options import check_connector
from rocketconnect_sdk.loader import PluginType, plugins
print([plugin.name for plugin in plugins() if plugin.type is not PluginType.CONVERTER])
for name in ("gone_sink", "odd_sink", "wrong_sink", "taken_sink"):
    print(check_connector({"connector.class": name}).problems[0])
"""
    names, gone, odd, wrong, taken = run(tmp_path, code).splitlines()
    assert names == "['dead_letter_source', 'direct', 'file_lines', 'file_sink', 'file_source', 'nowhere_sink', 'stdout']"
    assert "could not be loaded: ModuleNotFoundError: No module named 'gone'" in gone
    assert "could not be loaded: AttributeError" in odd
    assert "is neither a Source nor a Sink" in wrong
    assert "'json' is the name of a plugin that comes with RocketConnect" in taken
