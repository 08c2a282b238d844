"""The documents lead somewhere, and say what the code says."""

import re
from pathlib import Path

import pytest

from rocketconnect_sdk.plugins import loader
from scripts import monitoring, reference

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("README*.md")), ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(document: Path) -> set[str]:
    """What a link can name in it: its headings, as the sites that show Markdown make anchors of them, and what has an id."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(
        re.findall(r'<a id="([^"]+)">', text)
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_points_to_a_file_and_a_heading_that_exist(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)", document.read_text(encoding="utf-8"))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_reference_is_what_the_definitions_of_plugins_make() -> None:
    made, stored = reference.page().splitlines(), reference.PAGE.read_text(encoding="utf-8").splitlines()
    assert stored == made, "run `make reference`"


def test_the_page_about_watching_is_what_the_definitions_of_metrics_and_dashboards_make() -> None:
    assert monitoring.PAGE.read_text(encoding="utf-8").splitlines() == monitoring.page().splitlines(), "run `make reference`"


def test_the_reference_has_every_plugin_and_every_option() -> None:
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", reference.page(), re.MULTILINE | re.DOTALL))
    for plugin in loader.plugins():
        section = sections[plugin.name]
        assert plugin.summary in section.replace("\\", "")
        assert f"Version {plugin.package.version}." in section
        assert {f"`{alias}`" for alias in plugin.aliases} <= set(re.findall(r"`[^`]+`", section))
        named = [option.key for option in plugin.options]
        named += [option.key for signal in getattr(plugin, "signals", ()) for option in signal.arguments]
        named += list(getattr(loader.find(plugin.name), "defaults", {})) if plugin.type is loader.PluginType.SINK else []
        assert sorted(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)) == sorted(named)
