"""Files that grow, are renamed, emptied, replaced, deleted."""

import gzip
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from connectors.file_source import FileSource, task
from connectors.file_source.birth import born_ns, born_ns_of
from connectors.file_source.identity import Identity
from connectors.file_source.rotation.dealing import BY_DEVICE
from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Offset, Position, Rejected
from rocketconnect_sdk.resume import JSON
from tests.connectors.polling import polled

OPEN: list[FileSourceTask] = []


@pytest.fixture(autouse=True)
def _all_closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Following:
    """A task that is polled, and its positions as they would be stored."""

    def __init__(
        self,
        filename: object,
        positions: Mapping[str, Offset] | None = None,
        share: str = "0/1",
        notes: Mapping[str, Mapping[str, JSON]] | None = None,
        by: str = BY_DEVICE,
        **options: str,
    ) -> None:
        raw = {"filename": str(filename), **{key.replace("_", "."): value for key, value in options.items()}}
        config = parse(FileSource.options, raw)
        self.clock = Clock()
        self.task = FileSource().open(config, {"share": share, "by": by}, TaskContext())
        self.task._clock = self.clock
        OPEN.append(self.task)
        self.positions: dict[str, Offset] = dict(positions or {})
        self.notes = dict(notes or {})
        self.options = options
        self.task.start({name: Position(offset, self.notes.get(name, {})) for name, offset in self.positions.items()})

    def read(self, seconds: float = 1.0) -> list[Any]:
        """What came since the last call."""
        self.clock.now += seconds
        values: list[Any] = []
        for batch in polled(self.task):
            values += batch.values
            if batch.gone:
                assert self.positions.pop(batch.partition) == batch.end
                continue
            self.positions[batch.partition] = batch.end or batch.offsets[-1]
            self.notes[batch.partition] = batch.resume or {}
        return values

    def again(self, filename: object) -> "Following":
        """A new owner, from the positions."""
        self.task.close()
        return Following(filename, self.positions, notes=self.notes, **self.options)


def append(path: Path, data: str) -> None:
    with path.open("a") as file:
        file.write(data)


def test_only_whole_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\ntw")
    file = Following(path)
    assert file.read() == ["one"]
    assert file.read(1000) == []
    append(path, "o\n")
    assert file.read() == ["two"]
    assert list(file.positions.values()) == [(8,)]


def test_a_file_that_is_quiet_is_looked_at_less_often_until_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\n")
    following = Following(path)
    following.read()
    assert following.task.idle_seconds < 0.011
    following.read(3600)
    assert following.task.idle_seconds == 0.5
    append(path, "two\n")
    assert following.read(3600) == ["two"]
    assert following.task.idle_seconds < 0.011


def test_a_quiet_file_is_looked_at_some_seven_thousand_times_in_an_hour(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\n")
    following = Following(path)
    assert following.read() == ["one"]
    began, looks = following.clock.now, 0
    while following.clock.now < began + 3600:
        assert following.read(following.task.idle_seconds) == []
        looks += 1
    assert looks < 8_000


def test_more_files_than_can_be_open_at_once_are_read_in_one_go_and_each_again_when_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "_OPEN_FILES", 3)
    paths = [tmp_path / f"{number}.log" for number in range(10)]
    for path in paths:
        append(path, f"{path.stem} one\n")
    following = Following(tmp_path / "*.log")
    assert sorted(following.read()) == [f"{path.stem} one" for path in paths]
    assert following.task.caught_up
    for path in paths:
        append(path, f"{path.stem} two\n")
    assert sorted(following.read(100)) == [f"{path.stem} two" for path in paths]


