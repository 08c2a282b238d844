"""The conformance suite sees what is wrong with a buffered sink."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import BufferedSink, BufferedSinkTask, QueuePosition


class Lines(BufferedSink):
    """Lines of a file; in memory until they are to be durable."""

    name = "buffered_lines"

    def __init__(self, path: Path, fault: str) -> None:
        self._path = path
        self._fault = fault

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "LinesTask":
        del config, task, context
        return LinesTask(self._path, self._fault)


class LinesTask(BufferedSinkTask):
    def __init__(self, path: Path, fault: str) -> None:
        self._path = path
        self._fault = fault

    def start(self) -> Mapping[str, QueuePosition]:
        self._lines: list[str] = []
        self._put: dict[str, int] = {}
        self._durable: dict[str, int] = {}
        return {}

    def put(self, batch: SinkBatch) -> None:
        wrong = {index: "no text" for index, value in enumerate(batch.values) if not isinstance(value, str)}
        if not wrong or self._fault != "a refused record takes others with it":
            self._lines += [f"{value}\n" for value in batch.values if isinstance(value, str)]
        if len(batch):
            self._put[batch.queue] = batch.offsets[-1] + 1
        if wrong:
            raise RecordRefused(wrong, None)

    def durable(self, flush: bool) -> Mapping[str, int]:
        if flush and self._fault != "nothing is made durable when it is wanted":
            with self._path.open("a") as file:
                file.writelines(self._lines)
            self._lines = []
            self._durable = dict(self._put)
        return self._put if self._fault == "what was put is called durable" else self._durable

    def close(self) -> None:
        self._lines = []


def case(tmp_path: Path, fault: str = "") -> SinkCase:
    path = tmp_path / "lines.txt"
    path.touch()
    return SinkCase(Lines(path, fault), {}, lambda: path.read_text().splitlines())


class TestLines(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        return case(tmp_path)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("what was put is called durable", "test_what_is_put_and_not_durable_before_a_death_is_put_again"),
        (
            "nothing is made durable when it is wanted",
            "test_all_that_was_put_is_durable_when_that_is_wanted_and_nothing_alone_changes_nothing",
        ),
        ("a refused record takes others with it", "test_a_record_that_can_t_be_put_is_refused_alone"),
    ],
)
def test_the_suite_finds_the_fault(tmp_path: Path, fault: str, test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(SinkSuite(), test)(case(tmp_path, fault))
