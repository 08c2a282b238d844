"""Projects that `rocketconnect init` makes."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rocketconnect_cli.commands.root import app
from rocketconnect_cli.projects import rendering
from rocketconnect_cli.projects.rendering import Family, Names

PAGE = Path(__file__).parents[3] / "docs" / "write-a-connector.md"
SHOWN = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*words: str) -> Result:
    result = CliRunner().invoke(app, ["init", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("family", Family)
def test_the_code_of_a_project_is_that_of_the_page_but_for_its_names(family: Family) -> None:
    names = Names("weather-notes", family)
    files, back = rendering.files(names), names.example
    kind = "".join(part.capitalize() for part in back.split("_"))
    for made, shown in ((f"weather_notes/{names.module}.py", f"{back}.py"), (f"tests/test_{names.module}.py", f"test_{back}.py")):
        text = files[made].replace(f"from weather_notes.{names.module} import", f"from {back} import")
        text = text.replace(f"class Test{names.kind}(", f"class Test{kind.removesuffix('Sink').removesuffix('Source')}(")
        assert text.replace(names.kind, kind).replace(names.plugin, back) == SHOWN[shown]


@pytest.mark.parametrize("family", Family)
def test_a_project_has_its_connector_where_its_entry_point_says(here: Path, family: Family) -> None:
    result = init("weather-notes", "--family", family, "-o", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    module = found["plugin"].rpartition("_")[2]
    assert found["files"] == [
        f"weather-notes/{path}"
        for path in (
            "pyproject.toml",
            "README.md",
            "weather_notes/__init__.py",
            f"weather_notes/{module}.py",
            f"tests/test_{module}.py",
        )
    ]
    project = tomllib.loads((here / "weather-notes/pyproject.toml").read_text())
    (entry,) = project["project"]["entry-points"]["rocketconnect.connectors"].items()
    assert entry == (f"weather_notes_{module}", f"weather_notes.{module}:WeatherNotes{module.capitalize()}")
    text = (here / f"weather-notes/weather_notes/{module}.py").read_text()
    assert f"class WeatherNotes{module.capitalize()}(" in text
    assert f'name = "weather_notes_{module}"' in text
    for path in found["files"]:
        if path.endswith(".py"):
            compile((here / path).read_text(), path, "exec")
    assert len(re.findall(r"^\$ ", (here / "weather-notes/README.md").read_text(), re.MULTILINE)) == 5


def test_a_name_that_says_what_it_is_already_is_not_said_twice() -> None:
    assert (Names("my-sink", Family.WRITE).plugin, Names("my_sink", Family.WRITE).kind) == ("my_sink", "MySink")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is not made of lower-case letters"),
        ("Weather", "is not made of lower-case letters"),
        ("a--b", "is not made of lower-case letters"),
        ("1a", "is not made of lower-case letters"),
        ("../a", "is not made of lower-case letters"),
        ("a" * 41, "has 41 characters"),
        ("class", "is a word of Python's own"),
        ("tests", "is the folder of the project's tests"),
        ("json", "is a package of this Python already"),
        ("write", "makes a class WriteSink"),
        ("file", "makes a plugin file_sink"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_with_a_way_out(here: Path, name: str, reason: str) -> None:
    result = init(name)
    assert result.exit_code == 2
    assert f"NAME: {reason}" in result.stderr
    assert "-> Give" in result.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_what_is_there_is_never_written_over(here: Path, there: str) -> None:
    path = here / "weather-notes"
    if there == "link":
        path.symlink_to("nowhere")
    elif there == "file":
        path.touch()
    else:
        path.mkdir()
    result = init("weather-notes")
    assert result.exit_code == 4
    assert "weather-notes is there already" in result.stderr
    assert [each.name for each in here.rglob("*")] == ["weather-notes"]


FOUND = """
from rocketconnect_sdk.plugins import loader
found = loader.find("weather_notes_{0}")
assert type(found).__module__ == "weather_notes.{0}", type(found)
assert loader.catalogue().packages[found.name].version == "0.1.0"
"""


@pytest.mark.slow
@pytest.mark.parametrize("family", Family)
def test_a_project_is_installed_and_its_tests_pass(here: Path, family: Family) -> None:
    assert init("weather-notes", "--family", family).exit_code == 0
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], check=True)
    (packages,) = (here / "venv/lib").glob("python*/site-packages")
    (packages / "tests.pth").write_text(f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n")
    python = str(here / "venv/bin/python")
    install = ["install", "-q", "--no-index", "--no-deps", "--no-build-isolation", str(here / "weather-notes")]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    subprocess.run([python, "-c", FOUND.format(Names("weather-notes", family).module)], check=True, cwd=packages)
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error"]
    done = subprocess.run(
        [python, "-m", "pytest", *words],
        cwd=here / "weather-notes",
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
