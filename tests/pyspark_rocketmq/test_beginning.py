"""What a stream that begins is told, and a Python that lacks what the format needs."""

import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from pyspark.sql.types import StructType

from pyspark_rocketmq import readers
from pyspark_rocketmq.settings import READING, Settings

QUEUES = {"orders/broker-a/0": (2, 10), "orders/broker-a/1": (0, 5)}


class Topics:
    def ends(self, queue: str) -> tuple[int, int]:
        return QUEUES[queue]


@contextmanager
def there(_: Settings) -> Iterator[tuple[Topics, Sequence[str]]]:
    yield Topics(), list(QUEUES)


@contextmanager
def empty(_: Settings) -> Iterator[tuple[Topics, Sequence[str]]]:
    yield Topics(), []


def begun(**options: str) -> dict[str, int]:
    reader = readers.StreamReader(Settings(READING, {"topic": "orders", **options}), StructType())
    found: dict[str, int] = reader.initialOffset()["queues"]
    return found


def test_a_stream_without_a_start_begins_behind_what_is_there_and_says_so_with_what_to_set(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(readers, "opened", there)
    caplog.set_level(logging.WARNING)
    assert begun() == {"orders/broker-a/0": 10, "orders/broker-a/1": 5}
    (said,) = caplog.messages
    assert "begins behind the 13 messages that topic orders has" in said
    assert "(availableNow) gives nothing. Set start=first" in said


@pytest.mark.parametrize("start", ["first", "last"])
def test_a_stream_that_says_where_it_begins_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, start: str
) -> None:
    monkeypatch.setattr(readers, "opened", there)
    assert begun(start=start) == {queue: ends[0 if start == "first" else 1] for queue, ends in QUEUES.items()}
    monkeypatch.setattr(readers, "opened", empty)
    assert begun() == {}
    assert caplog.messages == []


def test_a_python_without_the_packages_of_the_format_is_told_with_the_extra_that_has_them() -> None:
    tried = "import sys; sys.modules['msgspec'] = None; import pyspark_rocketmq; import pyspark_rocketmq.readers"
    said = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=False)
    last = said.stderr.splitlines()[-1]
    assert said.returncode == 1
    assert last.startswith("ModuleNotFoundError: ")
    assert "msgspec" in last
    assert f"the format rocketmq needs RocketConnect's extra spark in {sys.executable}" in last
    assert "pip install '.[spark]'" in last
