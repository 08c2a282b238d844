"""Commits of one task, one after the other, to a service whose answers can be lost."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from services.executor.runtime.positions.client import PositionClient, PositionsAway
from services.executor.runtime.positions.committer import Committer
from services.executor.runtime.positions.stored import Stored


class Call:
    def done(self) -> bool:
        return True

    def add_done_callback(self, woken: Callable[[object], None]) -> None:
        woken(self)


class Client:
    """Remembers what was sent; the first answers are lost."""

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self.sent: list[tuple[dict[str, Stored], bool]] = []

    def commit(self, updates: Mapping[str, Stored], *, clean: bool = False, seconds: float = 0.0) -> Call:
        self.sent.append((dict(updates), clean))
        return Call()

    def settled(self, _call: Call, _updates: Mapping[str, Stored]) -> None:
        if self.lost:
            self.lost -= 1
            raise PositionsAway("no answer")


def committer(client: Client, stored: list[Mapping[str, Stored]]) -> Committer:
    return Committer(cast("PositionClient", cast("Any", client)), 0.0, lambda: None, stored.append)


@pytest.mark.parametrize("clean", [False, True])
def test_a_commit_whose_outcome_is_not_known_is_sent_again_as_it_was_before_anything_newer(clean: bool) -> None:
    client, stored = Client(lost=2), list[Mapping[str, Stored]]()
    commits = committer(client, stored)
    commits.put({"p": Stored((1,))})
    commits.poll()
    commits.put({"p": Stored((2,)), "q": Stored((7,))})
    assert commits.flush(float("inf"), clean=clean)
    older, newer = {"p": Stored((1,))}, {"p": Stored((2,)), "q": Stored((7,))}
    assert client.sent == [(older, False), (older, False), (older, False), (newer, clean)]
    assert stored == [older, newer]
    assert commits.idle


def test_a_clean_end_is_told_also_when_everything_is_stored() -> None:
    client = Client(lost=1)
    assert committer(client, []).flush(float("inf"), clean=True)
    assert client.sent == [({}, True), ({}, True)]
