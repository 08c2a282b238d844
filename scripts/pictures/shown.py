"""Which pictures there are, and of what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs/monitoring"
MOST_BYTES = 60_000
"""Whoever reads the page loads all of them."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Some rows of a dashboard.

    Attributes:
        name: Of the file, without its end.
        dashboard: The name of its file, without its end.
        rows: The titles of the rows that are shown.
        caption: What is to be seen.
        variables: What the user has chosen, by the variable's name.
    """

    name: str
    dashboard: str
    rows: Sequence[str]
    caption: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def panels(self, dashboard: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """The panels of each row that is shown."""
        found: dict[str, list[dict[str, Any]]] = {}
        for panel in dashboard["panels"]:
            if panel["type"] == "row":
                row = found.setdefault(panel["title"], [])
            else:
                row.append(panel)
        return {title: found[title] for title in self.rows}

    def titles(self, dashboard: Mapping[str, Any]) -> str:
        """What is drawn, for who asks whether the picture is of today's dashboard; it stands in the file."""
        return "; ".join(panel["title"] for row in self.panels(dashboard).values() for panel in row)


PICTURES = (
    Picture(
        "overview",
        "overview",
        ("What is wrong", "What flows"),
        "One task has failed. Every hundredth line of `orders-in` becomes a dead letter. `clicks-out` was paused for a fifth of "
        "the time, fell behind, and caught up. Rates are those of the last five minutes, so all of them rise in the first five.",
    ),
    Picture(
        "connector",
        "connector",
        ("What is wrong", "What flows", "How far it is"),
        "The same pause of `clicks-out`: its messages waited, and what it delivered last grew old.",
        {"connector": "clicks-out"},
    ),
    Picture(
        "services",
        "services",
        ("What is wrong", "Calls", "Processes"),
        "The position service was killed after four and a half minutes; `rocketconnect up` started it again, and no task ended.",
    ),
)
