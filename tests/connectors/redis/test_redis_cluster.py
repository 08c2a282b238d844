"""Plugins of Redis against clusters, and masters behind Sentinel."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from connectors.redis.keys_source import RedisKeysSource
from connectors.redis.servers.addresses import Address, url_problem
from connectors.redis.sink import RedisSink
from connectors.redis.source import RedisSource
from rocketconnect_sdk import SystemAway, TaskContext, parse
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.connectors.partitions import Runtime
from tests.connectors.redis.replicas import QUICK, close_all, config_of
from tests.servers.redis.several import RedisCluster, RedisSentinel

LIMIT = 120.0


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://h", "redis://h:6379/0"),
        ("rediss://h:1/3", "redis://h:1/3"),
        ("redis+sentinel://b,a:1/main/2", "redis+sentinel://a:1,b:26379/main/2"),
        ("redis+cluster://[::1]:7000,h", "redis+cluster://::1:7000,h:6379"),
    ],
)
def test_a_url_means_a_server_or_several(url: str, place: str) -> None:
    assert url_problem(url) is None
    assert Address.of(url).place == place


@pytest.mark.parametrize(
    "url", ["redis://a,b", "redis+sentinel://a", "redis+cluster://a/1", "http://a", "redis://a:0", "redis+sentinel://a/m/x"]
)
def test_what_is_no_url_is_told(url: str) -> None:
    assert url_problem(url) == "is no URL of a Redis"


def problems(given: Mapping[str, str]) -> dict[str, str]:
    """By option all that is told of it."""
    found: dict[str, str] = {}
    for each in check_connector({"topic": "t", "topics": "t", **given}).problems:
        found[each.key] = f"{found.get(each.key, '')} {each}"
    return found


def test_what_a_cluster_can_not_have_is_told() -> None:
    url = "redis+cluster://127.0.0.1:1"
    assert "a transaction has keys of one slot alone" in problems({"connector.class": "redis_sink", "url": url})["delivery"]
    assert "delivery" not in problems({"connector.class": "redis_sink", "url": url, "delivery": "at_least_once"})
    assert "is a cluster" in problems({"connector.class": "redis_group_source", "url": url, "streams": "s", "group": "g"})["url"]
    assert "each of its masters has a history" in problems({"connector.class": "redis_replication_source", "url": url})["url"]


def wait(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not done():
        assert time.monotonic() < end, f"{what} did not come within {LIMIT} s"


def insist(action: Callable[[], object]) -> None:
    """Does it again until somebody answers, as clients of a cluster do."""

    def is_done() -> bool:
        try:
            action()
        except Exception:  # whatever a client makes of a failover
            time.sleep(0.1)
            return False
        return True

    wait(is_done, "an answer")


@pytest.fixture(scope="module", params=["valkey", "redis"])
def cluster(request: pytest.FixtureRequest) -> Iterator[RedisCluster]:
    with RedisCluster(request.param).running() as made:
        yield made


@pytest.fixture(params=["valkey", "redis"])
def sentinel(request: pytest.FixtureRequest) -> Iterator[RedisSentinel]:
    with RedisSentinel(request.param, QUICK).running() as made:
        yield made
    close_all()


class Writer:
    """A task of redis_sink that writes one queue, again and again until it is written."""

    def __init__(self, url: str, **options: str) -> None:
        sink = RedisSink()
        config = parse(sink.options, {"url": url, **options})
        assert [each for each in sink.check(config) if not each.is_warning] == []
        self.at = 0
        self.task = sink.open(config, {}, TaskContext())
        insist(self.task.start)

    def write(self, values: list[object], keys: list[object]) -> None:
        batch = SinkBatch("t/b/0", "t", values, range(self.at, self.at + len(values)), keys)
        receipts = [self.task.writer().stage(batch, "part")]
        end = QueuePosition(self.at + len(values))
        commit = SinkCommit("test", 0, 1, {"t/b/0": QueuePosition(self.at)}, {"t/b/0": end}, len(values), f"t{self.at}")

        def commit_or_start() -> None:
            try:
                self.task.commit(receipts, commit)
            except SystemAway:
                self.at = self.task.start().get("t/b/0", QueuePosition(self.at)).until
                if self.at >= end.until:
                    return
                raise

        insist(commit_or_start)
        self.at = end.until


@pytest.mark.slow
def test_keys_that_move_to_another_master_are_written_and_read_there(cluster: RedisCluster) -> None:
    client = cluster.client()
    writer = Writer(cluster.url, type="list", key="moved", delivery="at_least_once")
    source = RedisSource()
    runtime = Runtime(source, parse(source.options, {"url": cluster.url, "streams": "moved:s,stays", "discover.interval": "0.1"}))

    def has(count: int) -> bool:
        runtime.read()
        runtime.store(50)
        return len(runtime.values) >= count

    for number in range(40):
        client.xadd("moved:s" if number % 2 else "stays", {"n": number})
    writer.write(["1", "2"], [None, None])
    wait(lambda: has(40), "all entries")
    cluster.move("moved:s")
    cluster.move("moved")
    for number in range(40, 80):
        client.xadd("moved:s" if number % 2 else "stays", {"n": number})
    writer.write(["3"], [None])
    wait(lambda: has(80), "all entries")
    assert sorted(int(value["n"]) for value in runtime.values) == list(range(80))  # type: ignore[index]
    assert client.lrange("moved", 0, -1) == ["1", "2", "3"]
    runtime.kill()
    writer.task.close()
    client.delete("moved:s", "stays", "moved")


@pytest.mark.slow
def test_a_cluster_is_written_and_read_and_survives_the_loss_of_a_master(cluster: RedisCluster) -> None:
    client = cluster.client()
    writer = Writer(cluster.url, type="string", key="k:${key}", delivery="at_least_once")
    writer.write([str(number) for number in range(300)], [str(number) for number in range(300)])
    assert [client.get(f"k:{number}") for number in range(300)] == [str(number) for number in range(300)]

    source = RedisSource()
    config = parse(source.options, {"url": cluster.url, "streams.pattern": "s*", "discover.interval": "0.1"})
    for number in range(60):
        client.xadd(f"s{number % 12}", {"n": number})
    assert list(source.check(config)) == []
    runtime = Runtime(source, config, records=20)

    def has(count: int) -> bool:
        runtime.read()
        runtime.store(50)
        return len(runtime.values) >= count

    wait(lambda: has(60), "all entries")
    for server in cluster.servers[3:]:
        wait(lambda: server.client.info("replication")["master_link_status"] == "up", "a replica")  # noqa: B023 - at once
    client.wait(1, 5_000, target_nodes=client.PRIMARIES)
    time.sleep(1.0)
    cluster.servers[0].kill()
    wait(lambda: any(server.client.info("replication")["role"] == "master" for server in cluster.servers[3:]), "a new master")
    writer.write([f"again {number}" for number in range(300)], [str(number) for number in range(300)])
    client = cluster.client()
    assert {client.get(f"k:{number}") for number in range(300)} == {f"again {number}" for number in range(300)}
    for number in range(60, 120):
        insist(lambda: client.xadd(f"s{number % 12}", {"n": number}))  # noqa: B023 - at once
    wait(lambda: has(120), "all entries")
    assert sorted(int(value["n"]) for value in runtime.values) == list(range(120))  # type: ignore[index]

    keys = RedisKeysSource()
    task = keys.open(parse(keys.options, {"url": cluster.url, "keys.pattern": "k:*"}), {}, TaskContext(batch_records=50))
    insist(lambda: task.start({}))
    found: list[Any] = []
    while not task.finished:
        found += [value for batch in batches_of(task.poll()) for value in batch.values]
    task.close()
    runtime.kill()
    assert sorted(each["key"] for each in found) == sorted(f"k:{number}" for number in range(300))


@pytest.mark.slow
def test_behind_sentinel_a_failover_loses_and_doubles_nothing_that_the_replica_had(sentinel: RedisSentinel) -> None:
    from tests.connectors.redis.test_replication_server import Topic

    writer = Writer(sentinel.url, type="list", key="l")
    source = RedisSource()
    runtime = Runtime(source, parse(source.options, {"url": sentinel.url, "streams": "s", "discover.interval": "0.1"}), records=20)
    topic = Topic(config_of(sentinel.servers[0], url=sentinel.url))
    topic.until(lambda: topic.positions and topic.positions["replication"].offset[2] == 2)

    def has(count: int) -> bool:
        runtime.read()
        runtime.store(50)
        topic.read()
        topic.store(50)
        return len(runtime.values) >= count and len(added()) >= count

    def added() -> list[str]:
        return [each["args"][-1] for each in topic.commands if each["command"] == "XADD"]

    def write_more() -> None:
        for number in range(40, 60):
            writer.write([str(number)], [None])

    master, replica = (server.client for server in sentinel.servers)
    for number in range(40):
        writer.write([str(number)], [None])
        master.xadd("s", {"n": number})
    wait(lambda: has(40), "what was written")
    wait(lambda: replica.xlen("s") == 40, "the replica")
    sentinel.servers[0].kill()
    more = threading.Thread(target=write_more)
    more.start()
    wait(lambda: replica.info("replication")["role"] == "master", "the failover")
    more.join()
    for number in range(40, 80):
        replica.xadd("s", {"n": number})
    assert replica.lrange("l", 0, -1) == [str(number) for number in range(60)]
    wait(lambda: has(80), "what was written to the new master")
    assert sorted(int(value["n"]) for value in runtime.values) == list(range(80))  # type: ignore[index]
    assert added() == [str(number) for number in range(80)]
    runtime.kill()
