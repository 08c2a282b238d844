"""Files that grow under manifests: what the conformance suite of sinks does not reach."""

import errno
import itertools
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.files import AppendedFile, ManifestLog, Owner, StagedFile
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.targets.manifests import Manifest, manifest_from_json

LOG = logging.getLogger("test")
QUEUE = "topic/broker/0"


def owned(path: Path, *, uid: str = "uid", epoch: int = 1, generation: int = 1) -> AppendedFile:
    return AppendedFile(path, Owner(uid, generation, 0, epoch), LOG)


def batch(begin: int, end: int, uid: str = "uid") -> SinkCommit:
    before, after = {QUEUE: QueuePosition(begin)}, {QUEUE: QueuePosition(end)}
    return SinkCommit(uid, 0, 1, before, after, end - begin, f"{begin}-{end}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def test_what_was_there_before_stays_and_its_last_line_is_ended(path: Path) -> None:
    path.write_text("old\nhalf")
    file = owned(path)
    assert file.start() == {}
    file.append([b"new\n"], batch(0, 1), first=b"header\n")
    assert path.read_text() == "old\nhalf\nnew\n"


def test_a_header_stands_in_an_empty_file_only(path: Path) -> None:
    file = owned(path)
    file.start()
    file.append([b"a\n"], batch(0, 1), first=b"header\n")
    file.append([b"b\n"], batch(1, 2), first=b"header\n")
    assert path.read_text() == "header\na\nb\n"


def test_what_no_manifest_counts_is_cut_off_at_start(path: Path) -> None:
    file = owned(path)
    file.start()
    file.append([b"a\n"], batch(0, 1))
    with path.open("a") as out:
        out.write("an unfinished ba")
    assert owned(path, epoch=2).start() == {QUEUE: QueuePosition(1)}
    assert path.read_text() == "a\n"


def test_a_file_that_was_moved_away_is_begun_anew(path: Path) -> None:
    file = owned(path)
    file.start()
    file.append([b"a\n"], batch(0, 1))
    moved = path.with_name("moved")
    path.rename(moved)
    file.append([b"b\n"], batch(1, 2), first=b"header\n")
    assert (moved.read_text(), path.read_text()) == ("a\n", "header\nb\n")
    path.unlink()
    assert owned(path, epoch=2).start() == {QUEUE: QueuePosition(2)}


def test_staged_files_are_appended_in_order_and_removed(path: Path) -> None:
    file = owned(path)
    file.start()
    staged = []
    for name in ("x", "y"):
        (file.staged / name).write_bytes(name.encode() * 100_000 + b"\n")
        staged.append(StagedFile(str(file.staged / name), 100_001))
    file.append([staged[0], b"between\n", staged[1]], batch(0, 3))
    assert path.read_text() == "x" * 100_000 + "\nbetween\n" + "y" * 100_000 + "\n"
    assert list(file.staged.iterdir()) == []


def test_staged_files_of_another_file_system_are_appended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuses)
    file = owned(path)
    file.start()
    (file.staged / "x").write_bytes(b"x\n" * 1_000_000)
    file.append([StagedFile(str(file.staged / "x"), 2_000_000)], batch(0, 1))
    assert path.read_bytes() == b"x\n" * 1_000_000


def test_a_staged_file_that_is_too_short_fails_and_leaves_nothing(path: Path) -> None:
    file = owned(path)
    file.start()
    (file.staged / "x").write_bytes(b"x\n")
    with pytest.raises(Exception, match="has 2 bytes instead of 5"):
        file.append([b"before\n", StagedFile(str(file.staged / "x"), 5)], batch(0, 1))
    assert path.read_text() == ""


def test_what_an_earlier_owner_staged_is_removed_at_start(path: Path) -> None:
    file = owned(path)
    file.start()
    (file.staged / "left").write_text("over")
    owned(path, epoch=2).start()
    assert list(file.staged.iterdir()) == []


