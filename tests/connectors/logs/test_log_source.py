"""Records of several lines while a file grows and is rotated, and what a configuration gets wrong."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from connectors.file_source import task as file_task
from connectors.file_source.rotation import copies
from connectors.file_source.rotation.dealing import Dealing
from connectors.file_source.rotation.formers import Formers
from connectors.logs.log_source import LogSource
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Position, Rejected
from tests.connectors.logs.following import Following

GATHERED = {"multiline_start": r"^\d"}


def append(path: Path, data: str) -> None:
    with path.open("a") as file:
        file.write(data)


def test_a_record_waits_for_the_lines_that_may_go_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    append(path, "1 one\n  more\n2 tw")
    file = Following(path, {}, **GATHERED)
    assert file.read() == []
    append(path, "o\n")
    assert file.read() == ["1 one\n  more"]
    append(path, "  goes on\n")
    assert file.read(4.9) == []
    assert file.task.remaining() == 0
    assert file.read(6.0) == ["2 two\n  goes on"]
    assert file.headers == [{"log.file.path": str(path)}] * 2
    append(path, "  later\n3")
    assert file.read() == []
    assert file.read(6.0) == ["  later"], "what has no newline waits for it"
    append(path, "\n")
    assert file.again().read(100.0) == ["3"]


def test_without_a_timeout_a_record_waits_for_the_next_one_and_nothing_says_that_its_line_has_no_end(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    append(path, "1 one\n  more\n")
    file = Following(path, {}, multiline_timeout="0s", **GATHERED)
    assert file.read() == file.read(1000.0) == []
    assert (file.task.held_back, file.task.remaining()) == ("", 0)
    append(path, "2\n")
    assert file.again().read() == ["1 one\n  more"]


@pytest.mark.parametrize("timeout", ["0s", "5s"])
@pytest.mark.parametrize("rotate", ["rename", "copytruncate", "truncate", "rename-gzip"])
@pytest.mark.parametrize("looking", [True, False])
def test_a_record_that_waits_is_there_once_when_its_file_is_rotated(
    tmp_path: Path, rotate: str, looking: bool, timeout: str
) -> None:
    path = tmp_path / "app.log"
    append(path, "1 one\n2 two\n  more\n")
    file = Following(f"{path}*", {}, multiline_timeout=timeout, **GATHERED)
    assert file.read() == ["1 one"]
    if not looking:
        file.task.close()
    rotated = tmp_path / "app.log.1"
    if rotate.startswith("rename"):
        path.rename(rotated)
    elif rotate == "copytruncate":
        shutil.copyfile(path, rotated)
    if rotate == "rename-gzip" and not looking:
        (tmp_path / "app.log.1.gz").write_bytes(gzip.compress(rotated.read_bytes()))
        rotated.unlink()
    if "truncate" in rotate:
        os.truncate(path, 0)
    append(path, "3 new\n4 newer\n")
    if not looking:
        file = file.again()
    found = file.read() + file.read() + file.read(310.0) + file.read(310.0)
    held = [] if rotate == "truncate" and not looking else ["2 two\n  more"]
    # What nothing but a next record ends waits where it is.
    left = ["4 newer"] if timeout == "0s" else []
    if timeout == "0s" and (
        rotate == "rename" or (rotate == "rename-gzip" and looking) or (rotate == "copytruncate" and not looking)
    ):
        left += held
    assert sorted([*found, *left]) == sorted([*held, "3 new", "4 newer"])
    assert file.again().read(310.0) == []


def test_lines_become_no_more_than_a_message_holds_and_all_of_them_are_there(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    lines = ["1 begins", *(f"  {number} {'x' * 90}" for number in range(30)), "2 next"]
    append(path, "".join(f"{line}\n" for line in lines) + "y" * 5000)
    file = Following(path, {}, **GATHERED)
    found = file.read()
    append(path, "\n3\n4\n")
    *texts, long, last = found + file.read()
    assert "\n".join(texts).split("\n") == lines
    assert len(texts) == 4
    assert all(len(text) <= 1000 for text in texts)
    assert isinstance(long, Rejected)
    assert (long.error, long.length) == ("RecordTooLarge", 5000)
    assert last == "3"


def test_packed_logs_are_no_logs_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("one\n")
    (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(b"old\n"))
    (tmp_path / "app.log.3.xz").write_bytes(b"\xfd7zXZ\0\0")
    assert Following(tmp_path / "app.log*").read() == ["one"]
    assert sorted(Following(tmp_path / "app.log*", exclude="*.xz").read()) == ["old", "one"]


def test_what_is_not_as_the_format_says_is_a_bad_record_that_says_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b'{"a": 1}\n\n{"a":\n2}\n{\xff\n{"b"\n')
    *values, text, value = Following(path, format="json", multiline_start=r"^\{", follow="false").read()
    assert values == [{"a": 1}, {"a": 2}]
    assert (text.error, value.error) == ("InvalidUtf8", "InvalidJson")
    (path := tmp_path / "b.log").write_text("plain\n<13>1 - - - - - - hello\n")
    refused, message = Following(path, format="syslog").read()
    assert refused.error == "InvalidSyslog"
    assert refused.reason == f"{path}, bytes 0 to 6: it begins with no time, as a message of syslog does"
    assert message == {"facility": "user", "severity": "notice", "version": 1, "message": "hello"}


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        ({"format": "grok"}, ["grok is needed with format=grok"]),
        ({"format": "grok", "grok": "%{NOBODY:x}"}, ["grok %{NOBODY} is no pattern that is known here"]),
        ({"format": "grok", "grok": "%{A}", "grok.patterns": "A %{B}\nB %{A}"}, ["grok %{A} is made of itself"]),
        (
            {"grok": "%{WORD:x}", "key.field": "x"},
            ["grok means nothing with format=raw", "key.field means nothing with format=raw"],
        ),
        ({"multiline.lines": "3"}, ["multiline.lines means nothing where each line is a record"]),
        ({"multiline.start": "a", "multiline.continuation": "b"}, ["multiline.continuation stands beside multiline.start"]),
        ({"exclude": "*.gz"}, ["exclude means nothing where filename is one file"]),
    ],
)
def test_options_that_do_not_go_together_are_told(tmp_path: Path, options: dict[str, str], problems: list[str]) -> None:
    path = tmp_path / "a.log"
    path.write_text("one\n")
    source = LogSource()
    found = list(source.check(parse(source.options, {"filename": str(path), **options})))
    assert [f"{problem.key} {problem.reason}" for problem in found] == problems
    assert all(problem.fix for problem in found)


def test_it_is_exactly_once_but_where_time_decides_what_a_record_is(tmp_path: Path) -> None:
    source = LogSource()
    given = {"filename": str(tmp_path / "a")}
    assert source.replayable(parse(source.options, given))
    assert not source.replayable(parse(source.options, {**given, "multiline.start": "a"}))
    assert source.replayable(parse(source.options, {**given, "multiline.start": "a", "multiline.timeout": "0s"}))


@pytest.mark.parametrize("packed", [False, True])
def test_of_a_partition_that_goes_on_in_a_copy_people_set_the_position_and_it_goes_on_there(tmp_path: Path, packed: bool) -> None:
    log = tmp_path / "app.log"
    log.write_text("one\ntwo\nthree\n")
    task = Following(f"{log}*", exclude="")
    assert task.read() == ["one", "two", "three"]
    (partition,) = task.positions
    task.task.close()
    if packed:
        (tmp_path / "app.log.1.gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
    else:
        (tmp_path / "app.log.1").write_bytes(log.read_bytes())
        log.write_text("new\n")
    source = LogSource()
    config = parse(source.options, {"filename": f"{log}*", "exclude": ""})
    assert list(source.check_position(config, partition, Position((4,)))) == []
    task.positions = {partition: Position((4,))}
    after = task.again()
    assert sorted([*after.read(20), *after.read(20)]) == (["three", "two"] if packed else ["new", "three", "two"])
    assert partition in after.positions


def _packed(tmp_path: Path) -> tuple[Following, Path]:
    """A task that has read a log of which, by now, there is but a packed file, and that file."""
    log, packed = tmp_path / "app.log", tmp_path / "app.log.1.gz"
    append(log, "one\ntwo\n")
    task = Following(f"{log}*", exclude="")
    assert task.read() == ["one", "two"]
    task.task.committed(task.positions)
    packed.write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    assert [*task.read(), *task.read(20)] == []
    return task, packed


def test_a_packed_file_whose_log_was_read_is_not_read_when_it_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, packed = _packed(tmp_path)
    task.task.committed(task.positions)
    monkeypatch.setattr(file_task, "_OPEN_FILES", 1)
    append(tmp_path / "app.log", "three\n")
    assert [*task.read(), *task.read()] == ["three"]
    with packed.open("ab") as file:
        file.write(gzip.compress(b"four\n"))
    assert [*task.read(), *task.read(), *task.read()] == ["four"]


def test_a_file_that_is_read_is_not_opened_once_more_when_it_gets_the_name_of_one_that_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, packed = _packed(tmp_path)
    readers = dict(task.task._readers)
    found = task.task._dealing.found
    # Between the look and the opening logrotate has renamed both.
    monkeypatch.setattr(Dealing, "found", lambda _self, paths: {**found(paths), (1, 1): packed})
    assert [*task.read(20), *task.read(20)] == []
    assert task.task._readers == readers


def test_a_log_that_is_renamed_while_it_is_looked_for_is_neither_told_to_be_lost_nor_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "app.log"
    append(log, "one\n")
    task = Following(f"{log}*")
    assert task.read() == ["one"]
    # What a listing has found has other names by now.
    monkeypatch.setattr(copies, "_like_named", lambda _path: [tmp_path / "app.log.7"])
    log.rename(tmp_path / "app.log.1")
    append(log, "two\n")
    after = task.again()
    assert [*after.read(), *after.read()] == ["two"]
    assert "does not hold any more" not in caplog.text
    former = next(Formers.stored(task.positions).at(str(log)))
    assert after.task._copies.seek(former, tmp_path / "app.log.1") is None
