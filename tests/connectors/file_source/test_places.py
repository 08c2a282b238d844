"""Places in files that people name."""

import gzip
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from connectors.file_source.content import open_content
from connectors.file_source.rotation.formers import file_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Edge
from tests.connectors.polling import polled

SOURCE = FileSource()


def config(filename: object, **options: str) -> Config:
    return parse(SOURCE.options, {"filename": str(filename), **options})


def partition_of(made: Config) -> str:
    """As a task names it."""
    task = SOURCE.open(made, SOURCE.plan(made, 1, {}).tasks[0], TaskContext())
    task.start({})
    batch = next(polled(task))
    task.close()
    return batch.partition


def reasons(made: Config, partition: str, *offset: int) -> list[tuple[str, str]]:
    return [(problem.reason, problem.fix) for problem in SOURCE.check_position(made, partition, Position(offset))]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_text("one\ntwo\nrest")
    return path


def test_a_place_is_good_where_a_line_begins(file: Path) -> None:
    made = config(file)
    partition = partition_of(made)
    assert [reasons(made, partition, at) for at in (0, 4, 8)] == [[], [], []]
    assert reasons(made, partition, 5) == [("is in the middle of a line", "That line begins at [4].")]
    assert reasons(made, partition, 99) == [("is beyond the end of the file", "Its last whole line ends at [8].")]
    for wrong in ((), (-4,), (4, 2), (4, 1, 1)):
        assert [reason for reason, _ in reasons(made, partition, *wrong)] == ["is no offset of a file"]


def test_a_line_that_is_longer_than_a_piece_has_one_beginning(tmp_path: Path) -> None:
    file = tmp_path / "long.log"
    file.write_text(f"{'x' * 200_000}\nend\n")
    made = config(file)
    partition = partition_of(made)
    assert reasons(made, partition, 200_001) == []
    assert reasons(made, partition, 150_000) == [("is in the middle of a line", "That line begins at [0].")]


def test_the_ends_of_a_file_that_grows_and_of_one_that_is_over(file: Path) -> None:
    made = config(file)
    partition = partition_of(made)
    assert SOURCE.find_position(made, partition, Edge.EARLIEST) == Position((0,))
    assert SOURCE.find_position(made, partition, Edge.LATEST) == Position((8,))
    assert SOURCE.find_position(made, partition, 1_700_000_000.0) is None
    over = config(file, follow="false")
    end = SOURCE.find_position(over, partition, Edge.LATEST)
    assert end == Position((12, 1))
    assert reasons(over, partition, *end.offset) == []


def test_a_file_that_was_rotated_beside_its_name_is_found(file: Path) -> None:
    made = config(file)
    partition = partition_of(made)
    file.rename(file.with_name("a.log.1"))
    file.write_text("new\n")
    assert reasons(made, partition, 4) == []
    assert reasons(made, partition, 99) == [("is beyond the end of the file", "Its last whole line ends at [8].")]


def test_what_is_no_partition_of_the_file_is_told(file: Path, tmp_path: Path) -> None:
    made = config(file)
    partition = partition_of(made)
    assert "is no partition of" in reasons(made, "nonsense", 0)[0][0]
    assert "is no partition of" in reasons(config(tmp_path / "b.log"), partition, 0)[0][0]
    file.unlink()
    assert "is not there any more" in reasons(made, partition, 0)[0][0]


def test_a_file_that_was_written_anew_is_not_the_one_that_was_meant(file: Path) -> None:
    made = config(file)
    partition = partition_of(made)
    file.write_text("ONE\ntwo\n")
    assert "was written anew" in reasons(made, partition, 4)[0][0]


def test_the_copy_in_which_a_partition_goes_on_is_found(file: Path) -> None:
    made = config(f"{file}*")
    partition = partition_of(made)
    shutil.copy(file, file.with_name("a.log.1"))
    file.write_text("new\n")
    assert reasons(made, partition, 4) == []
    assert reasons(made, partition, 99) == [("is beyond the end of the file", "Its last whole line ends at [8].")]
    assert SOURCE.find_position(made, partition, Edge.LATEST) == Position((8,))


def test_the_packed_file_in_which_a_partition_goes_on_is_found(file: Path) -> None:
    made = config(f"{file}*")
    partition = partition_of(made)
    file.with_name("a.log.1.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    assert reasons(made, partition, 4) == []
    assert reasons(made, partition, 5) == [("is in the middle of a line", "That line begins at [4].")]


def test_of_several_files_that_begin_alike_the_map_of_the_position_tells_which_one_is_the_copy(file: Path) -> None:
    made = config(f"{file}*")
    partition = partition_of(made)
    for name, more in (("a.log.1", ""), ("a.log.2", "\nlonger\n")):
        file.with_name(name).write_text(file.read_text() + more)
    file.unlink()
    ((reason, _),) = reasons(made, partition, 13)
    assert reason.startswith("its file is not there any more, and several files begin as it did: ")
    with closing(open_content(file.with_name("a.log.2"), gzip=False)) as content:
        copy = file_of(content)
    assert list(SOURCE.check_position(made, partition, Position((13,), {"copy": copy}))) == []
