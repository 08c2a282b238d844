"""What an apply would do: files against what is stored. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rocketconnect_cli.documents.difference import KeyChange, difference
from rocketconnect_cli.documents.reading import Document, Problem
from rocketconnect_cli.shown import wanted_state
from rocketconnect_sdk.translations import translated


class Action(StrEnum):
    """What is done with a connector."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    UNCHANGED = "unchanged"


SIGNS = {Action.CREATE: "+", Action.UPDATE: "~", Action.DELETE: "-", Action.UNCHANGED: "="}


@dataclass(frozen=True, slots=True)
class Step:
    """What is done with one connector.

    Attributes:
        action: What.
        name: Its name.
        place: Where the file says so; "" for a delete.
        config: What is wanted; of a delete, what is there.
        changes: The keys that change.
        wanted_state: What to want from now on; "" leaves it.
        stored: The connector as it is; empty for a create.
    """

    action: Action
    name: str
    place: str
    config: Mapping[str, str]
    changes: Sequence[KeyChange]
    wanted_state: str
    stored: Mapping[str, Any]

    def lines(self) -> list[str]:
        """As people read it."""
        where = f" (from {self.place})" if self.place else f" (uid {self.stored.get('uid', '')})"
        lines = [f"{SIGNS[self.action]} {self.action} {self.name}{where}"]
        if self.action in (Action.CREATE, Action.UPDATE):
            lines += [f"    {line}" for change in self.changes for line in change.lines()]
        if self.wanted_state:
            before = f"{wanted_state(dict(self.stored))} -> " if self.stored else ""
            lines.append(f"    wanted: {before}{self.wanted_state}")
        return lines

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "action": str(self.action),
            "name": self.name,
            "place": self.place,
            "changes": [change.document() for change in self.changes],
            "wantedState": self.wanted_state,
        }


def plan(
    documents: Sequence[Document], connectors: Sequence[dict[str, Any]], apply_set: str, *, prune: bool
) -> tuple[list[Step], list[Problem]]:
    """The steps, the deletes last; and what forbids them.

    Args:
        documents: What the files want.
        connectors: What there is.
        apply_set: The set that the files are; "" for none.
        prune: Delete connectors that were created from this set and are in no file any more.
    """
    there = {connector["name"]: connector for connector in connectors}
    problems = [
        {
            "key": f"{document.place}: {document.name}",
            "reason": f"belongs to the set {there[document.name]['applySet']!r}",
            "fix": f"Apply it there, or take it out of the files of the set {apply_set!r}.",
        }
        for document in documents
        if document.name in there and apply_set and there[document.name].get("applySet") not in ("", apply_set)
    ]
    steps = [_step(document, there.get(document.name)) for document in documents]
    if prune and apply_set:
        names = {document.name for document in documents}
        # Only what an apply of this very set has created: never what somebody made by hand, nor another set's.
        steps += [_delete(each) for each in connectors if each.get("applySet") == apply_set and each["name"] not in names]
    return steps, problems


def _step(document: Document, stored: dict[str, Any] | None) -> Step:
    # What is stored of the configuration of another system's connector is ours.
    config = translated(document.config).config
    if stored is None:
        changes = difference({}, config)
        return Step(Action.CREATE, document.name, document.place, document.config, changes, document.wanted_state, {})
    changes = difference(stored["config"], config)
    wanted = document.wanted_state if document.wanted_state != wanted_state(stored) else ""
    action = Action.UPDATE if changes or wanted else Action.UNCHANGED
    return Step(action, document.name, document.place, document.config, changes, wanted, stored)


def _delete(stored: dict[str, Any]) -> Step:
    return Step(Action.DELETE, stored["name"], "", stored["config"], difference(stored["config"], {}), "", stored)
