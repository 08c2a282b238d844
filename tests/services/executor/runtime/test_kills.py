"""Tasks in processes of their own, killed at random moments again and again: nothing is missing, nothing is there twice."""

import random
import time

import pytest

from services.executor.contract.task import Kind
from tests.services.executor.runtime.conftest import Tasks, rows

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

FILES, LINES, KILLS = 3, 4_000, 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "keyed"),
    [("normal", False), ("normal", True), ("batch", True)],
    ids=["partitions", "keys", "batch-topic"],
    indirect=["tasks"],
)
def test_source_and_sink_killed_at_random_moments_lose_and_double_nothing_in_topic_and_sink(tasks: Tasks, keyed: bool) -> None:
    chance = random.Random(7)
    tasks.create_topic(4)
    wanted: dict[str, list[str]] = {
        name: [f"k{number % 17} {name} {number}" for number in range(LINES)] for name in map(str, range(FILES))
    }
    files = [str(tasks.file(name, lines)) for name, lines in wanted.items()]
    table = tasks.path / "t.db"
    configs = {
        Kind.SOURCE: {
            "connector.class": "lines",
            "files": ",".join(files),
            "keyed": str(keyed).lower(),
            "batch.records": "40",
            "pace": "0.03",
        },
        Kind.SINK: {"connector.class": "table", "file": str(table), "batch.records": "100"},
    }
    epochs = dict.fromkeys(configs, 1)
    running = {kind: tasks.spawn(kind, config, epoch=1) for kind, config in configs.items()}
    for _ in range(KILLS):
        time.sleep(chance.uniform(1.0, 3.0))
        kind = chance.choice(list(configs))
        running[kind].kill()
        running[kind].wait()
        epochs[kind] += 1
        running[kind] = tasks.spawn(kind, configs[kind], epoch=epochs[kind])
    deadline = time.monotonic() + 120
    while len(rows(table)) < FILES * LINES:
        assert time.monotonic() < deadline, f"{len(rows(table))} of {FILES * LINES} rows"
        time.sleep(0.2)
    for process in running.values():
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    everything = sorted(line for lines in wanted.values() for line in lines)
    assert sorted(rows(table)) == everything
    assert sorted(tasks.bodies()) == everything
    # Invariant 4: in order, for each key or each partition.
    order: dict[str, list[str]] = {}
    for value in rows(table):
        key, name, _ = value.split()
        order.setdefault(f"{key} {name}" if keyed else name, []).append(value)
    for key, values in order.items():
        assert values == [line for line in wanted[key.split()[-1]] if not keyed or line.startswith(f"{key.split()[0]} ")]
