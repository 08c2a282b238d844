"""What is measured of connectors beside the clients of their systems."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from bench.systems import moved
from bench.systems.moved import Content, Took, ours_above
from bench.systems.system import Compared, Move, took
from bench.workload import BenchFailed


def test_content_is_the_same_in_any_order_and_another_one_for_each_value_that_is_missing_doubled_or_changed() -> None:
    whole = moved.wanted(100)
    texts = [moved.text(number) for number in range(100)]
    assert whole == Content.of(reversed(texts)) == Content.of(text.encode() for text in texts)
    assert whole not in (Content.of(texts[1:]), Content.of([*texts[1:], texts[1]]), Content.of([*texts[1:], texts[0] + " "]))


def test_a_value_that_comes_as_an_object_is_compared_as_the_text_that_was_moved() -> None:
    text = moved.text(7)
    assert [moved.written(value) for value in (text, text.encode(), json.loads(text))] == [text, text.encode(), text]


def test_what_ours_takes_above_the_client_is_said_of_each_record() -> None:
    figures = ours_above(Took(1_000, 2.0, 0.010, 3.0), Took(1_000, 1.0, 0.004, 1.0))
    assert figures == pytest.approx({"records_per_s": 500, "cpu_us_per_record": 10, "added_mib": 3, "above_client_us": 6})


def compared(values: list[str], found: list[str] | None = None) -> Compared:
    @contextmanager
    def side() -> Iterator[Move]:
        yield lambda: values

    return Compared("some_source", "client", side, side, None if found is None else lambda: found)


def test_a_side_is_measured_in_a_process_of_its_own_that_gives_what_it_has_moved() -> None:
    values = [moved.text(number) for number in range(50)]
    of = compared(values)
    measured = took(of, of.ours, 50)
    assert measured.records == 50
    assert measured.seconds > 0
    assert measured.cpu_seconds >= 0


@pytest.mark.parametrize("found", [None, []])
def test_there_is_no_figure_where_the_content_is_another(found: list[str] | None) -> None:
    of = compared([moved.text(1), moved.text(1)], found)
    with pytest.raises(BenchFailed, match="records are there of 2, or others"):
        took(of, of.ours, 2)


def test_there_is_no_figure_where_a_side_fails(capfd: pytest.CaptureFixture[str]) -> None:
    def side() -> AbstractContextManager[Move]:
        msg = "the server is away"
        raise OSError(msg)

    of = Compared("some_sink", "client", side, side, list)
    with pytest.raises(BenchFailed, match="some_sink: "):
        took(of, of.ours, 2)
    assert "the server is away" in capfd.readouterr().err
