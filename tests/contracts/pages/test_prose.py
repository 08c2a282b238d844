"""Pages are measured as people read them."""

import pytest

from scripts.prose.__main__ import lowered
from scripts.prose.measures import findings
from scripts.prose.wrapping import WIDTH, wrapped

LONG = " ".join(["word"] * 26)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (f"{LONG}.\n", ["sentences"]),
        (f"{' '.join(['a'] * 20)}. Then {' '.join(['a'] * 20)}.\n", []),
        (f"- {' '.join(['a'] * 20)}\n- {' '.join(['a'] * 20)}\n", []),
        (f"```console\n$ {LONG}\n{'x' * 200}\n```\n", []),
        (f"| {LONG} | b |\n", ["sentences"]),
        (f"| {' '.join(['a'] * 20)} | {' '.join(['a'] * 20)} |\n", []),
        (f"`{LONG}` is [one](https://a.example/{'x' * 140}).\n", ["lines"]),
        ("Letters wait. A dead letter waits. Capital letters stay.\n", ["words"]),
        ("It is a double. It is a double precision. A sum of a double.\n", ["words", "words"]),
        ("With `upsert` they are nothing. There is nothing to do.\n", ["words"]),
    ],
)
def test_what_is_too_long_or_retired_is_found(text: str, kinds: list[str]) -> None:
    assert [found.kind for found in findings(text)] == kinds


def test_a_finding_names_its_line() -> None:
    assert [found.line for found in findings(f"# A\n\nb\nc\n\n- d\n  {LONG}\n")] == [6]


def test_what_is_allowed_only_falls() -> None:
    assert lowered({"a.md": [5, 1, 0], "gone.md": [1, 1, 1]}, {"a.md": [3, 2, 0], "new.md": [1, 0, 0]}) == {
        "a.md": [3, 1, 0],
        "new.md": [0, 0, 0],
    }


WORDS = "word " * 40


@pytest.mark.parametrize(
    "text",
    [
        f"# {WORDS}\n",
        f"| {WORDS} | {WORDS} |\n",
        f"```console\n$ {WORDS}\n```\n",
        f"Such as:\n\n    {WORDS}\n",
        f'- <a id="a"></a>[b](c.md)\n\n![{WORDS}](a.png)\n',
    ],
)
def test_what_is_no_prose_is_not_wrapped(text: str) -> None:
    assert wrapped(text) == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"{WORDS}\n{WORDS}\n", 4),
        (f"- {WORDS}\n  {WORDS}\n- a\n", 5),
        (f"{'a' * 125} in 2022. {'a ' * 40}\n", 2),
        (f"{'a' * 120} `{WORDS}`\n", 2),
        (f"{'a ' * 63}- {'a ' * 40}\n", 2),
    ],
)
def test_prose_is_wrapped_without_a_word_that_changes_or_begins_something_else(text: str, lines: int) -> None:
    made = wrapped(text)
    assert made.split() == text.split()
    assert len(made.splitlines()) == lines
    assert all(len(line) <= WIDTH + 6 for line in made.splitlines() if "`" not in line)
    assert wrapped(made) == made
