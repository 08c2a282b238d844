from collections.abc import Sequence
from typing import Any

import pytest
from rocketconnect.state.v1 import state_service_pb2 as s

from rocketconnect_kit.settings import ServiceSettings
from services.exporter import dead_letters
from services.exporter.dead_letters import Keepers, Letters
from services.exporter.gateway import Gateway, NotTold, Query
from tests.services.exporter.test_families import samples

WAITING, OLDEST, KNOWN = (f"rocketconnect_dead_letters_{name}" for name in ("waiting", "oldest_timestamp_seconds", "known"))


class Told(Gateway):
    def __init__(self, said: Any) -> None:
        super().__init__("127.0.0.1:1", ServiceSettings(), 1.0)
        self.said = said

    def get(self, path: Sequence[str], query: Query) -> Any:
        assert (path, query) == (["connectors", "out", "deadLetters:count"], {})
        if isinstance(self.said, NotTold):
            raise self.said
        return self.said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"unreplayed": "3", "complete": True, "topic": "dead", "oldestTime": "2026-01-31T10:00:00.500Z"},
            Letters(keeps=True, waiting=3, oldest=1769853600.5),
        ),
        ({"unreplayed": "0", "complete": True}, Letters(keeps=True)),
        ({"unreplayed": "7", "complete": False}, Letters(keeps=True, waiting=7, is_all=False)),
        (NotTold("keeps none", "NO_DEAD_LETTER_TOPIC"), Letters(keeps=False)),
    ],
)
def test_what_the_gateway_says_is_understood(said: Any, expected: Letters) -> None:
    assert dead_letters.ask(Told(said), "out") == expected


def test_a_gateway_that_is_away_is_no_connector_without_letters() -> None:
    with pytest.raises(NotTold):
        dead_letters.ask(Told(NotTold("away")), "out")


def test_a_connector_that_keeps_none_is_asked_again_when_it_has_another_revision_or_is_another_one() -> None:
    def said(uid: str, revision: int) -> list[s.ConnectorState]:
        return [s.ConnectorState(connector="a", connector_uid=uid, revision=revision), s.ConnectorState(connector="b")]

    keepers, told = Keepers(), {"a": Letters(keeps=False), "b": Letters(keeps=True)}
    assert keepers.among(said("1", 4), {}) == {"a": ("1", 4), "b": ("", 0)}
    assert list(keepers.among(said("1", 4), told)) == ["b"]
    assert list(keepers.among(said("1", 4), {})) == ["b"]
    assert list(keepers.among(said("1", 5), {})) == ["a", "b"]
    # It was told of revision 5.
    assert list(keepers.among(said("1", 6), told)) == ["a", "b"]
    assert list(keepers.among(said("1", 6), told)) == ["b"]
    assert list(keepers.among(said("2", 6), {})) == ["a", "b"]


def test_what_waits_is_shown_and_what_nobody_knows_is_no_zero() -> None:
    known = {
        "a": Letters(keeps=True, waiting=2, oldest=5.0),
        "b": Letters(keeps=True),
        "c": Letters(keeps=True, waiting=9, oldest=6.0, is_all=False),
    }
    assert samples(dead_letters.shown(["a", "b", "c", "d"], known)) == {
        (WAITING, "a"): 2,
        (WAITING, "b"): 0,
        (WAITING, "c"): 9,
        (OLDEST, "a"): 5,
        (OLDEST, "c"): 6,
        (KNOWN, "a"): 1,
        (KNOWN, "b"): 1,
        (KNOWN, "c"): 0,
        (KNOWN, "d"): 0,
    }
