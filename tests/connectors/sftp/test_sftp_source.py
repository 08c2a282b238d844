import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from connectors.sftp.source import SftpSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.permissions.connections import HostRefused
from rocketconnect_sdk.polled import batches_of
from tests.connectors.object_store_source.gone_clock import HOUR, GoneClock
from tests.connectors.sftp.reading import SECONDS, Reading, reading
from tests.servers.files.openssh import OpenSsh

NONE = "SHA256:" + "a" * 43


@pytest.fixture
def folder(sftp_server: OpenSsh) -> Path:
    return sftp_server.made()


@pytest.fixture
def options(sftp_server: OpenSsh, folder: Path) -> dict[str, str]:
    return {**sftp_server.options(), "path": str(folder)}


def look(options: dict[str, str]) -> list[Problem]:
    return list(SftpSource().check(parse(SftpSource.options, {"format": "text", **options})))


def test_files_are_read_whatever_their_names_are_and_wherever_links_lead(folder: Path, options: dict[str, str]) -> None:
    names = [b"plain.txt", b"with blank 'and' \"quotes\".txt", b"no text \xff\xfe.txt", b"two\nlines.txt", "ü/ö.txt".encode()]
    (folder / "ü").mkdir()
    for each in names:
        Path(os.fsdecode(bytes(folder) + b"/" + each)).write_bytes(each.replace(b"\n", b" ")[:5] + b"\n")
    for hidden in ("_hidden.txt", ".hidden.txt", "half.txt.part"):
        (folder / hidden).write_text("no\n")
    (folder / "to a file").symlink_to("plain.txt")
    for name, target in (("circle", "circle"), ("above", "."), ("nowhere", "not there"), ("ü/above", "..")):
        (folder / name).symlink_to(target)
    with reading(SftpSource(), options | {"follow": "false"}) as run:
        assert sorted(map(str, run.to_end())) == ["no te", "plain", "plain", "two l", "with ", "ü/ö"]
    # Each of them is known again.
    with reading(SftpSource(), options | {"follow": "false"}, run.positions) as again:
        assert again.to_end() == []


def test_a_path_without_a_slash_is_below_the_folder_of_the_login(folder: Path, options: dict[str, str]) -> None:
    (folder / "a.txt").write_text("one\n")
    with reading(SftpSource(), options | {"path": folder.name}) as run:
        assert run.until(1) == ["one"]


