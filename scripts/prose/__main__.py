"""`make lint`: no page has more long sentences, long lines or retired words than scripts/prose/allowed.toml allows.

What is allowed may only fall. Usage: python -m scripts.prose [--lower | --show PAGE... | --wrap PAGE...]; --lower writes what
there is now, where that is less; --show says what is found; --wrap breaks long lines.
"""

import sys
import tomllib
from collections import Counter
from pathlib import Path

from scripts.prose.measures import findings
from scripts.prose.wrapping import wrapped

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("allowed.toml")
KINDS = ("sentences", "lines", "words")
_HEAD = """\
# What each page may have of sentences over 25 words, lines over 150 characters, and retired words: [sentences, lines, words].
# A page that is not here may have none. Numbers may only fall: `.venv/bin/python -m scripts.prose --lower` after a page got better.

[pages]
"""


def pages() -> list[Path]:
    """What people read, in English, and is not made from the code."""
    made = {"reference.md", "monitoring.md", "systems.md"}
    notes = {"backlog.md"}  # of developers, in headwords
    documents = (path for path in (ROOT / "docs").glob("*.md") if path.name not in made | notes)
    return sorted(
        [*documents, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "examples").rglob("README.md")]
    )


def counts(page: Path) -> list[int]:
    """How much it has of each kind."""
    found = Counter(each.kind for each in findings(page.read_text(encoding="utf-8")))
    return [found[kind] for kind in KINDS]


def allowed() -> dict[str, list[int]]:
    """What each page may have."""
    stored: dict[str, list[int]] = tomllib.loads(ALLOWED.read_text(encoding="utf-8"))["pages"]
    return stored


def written(table: dict[str, list[int]]) -> str:
    """The file of what is allowed."""
    return _HEAD + "".join(f'"{page}" = {numbers}\n' for page, numbers in sorted(table.items()) if any(numbers))


def lowered(before: dict[str, list[int]], now: dict[str, list[int]]) -> dict[str, list[int]]:
    """What is allowed from now on: of each number the lower one."""
    return {page: [min(pair) for pair in zip(before.get(page, (0, 0, 0)), has, strict=True)] for page, has in now.items()}


def main(arguments: list[str]) -> int:
    """Check all pages; the exit code is 1 where one has more than it may."""
    if arguments[:1] == ["--show"]:
        for name in arguments[1:]:
            for each in findings(Path(name).read_text(encoding="utf-8")):
                sys.stdout.write(f"{name}:{each.line}: {each.kind}: {each.text}\n")
        return 0
    if arguments[:1] == ["--wrap"]:
        for page in map(Path, arguments[1:]):
            page.write_text(wrapped(page.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    before, now = allowed(), {path.relative_to(ROOT).as_posix(): counts(path) for path in pages()}
    if arguments == ["--lower"]:
        ALLOWED.write_text(written(lowered(before, now)), encoding="utf-8")
    over = [
        f"{page} has {has} {kind}, and may have {may}: python -m scripts.prose --show {page}\n"
        for page, numbers in now.items()
        for kind, has, may in zip(KINDS, numbers, before.get(page, (0, 0, 0)), strict=True)
        if has > may
    ]
    sys.stdout.writelines(over)
    return bool(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
