"""Objects into a topic and from there into objects, by tasks that are killed at random moments: each row is there once."""

import io
import random
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from pyarrow import parquet

from services.executor.contract.task import Kind
from tests.servers.objects import s3
from tests.services.executor.runtime.conftest import Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

OBJECTS, ROWS, KILLS = 20, 1_000, 12


@pytest.fixture(scope="module")
def server() -> Iterator[s3.S3]:
    with s3.running() as found:
        found.make("orders")
        yield found


def packed(begin: int) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"id": pa.array(range(begin, begin + ROWS), pa.int64()), "name": [f"ü {number}" for number in range(ROWS)]})
    parquet.write_table(table, sink, row_group_size=300)
    return sink.getvalue()


def there(server: s3.S3) -> list[int]:
    """What a reader sees who knows nothing of the sink."""
    if not [key for key in server.keys("orders", "out/") if "_rocketconnect" not in key]:
        return []
    return list(pads.dataset("orders/out", filesystem=server.files(), format="parquet").to_table()["id"].to_pylist())


def test_objects_are_copied_once_whoever_is_killed(tasks: Tasks, server: s3.S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_SECRET", s3.SECRET)
    chance = random.Random(11)
    tasks.create_topic(4)
    for number in range(OBJECTS):
        server.put("orders", f"in/{number:02d}.parquet", packed(number * ROWS))
    configs = {
        Kind.SOURCE: {
            "connector.class": "object_store_source",
            "url": "s3://orders/in",
            "batch.records": "100",
            "max.rate.records": "1500",
            "value.converter": "arrow",
        },
        Kind.SINK: {
            "connector.class": "object_store_sink",
            "engine": "native",
            "url": "s3://orders/out",
            "partition.path": "{topic}/dt={yyyy}-{MM}-{dd}",
            "flush.rows": "400",
            "flush.interval": "300ms",
            "value.converter": "arrow",
        },
    }
    configs = {kind: server.options() | config for kind, config in configs.items()}
    epochs = dict.fromkeys(configs, 1)
    share = {"share": "0/1"}
    running = {kind: tasks.spawn(kind, config, epoch=1, task_config=share) for kind, config in configs.items()}
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.5, 3.0))
        kind = chance.choice([Kind.SOURCE, Kind.SINK, Kind.SINK])
        running[kind].kill()
        running[kind].wait()
        found = there(server)
        assert len(found) == len(set(found))
        epochs[kind] += 1
        running[kind] = tasks.spawn(kind, configs[kind], epoch=epochs[kind], task_config=share)
    deadline = time.monotonic() + 120
    while len(there(server)) < OBJECTS * ROWS:
        assert time.monotonic() < deadline, "".join((tasks.path / f"{kind.name}.log").read_text()[-2000:] for kind in configs)
        time.sleep(0.5)
    for process in running.values():
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    assert sorted(there(server)) == list(range(OBJECTS * ROWS))
    assert [key for key in server.keys("orders", "out/") if "/staged/" in key] == []
