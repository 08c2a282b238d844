"""What is there in another language says the same: its commands and the names of its plugins are those of the original."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHINESE = [ROOT / "README.zh-CN.md"]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+# .*$", re.MULTILINE)
_ROW = re.compile(r"^\|(?!---)(?P<what>[^|]*)\|(?P<names>.*)\|$", re.MULTILINE)


def original_of(page: Path) -> str:
    return page.with_name(page.name.replace(".zh-CN", "")).read_text()


def commands(text: str) -> list[tuple[str, str]]:
    """The language and the content of each block that has one, without comments behind commands: they are prose."""
    return [(language, _COMMENT.sub("", body)) for language, body in _BLOCK.findall(text)]


def rows(text: str) -> list[str]:
    """Of each row of a table what stands behind its first column, which is prose."""
    return [names.strip() for _what, names in _ROW.findall(text)][1:]


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_commands_of_a_translation_are_those_of_its_original(page: Path) -> None:
    found = commands(page.read_text())
    assert found
    assert found == commands(original_of(page))


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_tables_of_a_translation_name_what_those_of_its_original_name(page: Path) -> None:
    found = rows(page.read_text())
    assert found
    assert found == rows(original_of(page))
