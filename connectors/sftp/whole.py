"""When a file of a server is whole, so that it is read, and what becomes of it when it was."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from connectors.object_store_source.listing import Found
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option


class When(Enum):
    """What says that a file is whole."""

    REST = "rest"
    MARKER = "marker"
    RENAME = "rename"


class After(Enum):
    """What becomes of a file that was read."""

    KEEP = "keep"
    DELETE = "delete"
    MOVE = "move"


WHOLE = (
    Option(
        "complete.when",
        "What says that a file is whole. rest: its size and its time were the same for `complete.rest`. marker: beside it there is "
        "a file with its name and `complete.marker`. rename: it is there; whoever writes it gives it its name when it is whole.",
        default="rest",
        choices=tuple(each.value for each in When),
    ),
    Option("complete.rest", "How long a file has to stay as it is with complete.when=rest.", Kind.DURATION, "10s", minimum=0.1),
    Option(
        "complete.marker",
        "What the name of a marker has behind that of its file. Files that end so are not read with complete.when=marker.",
        default=".done",
        check=lambda text: None if text and "/" not in text and text.isprintable() else "is no end of a name",
        fix="Write an end such as .done.",
    ),
    Option(
        "temporary.suffixes",
        "Files with names that end so are not whole, whatever else holds, with commas between them.",
        Kind.LIST,
        ".tmp,.part,.filepart",
    ),
)
"""When a file is whole."""

AFTER = (
    Option(
        "after.read",
        "What becomes of a file when the topic has all of it. move: into after.read.folder, below which it keeps its path.",
        default="keep",
        choices=tuple(each.value for each in After),
    ),
    Option(
        "after.read.folder",
        "The folder into which files are moved, below `path`: a name in it begins with an underscore or a point, such as _read.",
        default="",
        check=lambda text: _folder_problem(text) if text else None,
        fix="Write a folder below path such as _read: it is not read from.",
    ),
)
"""What becomes of a file that was read."""


def _folder_problem(folder: str) -> str | None:
    parts = folder.split("/")
    if not folder.isprintable() or any(part in ("", ".", "..") for part in parts):
        return "is no folder below path"
    return None if any(part[0] in "_." for part in parts) else "is read from, too: what is moved there would be read again"


def after_problems(config: Config) -> Iterable[Problem]:
    """What of AFTER and WHOLE does not go together."""
    moves = config["after.read"] == After.MOVE.value
    if moves and not config["after.read.folder"]:
        yield Problem("after.read.folder", "", "is not given, and after.read=move", "Set it to a folder such as _read.")
    if not moves and config["after.read.folder"]:
        fix = "Remove it, or set after.read=move."
        yield Problem(
            "after.read.folder", config["after.read.folder"], f"means nothing with after.read={config['after.read']}", fix
        )
    for key, when in (("complete.rest", When.REST), ("complete.marker", When.MARKER)):
        if key in config.raw and config["complete.when"] != when.value:
            fix = f"Remove it, or set complete.when={when.value}."
            yield Problem(key, config.raw[key], f"means nothing with complete.when={config['complete.when']}", fix)


@dataclass(frozen=True, slots=True)
class Rules:
    """What says that a file is whole, and what becomes of it.

    Attributes:
        when: See there.
        rest: Seconds for which a file has to stay as it is.
        marker: The end of the name of a marker.
        after: See there.
        folder: Into which files are moved.
    """

    when: When
    rest: float
    marker: str
    after: After
    folder: str

    def is_marker(self, name: str) -> bool:
        """Whether it is the name of a marker."""
        return self.when is When.MARKER and name.endswith(self.marker)


def rules_of(config: Config) -> Rules:
    """What a configuration says."""
    return Rules(
        When(config["complete.when"]),
        config["complete.rest"],
        config["complete.marker"],
        After(config["after.read"]),
        config["after.read.folder"],
    )


class Watch:
    """Which of the files that looks have found are whole.

    Args:
        rules: See there.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._since: dict[str, tuple[str, float]] = {}
        """By name the tag of a file, and when it was seen first so."""

    def whole(self, found: Sequence[Found], markers: set[str]) -> list[Found]:
        """Those of a look that are whole.

        Args:
            found: Without markers.
            markers: The names of all markers.
        """
        if self._rules.when is When.RENAME:
            return list(found)
        if self._rules.when is When.MARKER:
            return [each for each in found if f"{each.name}{self._rules.marker}" in markers]
        now = time.monotonic()
        known = {each.name: self._since.get(each.name, ("", now)) for each in found}
        self._since = {each.name: known[each.name] if known[each.name][0] == each.tag else (each.tag, now) for each in found}
        return [each for each in found if now - self._since[each.name][1] >= self._rules.rest]
