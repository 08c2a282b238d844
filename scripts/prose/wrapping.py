"""Markdown with lines of a width that people read. Pure."""

import re
from collections.abc import Iterator

WIDTH = 130
_ITEM = re.compile(r"^(?P<indent> *(?:[-*]|\d+\.) +)(?P<text>.*)$")
_WORD = re.compile(r"(?:``?[^`]+``?|\[[^\]]*\]\([^)]*\)|\S)+")
_MARKUP = re.compile(r"(?:[-+*#>|=]+|\d+[.)])$")
"""What begins something else than a sentence where it begins a line."""


def wrapped(text: str) -> str:
    """The same page with paragraphs and items filled up to WIDTH; code, tables, headings and HTML stay as they are.

    A span of code and a link are one word. A line break that Markdown would show (two spaces, a backslash) is not kept.
    """
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    fenced, first, rest, words = False, "", "", list[str]()
    for line in text.split("\n"):
        item = _ITEM.match(line)
        fence = line.lstrip().startswith("```")
        code = fenced or fence or (line.startswith("    ") and not words and not item)
        if code or item or not line.strip() or line.startswith(("|", "#", "<", "!")):
            yield from _filled(words, first, rest)
            words = []
        fenced ^= fence
        if item and not code:
            first = item["indent"]
            rest, words = " " * len(first), [item["text"]]
        elif code or not line.strip() or line.startswith(("|", "#", "<", "!")):
            yield line
        elif words:
            words.append(line.strip())
        else:
            first = rest = line[: len(line) - len(line.lstrip())]
            words = [line.strip()]
    yield from _filled(words, first, rest)


def _filled(parts: list[str], first: str, rest: str) -> Iterator[str]:
    line = first
    for number, word in enumerate(_WORD.findall(" ".join(parts))):
        if number and len(line) + 1 + len(word) > WIDTH and not _MARKUP.match(word):
            yield line
            line = rest + word
        else:
            line += word if not number else f" {word}"
    if parts:
        yield line
