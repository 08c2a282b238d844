"""What docs/debezium.md says, as the test has it."""

from collections.abc import Mapping
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "debezium.md"


def missing_lines(heading: str, expected: Mapping[str, tuple[str, str]]) -> list[str]:
    """Differences between a table of the page and what it must be: lines of `name | theirs | ours`, below a heading of it."""
    section = _PAGE.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2].partition("\n#")[0]
    found = [line for line in section.splitlines() if line.startswith("| `")]
    wanted = [f"| `{name}` | `{theirs}` | `{ours}` |" for name, (theirs, ours) in expected.items()]
    return [f"lacks {line}" for line in wanted if line not in found] + [f"has {line}" for line in found if line not in wanted]
