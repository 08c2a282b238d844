"""Copies of the packages that plugins come from."""

import os
import shutil
from pathlib import Path

import pytest

from services.executor.contract.answers import PluginsFound
from services.executor.contract.questions import FindPlugins
from services.executor.hosts import packages
from services.executor.hosts.fresh import FreshHosts
from services.executor.hosts.scratch import Scratch

OFFER = "[rocketconnect.transforms]\nmarked = marks:Marked\n"
MARKS = """
from rocketconnect_sdk.transforms import Transform
class Marked(Transform):
    '''Of {0}.'''
    name = 'marked'
    def apply(self, record):
        return record
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place that packages are installed into."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    return site


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def install(site: Path, *files: str, name: str = "marks", version: str = "1.0", offer: str = OFFER, listed: bool = True) -> None:
    for old in site.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(offer)
    for file in files:
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARKS.format(version))
    if listed:
        own = [f"{info.name}/{file}" for file in ("METADATA", "entry_points.txt")]
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, *own)))


def below(folder: Path | None) -> list[str]:
    assert folder is not None
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_only_packages_that_offer_plugins_are_copied_and_of_them_what_they_are_made_of(site: Path, root: Path) -> None:
    install(site, "marks.py", "more/__init__.py", "more/table.csv", "__pycache__/marks.cpython-311.pyc", "../bin/marks")
    install(site, "other.py", name="other", offer="[console_scripts]\nother = other:main\n")
    info = "marks-1.0.dist-info"
    assert below(packages.copied(root)) == [
        f"{info}/METADATA",
        f"{info}/entry_points.txt",
        "marks.py",
        "more/__init__.py",
        "more/table.csv",
    ]


@pytest.mark.parametrize(
    "taken", ["json.py", "types/__init__.py", "connectors/file_lines.py", "rocketconnect_sdk/plugins/loader.py"]
)
def test_a_package_takes_the_place_of_no_module_of_python_or_of_ours(site: Path, root: Path, taken: str) -> None:
    install(site, "marks.py", taken)
    assert below(packages.copied(root)) == ["marks-1.0.dist-info/METADATA", "marks-1.0.dist-info/entry_points.txt", "marks.py"]


def test_without_such_packages_or_a_list_of_their_files_nothing_is_copied(site: Path, root: Path) -> None:
    assert packages.copied(root) is None
    install(site, "marks.py", listed=False)
    assert packages.copied(root) is None
    assert list(root.iterdir()) == []


def test_what_has_not_changed_is_copied_once(site: Path, root: Path) -> None:
    install(site, "marks.py")
    first = packages.copied(root)
    assert packages.copied(root) == first
    (site / "marks.py").write_text("'edited'")
    second = packages.copied(root)
    assert second is not None
    assert second != first
    assert (second / "marks.py").read_text() == "'edited'"


def test_a_copy_that_fails_leaves_nothing_behind(site: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    install(site, "marks.py")
    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(OSError, match="No space left"):
        packages.copied(root)
    assert list(root.iterdir()) == []


async def test_hosts_begin_with_what_was_there_when_plugins_were_looked_for_and_copies_go_with_the_last_of_them(
    site: Path, root: Path
) -> None:
    install(site, "marks.py")
    scratch = Scratch(root)
    fresh = FreshHosts(scratch, os.environ)

    async def told() -> str:
        found = await fresh.ask(FindPlugins(), 60, "test")
        assert isinstance(found, PluginsFound)
        return next(f"{plugin.version}: {plugin.summary}" for plugin in found.plugins if plugin.name == "marked")

    try:
        held = fresh.take(lambda _event: None, lambda _reason: None)
        install(site, "marks.py", version="2.0")
        assert await told() == "1.0: Of 1.0."
        await fresh.load_anew()
        assert await told() == "2.0: Of 2.0."
        assert len(list(scratch.path.glob("plugins-*"))) == 2
        held.kill("the test ends it")
        await held.wait()
        assert len(list(scratch.path.glob("plugins-*"))) == 1
    finally:
        await fresh.close()
        scratch.close()
