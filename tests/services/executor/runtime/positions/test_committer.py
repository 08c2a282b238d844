import time
from collections.abc import Mapping
from typing import Any

from services.executor.runtime.positions.client import PositionsAway
from services.executor.runtime.positions.committer import Committer
from services.executor.runtime.positions.stored import Stored


class Answer:
    def add_done_callback(self, call: Any) -> None:
        del call


class Service:
    """Fails until it was called so often, and whenever it is given less than a tenth of a second."""

    def __init__(self, away: int) -> None:
        self._away = away
        self._seconds = 0.0

    def commit(self, updates: Mapping[str, Stored], *, clean: bool, seconds: float) -> Answer:
        del updates, clean
        self._seconds = seconds
        return Answer()

    def settled(self, call: Answer, updates: Mapping[str, Stored]) -> None:
        del call, updates
        self._away -= 1
        if self._away >= 0 or self._seconds < 0.1:
            msg = "it is away"
            raise PositionsAway(msg)


def test_who_flushes_for_a_moment_again_and_again_stores_when_the_service_is_back_however_long_it_was_away() -> None:
    stored: list[Mapping[str, Stored]] = []
    committer = Committer(Service(away=7), 1.0, lambda: None, stored.append)  # type: ignore[arg-type]
    committer.put({"p": Stored((1,), 0)})
    tries = 0
    while not committer.flush(time.monotonic() + 0.5):
        tries += 1
        assert tries < 20, committer.trouble
    assert stored == [{"p": Stored((1,), 0)}]
