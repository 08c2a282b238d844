"""docs/ as the site reads it, and what its pages may not ask for."""

import posixpath
import re
import shutil
from pathlib import Path

REPOSITORY = "https://github.com/rocketconnect/rocketconnect/blob/main/"
_FOREIGN = re.compile(r"""(?:\bsrc|<link[^>]*\bhref)=["']?((?:https?:)?//[^"'\s>]+)""")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")


def led_out(text: str, page: str) -> str:
    """The text of a page, whose links to files outside of docs/ are absolute.

    Args:
        text: Markdown.
        page: Where it is, below docs/.
    """

    def absolute(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[1]))
        return link[1] if path.startswith("docs/") else REPOSITORY + path

    return _LINK.sub(absolute, text)


def stage(docs: Path, target: Path) -> None:
    """Make the folder `target` anew, with all files of `docs`."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(docs, target)
    for file in target.rglob("*.md"):
        file.write_text(led_out(file.read_text(encoding="utf-8"), file.relative_to(target).as_posix()), encoding="utf-8")


def foreign(html: str) -> list[str]:
    """What a browser would ask other hosts for when it shows this page: scripts, styles, pictures; links are for people."""
    return _FOREIGN.findall(html)
