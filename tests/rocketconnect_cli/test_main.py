"""The command itself."""

from typer.testing import CliRunner

from rocketconnect_cli.main import app
from rocketconnect_sdk.version import __version__


def test_it_tells_its_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"{__version__}\n")
