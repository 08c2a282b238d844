"""How a page reads: what of it is longer than people read in one go, and words of ours that are retired. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_WORDS = 25
MOST_CHARACTERS = 150
RETIRED = {
    "a letter (dead letter)": re.compile(r"(?<!dead )(?<!dead-)(?<!capital )(?<!small )\bletters?\b", re.IGNORECASE),
    "a double (duplicate)": re.compile(r"\b(?:a|the|no|of|as) doubles?\b(?! precision)", re.IGNORECASE),
    "in silence (without an error)": re.compile(r"\bin silence\b", re.IGNORECASE),
    "is nothing (is ignored, is empty)": re.compile(r"\b(?:is|are) nothing\b(?! (?:but|more|to|else|that))", re.IGNORECASE),
}
"""What the table of words in docs/architecture.md has another word for, by what to write."""
_CODE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_END = re.compile(r"""(?<=[.!?])["')*]*\s+(?=[A-Z0-9`\[*"'(])""")
_ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a page at one line.

    Attributes:
        kind: sentences, lines or words.
        line: Where it begins, from 1.
        text: What it is.
    """

    kind: str
    line: int
    text: str


def findings(text: str) -> Iterator[Finding]:
    """Yield what of this Markdown is too long or retired. Code is left out; rows of tables have cells, but no length."""
    prose = _CODE.sub(lambda block: "\n" * block[0].count("\n"), _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text))
    for number, line in enumerate(prose.splitlines(), 1):
        if len(line) > MOST_CHARACTERS and not line.startswith("|"):
            yield Finding("lines", number, line)
    for number, block in _blocks(prose):
        for sentence in _END.split(block):
            if len(_counted(sentence).split()) > MOST_WORDS:
                yield Finding("sentences", number, sentence.strip())
        shown = _counted(block)
        yield from (Finding("words", number, name) for name, word in RETIRED.items() for _ in word.findall(shown))


def _blocks(prose: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables: what no sentence goes beyond."""
    begun, lines = 0, list[str]()
    for number, line in enumerate([*prose.splitlines(), ""], 1):
        whole = line.startswith(("|", "#")) or not line.strip()
        if lines and (whole or _ITEM.match(line)):
            yield begun, " ".join(lines)
            lines = []
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in line.split("|") if cell.strip("-: "))
        elif not whole:
            begun = begun if lines else number
            lines.append(_ITEM.sub("", line).strip())


def _counted(text: str) -> str:
    """The text, with code and targets of links as one word."""
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"``?[^`]+``?", "CODE", text))
