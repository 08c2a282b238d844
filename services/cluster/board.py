"""The assignments as they were last made durable, and who listens to them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from services.cluster.model import Key
from services.cluster.view import AssignmentView

BACKLOG = 1000
"""Invariant 7: a listener that is further behind than so many units gets all of them anew instead."""


@dataclass(frozen=True, slots=True)
class Update:
    """What a listener has not seen yet; a snapshot replaces what it knew."""

    snapshot: bool
    assignments: tuple[AssignmentView, ...]
    removed: tuple[Key, ...]
    sequence: int


class Subscription:
    """What one listener has still to be told. `worker` limits it to what that worker holds; None: everything.

    Changes of one unit that were not taken yet become one: the listener is told how it is now.
    """

    def __init__(self, board: "Board", worker: str | None) -> None:
        self._board = board
        self._worker = worker
        self._behind: set[Key] | None = None
        self._told: set[Key] = set()
        self.ready = asyncio.Event()
        self.ready.set()

    def note(self, keys: Mapping[Key, AssignmentView | None]) -> None:
        """Remember that units have changed."""
        if self._behind is not None:
            self._behind.update(key for key, view in keys.items() if self._concerns(view) or key in self._told)
            if len(self._behind) > BACKLOG:
                self._behind = None
        if self._behind is None or self._behind:
            self.ready.set()

    def take(self) -> Update | None:
        """Return what the listener has not been told, a snapshot the first time; None: nothing."""
        self.ready.clear()
        views = self._board.views
        snapshot = self._behind is None
        behind = set(views) if self._behind is None else self._behind
        self._behind = set()
        shown = {key: view for key in behind if self._concerns(view := views.get(key)) and view is not None}
        removed = () if snapshot else tuple(sorted(key for key in behind - shown.keys() if key in self._told))
        self._told = set(shown) if snapshot else (self._told | shown.keys()) - set(removed)
        if not (snapshot or shown or removed):
            return None
        return Update(snapshot, tuple(shown[key] for key in sorted(shown)), removed, self._board.sequence)

    def _concerns(self, view: AssignmentView | None) -> bool:
        return view is not None and (self._worker is None or view.worker == self._worker)


class Board:
    """Shows assignments to any number of listeners. For one event loop."""

    def __init__(self) -> None:
        self.views: dict[Key, AssignmentView] = {}
        self.sequence = 0
        self._subscriptions: set[Subscription] = set()

    def publish(self, views: Mapping[Key, AssignmentView | None]) -> None:
        """Show units as they are now; None: gone. Only what is durable may be shown."""
        changed = {key: view for key, view in views.items() if self.views.get(key) != view}
        if not changed:
            return
        self.sequence += 1
        for key, view in changed.items():
            if view is None:
                del self.views[key]
            else:
                self.views[key] = view
        for subscription in self._subscriptions:
            subscription.note(changed)

    def replace_all(self, views: Mapping[Key, AssignmentView | None]) -> None:
        """Show these units and no others."""
        self.publish({key: views.get(key) for key in self.views.keys() | views.keys()})

    def subscribe(self, worker: str | None) -> Subscription:
        """Let somebody listen, until `unsubscribe`."""
        subscription = Subscription(self, worker)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription."""
        self._subscriptions.discard(subscription)
