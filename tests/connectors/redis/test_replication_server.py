"""redis_replication_source against servers and tasks that are killed, and others that take over."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rocketconnect_sdk import Config, Offset, PermanentError, Position, SourceTask, SystemAway, TaskContext
from rocketconnect_sdk.polled import batches_of
from tests import free_ports
from tests.connectors.redis.replicas import LIMIT, QUICK, SOURCE, after, close_all, config_of, has, has_keys, opened, until, values
from tests.servers.redis import Redis


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture(params=["valkey", pytest.param("redis", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """A server of its own."""
    with Redis(request.param, QUICK).running() as made:
        yield made


class Topic:
    """What the runtime does: it sends each record once, stores positions later, and loses tasks at any time."""

    def __init__(self, config: Config, records: int = 5) -> None:
        self.config = config
        self._context = TaskContext(batch_records=records)
        self._task: SourceTask | None = None
        self._newest: Offset = ()
        self._unstored: list[dict[str, Position]] = []
        self.positions: dict[str, Position] = {}
        self.values: list[Any] = []

    def read(self) -> None:
        """A poll; where nobody answers another start."""
        try:
            task = self._task or opened(self.config, self.positions, self._context)
            self._task = task
            found = batches_of(task.poll())
        except SystemAway:
            self.kill()
            return
        for batch in found:
            for offset, value in zip(batch.offsets, batch.values, strict=True):
                if offset > self._newest:
                    self._newest = offset
                    self.values.append(value)
            self._unstored.append(after([batch]))

    def store(self, count: int) -> None:
        """Stores some positions that are not stored yet."""
        for position in self._unstored[:count]:
            self.positions |= position
        del self._unstored[:count]
        if self._task is not None and self.positions:
            self._task.committed(dict(self.positions))

    def kill(self) -> None:
        """The next read is that of another task."""
        if self._task is not None:
            self._task.close()
        self._task, self._unstored = None, []

    def until(self, done: Callable[[], object]) -> None:
        """Reads and stores on."""
        end = time.monotonic() + LIMIT
        while not done():
            assert time.monotonic() < end, f"within {LIMIT} s came only {len(self.values)}"
            self.read()
            self.store(100)

    @property
    def commands(self) -> list[Any]:
        """Those that were sent."""
        return [value for value in self.values if "command" in value]


def write(client: Any, begin: int, choose: random.Random) -> int:
    """Commands with rising numbers, some of them in a transaction. Returns the next number."""
    count = choose.randint(1, 6)
    with client.pipeline(transaction=choose.random() < 0.5) as pipe:
        for number in range(begin, begin + count):
            pipe.set(f"k{number % 7}", number)
        pipe.execute()
    return begin + count


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_killed_at_any_step_it_sends_every_command_once_in_order(server: Redis, seed: int) -> None:
    choose = random.Random(seed)  # a walk that can be had again
    topic = Topic(config_of(server, heartbeat_interval="50ms"))
    topic.until(lambda: topic.positions and topic.positions["replication"].offset[2] == 2)
    written = 0
    for _ in range(60):
        step = choose.choice(["write", "write", "read", "read", "read", "store", "kill"])
        if step == "write":
            written = write(server.client, written, choose)
        elif step == "read":
            topic.read()
        elif step == "store":
            topic.store(choose.randint(1, 3))
        else:
            topic.kill()
    topic.kill()
    topic.until(lambda: len(topic.commands) >= written)
    assert [int(each["args"][1]) for each in topic.commands] == list(range(written))


def test_what_comes_while_nothing_is_polled_is_taken_from_the_server(server: Redis) -> None:
    client = server.client
    client.config_set("client-output-buffer-limit", "replica 8mb 8mb 10")
    client.config_set("repl-backlog-size", "64kb")
    task = opened(config_of(server))
    done = until(task, has_keys)
    for number in range(120):
        client.set("k", f"{number}:" + "x" * 100_000)
        task.keep_alive()
    assert task.remaining()
    assert [each["args"][1].split(":")[0] for each in values(until(task, has(120)))] == [str(number) for number in range(120)]
    task.close()
    with pytest.raises(PermanentError, match="no longer has the commands behind"):
        opened(config_of(server), after(done))


@pytest.mark.slow
def test_a_link_that_breaks_while_a_snapshot_is_read_breaks_the_snapshot_not(server: Redis) -> None:
    server.client.mset({f"k{number}": number for number in range(50)})
    topic = Topic(config_of(server))
    topic.until(lambda: topic.values)
    server.client.execute_command("CLIENT", "KILL", "TYPE", "replica")
    server.client.set("more", "x")
    topic.until(lambda: topic.commands)
    assert len(topic.values) == 51


@pytest.mark.slow
def test_a_server_that_is_killed_comes_back_with_another_history_and_that_is_told(server: Redis) -> None:
    server.client.set("k", "1")
    topic = Topic(config_of(server))
    topic.until(lambda: topic.values)
    server.kill()
    topic.read()
    server.start()
    with pytest.raises(PermanentError, match="or was started anew"):
        topic.until(lambda: False)
    topic.config = config_of(server, on_gap="skip")
    topic.until(lambda: len(topic.values) == 2)
    assert topic.values[0] == topic.values[1]


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 40])
def test_a_replica_that_takes_over_goes_on_where_the_histories_part(server: Redis, lag: int) -> None:
    with Redis(server.program, QUICK).running() as other:
        client, replica = server.client, other.client
        replica.replicaof("127.0.0.1", server.port)
        topic = Topic(config_of(server))
        topic.until(lambda: topic.positions and topic.positions["replication"].offset[2] == 2)
        for number in range(30):
            client.set("k", number)
        topic.until(lambda: len(topic.commands) == 30)
        topic.until(lambda: replica.get("k") == "29")
        # From now on it gets nothing more.
        replica.replicaof("127.0.0.1", free_ports.choose())
        for number in range(lag):
            client.set("k", f"lost {number}")
        while len(topic.commands) < 30 + lag:
            topic.read()
        server.kill()
        replica.replicaof("NO", "ONE")
        topic.kill()
        topic.config = config_of(other)
        for number in range(30, 120):
            replica.set("k", number)
        for _ in range(20):
            topic.read()
            topic.kill()
        topic.until(lambda: topic.commands[-1]["args"][1] == "119")
        kept = [each["args"][1] for each in topic.commands if "lost" not in each["args"][1]]
        assert kept == [str(number) for number in range(120)]


@pytest.mark.slow
def test_a_user_needs_what_is_told(server: Redis) -> None:
    client = server.client
    rights = ("+psync", "+replconf", "+info", "+ping")
    client.execute_command("ACL", "SETUSER", "copy", "on", ">secret", *rights)
    config = config_of(server, user="copy", password="${env:PASSWORD}").replaced(
        lambda text: "secret" if text == "${env:PASSWORD}" else text
    )
    assert list(SOURCE.check(config)) == []
    client.set("k", "1")
    assert len(values(until(opened(config), has_keys))) == 1
    client.execute_command("ACL", "SETUSER", "copy", "-psync")
    with pytest.raises(PermanentError, match=r"refuses the user: NOPERM .*psync"):
        opened(config)
    client.execute_command("ACL", "SETUSER", "copy", "-replconf")
    (problem,) = SOURCE.check(config)
    assert "replconf" in problem.reason
