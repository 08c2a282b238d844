"""Small files of an Iceberg table are put together, with Spark."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connectors.iceberg_sink import catalogs
from connectors.lakes import compaction
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.iceberg_sink.owner import Owner, ids, in_front, rows_path
from tests.connectors.iceberg_sink.spark import opened

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "ENOUGH", 3)


def files(lake: Path) -> int:
    return len(list(opened(rows_path(lake)).scan().plan_files()))


def operation(lake: Path) -> str:
    snapshot = opened(rows_path(lake)).current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return snapshot.summary.operation.value


@pytest.mark.parametrize("mode", ["insert", pytest.param("upsert", marks=pytest.mark.slow)])
def test_small_files_of_each_partition_become_one_with_the_same_rows(tmp_path: Path, mode: str) -> None:
    key = "id" if mode == "upsert" else ""
    owner = Owner(tmp_path, partition_by="day", insert_mode=mode, pk_fields=key)
    owner.start()
    for begin in range(0, 30, 10):
        owner.write(begin, begin + 10)
    owner.write(30, 40, day=6)
    assert files(tmp_path) == 4
    other = Owner(tmp_path, owner=(1, 2), compact_interval="1ms", insert_mode=mode, pk_fields=key)
    assert other.start() == {"orders/broker-a/0": QueuePosition(40)}
    other.write(40, 50, day=6)
    assert files(tmp_path) == 3
    assert operation(tmp_path) == "replace"
    assert ids(tmp_path) == list(range(50))
    assert Owner(tmp_path, owner=(1, 3), insert_mode=mode, pk_fields=key).start() == {"orders/broker-a/0": QueuePosition(50)}


def test_where_another_commit_comes_first_nothing_is_put_together_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner, other = Owner(tmp_path, compact_interval="1ms"), Owner(tmp_path, uid="other")
    owner.start()
    other.start()
    owner.write(0, 10)
    owner.write(10, 20)
    in_front(monkeypatch, "link", lambda: in_front(monkeypatch, "link", lambda: other.write(100, 110)))
    owner.write(20, 30)
    assert "small files were not put together, which is tried again in 0.001 s" in caplog.text
    assert ids(tmp_path) == [*range(30), *range(100, 110)]
    assert files(tmp_path) == 4
    assert len(list(rows_path(tmp_path).glob("data/**/*.parquet"))) == 4
    owner.write(30, 40)
    assert files(tmp_path) == 1
    assert ids(tmp_path) == [*range(40), *range(100, 110)]


def test_one_that_is_replaced_meanwhile_puts_nothing_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner, newer = Owner(tmp_path, compact_interval="1ms"), Owner(tmp_path, owner=(1, 2))
    owner.start()
    owner.write(0, 10)
    owner.write(10, 20)
    in_front(monkeypatch, "link", lambda: in_front(monkeypatch, "link", newer.start))
    owner.write(20, 30)
    assert "a newer owner" in caplog.text
    assert files(tmp_path) == 3
    assert ids(tmp_path) == list(range(30))


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "behind"])
def test_one_that_is_killed_at_its_commit_has_lost_and_doubled_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    owner = Owner(tmp_path, compact_interval="1ms")
    owner.start()
    owner.write(0, 10)
    owner.write(10, 20)
    does: Callable[..., None] = catalogs.link
    commits = 0

    def killed(*given: object) -> None:
        nonlocal commits
        commits += 1
        if commits == 1 or is_done:
            does(*given)
        if commits == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(catalogs, "link", killed)
        with pytest.raises(KeyboardInterrupt):
            owner.write(20, 30)
    newer = Owner(tmp_path, owner=(1, 2), compact_interval="1ms")
    assert newer.start() == {"orders/broker-a/0": QueuePosition(30)}
    newer.write(30, 40)
    newer.write(40, 50)
    assert ids(tmp_path) == list(range(50))
    assert files(tmp_path) < 4