def test_a_connection_that_is_cut_and_a_server_that_is_silent_are_waited_for(
    sftp_server: OpenSsh, folder: Path, options: dict[str, str]
) -> None:
    """In the middle of a file."""
    lines = [f"line {number} {'x' * 1000}" for number in range(20_000)]
    (folder / "a.txt").write_text("".join(f"{line}\n" for line in lines))
    before = sftp_server.sessions()
    with reading(SftpSource(), options | {"request.timeout": "0.5s"}) as run:
        run.until(1)
        cut = sftp_server.sessions() - before
        sftp_server.send(signal.SIGKILL, cut)
        with suppress(SystemAway):
            run.until(len(lines) // 2)
        run.until(len(lines) // 2)
        silent = sftp_server.sessions() - before - cut
        assert silent
        sftp_server.send(signal.SIGSTOP, silent)
        with pytest.raises(SystemAway, match=r"does not answer \(nothing came for 0\.5 s\)"):
            _until_error(run)
        sftp_server.send(signal.SIGKILL, silent)
        assert run.until(len(lines)) == lines


def _until_error(run: Reading) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        run.poll()


def test_a_file_is_whole_when_it_has_rested(folder: Path, options: dict[str, str]) -> None:
    growing = folder / "growing.txt"
    growing.write_text("one\n")
    with reading(SftpSource(), options | {"complete.when": "rest", "complete.rest": "0.3s", "follow": "false"}) as run:
        for number in range(5):
            with growing.open("a") as file:
                file.write(f"{number}\n")
            assert not run.poll()
            time.sleep(0.1)
        assert run.to_end() == ["one", *map(str, range(5))]


def test_a_file_is_whole_when_its_marker_is_there(folder: Path, options: dict[str, str]) -> None:
    (folder / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("b\n")
    (folder / "a.txt.ok").touch()
    with reading(SftpSource(), options | {"complete.when": "marker", "complete.marker": ".ok"}) as run:
        run.until(1)
        assert run.task.held_back.startswith("1 file waits for a marker, such as b.txt.ok")
        (folder / "b.txt.ok").touch()
        assert run.until(2) == ["a", "b"]
        assert run.task.held_back == ""


def test_a_file_is_deleted_when_the_topic_has_it_and_not_before(folder: Path, options: dict[str, str]) -> None:
    (folder / "a.txt").write_text("a\n")
    (folder / "a.txt.done").touch()
    wanted = options | {"complete.when": "marker", "after.read": "delete", "follow": "false"}
    with reading(SftpSource(), wanted) as run:
        run.until(1)
        for _ in range(5):
            run.poll()
        assert (folder / "a.txt").exists()
        assert not run.task.finished
        assert run.to_end() == ["a"]
        assert list(folder.iterdir()) == []


def test_what_was_left_at_an_end_is_made_up_for_and_what_took_its_place_is_read(folder: Path, options: dict[str, str]) -> None:
    """The topic had all of it, and the process died before it could be moved."""
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"{name}\n")
    wanted = options | {"after.read": "move", "after.read.folder": "_read", "follow": "false"}
    with reading(SftpSource(), wanted) as dying:
        dying.until(2)
        dying.poll()
    (folder / "b.txt").write_text("another one\n")
    (folder / "_read").mkdir()
    (folder / "_read" / "a.txt").write_text("what was moved before\n")
    for path in (folder / "_read", folder / "_read" / "a.txt"):
        path.chmod(0o777)
    with reading(SftpSource(), wanted, dying.positions) as run:
        assert run.to_end() == ["another one"]
    moved = sorted((path.name[:5], path.read_text()) for path in (folder / "_read").iterdir())
    assert moved == [("a.txt", "a.txt\n"), ("a.txt", "what was moved before\n"), ("b.txt", "another one\n")]
    assert [path.name for path in folder.iterdir()] == ["_read"]


def test_positions_of_files_that_were_read_and_deleted_are_forgotten_though_the_folder_is_empty(
    folder: Path, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = GoneClock(monkeypatch)
    (folder / "a.txt").write_text("a\n")
    with reading(SftpSource(), options | {"after.read": "delete"}) as run:
        run.until(1)
        run.poll()
        run.task.committed(run.positions)
        run.poll()
        assert list(folder.iterdir()) == []
        gone = []
        for hours in (0, 24):
            clock.now += hours * HOUR
            run.task._look()
            gone.append([batch.partition for batch in batches_of(run.task.poll()) if batch.gone])
        assert gone == [[], list(run.positions)]


def test_a_file_that_is_replaced_while_it_is_read_is_told_and_read_anew(
    folder: Path, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "a.txt").write_text(f"{'x' * 1000}\n" * 10_000)
    with reading(SftpSource(), options) as run:
        run.until(1)
        (folder / "a.txt").write_text("new\n")
        deadline = time.monotonic() + SECONDS
        while run.values[-1] != "new":
            assert time.monotonic() < deadline
            run.poll()
        assert len(run.values) < 10_000
    assert "a.txt was deleted or replaced while it was read" in caplog.text


def test_tasks_share_the_files(folder: Path, options: dict[str, str]) -> None:
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"{number}\n")
    config = parse(SftpSource.options, options | {"format": "text", "complete.when": "rename", "follow": "false"})
    tasks = SftpSource().plan(config, 3, {}).tasks
    found = []
    for share in tasks:
        run = Reading(SftpSource().open(config, share, TaskContext()))
        run.task.start({})
        found.append(run.to_end())
        run.task.close()
    assert sorted(int(str(value)) for values in found for value in values) == list(range(20))
    assert all(found)


@pytest.mark.slow
def test_ten_thousand_files_in_a_folder_are_found(folder: Path, options: dict[str, str]) -> None:
    for number in range(10_000):
        (folder / f"{number:05d}.txt").write_text(f"{number}\n")
    with reading(SftpSource(), options) as run:
        run.until(100)
        assert run.values == list(map(str, range(100)))
        left = run.task.remaining()
        assert left is not None
        assert left > 9_000


def test_a_server_that_nobody_knows_is_told_nothing_and_its_key_is_shown(sftp_server: OpenSsh, options: dict[str, str]) -> None:
    unknown = {key: value for key, value in options.items() if key != "host.fingerprint"}
    (only,) = look(unknown)
    assert only.key == "host.fingerprint"
    assert f"nothing says which server is the right one: it shows the key ssh-ed25519 {sftp_server.fingerprint}" in only.reason
    assert "ssh-keygen -lf" in only.fix
    (only,) = look(options | {"host.fingerprint": NONE})
    assert (only.key, only.is_warning) == ("host.fingerprint", False)
    assert sftp_server.fingerprint in only.reason
    with (
        reading(SftpSource(), options | {"host.fingerprint": NONE}) as run,
        pytest.raises(PermanentError, match=r"set host\.fingerprint to it"),
    ):
        run.poll()
    assert look(options) == []


def test_a_file_of_known_hosts_says_which_server_is_the_right_one(
    sftp_server: OpenSsh, options: dict[str, str], tmp_path: Path
) -> None:
    key = (sftp_server.folder / "host.pub").read_text()
    other = (sftp_server.folder / "user.pub").read_text()
    known = tmp_path / "known_hosts"
    wanted = {key: value for key, value in options.items() if key != "host.fingerprint"} | {"known.hosts": str(known)}
    known.write_text(f"elsewhere {other}[127.0.0.1]:{sftp_server.port} {key}")
    assert look(wanted) == []
    for line in (f"[127.0.0.1]:{sftp_server.port} {other}", f"@revoked * {key}[127.0.0.1]:{sftp_server.port} {key}", ""):
        known.write_text(line)
        (only,) = look(wanted)
        assert (only.key, only.is_warning) == ("host.fingerprint", False)
    known.write_text("alone")
    (only,) = look(wanted)
    assert only.key == "known.hosts"
    (only,) = look(wanted | {"known.hosts": str(tmp_path / "not there")})
    assert (only.key, "No such file" in only.reason) == ("known.hosts", True)


def test_what_is_wrong_with_the_server_the_user_and_the_folder_is_told(
    folder: Path, options: dict[str, str], tmp_path: Path
) -> None:
    (folder / "file").write_text("x")
    (folder / "closed").mkdir(mode=0o700 if os.geteuid() == 0 else 0)
    (tmp_path / "key").write_text("no key")
    for wrong, key, reason, is_warning in (
        ({"port": "1"}, "host", "does not answer", True),
        ({"path": f"{folder}/not there"}, "path", "is not there yet", True),
        ({"path": f"{folder}/file"}, "path", "is a file", False),
        ({"path": f"{folder}/closed"}, "path", "does not allow it (Permission denied)", False),
        ({"username": "somebody-else"}, "username", "does not know these keys", False),
        ({"private.key.location": str(tmp_path / "key")}, "private.key.location", "is no private key", False),
        ({"private.key.location": str(tmp_path / "gone")}, "private.key.location", "No such file", False),
        ({"private.key.location": ""}, "password", "is not given, and neither is a private key", False),
        ({"after.read": "move"}, "after.read.folder", "is not given", False),
        ({"after.read.folder": "_a"}, "after.read.folder", "means nothing with after.read=keep", False),
        ({"complete.marker": ".x"}, "complete.marker", "means nothing with complete.when=rest", False),
    ):
        found: Any = look(options | wrong)
        assert [(each.key, each.is_warning) for each in found[:1]] == [(key, is_warning)], (wrong, found)
        assert reason in found[0].reason


def test_a_file_that_may_not_be_read_fails_the_task(folder: Path, options: dict[str, str]) -> None:
    (folder / "a.txt").write_text("x\n")
    (folder / "a.txt").chmod(0o600 if os.geteuid() == 0 else 0)
    with reading(SftpSource(), options) as run, pytest.raises(PermanentError, match="does not allow it"):
        run.poll()


def test_a_host_that_connectors_may_not_speak_to_is_not_spoken_to(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        msg = "not there"
        raise HostRefused(msg)

    monkeypatch.setattr("socket.create_connection", refuses)
    with reading(SftpSource(), options) as run, pytest.raises(HostRefused):
        run.poll()


@pytest.mark.slow
def test_a_host_key_that_has_changed_fails_the_task(options: dict[str, str]) -> None:
    with OpenSsh().running() as server:
        folder = server.made()
        (folder / "a.txt").write_text("a\n")
        with reading(SftpSource(), {**server.options(), "path": str(folder)}) as run:
            run.until(1)
            sessions = server.sessions()
            server.kill()
            server.send(signal.SIGKILL, sessions)
            with pytest.raises(SystemAway):
                _until_error(run)
            server.new_host_key()
            server.start()
            with pytest.raises(ConnectorError, match="is not known to be the one") as told:
                _until_error(run)
            assert isinstance(told.value, PermanentError)
