"""Calls that are signed for one receiver."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.signing import SIGNED, VALID_SECONDS, Signer, WrongCall, is_signed, public_key, signer_of
from rocketconnect_kit.access.tokens import Identity, OwnToken, Tokens, digest, key_line, line, new_token

HERE, METHOD, ASKED_BY, NOW = "worker-1:8091", "/rocketconnect.topic.v1.TopicService/PeekTopic", "read bob", 1_000_000.0


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    (tmp_path / "token").write_text(new_token())
    return Signer(OwnToken(tmp_path / "token"), HERE, lambda: NOW)


@pytest.fixture
def tokens(tmp_path: Path, signer: Signer) -> Tokens:
    (tmp_path / "callers").write_text(key_line("gateway", Role.SERVICE, public_key((tmp_path / "token").read_text())))
    return Tokens([tmp_path / "callers"])


def who(shown: str | None, tokens: Tokens, **other: Any) -> Identity:
    assert shown is not None
    given = {"method": METHOD, "asked_by": ASKED_BY, "address": HERE, "now": NOW, **other}
    return signer_of(shown, known=tokens.signer, **given)


def test_who_signs_is_known_by_the_public_half_of_a_key_and_shows_no_token(signer: Signer, tokens: Tokens, tmp_path: Path) -> None:
    shown = signer.header(METHOD, ASKED_BY)
    assert who(shown, tokens) == Identity("gateway", Role.SERVICE)
    token, file = (tmp_path / "token").read_text(), (tmp_path / "callers").read_text()
    said = "".join(map(str, (shown, _said(shown))))
    for secret in (token, digest(token)):
        assert secret not in said + file
    # To whoever asks for a token it is none.
    assert is_signed(shown)
    (tmp_path / "callers").write_text(file + line("gateway", Role.SERVICE, token))
    assert tokens.who(shown) is None


def test_another_token_of_the_file_is_another_key_and_one_that_is_taken_back_is_none(
    signer: Signer, tokens: Tokens, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("the next one")
    with pytest.raises(WrongCall, match="nobody has the key"):
        who(signer.header(METHOD, ASKED_BY), tokens)
    with (tmp_path / "callers").open("a") as file:
        file.write(key_line("gateway-2", Role.SERVICE, public_key("the next one")))
    assert who(signer.header(METHOD, ASKED_BY), tokens) == Identity("gateway-2", Role.SERVICE)
    (tmp_path / "callers").write_text("")
    with pytest.raises(WrongCall, match="nobody has the key"):
        who(signer.header(METHOD, ASKED_BY), tokens)
    assert Signer(OwnToken(None), HERE).header(METHOD, ASKED_BY) is None


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"address": "worker-9:8091"}, "it is signed for 'worker-1:8091', and this is 'worker-9:8091'"),
        ({"method": "/rocketconnect.topic.v1.TopicService/DeleteTopic"}, "for another call"),
        ({"asked_by": ""}, "for another call"),
        ({"asked_by": "write bob"}, "for another call"),
        ({"now": NOW + VALID_SECONDS + 1}, "does not count now: the clocks of 'gateway'"),
        ({"now": NOW - VALID_SECONDS - 1}, "does not count now"),
    ],
)
def test_what_is_signed_counts_for_one_receiver_one_call_and_a_while(
    signer: Signer, tokens: Tokens, other: dict[str, Any], why: str
) -> None:
    with pytest.raises(WrongCall, match=why):
        who(signer.header(METHOD, ASKED_BY), tokens, **other)


def _said(shown: str | None) -> dict[str, Any]:
    assert shown is not None
    payload = shown.partition(" ")[2].partition(".")[0]
    said: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return said


def _changed(shown: str, change: Callable[[dict[str, Any]], object]) -> str:
    said = _said(shown)
    change(said)
    payload = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    return f"{SIGNED} {payload}.{shown.rpartition('.')[2]}"


def test_whoever_has_seen_what_was_signed_makes_nothing_else_of_it(signer: Signer, tokens: Tokens) -> None:
    shown = signer.header(METHOD, ASKED_BY)
    assert shown is not None
    stranger = public_key("token of a stranger")
    wrong = [
        _changed(shown, lambda said: said.update(to="worker-9:8091")),
        _changed(shown, lambda said: said.update(until=NOW + 1_000)),
        _changed(shown, lambda said: said.update(until="later")),
        _changed(shown, lambda said: said.pop("until")),
        _changed(shown, lambda said: said.update(key=stranger)),
        _changed(shown, lambda said: said.update(key=1)),
        shown[:-4],
        shown + "é",
        shown.rpartition(".")[0],
        f"{SIGNED} bnVsbA.bnVsbA",
        f"{SIGNED} .",
        SIGNED,
    ]
    for each in wrong:
        with pytest.raises(WrongCall):
            who(each, tokens)