def test_another_connector_takes_the_file_over_and_the_old_one_stops(path: Path) -> None:
    old = owned(path, uid="old", epoch=7)
    old.start()
    old.append([b"a\n"], batch(0, 1, "old"))
    new = owned(path, uid="new", epoch=1)
    assert new.start() == {}
    with pytest.raises(PermanentError, match="Two connectors need two targets"):
        old.append([b"b\n"], batch(1, 2, "old"))
    new.append([b"c\n"], batch(0, 1, "new"))
    assert path.read_text() == "a\nc\n"


def test_a_manifest_that_was_cut_off_by_a_crash_never_happened(path: Path) -> None:
    file = owned(path)
    file.start()
    file.append([b"a\n"], batch(0, 1))
    hidden = path.parent / f".{path.name}.rocketconnect"
    newest = max(hidden.glob("*.json"))
    following = newest.with_name(f"{int(newest.stem) + 1:020d}.json")
    for wreck in (b"", newest.read_bytes()[:-20], bytes(100), b"{}\n", b"[]\n"):
        following.write_bytes(wreck)
        assert owned(path, epoch=2).start() == {QUEUE: QueuePosition(1)}
        for later in hidden.glob("*.json"):
            if later.stem > newest.stem:
                later.unlink()


def test_without_locks_the_loser_of_a_race_cuts_off_nothing_that_the_winner_wrote(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    old, new = owned(path), owned(path, epoch=2)
    old.start()
    old.append([b"0\n"], batch(0, 1))

    commit = old._manifests.commit

    def slow(*arguments: Any) -> Manifest:
        new.start()
        new.append([b"1\n", b"2\n"], batch(1, 3))
        return commit(*arguments)

    monkeypatch.setattr(old._manifests, "commit", slow)
    with pytest.raises(PermanentError, match="another owner was quicker"):
        old.append([b"1\n"], batch(1, 2))
    assert path.read_text() == "0\n1\n2\n"


def test_without_locks_a_new_owner_that_loses_the_race_for_its_claim_cuts_off_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    old, new = owned(path), owned(path, epoch=2)
    old.start()
    look = new._open

    def slow() -> int:
        old.append([b"0\n"], batch(0, 1))
        return look()

    monkeypatch.setattr(new, "_open", slow)
    with pytest.raises(PermanentError, match="another owner was quicker"):
        new.start()
    assert path.read_text() == "0\n"


def test_few_manifests_are_kept(path: Path) -> None:
    file = owned(path)
    file.start()
    for number in range(60):
        file.append([b"x\n"], batch(number, number + 1))
    assert len(list((path.parent / f".{path.name}.rocketconnect").glob("*.json"))) <= 20


def test_a_process_that_stopped_in_the_middle_of_a_write_is_waited_for(path: Path) -> None:
    stopped, other = owned(path), owned(path, epoch=2)
    stopped.start()
    with stopped._manifests.locked(), pytest.raises(SystemAway, match="in the middle of a write"):
        other.start()
    assert other.start() == {}


@pytest.mark.parametrize(
    ("spoil", "fix"), [(lambda path: path.mkdir(), "name a file"), (lambda path: path.parent.rmdir(), "create the directory")]
)
def test_what_only_people_can_mend_is_permanent_and_says_how(tmp_path: Path, spoil: object, fix: str) -> None:
    path = tmp_path / "in" / "out"
    path.parent.mkdir()
    spoil(path)  # type: ignore[operator]
    with pytest.raises(PermanentError, match=fix):
        owned(path).start()


def test_a_shared_log_keeps_the_queues_of_all_tasks(tmp_path: Path) -> None:
    logs = [ManifestLog(tmp_path / "log", Owner("uid", 3, task, 10 + task), exclusive=False) for task in range(3)]
    for log in logs:
        with log.locked() as newest:
            log.claim(newest, {})
    for task, log in enumerate(logs):
        queue = f"t/b/{task}"
        commit = SinkCommit("uid", task, 10 + task, {queue: QueuePosition(0)}, {queue: QueuePosition(5)}, 5, f"{task}")
        with log.locked() as newest:
            mine = log.mine(newest)
            assert not log.written(mine, commit)
            log.commit(mine, commit, {})
    with logs[0].locked() as newest:
        assert newest is not None
        assert newest.queues == {f"t/b/{task}": QueuePosition(5) for task in range(3)}
    later = ManifestLog(tmp_path / "log", Owner("uid", 4, 0, 1), exclusive=False)
    with later.locked() as newest:
        assert later.claim(newest, {}).queues.keys() == {f"t/b/{task}" for task in range(3)}
    for log in logs:
        with log.locked() as newest, pytest.raises(PermanentError):
            log.mine(newest)


def claimed(folder: Path, owner: Owner) -> ManifestLog:
    log = ManifestLog(folder, owner, exclusive=True)
    with log.locked() as newest:
        log.claim(newest, {})
    return log


def test_another_connector_at_the_same_target_is_named(tmp_path: Path) -> None:
    first = claimed(tmp_path / "log", Owner("u1", 1, 0, 1, "first"))
    claimed(tmp_path / "log", Owner("u2", 1, 0, 2, "second"))
    with first.locked() as newest, pytest.raises(PermanentError, match=r"the connector 'second' \(uid u2\) writes there now"):
        first.mine(newest)


def test_a_newer_run_of_the_same_connector_is_not_told_as_another_connector(tmp_path: Path) -> None:
    first = claimed(tmp_path / "log", Owner("u1", 1, 0, 1, "first"))
    claimed(tmp_path / "log", Owner("u1", 1, 0, 2, "first"))
    with first.locked() as newest, pytest.raises(PermanentError, match="a newer run of this connector writes there now"):
        first.mine(newest)


def test_a_manifest_of_a_version_that_did_not_say_the_name_is_read() -> None:
    form = Manifest(3, "u1", connector="first").to_json()
    assert manifest_from_json(form).connector == "first"
    del form["connector"]
    assert manifest_from_json(form) == Manifest(3, "u1")


def test_old_manifests_that_can_not_be_removed_cost_no_data(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch counts already when they are looked for: an error then must not undo it."""
    file = owned(path)
    file.start()
    file.append([b"0\n"], batch(0, 1))
    real, calls = os.listdir, itertools.count(1)

    def listdir(folder: str) -> list[str]:
        if next(calls) == 2:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(folder)

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", listdir)
        file.append([b"1\n"], batch(1, 2))
        assert next(calls) > 2
    file.append([b"2\n"], batch(2, 3))
    assert path.read_text() == "0\n1\n2\n"


@pytest.mark.parametrize(("text", "lines"), [("theirs\nand more\n", "2 lines"), ("theirs\nand", "2 lines"), ("x", "1 line")])
def test_what_is_cut_off_is_told_with_its_bytes_its_lines_and_its_place(
    path: Path, caplog: pytest.LogCaptureFixture, text: str, lines: str
) -> None:
    file = owned(path)
    file.start()
    file.append([b"mine\n"], batch(0, 1))
    with path.open("a") as other:
        other.write(text)
    owned(path, epoch=2).start()
    (record,) = [each for each in caplog.records if "cut off" in each.getMessage()]
    count = "1 byte is" if len(text) == 1 else f"{len(text)} bytes are"
    assert record.levelno == logging.WARNING
    told = f"{path}: {count} cut off, {lines} from byte 5 on: of a batch that was not finished, or that somebody else has appended"
    assert record.getMessage().startswith(told)
    assert "theirs" not in record.getMessage()
    assert path.read_bytes() == b"mine\n"


def test_what_others_append_between_two_batches_is_said_to_be_theirs(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = owned(path)
    file.start()
    with path.open("a") as other:
        other.write("theirs\n")
    file.append([b"mine\n"], batch(0, 1))
    (record,) = [each for each in caplog.records if "cut off" in each.getMessage()]
    assert "7 bytes are cut off, 1 line from byte 0 on: that somebody else has appended" in record.getMessage()
    assert path.read_bytes() == b"mine\n"
