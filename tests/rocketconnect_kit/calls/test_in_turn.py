"""Questions that any one of several servers can answer."""

import pytest

from rocketconnect_kit.calls.in_turn import NobodyAnswers, Peer, ask_in_turn
from rocketconnect_kit.errors import NotFound, Unavailable

PEERS = [Peer(f"worker-{number}", f"10.0.0.{number}:9000") for number in range(100)]


async def test_the_first_that_answers_is_the_last_that_is_asked() -> None:
    asked = []

    async def ask(peer: Peer) -> str:
        asked.append(peer.id)
        if len(asked) < 3:
            raise Unavailable("UNAVAILABLE", "nobody is there")
        return peer.id

    assert await ask_in_turn(PEERS, ask) == "worker-2"
    assert asked == ["worker-0", "worker-1", "worker-2"]


async def test_an_answer_that_is_an_error_is_the_answer() -> None:
    async def ask(_: Peer) -> str:
        raise NotFound("PLUGIN_NOT_FOUND", "there is none")

    with pytest.raises(NotFound):
        await ask_in_turn(PEERS, ask)


async def test_what_a_hundred_silent_peers_said_fits_into_the_header_of_an_answer() -> None:
    async def ask(_: Peer) -> str:
        raise Unavailable("UNAVAILABLE", "failed to connect to all addresses; " + "x" * 200)

    with pytest.raises(NobodyAnswers) as error:
        await ask_in_turn(PEERS, ask)
    assert len(str(error.value)) < 2_000
    assert "worker-0 at 10.0.0.0:9000: failed to connect" in str(error.value)
    assert str(error.value).endswith("and 95 more")
