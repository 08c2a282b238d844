"""Files of a server of SFTP into a topic and from there into files of it, by tasks that are killed: each row is there once."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.executor.contract.task import Kind
from tests.connectors.object_store_sink.prefix import files_in, lines_of
from tests.servers.files.openssh import OpenSsh
from tests.services.executor.runtime.conftest import Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

FILES, ROWS, KILLS = 10, 1_000, 6


@pytest.fixture(scope="module")
def server() -> Iterator[OpenSsh]:
    with OpenSsh().running() as found:
        yield found


def there(folder: Path) -> list[int]:
    """What a reader sees who knows nothing of the sink."""
    return [row["id"] for row in lines_of(lambda: files_in(folder))]


def test_files_are_copied_once_whoever_is_killed_and_what_was_read_is_moved(tasks: Tasks, server: OpenSsh) -> None:
    chance = random.Random(7)
    tasks.create_topic(4)
    source, target = server.made(), server.made()
    for number in range(FILES):
        rows = ({"id": number * ROWS + each, "name": f"ü {each}"} for each in range(ROWS))
        (source / f"{number:02d}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    configs = {
        Kind.SOURCE: {
            "connector.class": "sftp_source",
            "path": str(source),
            "format": "jsonlines",
            "complete.rest": "1s",
            "discover.interval": "1s",
            "after.read": "move",
            "after.read.folder": "_read",
            "batch.records": "100",
            "max.rate.records": "1500",
            "value.converter": "json",
        },
        Kind.SINK: {
            "connector.class": "sftp_sink",
            "engine": "native",
            "path": str(target),
            "format": "jsonlines",
            "flush.rows": "400",
            "flush.interval": "300ms",
            "value.converter": "json",
        },
    }
    configs = {kind: {**server.options(), **config} for kind, config in configs.items()}
    epochs = dict.fromkeys(configs, 1)
    share = {"share": "0/1"}
    running = {kind: tasks.spawn(kind, config, epoch=1, task_config=share) for kind, config in configs.items()}
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.5, 3.0))
        kind = chance.choice([Kind.SOURCE, Kind.SINK, Kind.SINK])
        running[kind].kill()
        running[kind].wait()
        found = there(target)
        assert len(found) == len(set(found))
        epochs[kind] += 1
        running[kind] = tasks.spawn(kind, configs[kind], epoch=epochs[kind], task_config=share)
    deadline = time.monotonic() + 120
    while len(there(target)) < FILES * ROWS or len(files_in(source / "_read")) < FILES:
        assert time.monotonic() < deadline, "".join((tasks.path / f"{kind.name}.log").read_text()[-2000:] for kind in configs)
        time.sleep(0.5)
    for process in running.values():
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    assert sorted(there(target)) == list(range(FILES * ROWS))
    assert [name for name in files_in(target) if "/staged/" in name] == []
    assert sorted(files_in(source)) == [f"_read/{number:02d}.jsonl" for number in range(FILES)]