def test_while_a_file_waits_to_be_opened_the_task_has_not_caught_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that may become records without a newline keep all files open."""
    monkeypatch.setattr(task, "_OPEN_FILES", 3)
    for number in range(4):
        append(tmp_path / f"{number}.log", "one\ntwo")
    following = Following(tmp_path / "*.log", last_line_timeout="20s")
    assert following.read() == ["one"] * 3
    assert not following.task.caught_up
    assert following.read(30) == [*["two"] * 3, "one"]
    assert following.task.caught_up


def test_a_rotated_file_that_waits_to_be_opened_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_OPEN_FILES", 3)
    paths = [tmp_path / f"{number}.log" for number in range(5)]
    for path in paths:
        append(path, "one\n")
    before = Following(tmp_path / "*.log")
    assert before.read() == ["one"] * 5
    append(paths[4], "two\n")
    paths[4].rename(tmp_path / "4.log.1")
    after = before.again(tmp_path / "*.log")
    assert after.read(100) == ["two"]


def test_a_missing_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    file = Following(path)
    with pytest.raises(SystemAway, match="does not exist yet"):
        file.read()
    append(path, "one\n")
    assert file.read() == ["one"]
    path.unlink()
    assert file.read() == []


def test_a_rotated_file_is_read_to_its_end_before_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\n")
    file = Following(path)
    assert file.read() == ["one"]
    append(path, "two\nthree\n")
    path.rename(tmp_path / "a.1")
    append(path, "four\n")
    append(tmp_path / "a.1", "late\n")
    assert file.read() == ["two", "three", "late", "four"]
    append(tmp_path / "a.1", "later\n")
    assert file.read() == ["later"]
    assert len(file.positions) == 2


def test_a_rotated_file_of_a_glob_stays_the_same_partition(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    append(path, "one\n")
    file = Following(f"{tmp_path}/*.log")
    assert file.read() == ["one"]
    path.rename(tmp_path / "b.log")
    append(tmp_path / "b.log", "two\n")
    assert file.read() == ["two"]
    assert len(file.positions) == 1
    assert file.again(f"{tmp_path}/*.log").read() == []


def test_what_was_rotated_while_nobody_looked_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\n")
    file = Following(path)
    assert file.read() == ["one"]
    append(path, "two\n")
    path.rename(tmp_path / "a.1")
    append(path, "three\n")
    append(tmp_path / "other", "not ours\n")
    file = file.again(path)
    assert file.read() == ["two", "three"]
    assert file.again(path).read() == []


def test_a_deleted_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\n")
    file = Following(path)
    assert file.read() == ["one"]
    append(path, "two\nrest")
    path.unlink()
    assert file.read() == ["two"]
    file.read()
    assert file.read(301) == ["rest"]
    assert not file.task._readers


@pytest.mark.parametrize("later", ["new\n", "one\n", "one\nx\n", "other line that is longer than before\n", "one\n" * 10])
def test_a_truncated_file_is_another_partition(tmp_path: Path, later: str) -> None:
    path = tmp_path / "a"
    append(path, "one\ntwo\n")
    file = Following(path)
    assert file.read() == ["one", "two"]
    path.write_text("")
    assert file.read() == []
    append(path, later)
    assert file.read() == later.splitlines()
    assert len(file.positions) == 2
    assert file.again(path).read() == []


def test_a_file_that_was_written_anew_while_nobody_looked_is_another_partition(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for later in ("one\n", "one\ntwenty\nmore\n", "another\nand more\n"):
        path.write_text("one\ntwo\n")
        file = Following(path)
        assert file.read() == ["one", "two"]
        with path.open("r+") as same:
            same.truncate()
            same.write(later)
        file = file.again(path)
        assert file.read() == later.splitlines()


def test_each_truncation_counts_another_generation(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "head\nrow\n")
    file = Following(path)
    for _ in range(3):
        assert file.read() == ["head", "row"]
        path.write_text("")
        assert file.read() == []
        append(path, "head\nrow\n")
    assert file.read() == ["head", "row"]
    assert [name.rpartition("-")[2] for name in file.positions] == ["0", "1", "2", "3"]
    assert file.again(path).read() == []


def test_an_unterminated_line_is_taken_after_its_timeout_and_its_rest_is_no_line_before(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\ntwo")
    file = Following(path, last_line_timeout="5s")
    assert file.read() == ["one"]
    assert file.read(3) == []
    assert file.read(6) == ["two"]
    assert list(file.positions.values()) == [(7, 1)]
    append(path, "\nthree\n")
    file = file.again(path)
    assert file.read() == ["three"]


def test_an_unterminated_line_that_goes_on_gives_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "two")
    file = Following(path, last_line_timeout="1s")
    assert file.read(0.5) + file.read(2) == ["two"]
    append(path, "nd\r\n\n")
    assert file.read() == ["nd", ""]


def test_without_follow_it_ends_with_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, "one\ntwo")
    file = Following(path, follow="false")
    assert file.read() == ["one", "two"]
    assert file.task.finished
    file = Following(path, file.positions, follow="false")
    assert file.read() == []
    assert file.task.finished


def test_without_follow_a_missing_file_is_an_error_and_an_empty_glob_an_end(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="does not exist"):
        Following(tmp_path / "a", follow="false").read()
    nothing = Following(tmp_path / "*.log", follow="false")
    assert nothing.read() == []
    assert nothing.task.finished


def test_gzip_that_grows_is_followed_member_by_member(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(b"one\ntwo\n") + gzip.compress(b"three\n") + bytes(100) + gzip.compress(b"four\n")
    path.write_bytes(b"")
    file = Following(path)
    values = []
    for byte in whole:
        with path.open("ab") as out:
            out.write(bytes([byte]))
        values += file.read()
    assert values == ["one", "two", "three", "four"]
    assert list(file.positions.values()) == [(19,)]
    assert file.again(path).read() == []


def test_damaged_gzip_is_permanent_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"this is no gzip file at all")
    with pytest.raises(PermanentError, match=r"a\.gz is not gzip"):
        Following(path).read()
    data = bytearray(gzip.compress(os.urandom(5000).hex().encode() + b"\n"))
    data[3000] ^= 255
    path.write_bytes(data)
    with pytest.raises(PermanentError, match="damaged"):
        Following(path).read()


def test_binary_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"GIF89a\0\1\n")
    with pytest.raises(PermanentError, match="binary"):
        Following(path).read()


def test_new_files_of_a_glob_are_found_by_the_task_whose_share_they_are(tmp_path: Path) -> None:
    shares = [Following(f"{tmp_path}/*", share=f"{number}/3") for number in range(3)]
    for number in range(30):
        append(tmp_path / f"file {number}", f"{number}\n")
    values = [share.read() for share in shares]
    assert sorted(int(value) for share in values for value in share) == list(range(30))
    assert all(values)


def test_more_files_than_can_be_open_are_all_read(tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / f"{number:03}").write_text(f"{number}\n")
    file = Following(f"{tmp_path}/*")
    values = file.read() + file.read() + file.read()
    assert sorted(map(int, values)) == list(range(250))
    for number in (0, 120, 249):
        append(tmp_path / f"{number:03}", "more\n")
    assert file.read() + file.read() + file.read() == ["more"] * 3
    assert len(file.task._readers) <= 100


def test_a_file_that_two_names_stand_for_is_read_once(tmp_path: Path) -> None:
    append(tmp_path / "a", "one\n")
    os.link(tmp_path / "a", tmp_path / "b")
    assert Following(f"{tmp_path}/*").read() == ["one"]


def test_stored_positions_of_other_names_of_the_pattern_still_count(tmp_path: Path) -> None:
    append(tmp_path / "a.log", "one\n")
    file = Following(tmp_path / "a.log")
    assert file.read() == ["one"]
    assert file.again(f"{tmp_path}/*.log").read() == []


def test_a_csv_file_in_the_place_of_another_one_is_read_from_its_beginning_though_header_and_length_are_the_same(
    tmp_path: Path,
) -> None:
    """As in a folder into which files are dropped, where one gets the inode of one that was deleted."""
    path = tmp_path / "a.csv"
    path.write_text("id,name\n11,aa\n12,bb\n")
    file = Following(f"{tmp_path}/*.csv", format="csv")
    assert [row["id"] for row in file.read()] == ["11", "12"]
    file.task.close()
    path.write_text("id,name\n13,cc\n14,dd\n15,ee\n")
    again = Following(f"{tmp_path}/*.csv", file.positions, format="csv")
    assert [row["id"] for row in again.read()] == ["13", "14", "15"]


def test_a_csv_file_is_known_again_by_its_header_and_first_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name\n")
    file = Following(path, format="csv")
    assert file.read() == []
    assert file.task.remaining() == 0
    append(path, "1,a\n2,b\n")
    assert [row["id"] for row in file.read()] == ["1", "2"]
    file.task.close()
    append(path, "3,c\n")
    assert [row["id"] for row in Following(path, file.positions, format="csv").read()] == ["3"]


def test_the_time_at_which_a_file_was_made_tells_it_from_a_later_one_and_stays(tmp_path: Path) -> None:
    born = []
    for name in ("a", "b"):
        path = tmp_path / name
        path.write_text("the same\n")
        with path.open() as file:
            born.append(born_ns(file.fileno()))
        time.sleep(0.02)  # longer than the clock of any file system
    assert born[0] < born[1] or born == [0, 0], "a file system that does not know it tells 0"
    (tmp_path / "a").rename(tmp_path / "c")
    append(tmp_path / "c", "more\n")
    with (tmp_path / "c").open() as file:
        assert born_ns(file.fileno()) == born[0]
    assert born_ns_of(tmp_path / "c") == born[0]
    with pytest.raises(FileNotFoundError):
        born_ns_of(tmp_path / "a")
    assert str(Identity(1, 2, born[0] or 3, 4)) != str(Identity(1, 2, born[1] or 5, 4))


def test_the_number_of_a_device_may_change_where_the_time_of_birth_is_known() -> None:
    assert str(Identity(7, 2, 3, 4)) == str(Identity(8, 2, 3, 4))
    assert str(Identity(7, 2, 0, 4)) != str(Identity(8, 2, 0, 4))


def test_a_file_that_got_the_inode_of_a_rotated_one_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "one\n")
    file = Following(path)
    assert file.read() == ["one"]
    file.task.close()
    path.unlink()
    other = tmp_path / "something-else"
    other.write_text("no line of the log\n")
    append(path, "two\n")
    known = {re.sub(r"#(\w+)-\w+-", rf"#\1-{other.stat().st_ino:x}-", partition): at for partition, at in file.positions.items()}
    assert Following(path, known).read() == ["two"]


def test_a_line_that_is_corrected_in_the_file_itself_goes_on_without_sending_any_again(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,name\n1,a\n2\n3,c\n")
    file = Following(path, format="csv")
    bad = file.read()[1]
    assert isinstance(bad, Rejected)
    assert bad.advice.startswith(
        "To correct it, do not replace the file (mv and most editors do): it would be a new one, read from its beginning, and 1 "
        "line before it is sent again. Instead write into the file that is there: "
    )
    (partition,) = file.positions
    # The task has FAILED there: what stands before the bad record is stored.
    file.positions[partition] = (12,)
    file.task.close()
    (tmp_path / "corrected").write_text("id,name\n1,a\n2,bbb\n3,c\n")
    shutil.copyfile(tmp_path / "corrected", path)
    assert Following(path, file.positions, format="csv").read() == [{"id": "2", "name": "bbb"}, {"id": "3", "name": "c"}]


def test_a_file_that_takes_the_place_of_one_that_was_read_is_told_to_be_sent_as_a_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,name\n1,a\n2,b\n")
    file = Following(path, format="csv")
    assert len(file.read()) == 2
    (tmp_path / "corrected").write_text("id,name\n1,a\n2,bbb\n")
    (tmp_path / "corrected").rename(path)
    assert len(file.read()) == 2
    assert f"{path} is another file than the one of which 16 bytes were read, and begins as that did: all of" in caplog.text
    assert f"(cp CHANGED {path})" in caplog.text


def test_of_a_log_that_was_rotated_within_its_directory_nothing_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a"
    append(path, "start\none\n")
    file = Following(path)
    file.read()
    path.rename(tmp_path / "a.1")
    append(path, "start\ntwo\n")
    assert file.read() == ["start", "two"]
    assert "another file" not in caplog.text
