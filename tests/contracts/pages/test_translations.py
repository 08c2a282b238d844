"""What is there in another language says the same: its commands and the names of its plugins are those of the original."""

import re
from collections import Counter
from pathlib import Path

import pytest

from scripts.site.translations import source_of

ROOT = Path(__file__).parents[3]
README = ROOT / "README.zh-CN.md"
PAGES = sorted((ROOT / "docs/zh").glob("*.md"))
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+# .*$", re.MULTILINE)
_ROW = re.compile(r"^\|(?!---)(?P<what>[^|]*)\|(?P<names>.*)\|$", re.MULTILINE)


def original_of(page: Path) -> str:
    """Pages name theirs; that of the README lies beside it."""
    return (ROOT / "README.md" if page == README else ROOT / source_of(page.read_text())[0]).read_text()


def codes(text: str) -> Counter[str]:
    """What stands as code within sentences, and how often: commands, options and values."""
    return Counter(re.findall(r"`([^`\n]+)`", _BLOCK.sub("", text)))


def commands(text: str) -> list[tuple[str, str]]:
    """The language and the content of each block that has one, without comments behind commands: they are prose."""
    return [(language, _COMMENT.sub("", body)) for language, body in _BLOCK.findall(text)]


def rows(text: str) -> list[str]:
    """Of each row of a table what stands behind its first column, which is prose."""
    return [names.strip() for _what, names in _ROW.findall(text)][1:]


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_commands_of_a_translation_are_those_of_its_original(page: Path) -> None:
    assert commands(page.read_text()) == commands(original_of(page))


def test_the_table_of_the_translated_readme_names_what_that_of_its_original_names() -> None:
    found = rows(README.read_text())
    assert found
    assert found == rows(original_of(README))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_translated_page_has_the_code_of_its_original(page: Path) -> None:
    found = codes(page.read_text())
    assert found
    assert found == codes(original_of(page))
