"""The site of the documents has every page once, and every connector leads to its page."""

import subprocess
from pathlib import Path

import pytest

from rocketconnect_sdk.plugins import loader
from scripts import systems
from scripts.site.navigation import DOCS, ROOT, pages
from scripts.site.staging import foreign, led_out
from scripts.site.translations import behind, source_of
from tests.e2e.console import commands


def test_the_navigation_names_every_page_once() -> None:
    there = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(pages()) == sorted(there)


def test_the_table_of_systems_is_what_the_registry_makes() -> None:
    assert systems.PAGE.read_text(encoding="utf-8").splitlines() == systems.page().splitlines(), "run `make reference`"


def test_every_connector_has_a_system_and_a_page() -> None:
    names = [info.name for info in loader.plugins() if info.type.name in ("SOURCE", "SINK") and info.name != "direct"]
    assert [name for name in names if not systems.system_of(name)] == [], "name it in the table of README.md"
    assert [name for name in names if not systems.place_of(name)] == [], "link its options from its page"


@pytest.mark.parametrize(
    ("link", "made"),
    [
        ("[a](../README.md)", "[a](https://github.com/rocketconnect/rocketconnect/blob/main/README.md)"),
        ("[a](kafka.md#b)", "[a](kafka.md#b)"),
        ("[a](https://b.example/c)", "[a](https://b.example/c)"),
        ("[a](#b)", "[a](#b)"),
    ],
)
def test_links_out_of_the_documents_lead_to_the_repository(link: str, made: str) -> None:
    assert led_out(link, "page.md") == made


@pytest.mark.parametrize(
    ("html", "asks"),
    [
        ('<script src="https://a.example/b.js">', ["https://a.example/b.js"]),
        ("<link rel=stylesheet href=//a.example/b.css>", ["//a.example/b.css"]),
        ('<a href="https://a.example">', []),
        ('<script src="assets/b.js">', []),
    ],
)
def test_what_a_page_asks_of_other_hosts_is_found(html: str, asks: list[str]) -> None:
    assert foreign(html) == asks


def test_a_translation_is_behind_by_the_commits_that_changed_its_original(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    original, page = tmp_path / "a.md", tmp_path / "zh.md"
    for text in ("one", "two"):
        original.write_text(text)
        git("add", "a.md")
        git("commit", "-qm", text)
        if text == "one":
            page.write_text(f"yi\n\n<!-- of a.md at {git('rev-parse', 'HEAD')} -->\n")
            assert behind(tmp_path, page) == []
    assert [line.split()[1] for line in behind(tmp_path, page)] == ["two"]
    page.write_text("yi\n\n<!-- of a.md at 0123456789ab -->\n")
    assert behind(tmp_path, page) == ["what changed since 0123456789ab is not known here"]


def test_a_translation_without_its_original_is_told() -> None:
    with pytest.raises(ValueError, match="last line"):
        source_of("text")


@pytest.mark.parametrize(
    ("page", "original"), [("start.md", "README.md"), ("capture-changes.md", "examples/postgres-to-mariadb/README.md")]
)
def test_a_tutorial_shows_the_commands_that_tests_run_in_their_order(page: str, original: str) -> None:
    shown = list(commands((DOCS / page).read_text(encoding="utf-8")))
    run = iter(commands((ROOT / original).read_text(encoding="utf-8")))
    assert len(shown) > 5
    assert [each for each in shown if each not in run] == []
