"""Small files of a Delta table are put together, with Spark."""

import logging
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from connectors.delta_sink import table
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.delta_sink.test_delta_sink import Owner, ids, in_front

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def files(path: Path) -> int:
    return len(DeltaTable(str(path)).file_uris())


@pytest.mark.parametrize("mode", ["insert", pytest.param("upsert", marks=pytest.mark.slow)])
def test_small_files_become_one_with_the_same_rows_which_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    path = tmp_path / "table"
    key = "id" if mode == "upsert" else ""
    owner = Owner(path, insert_mode=mode, pk_fields=key)
    owner.start()
    for begin in range(0, 30, 10):
        owner.write(begin, begin + 10)
    assert files(path) >= 3
    synced: set[Path] = set()
    monkeypatch.setattr(table, "sync", synced.add)
    next_owner = Owner(path, owner=(1, 2), compact_interval="1ms", insert_mode=mode, pk_fields=key)
    assert next_owner.start() == {"orders/broker-a/0": QueuePosition(30)}
    next_owner.write(30, 40)
    assert files(path) == 1
    assert ids(path) == list(range(40))
    (file,) = DeltaTable(str(path)).file_uris()
    assert Path(file) in synced
    newest = DeltaTable(str(path))
    assert newest.history(1)[0]["operation"] == "OPTIMIZE"
    assert path / "_delta_log" / f"{newest.version():020}.json" in synced
    assert Owner(path, owner=(1, 3), insert_mode=mode, pk_fields=key).start() == {"orders/broker-a/0": QueuePosition(40)}


def test_another_task_leaves_small_files_to_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, task=1, compact_interval="1ms")
    owner.start()
    for begin in range(0, 30, 10):
        owner.write(begin, begin + 10)
    assert files(path) == 3


def test_what_keeps_small_files_from_being_put_together_is_told_and_the_batch_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "table"
    owner = Owner(path, compact_interval="1ms")
    owner.start()
    owner.write(0, 10)

    def fails() -> None:
        raise RetriableError("another commit was in the way")

    in_front(monkeypatch, "optimize", fails)
    caplog.set_level(logging.INFO, logger="rocketconnect.task")
    owner.write(10, 20)
    assert "small files were not put together, which is tried again in 0.001 s: another commit was in the way" in caplog.text
    assert ids(path) == list(range(20))
    assert files(path) == 2
    owner.write(20, 30)
    assert ids(path) == list(range(30))
    assert files(path) == 1
    assert "put 3 small files together, into 1" in caplog.text


def test_rows_that_another_owner_adds_meanwhile_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    owner, other = Owner(path, compact_interval="1ms"), Owner(path, uid="other")
    owner.start()
    other.start()
    owner.write(0, 10)
    does = table.optimize

    def behind_the_look(given: Any) -> None:
        other.write(100, 110)
        does(given)

    monkeypatch.setattr(table, "optimize", behind_the_look)
    owner.write(10, 20)
    assert ids(path) == [*range(20), *range(100, 110)]


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "behind"])
def test_one_that_is_killed_at_it_has_lost_and_doubled_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    path = tmp_path / "table"
    owner = Owner(path, compact_interval="1ms")
    owner.start()
    owner.write(0, 10)
    does = table.optimize

    def killed(given: Any) -> None:
        if is_done:
            does(given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(table, "optimize", killed)
        with pytest.raises(KeyboardInterrupt):
            owner.write(10, 20)
    newer = Owner(path, owner=(1, 2), compact_interval="1ms")
    assert newer.start() == {"orders/broker-a/0": QueuePosition(20)}
    newer.write(20, 30)
    assert ids(path) == list(range(30))
    assert files(path) == 1
