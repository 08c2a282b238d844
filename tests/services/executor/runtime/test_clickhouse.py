"""Rows of a topic into ClickHouse by tasks, and a server, that are killed at random moments: each row is there once."""

import random
import time
from pathlib import Path

import pytest

from services.executor.contract.task import Kind
from tests.servers.clickhouse import ClickHouse
from tests.services.executor.runtime.conftest import Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

ROWS, KILLS = 20_000, 10


def test_rows_are_in_the_table_once_whoever_is_killed(tasks: Tasks, tmp_path: Path) -> None:
    lines = "".join(f"{number},name {number}\n" for number in range(ROWS))
    (tmp_path / "in.csv").write_text(f"id,name\n{lines}")
    chance = random.Random(3)
    tasks.create_topic(4)
    source = {
        "connector.class": "file_source",
        "filename": str(tmp_path / "in.csv"),
        "format": "csv",
        "columns": "id:int64,name",
        "batch.records": "100",
        "max.rate.records": "1500",
        "value.converter": "arrow",
    }
    with ClickHouse().running() as server:
        sink = {
            "connector.class": "clickhouse_sink",
            "engine": "native",
            **server.options(),
            "table": "rows",
            "table.create": "true",
            "table.partition.by": "id % 3",
            "flush.interval": "200ms",
            "value.converter": "arrow",
        }
        feeding = tasks.spawn(Kind.SOURCE, source, epoch=1, task_config={"share": "0/1", "by": "inode"})
        running, epoch = tasks.spawn(Kind.SINK, sink, epoch=1), 1
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.3, 2.5))
            if chance.random() < 0.4:
                server.kill()
                server.start()
                continue
            running.kill()
            running.wait()
            epoch += 1
            running = tasks.spawn(Kind.SINK, sink, epoch=epoch)
        deadline = time.monotonic() + 180
        while (found := _there(server))[0] < ROWS:
            assert time.monotonic() < deadline, (tasks.path / "SINK.log").read_text()[-2000:]
            time.sleep(0.3)
        for process in (feeding, running):
            process.stdin.close()  # type: ignore[union-attr]
            assert process.wait(60) == 0
        assert found == [ROWS, ROWS, 0, ROWS - 1]


def _there(server: ClickHouse) -> list[int]:
    if server.run("SELECT count() FROM system.tables WHERE database = 'default' AND name = 'rows'") == [[0]]:
        return [0]
    (found,) = server.run("SELECT count(), uniqExact(id), min(id), max(id) FROM rows")
    return found
