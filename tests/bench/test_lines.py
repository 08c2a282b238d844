"""The check of what arrived: it must see a single record that is missing, doubled, changed or out of place."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench import lines
from bench.lines import Check, compare
from bench.measuring.copying import copy
from bench.workload import BenchFailed

COUNT = 1_000


def _drop(there: list[bytes]) -> None:
    del there[COUNT // 2]


def _double(there: list[bytes]) -> None:
    there.insert(COUNT // 2, there[COUNT // 2])


def _swap(there: list[bytes]) -> None:
    there[COUNT // 2], there[COUNT // 2 + 1] = there[COUNT // 2 + 1], there[COUNT // 2]


def _change(there: list[bytes]) -> None:
    there[COUNT // 2] = there[COUNT // 2][:-2] + b"~\n"


def _replace(there: list[bytes]) -> None:
    """As many lines as there should be, but one twice and one not at all."""
    there[COUNT // 2] = there[COUNT // 2 + 1]


FAULTS: list[tuple[Callable[[list[bytes]], None], Check]] = [
    (_drop, Check(COUNT - 1, missing=1)),
    (_double, Check(COUNT + 1, doubled=1)),
    (_swap, Check(COUNT, order_breaks=1)),
    (_change, Check(COUNT, missing=1, strange=1)),
    (_replace, Check(COUNT, missing=1, doubled=1)),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    lines.write(path, COUNT)
    return path


def _damaged(source: Path, damage: Callable[[list[bytes]], None]) -> bytes:
    there = source.read_bytes().splitlines(keepends=True)
    damage(there)
    return b"".join(there)


def _write_damaged(source: Path, damage: Callable[[list[bytes]], None], sink: Path) -> None:
    sink.write_bytes(_damaged(source, damage))


def test_an_exact_copy_is_exact(source: Path, tmp_path: Path) -> None:
    sink = tmp_path / "out.txt"
    sink.write_bytes(source.read_bytes())
    found = compare([source], sink)
    assert found.exact
    assert found.rows == COUNT


@pytest.mark.parametrize(("damage", "expected"), FAULTS)
def test_one_record_dropped_doubled_swapped_or_changed_is_found(
    source: Path, tmp_path: Path, damage: Callable[[list[bytes]], None], expected: Check
) -> None:
    sink = tmp_path / "out.txt"
    sink.write_bytes(_damaged(source, damage))
    found = compare([source], sink)
    assert found == expected
    assert not found.exact


@pytest.mark.parametrize("damage", [damage for damage, _ in FAULTS if damage is not _drop])
def test_a_copy_that_is_not_exact_gives_no_figure(source: Path, tmp_path: Path, damage: Callable[[list[bytes]], None]) -> None:
    sink = tmp_path / "out.txt"
    with pytest.raises(BenchFailed, match=r"out\.txt"):
        copy(partial(_write_damaged, source, damage, sink), [source], sink, COUNT, [])


def test_a_copy_that_stays_short_gives_no_figure(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.measuring.copying.LIMIT_SECONDS", 0.05)
    sink = tmp_path / "out.txt"
    sink.write_bytes(_damaged(source, _drop))
    with pytest.raises(BenchFailed, match="bytes arrived within"):
        copy(lambda: None, [source], sink, COUNT, [], lambda: "")


def test_the_order_is_that_of_each_file_and_not_between_files(tmp_path: Path) -> None:
    sources = [tmp_path / "0.txt", tmp_path / "1.txt"]
    for number, path in enumerate(sources):
        lines.write(path, 3, first=10 * number)
    first, second = (path.read_bytes().splitlines(keepends=True) for path in sources)
    sink = tmp_path / "out.txt"
    sink.write_bytes(b"".join([second[0], first[0], first[1], second[1], second[2], first[2]]))
    assert compare(sources, sink).exact
    sink.write_bytes(b"".join([second[1], first[0], first[1], second[0], second[2], first[2]]))
    assert compare(sources, sink) == Check(6, order_breaks=1)


@pytest.mark.parametrize("width", [10, 100, 5_000_000])
def test_lines_are_all_different_and_as_wide_as_asked_for(width: int) -> None:
    there = list(lines.generate(3, width))
    assert {len(line) for line in there} == {width + 1}
    assert len(set(there)) == 3
