"""What the console is made of: pinned packages, text as text, no other host."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from services.gateway.console.files import BUILT, read
from tests.console.test_words import FILES

CONSOLE = Path(__file__).parents[2] / "console"
LOCK: dict[str, Any] = json.loads((CONSOLE / "package-lock.json").read_text(encoding="utf-8"))
LICENCES = {
    "MIT",
    "ISC",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "BlueOak-1.0.0",
    "Python-2.0",
    "MPL-2.0",
    "(MIT OR CC0-1.0)",
}
MOST_BYTES = 400_000
_AS_HTML = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new Function|DOMParser"
)


@pytest.mark.parametrize("file", FILES)
def test_no_value_becomes_html_and_no_other_host_is_named(file: str) -> None:
    source = FILES[file]
    assert not _AS_HTML.search(source)
    assert not re.search(r"https?://|\bstyle=", source)


def test_packages_are_pinned_by_digest_and_say_nothing_of_where_they_came_from() -> None:
    wanted = json.loads((CONSOLE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values()), wanted
    packages = {name: each for name, each in LOCK["packages"].items() if name}
    assert {name: LOCK["packages"][f"node_modules/{name}"]["version"] for name in wanted} == wanted
    for name, each in packages.items():
        assert each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, name
        assert each["license"] in LICENCES, (name, each["license"])


def test_all_of_it_is_small() -> None:
    files = read(BUILT)
    assert files, "the console is not built; run make setup, which says why when it can't"
    assert sum(len(gzip.compress(each.plain.content)) for each in files.values()) < MOST_BYTES


def test_what_is_built_asks_nobody_else_and_has_no_style_or_script_of_its_own_in_the_page() -> None:
    files = read(BUILT)
    page = files["index.html"].plain.content.decode()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert loaded
    assert {each.removeprefix("./console/") for each in loaded} <= set(files)
    assert not re.search(r"<style|style=|<script(?![^>]* src=)", page)
    for name, each in files.items():
        assert not re.search(rb"url\(\s*['\"]?(?:https?:)?//|@import", each.plain.content), name
