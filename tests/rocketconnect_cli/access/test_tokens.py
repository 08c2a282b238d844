"""`rocketconnect token ...`."""

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.signing import public_key
from rocketconnect_kit.access.tokens import Identity, Tokens


def test_a_token_is_printed_once_and_lets_in_whoever_shows_it(tmp_path: Path) -> None:
    file = tmp_path / "callers"
    file.write_text("bob read certificate")
    made = CliRunner().invoke(app, ["token", "create", "alice", "--role", "write", "--file", str(file)])
    token = made.stdout.strip()
    assert (made.exit_code, token.count("\n")) == (0, 0)
    assert token not in file.read_text()
    assert Tokens([file]).who(f"Bearer {token}") == Identity("alice", Role.WRITE)
    listed = CliRunner().invoke(app, ["token", "list", "--file", str(file), "-o", "json"])
    assert json.loads(listed.stdout) == {
        "callers": [
            {"name": "alice", "role": "write", "shows": "token"},
            {"name": "bob", "role": "read", "shows": "certificate"},
        ],
        "problems": [],
    }


def test_a_file_that_is_made_is_read_by_its_owner_alone_and_a_second_token_of_a_name_is_told(tmp_path: Path) -> None:
    file = tmp_path / "callers"
    words = ["token", "create", "alice", "--file", str(file)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 0
    assert "has another line for alice: delete it to take that token back" in again.stderr.replace("\n", " ")
    assert len(file.read_text().splitlines()) == 2


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    file = tmp_path / "callers"
    wrong = CliRunner().invoke(app, ["token", "create", "a b", "--file", str(file)])
    assert (wrong.exit_code, file.exists()) == (2, False)
    file.write_text("alice admin sha256:0\n")
    listed = CliRunner().invoke(app, ["token", "list", "--file", str(file)])
    assert listed.exit_code == 2
    assert "'admin' is no role" in listed.stderr.replace("\n", " ")


def test_a_service_has_a_line_for_services_and_one_for_executors(tmp_path: Path) -> None:
    file, token_file, other = tmp_path / "callers", tmp_path / "token", tmp_path / "executors"
    token = CliRunner().invoke(app, ["token", "create", "gateway", "--role", "service", "--file", str(file)]).stdout.strip()
    of_services, of_executors = file.read_text().splitlines()
    assert of_services.startswith("gateway service sha256:")
    assert of_executors == f"gateway service ed25519:{public_key(token)}"
    token_file.write_text(f"{token}\n")
    made = CliRunner().invoke(app, ["token", "key", "gateway", str(token_file), "--file", str(other)])
    assert (made.exit_code, made.stdout.split(), other.read_text().splitlines()) == (0, of_executors.split(), [of_executors])
    listed = CliRunner().invoke(app, ["token", "list", "--file", str(other), "-o", "json"])
    assert json.loads(listed.stdout)["callers"] == [{"name": "gateway", "role": "service", "shows": "signature"}]
    for wrong in (tmp_path / "nothing", tmp_path / "empty"):
        (tmp_path / "empty").write_text("\n")
        refused = CliRunner().invoke(app, ["token", "key", "gateway", str(wrong), "--file", str(other)])
        assert (refused.exit_code, "Give the file with the token" in " ".join(refused.stderr.split())) == (2, True)
    assert other.read_text().splitlines() == [of_executors]


def test_a_token_that_lasts_for_a_time_is_listed_with_its_end(tmp_path: Path) -> None:
    file = tmp_path / "callers"
    words = ["token", "create", "alice", "--lasts", "1d", "--file", str(file), "-o", "json"]
    made = json.loads(CliRunner().invoke(app, words).stdout)
    ends = datetime.fromisoformat(made["until"])
    assert timedelta(hours=23) < ends - datetime.now(UTC) <= timedelta(days=1)
    assert Tokens([file]).who(f"Bearer {made['token']}") == Identity("alice", Role.READ, ends)
    listed = json.loads(CliRunner().invoke(app, ["token", "list", "--file", str(file), "-o", "json"]).stdout)
    assert listed["callers"] == [{"name": "alice", "role": "read", "shows": "token", "until": made["until"]}]
    wrong = CliRunner().invoke(app, ["token", "create", "bob", "--lasts", "9999999999d", "--file", str(file)])
    assert (wrong.exit_code, "is too long" in " ".join(wrong.stderr.split())) == (2, True)
    assert "bob" not in file.read_text()
