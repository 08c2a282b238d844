"""Every text of the console is in a catalogue, in each language, and each that is there is used."""

import json
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "console/src"
WORDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (SOURCES / "words").glob("*.json")}
FILES = {
    path.relative_to(SOURCES).as_posix(): path.read_text(encoding="utf-8")
    for path in SOURCES.rglob("*.ts*")
    if path.name != "types.ts"
}
_PLAIN = re.compile(r'"([a-z]\w*(?:\.\w+)+)"')
_MADE = re.compile(r"`([a-z]\w*\.(?:\w+\.)*)\$\{[^}]+\}(\.\w+)?`")
_TEXT = re.compile(r">([^<>{}]*[^\W\d_]{2,}[^<>{}]*)</")
_SAID = re.compile(r'(?:title|placeholder|alt|aria-label)="([^"]+)"')


def used(source: str) -> tuple[set[str], set[str]]:
    """The keys that a source names, and patterns of those that it makes."""
    return set(_PLAIN.findall(source)), {f"{re.escape(begin)}\\w+{re.escape(end)}" for begin, end in _MADE.findall(source)}


def own_texts(source: str) -> list[str]:
    """What a source shows that comes from no catalogue."""
    return [text.strip() for text in _TEXT.findall(source)] + _SAID.findall(source)


def test_each_language_has_all_texts_with_the_same_places_to_fill() -> None:
    assert set(WORDS) == {"en", "zh"}
    english, chinese = WORDS["en"], WORDS["zh"]
    assert list(english) == list(chinese)
    assert all(text.strip() for words in WORDS.values() for text in words.values())
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", chinese[key])), key


def test_chinese_texts_are_chinese() -> None:
    same = {key for key, text in WORDS["zh"].items() if not re.search(r"[\u4e00-\u9fff]", text)}
    # The name of the product, of an interface, and of the other language.
    assert same == {"app.name", "app.api", "app.language", "app.languageHint"}


def test_each_text_that_is_there_is_used() -> None:
    """That each which is used is there the compiler sees: see test_build.py."""
    named: set[str] = set()
    patterns: set[str] = set()
    for source in FILES.values():
        plain, made = used(source)
        named |= plain
        patterns |= made
    keys = set(WORDS["en"])
    assert all(any(re.fullmatch(pattern, key) for key in keys) for pattern in patterns), patterns
    assert {key for key in keys - named if not any(re.fullmatch(pattern, key) for pattern in patterns)} == set()


@pytest.mark.parametrize("file", FILES)
def test_no_source_shows_a_text_of_its_own(file: str) -> None:
    assert own_texts(FILES[file]) == []


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<p>Stop it</p>", ["Stop it"]),
        ('<input placeholder="Name" />', ["Name"]),
        ('<p>{t("a.b")} · {row.name}</p>', []),
        ("<a>← {back}</a>", []),
    ],
)
def test_a_text_of_its_own_is_seen(source: str, texts: list[str]) -> None:
    assert own_texts(source) == texts
