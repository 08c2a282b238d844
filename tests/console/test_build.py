"""How the console is built: of what is there, once, and in the form that the API has."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("console_build", ROOT / "console/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build, of a small checkout of its own; npm is a stand-in that notes what it was asked for."""
    module = loaded()
    here = tmp_path / "console"
    (here / "src").mkdir(parents=True)
    for name in module._INPUTS:
        (here / name).write_text("{}")
    (here / "src/main.ts").write_text("1")
    (tmp_path / "services/gateway").mkdir(parents=True)
    (tmp_path / "services/gateway/openapi.json").write_text("{}")
    asked: list[str] = []

    def npm(place: Path, *words: str) -> None:
        asked.append(words[0] if words[0] == "ci" else words[-1])
        if words[-1] == "build":
            (place / "dist").mkdir()
            (place / "dist/index.html").write_text((place / "src/main.ts").read_text())

    for name, value in {"HERE": here, "ROOT": tmp_path, "BUILT": tmp_path / "services/gateway/console/built", "_npm": npm}.items():
        monkeypatch.setattr(module, name, value)
    module.asked = asked  # type: ignore[attr-defined]
    return module


def test_it_is_built_once_for_what_is_there_and_packages_are_installed_once(build: ModuleType, tmp_path: Path) -> None:
    work = tmp_path / "work"
    build.build(work)
    assert (build.BUILT / "index.html").read_text() == "1"
    build.build(work)
    assert build.asked == ["ci", "build"]
    (build.HERE / "src/main.ts").write_text("2")
    (build.HERE / "src/more.ts").write_text("3")
    assert not build.is_built()
    build.build(work)
    assert build.asked == ["ci", "build", "build"]
    assert (build.BUILT / "index.html").read_text() == "2"
    (build.HERE / "src/more.ts").unlink()
    (build.HERE / "package-lock.json").write_text('{"other": true}')
    build.build(work)
    assert build.asked[3:] == ["ci", "build"]
    assert not (work / "console/src/more.ts").exists()


def test_a_build_that_breaks_counts_as_not_built_and_leaves_what_was_there(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.build(tmp_path / "work")
    (build.HERE / "src/main.ts").write_text("2")

    def npm(*_: object) -> None:
        raise build.CanNotBuild("no registry")

    monkeypatch.setattr(build, "_npm", npm)
    with pytest.raises(build.CanNotBuild):
        build.build(tmp_path / "work")
    assert not build.is_built()
    assert (build.BUILT / "index.html").read_text() == "1"


def test_without_node_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = loaded()
    monkeypatch.setattr(module, "_of_package", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(module.CanNotBuild, match=r"no Node.js 20.19 or newer with npm here; install it, or `pip install"):
        module._npm(tmp_path, "ci")


def test_sources_have_right_types_and_those_of_the_api_are_what_its_document_makes() -> None:
    """Red after a change of a proto: `.venv/bin/python console/build.py --run types` writes the types again."""
    command = [sys.executable, str(ROOT / "console/build.py"), "--work", str(ROOT / ".venv/console"), "--run", "check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stderr}\nafter a change of the API run: .venv/bin/python console/build.py --run types"
