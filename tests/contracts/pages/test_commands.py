"""Commands that pages name are there."""

import re
from pathlib import Path

import pytest
import typer

from rocketconnect_cli.commands.root import app

ROOT = Path(__file__).parents[3]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
COMMANDS: dict[str, set[str] | None] = {
    name: set(command.commands) if isinstance(command, typer.core.TyperGroup) else None
    for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
}
"""Each command with its subcommands; None where it has none."""
_CODE = re.compile(r"`([^`\n]+)`|^\$ (.+)$", re.MULTILINE)
_WHOLE = re.compile(r"(?:^|[ /])(?:rocketconnect|rc) ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?![\w./])")
_SHORT = re.compile(rf"^({'|'.join(name for name, below in COMMANDS.items() if below)}) ([a-z][a-z-]*)(?= |$)")


def missing(text: str) -> list[str]:
    """The commands that it names as code and that are not there."""
    codes = ["".join(found) for found in _CODE.findall(text)]
    named = {pair for code in codes for pattern in (_WHOLE, _SHORT) for pair in pattern.findall(code)}
    return [
        f"{name} {below}".strip()
        for name, below in sorted(named)
        if name not in COMMANDS or (below and COMMANDS[name] is not None and below not in (COMMANDS[name] or ()))
    ]


def test_a_command_that_is_not_there_is_found() -> None:
    assert missing("`rocketconnect position show`, `position list` and `rocketconnect positions`") == [
        "position list",
        "position show",
        "positions",
    ]
    assert missing("```console\n$ rc connector create out\n$ rocketconnect topics\n```\n") == ["topics"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_is_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []
