"""Wheels of the package in `weather/`, of any version, and an environment that they are installed into while an executor runs."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

WEATHER = Path(__file__).parent / "weather"
SOURCE = 'weather_source = "weather_connect.source:WeatherSource"\n'


class Environment:
    """A virtual environment of its own that sees what the one of the tests has.

    Attributes:
        python: Its interpreter.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.python = str(folder / "venv/bin/python")
        _run("-m", "venv", "--without-pip", str(folder / "venv"))
        (packages,) = (folder / "venv/lib").glob("python*/site-packages")
        (packages / "tests.pth").write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")

    def install(self, version: str, *, more: str = "", broken: bool = False) -> None:
        """What `pip install` does with the wheel of a version; `more` are entry points of further connectors."""
        sources = self._folder / f"weather-{version}"
        shutil.copytree(WEATHER, sources)
        with (sources / "pyproject.toml").open("a") as project:
            project.write(more)
        for name in ("__init__.py", "late.py"):
            module = sources / "weather_connect" / name
            wrong = "raise ImportError('broken')\n" if broken else ""
            module.write_text(module.read_text().replace('"1.0"', f'"{version}"') + wrong)
        _run("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(sources), str(sources))
        (wheel,) = sources.glob("*.whl")
        self._pip("install", "-q", "--no-index", "--no-deps", str(wheel))

    def uninstall(self) -> None:
        """Take it out again."""
        self._pip("uninstall", "-q", "-y", "weather-connect")

    def _pip(self, *words: str) -> None:
        _run("-m", "pip", "--python", self.python, *words)


def _run(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, timeout=120)
