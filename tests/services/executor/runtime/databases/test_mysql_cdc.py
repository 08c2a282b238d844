"""Tables of a real MariaDB into topics of a real broker, by a task that is killed at random moments."""

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from services.executor.contract.task import Kind
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options
from tests.servers.mariadb import PASSWORD, Mariadb
from tests.services.executor.runtime.conftest import PositionProcess, Tasks

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.rocketmq, pytest.mark.mariadb, pytest.mark.slow]

ROWS, CHANGES, KILLS = 20_000, 2_000, 4
LAST = 1_000_000
DONE = [1, 2]
"""How the offset of a table begins whose rows were all read."""


class Copying:
    """A task that copies a table, which is killed and started again."""

    def __init__(self, tasks: Tasks, positions: PositionProcess, database: Database, **more: str) -> None:
        self.tasks, self.positions = tasks, positions
        self.topic = f"{tasks.topic}-t"
        self.database = database
        self._given = {
            "connector.class": "mysql_cdc_source",
            **options(database, table_topic="${topic}-${table}", **more),
            "batch.records": "200",
            "value.converter": "json",
            "value.converter.schemas.enable": "false",
        }
        self._epoch = 0
        database.run("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(40), size INT)")
        database.run(f"INSERT INTO t SELECT seq, CONCAT('row ', seq), 0 FROM seq_1_to_{ROWS}")
        tasks.client.create_topic(self.topic, queues=4)
        self.process = self._spawn()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        self._epoch += 1
        return self.tasks.spawn(Kind.SOURCE, self._given, epoch=self._epoch)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self._spawn()

    def signal(self, name: str, **arguments: str) -> None:
        self.process.stdin.write(json.dumps({"signal": name, "arguments": arguments}).encode() + b"\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]

    def has_logged(self, text: str) -> bool:
        return text in (self.tasks.path / "SOURCE.log").read_text()

    def stop(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        assert self.process.wait(60) == 0

    @property
    def count(self) -> int:
        return sum(map(self.tasks.client.max_offset, self.tasks.client.queues(self.topic)))

    def changes(self) -> list[dict[str, Any]]:
        """What is in the topic; of one key in its order."""
        return [json.loads(body) for _, body, _ in self.tasks.messages(self.topic)]

    def doubled(self) -> list[str]:
        """The places in the source that were sent more than once, with the epochs that sent them."""
        sent: dict[str, list[str]] = {}
        for queue, _, properties in self.tasks.messages(self.topic):
            _, epoch, place = properties["RCPOS"].split("|", 2)
            sent.setdefault(place, []).append(f"{epoch} in {queue}")
        return [f"{place}: {epochs}" for place, epochs in sent.items() if len(epochs) > 1]

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300
        while not condition():
            assert time.monotonic() < deadline, f"{self.count} messages: {(self.tasks.path / 'SOURCE.log').read_text()[-1_000:]}"
            time.sleep(0.2)

    def wait_stored(self) -> None:
        """Until the end of the snapshot is stored; before, a task that is started again would read rows that come now, too."""
        self.wait(lambda: DONE in (offset[:2] for offset in self._offsets()))

    def _offsets(self) -> list[list[Any]]:
        stored = self.positions.offsets(f"source-{self.tasks.unique}")
        # The runtime keeps rows of its own among them.
        return [offset for partition, offset in stored.items() if not partition.startswith("~")]

    def table(self) -> dict[int, tuple[Any, ...]]:
        return {row[0]: row for row in self.database.select("SELECT * FROM t")}


@pytest.fixture
def copying(
    tasks: Tasks, positions: PositionProcess, mariadb: Mariadb, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Copying]:
    monkeypatch.setenv("MARIADB_PASSWORD", PASSWORD)
    with Database(mariadb) as database:
        yield Copying(tasks, positions, database, **getattr(request, "param", {}))


def test_a_task_that_is_killed_at_random_moments_loses_and_doubles_no_row_and_no_change(copying: Copying) -> None:
    chance = random.Random(7)
    for part in range(1, KILLS):
        copying.wait(lambda part=part: copying.count >= ROWS * part // (KILLS + 1))  # type: ignore[misc]
        copying.kill()
    copying.wait(lambda: copying.count >= ROWS)
    copying.wait_stored()
    done = 0
    for _ in range(KILLS):
        done += sum(_change(copying.database, chance, number) for number in range(CHANGES // KILLS))
        copying.kill()
        time.sleep(chance.uniform(0.5, 2.0))
    copying.wait(lambda: copying.count >= ROWS + done)
    copying.stop()
    assert copying.doubled() == []
    changes = copying.changes()
    assert len(changes) == ROWS + done
    assert _applied(changes, strictly=True) == copying.table()


def test_changes_while_rows_are_read_by_a_task_that_is_killed_end_in_the_same_table(copying: Copying) -> None:
    chance = random.Random(8)
    copying.wait(lambda: copying.count > 0)
    for _ in range(KILLS):
        for number in range(CHANGES // KILLS):
            _change(copying.database, chance, number)
        copying.kill()
        time.sleep(chance.uniform(0.5, 2.0))
    copying.database.run(f"INSERT INTO t VALUES ({LAST}, 'last', 0)")
    copying.wait(lambda: LAST in _applied(copying.changes(), strictly=False))
    copying.stop()
    assert _applied(copying.changes(), strictly=False) == copying.table()


@pytest.mark.parametrize(
    "copying", [{"snapshot_mode": "never", "incremental_snapshot_chunk_size": "500"}], indirect=True, ids=["by signal"]
)
def test_a_table_that_is_read_in_chunks_by_a_task_that_is_killed_is_in_the_topic(copying: Copying) -> None:
    chance = random.Random(9)
    database = copying.database
    copying.signal("execute-snapshot", tables=f"{database.name}.t", condition="SLEEP(0.0001) = 0")
    copying.wait(lambda: copying.has_logged(f"what was told of incremental {database.name}.t is stored"))
    for part in range(1, KILLS + 1):
        for number in range(CHANGES // KILLS):
            _change(database, chance, number)
        copying.wait(lambda part=part: copying.count >= ROWS * part // (KILLS + 1))  # type: ignore[misc]
        copying.kill()
    copying.wait(lambda: copying.has_logged(f"the incremental snapshot of {database.name}.t is done"))
    database.run(f"INSERT INTO t VALUES ({LAST}, 'last', 0)")
    copying.wait(lambda: LAST in _applied(copying.changes(), strictly=False))
    copying.stop()
    changes = copying.changes()
    read = [change["after"]["id"] for change in changes if change["op"] == "r"]
    assert len(set(read)) == len(read) > ROWS // 2
    assert _applied(changes, strictly=False) == copying.table()


def _change(database: Database, chance: random.Random, number: int) -> int:
    """One change of one row, or none. How many rows it was of."""
    key = chance.randrange(1, ROWS + 1_000)
    statement = chance.choice(
        (
            f"UPDATE t SET size = {number} + 1 WHERE id = {key}",
            f"DELETE FROM t WHERE id = {key}",
            f"INSERT IGNORE INTO t VALUES ({key}, 'again', {number})",
        )
    )
    with database.connection.cursor() as cursor:
        return cursor.execute(statement)


def _applied(changes: list[dict[str, Any]], *, strictly: bool) -> dict[int, tuple[Any, ...]]:
    """The table that changes make. Not strictly: those of rows that were read after them are among them."""
    table: dict[int, tuple[Any, ...]] = {}
    for change in changes:
        key = (change["after"] or change["before"])["id"]
        if strictly:
            assert (key in table) == (change["op"] in {"u", "d"})
        if change["op"] == "d":
            table.pop(key, None)
        else:
            table[key] = tuple(change["after"].values())
    return table
