"""Tables of a real PostgreSQL into topics of a real broker, by a task that is killed at random moments."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from services.executor.contract.task import Kind
from tests.servers.postgres import Postgres, PostgresFailed
from tests.services.executor.runtime.conftest import PositionProcess, Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.postgres, pytest.mark.slow]

ROWS, CHANGES, KILLS = 20_000, 1_200, 4
LAST = 1_000_000
DONE = [1, 2]
"""How the offset of a table begins whose rows were all read."""
SLOT = "killed"
SECONDS = 300.0


class Copying:
    """A task that copies a table, which is killed and started again."""

    def __init__(self, tasks: Tasks, positions: PositionProcess, server: "Server") -> None:
        self.tasks, self.positions = tasks, positions
        self.topic = f"{tasks.topic}-t"
        self.server = server
        self.connection = connection = server.connect()
        self._given = {
            "connector.class": "postgres_cdc_source",
            "hostname": "127.0.0.1",
            "port": str(server.postgres.port),
            "database": "postgres",
            "username": "postgres",
            "slot.name": SLOT,
            "publication.name": SLOT,
            "heartbeat.interval": "0.2",
            "table.include": r"public\.t",
            "table.topic": "${topic}-${table}",
            "batch.records": "200",
            "value.converter": "json",
            "value.converter.schemas.enable": "false",
        }
        self._epoch = self._moved = 0
        connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, name text, size int)")
        connection.execute(f"INSERT INTO t SELECT n, 'row ' || n, 0 FROM generate_series(1, {ROWS}) n".encode())
        tasks.client.create_topic(self.topic, queues=4)
        self.process = self._spawn()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        self._epoch += 1
        return self.tasks.spawn(Kind.SOURCE, self._given, epoch=self._epoch)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self._spawn()

    def restart_server(self, number: signal.Signals) -> None:
        """Ends the server, and starts it again."""
        self.connection.close()
        self.server.end(number)
        self.server.start()
        self.connection = self.server.connect()

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
        deadline = time.monotonic() + 400
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
        return {row[0]: tuple(row) for row in self.connection.execute("SELECT * FROM t").fetchall()}

    def change(self, chance: random.Random, number: int) -> int:
        """One change of one row, or none. How many messages it becomes."""
        key = chance.randrange(1, ROWS + 1_000)
        self._moved += 1
        kind = chance.choice(("insert", "update", "delete", "move"))
        statement, words = {
            "insert": ("INSERT INTO t VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", (key, f"new {number}", number)),
            "update": ("UPDATE t SET size = %s WHERE id = %s", (number, key)),
            "delete": ("DELETE FROM t WHERE id = %s", (key,)),
            "move": ("UPDATE t SET id = %s WHERE id = %s", (ROWS + 10_000 + self._moved, key)),
        }[kind]
        return self.connection.execute(statement, words).rowcount * (2 if kind == "move" else 1)


class Server:
    """A server that may be ended and started again; what it has confirmed is on disk."""

    def __init__(self) -> None:
        self.postgres = Postgres(wal_level="logical")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        deadline = time.monotonic() + SECONDS
        while not self.postgres.is_ready():
            assert time.monotonic() < deadline, "PostgreSQL does not answer"
            # Those that a killed one leaves behind hold its memory for a moment.
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    self.postgres.command(), cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            time.sleep(0.1)

    def end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(SECONDS)

    def connect(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(self.postgres.url().replace("+psycopg", ""), autocommit=True)


@pytest.fixture
def copying(tasks: Tasks, positions: PositionProcess) -> Iterator[Copying]:
    try:
        server = Server()
    except PostgresFailed as error:
        pytest.fail(str(error), pytrace=False)
    try:
        server.start()
        made = Copying(tasks, positions, server)
        try:
            yield made
        finally:
            made.process.kill()
            made.process.wait()
            made.connection.close()
    finally:
        server.end(signal.SIGKILL)
        server.postgres.remove()


def applied(changes: list[dict[str, Any]], *, strictly: bool) -> dict[int, tuple[Any, ...]]:
    """The table that changes make. Strictly: none is of a row that is not there, or there already."""
    table: dict[int, tuple[Any, ...]] = {}
    for change in changes:
        after = change["after"]
        if change["op"] == "d":
            gone = table.pop(change["before"]["id"], None)
            assert gone is not None or not strictly, change
        else:
            assert not strictly or (after["id"] in table) == (change["op"] == "u"), change
            table[after["id"]] = tuple(after.values())
    return table


def test_a_task_that_is_killed_at_random_moments_loses_and_doubles_no_row_and_no_change(copying: Copying) -> None:
    chance = random.Random(7)
    for part in range(1, KILLS):
        copying.wait(lambda part=part: copying.count >= ROWS * part // (KILLS + 1))  # type: ignore[misc]
        copying.kill()
    copying.wait(lambda: copying.count >= ROWS)
    copying.wait_stored()
    done = 0
    for _ in range(KILLS):
        done += sum(copying.change(chance, number) for number in range(CHANGES // KILLS))
        copying.kill()
        time.sleep(chance.uniform(0.5, 2.0))
    copying.wait(lambda: copying.count >= ROWS + done)
    copying.stop()
    assert copying.doubled() == []
    changes = copying.changes()
    assert len(changes) == ROWS + done
    assert applied(changes, strictly=True) == copying.table()


def test_changes_while_rows_are_read_by_a_task_that_is_killed_end_in_the_same_table(copying: Copying) -> None:
    chance = random.Random(8)
    copying.wait(lambda: copying.count > 0)
    for _ in range(KILLS):
        for number in range(CHANGES // KILLS):
            copying.change(chance, number)
        copying.kill()
        time.sleep(chance.uniform(0.5, 2.0))
    copying.connection.execute(f"INSERT INTO t VALUES ({LAST}, 'last', 0)".encode())
    copying.wait(lambda: LAST in applied(copying.changes(), strictly=False))
    copying.stop()
    assert applied(copying.changes(), strictly=False) == copying.table()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_that_is_killed_or_restarted_costs_and_doubles_no_row_and_no_change(
    copying: Copying, number: signal.Signals
) -> None:
    chance = random.Random(9)
    for part in (1, 2):
        copying.wait(lambda part=part: copying.count >= ROWS * part // 3)  # type: ignore[misc]
        copying.restart_server(number)
    copying.wait(lambda: copying.count >= ROWS)
    copying.wait_stored()
    done = 0
    for _ in range(2):
        done += sum(copying.change(chance, each) for each in range(CHANGES // 4))
        copying.restart_server(number)
    done += sum(copying.change(chance, each) for each in range(CHANGES // 4))
    copying.wait(lambda: copying.count >= ROWS + done)
    copying.stop()
    assert copying.doubled() == []
    changes = copying.changes()
    assert len(changes) == ROWS + done
    assert applied(changes, strictly=True) == copying.table()
