"""What `rocketconnect dlq replay` tells of letters that it has sent: whether the sink took them, or they came back."""

from collections.abc import Mapping
from typing import Any

import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.commands.dead_letters import returning
from rocketconnect_cli.commands.dead_letters.returning import followed, returned, told_of_return

BACK = {"id": "b:0:9", "cameBackFrom": "b:0:7", "error": "RecordError", "message": "the column `v` is a number\nmore"}


class Told(Api):
    """Answers as the services would.

    Args:
        places: Where the sink is in its replay queue, at one look after the other.
        back: What came back in the end.
        state: Of the sink.
    """

    def __init__(self, places: list[int], back: list[dict[str, str]], state: str = "STATE_RUNNING") -> None:
        self._places, self._back, self._state = places, back, state

    def request(self, method: str, path: str, **_: Any) -> dict[str, Any]:
        if path.endswith("/state"):
            return {"state": {"state": self._state}}
        assert path.endswith("/replays/r")
        return {"sent": "2", "done": True, "returned": str(len(self._back)), "returnedLetters": self._back}

    def pages(self, path: str, *_: Any, **__: Any) -> Any:
        assert path.endswith("/positions")
        place = self._places.pop(0) if len(self._places) > 1 else self._places[0]
        return [{"partition": "back/b/0", "offset": f"[{place}]"}, {"partition": "t/b/0", "offset": "[1]"}]


def found(client: Api, **more: Any) -> Mapping[str, Any]:
    return followed(client, "out", "r", {"sent": "2", "returned": "0", "done": True, "ends": {"back/b/0": "5"}, **more})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returning, "_PAUSE", 0)
    monkeypatch.setattr(returning, "_LONGEST", 0.2)


def test_it_waits_for_the_sink_and_says_that_it_took_them() -> None:
    done = found(Told([3, 4, 5], []))
    assert (done["taken"], told_of_return("out", done), returned(done)) == (True, "; out took them", [])


def test_what_came_back_is_told_with_what_it_was_and_why() -> None:
    done = found(Told([5], [BACK]))
    assert told_of_return("out", done) == "; 1 of them came back: out fails at it again"
    (table,) = returned(done)
    assert [[str(cell) for cell in column.cells] for column in table.columns] == [  # type: ignore[union-attr]
        ["b:0:7"],
        ["b:0:9"],
        ["RecordError"],
        ["the column `v` is a number"],
    ]
    assert told_of_return("out", {**done, "sent": "1"}) == "; it came back: out fails at it again"


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED", "FAILED"])
def test_a_sink_that_does_not_go_on_is_not_waited_for(state: str) -> None:
    done = found(Told([4], [], f"STATE_{state}"))
    told = f"; what comes back is not known yet (out is {state}): `rocketconnect dlq list out` shows it"
    assert (done["taken"], told_of_return("out", done)) == (False, told)


def test_a_sink_that_takes_longer_is_said_to_and_what_came_back_until_then_is_told() -> None:
    done = found(Told([4], [BACK]))
    told = (
        "; 1 of them came back: out fails at it again; what else comes back is not known yet (out has not come to all of them in "
    )
    assert told_of_return("out", done).startswith(told)


def test_where_nobody_knows_who_reads_them_nothing_is_said() -> None:
    done = found(Told([0], []), ends={})
    assert (told_of_return("out", done), returned(done)) == ("", [])
