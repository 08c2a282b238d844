"""The file of callers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import Identity, OwnToken, Tokens, digest, key_line, line, new_token, parse


def test_a_caller_is_known_by_its_token_of_which_the_file_has_the_hash_alone(tmp_path: Path) -> None:
    token, file = new_token(), tmp_path / "callers"
    file.write_text("# people\n\n" + line("alice", Role.WRITE, token) + "bob read certificate\n")
    assert token not in file.read_text()
    tokens = Tokens([file])
    assert tokens.who(f"Bearer {token}") == tokens.who(f"bearer  {token} ") == Identity("alice", Role.WRITE)
    assert tokens.who(None, "bob") == Identity("bob", Role.READ)
    for shown, certificate in (
        (None, ""),
        (None, "alice"),
        ("", ""),
        ("Bearer", ""),
        ("Bearer ", ""),
        (token, ""),
        ("Basic x", ""),
    ):
        assert tokens.who(shown, certificate) is None
    # What the file has is no token, and whoever shows a wrong one is not somebody else by a certificate.
    assert tokens.who(f"Bearer {digest(token)}") is None
    assert tokens.who("Bearer wrong", "bob") is None


def test_tokens_are_long_and_never_the_same() -> None:
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert min(map(len, made)) > 40


def test_each_wrong_line_is_told_lets_nobody_in_and_shows_no_token() -> None:
    token = new_token()
    lines = [
        f"alice write {token}",
        "bob",
        f"c d write sha256:{'0' * 64}",
        f"carol admin sha256:{'1' * 64}",
        f"dave read sha256:{'2' * 63}",
        f"-e read sha256:{'3' * 64}",
        f"erin read sha256:{'4' * 64}",
        f"frank write sha256:{'4' * 64}",
    ]
    known = parse("\n".join(lines))
    assert list(known.by_digest.values()) == [Identity("erin", Role.READ)]
    assert [problem.partition(":")[0] for problem in known.problems] == [f"line {number}" for number in (1, 2, 3, 4, 5, 6, 8)]
    assert "'admin' is no role: write read, write, service, worker" in known.problems[3]
    assert "the token of another line" in known.problems[-1]
    assert token not in str(known.problems)


def test_a_file_that_changes_counts_at_once_and_one_that_is_gone_lets_nobody_in(tmp_path: Path) -> None:
    first, second, file = new_token(), new_token(), tmp_path / "callers"
    file.write_text(line("alice", Role.READ, first))
    more = tmp_path / "more"
    more.write_text(line("up", Role.READ, "own"))
    tokens = Tokens([file, more])
    assert tokens.who(f"Bearer {first}") is not None
    file.write_text(line("alice", Role.WRITE, second))
    assert tokens.who(f"Bearer {first}") is None
    assert tokens.who(f"Bearer {second}") == Identity("alice", Role.WRITE)
    file.unlink()
    assert tokens.who(f"Bearer {second}") is None
    assert tokens.who("Bearer own") == Identity("up", Role.READ)
    file.write_text(line("alice", Role.READ, first))
    assert tokens.who(f"Bearer {first}") == Identity("alice", Role.READ)


def test_the_own_token_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    assert OwnToken(None).header() is None
    file = tmp_path / "token"
    file.write_text("one\n")
    own = OwnToken(file)
    assert own.header() == "Bearer one"
    file.write_text("another\n")
    assert own.header() == "Bearer another"
    file.unlink()
    assert own.header() == "Bearer another"


@pytest.mark.parametrize("name", ["", "a b", "#x", "x\ny", "a" * 129])
def test_a_name_that_a_line_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="use 1 to 128 letters"):
        line(name, Role.READ, "token")


def test_who_has_an_end_is_not_known_from_then_on_and_a_line_without_a_time_lets_nobody_in(tmp_path: Path) -> None:
    end, file = datetime(2026, 12, 31, 12, tzinfo=UTC), tmp_path / "callers"
    lines = line("alice", Role.WRITE, "a", end) + key_line("gateway", Role.SERVICE, "1" * 64, end)
    wrong = [f"{name} read certificate {word}\n" for name, word in (("c", "until=2026-12-31"), ("d", "2026-12-31T00:00:00Z"))]
    file.write_text(lines + "bob read certificate until=2026-12-31T13:00:00+01:00\n" + "".join(wrong))
    now = [end - timedelta(seconds=1)]
    tokens = Tokens([file], lambda: now[0])
    assert tokens.who("Bearer a") == Identity("alice", Role.WRITE, end)
    assert tokens.who(None, "bob") == Identity("bob", Role.READ, end)
    assert tokens.signer("1" * 64) == Identity("gateway", Role.SERVICE, end)
    now[0] = end
    assert (tokens.who("Bearer a"), tokens.who(None, "bob"), tokens.signer("1" * 64)) == (None, None, None)
    fix = "the fourth word is no time with a zone; write until=2026-12-31T00:00:00Z, or leave it out"
    assert tokens.known()[0].problems == (f"line 4: {fix}", f"line 5: {fix}")
