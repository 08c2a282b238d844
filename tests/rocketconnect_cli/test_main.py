"""The command itself."""

import importlib
import importlib.abc
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.api import Exit
from rocketconnect_cli.commands.root import app
from rocketconnect_cli.instance.topology import SERVICES
from rocketconnect_cli.main import main
from rocketconnect_sdk.version import __version__


class _PressingCtrlC(importlib.abc.MetaPathFinder):
    """Ctrl-C comes while the commands are imported."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "rocketconnect_cli.commands.root":
            raise KeyboardInterrupt


def test_ctrl_c_while_it_still_loads_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "rocketconnect_cli.commands.root")
    monkeypatch.setattr(sys, "meta_path", [_PressingCtrlC(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (Exit.INTERRUPTED, "Interrupted: nothing was changed.\n")


def test_the_entry_point_itself_imports_none_of_the_rest() -> None:
    code = "import sys, rocketconnect_cli.main; print({'typer', 'httpx', 'rich', 'yaml'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"


def test_it_tells_its_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"{__version__}\n")


def test_what_up_needs_is_installed_with_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.import_module("rocketconnect_cli.commands.up"), "NEEDED", ("no_such_package",))
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path)])
    assert result.exit_code == 1
    assert "needs no_such_package: install it with its extra: pip install '.[up]' in RocketConnect's checkout" in result.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_what_a_service_needs_is_installed_with_its_extra(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    def without_grpc(*_: object, **__: object) -> None:
        raise ModuleNotFoundError(name="grpc")

    monkeypatch.setattr(runpy, "run_module", without_grpc)
    monkeypatch.setattr(sys, "argv", ["rocketconnect"])
    result = CliRunner().invoke(app, ["serve", service])
    assert result.exit_code == 2
    assert f"needs the package grpc: install it with its extra: pip install '.[{service}]'" in result.stderr


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_of_serve_names_the_services_and_where_their_settings_are(flag: str) -> None:
    result = CliRunner().invoke(app, ["serve", flag], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert all(service in result.stdout for service in SERVICES)
    assert "serve SERVICE --help" in result.stdout


def test_every_extra_that_is_advised_is_there() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert {"up", *SERVICES} <= set(project["optional-dependencies"])
