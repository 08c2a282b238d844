from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.oracle import Line, Reader, Verdict, parse

FED = {"file-0": 4, "file-1": 3}
LINES = [Line(partition, number, 7) for partition, count in FED.items() for number in range(count)]


def check(path: Path, lines: list[str], fed: dict[str, int] = FED) -> Verdict:
    path.write_text("".join(f"{line}\n" for line in lines))
    return Reader(path).check(fed)


def counts(verdict: Verdict) -> tuple[int, int, int, int]:
    return verdict.missing, verdict.duplicated, verdict.changed, verdict.disordered


@pytest.mark.parametrize("form", [Line.text, Line.json])
def test_a_line_is_read_as_it_was_written(form: Callable[[Line], str]) -> None:
    assert parse(form(LINES[2])) == LINES[2]


def test_everything_once_and_in_order_is_clean_however_partitions_are_mixed(tmp_path: Path) -> None:
    mixed = sorted(LINES, key=lambda line: line.number)
    assert check(tmp_path / "out", [line.text() for line in mixed]).clean


def test_what_lacks_in_the_middle_and_at_the_end_is_counted(tmp_path: Path) -> None:
    kept = [line.text() for line in LINES if (line.partition, line.number) not in {("file-0", 1), ("file-1", 2)}]
    assert counts(check(tmp_path / "out", kept)) == (2, 0, 0, 0)


def test_a_partition_that_never_came_is_missing(tmp_path: Path) -> None:
    assert counts(check(tmp_path / "out", [line.text() for line in LINES[:4]])) == (3, 0, 0, 0)


def test_what_is_there_twice_is_counted(tmp_path: Path) -> None:
    twice = [line.text() for line in [*LINES[:3], *LINES[1:]]]
    assert counts(check(tmp_path / "out", twice)) == (0, 2, 0, 0)


def test_what_comes_late_is_out_of_order_and_not_missing(tmp_path: Path) -> None:
    late = [line.text() for line in [LINES[0], LINES[2], LINES[1], *LINES[3:]]]
    assert counts(check(tmp_path / "out", late)) == (0, 0, 0, 1)


def test_a_changed_a_torn_and_an_invented_line_are_told_apart_from_good_ones(tmp_path: Path) -> None:
    texts = [line.text() for line in LINES]
    changed = texts[0].replace("|000000000|", "|000000003|")
    verdict = check(tmp_path / "out", [changed, *texts, texts[1][:20], Line("file-0", 4, 7).text(), "{"])
    assert counts(verdict) == (0, 0, 4, 0)
    assert verdict.examples


def test_only_what_is_new_is_told_again(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("".join(f"{line.text()}\n" for line in LINES[1:]))
    reader = Reader(path)
    assert counts(reader.check(FED)) == (1, 0, 0, 0)
    with path.open("a") as file:
        file.write(f"{Line('file-0', 4, 8).text()}\n")
    assert reader.check({**FED, "file-0": 5}).clean
