"""What a server holds, and what its commands become."""

import base64
import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from connectors.redis.keys import _RAW
from connectors.redis.values import READS, value_of
from rocketconnect_sdk import PermanentError, Position, Rejected, TaskContext
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.source import Edge
from tests.connectors.redis.replicas import QUICK, SOURCE, after, close_all, config_of, has, has_keys, opened, until, values
from tests.servers.redis import Redis


@pytest.fixture(scope="module", params=["valkey", pytest.param("redis", marks=pytest.mark.slow)])
def _replicated(request: pytest.FixtureRequest) -> Iterator[Redis]:
    with Redis(request.param, QUICK).running() as server:
        yield server


@pytest.fixture
def server(_replicated: Redis) -> Redis:
    """A server that is empty."""
    _replicated.client.flushall()
    return _replicated


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_all()


class TestReplication(SourceSuite):
    @pytest.fixture
    def case(self, server: Redis) -> SourceCase:
        server.client.mset({"a": "1", "b": "2"})
        expected = [
            {"db": 0, "key": key, "type": "string", "expires": None, "value": text} for key, text in (("a", "1"), ("b", "2"))
        ]
        return SourceCase(SOURCE, {"url": f"redis://127.0.0.1:{server.port}", "snapshot.mode": "only"}, expected)

    def test_it_reads_everything(self, case: SourceCase) -> None:
        """A database has no order."""
        found = values(until(opened(case.parsed), has_keys))
        assert sorted(found, key=repr) == case.expected


def read_live(redis: Redis) -> dict[str, Any]:
    """What redis_keys_source would give for each key."""
    client: Any = redis.client
    client.connection_pool.connection_kwargs["decode_responses"] = False
    for command in _RAW:
        client.response_callbacks.pop(command, None)
    found = {}
    for key in client.execute_command("KEYS", "*"):
        kind = client.type(key).decode()
        name, *more = READS[kind]
        found[key.decode()] = value_of(key, kind, -1, client.execute_command(name, key, *more), "base64")["value"]  # type: ignore[index]
    return found


LONG = "x" * 5_000
NUMBERS = (0, 63, 127, 128, -1, -4096, 4095, 5000, -40_000, 8_000_000, -(1 << 40), (1 << 62))


def fill(client: Any) -> None:
    """Each type in each of the forms in which servers keep it."""
    texts = [*map(str, NUMBERS), "", "a", "ä" * 40, "y" * 100, LONG, "ab" * 3_000]
    with client.pipeline() as pipe:
        for number, text in enumerate(texts):
            pipe.set(f"string:{number}", text)
        for name, some in (("short", texts[:8]), ("long", texts * 60), ("numbers", [str(each) for each in range(700)])):
            pipe.rpush(f"list:{name}", *some)
            pipe.sadd(f"set:{name}", *some)
            pipe.hset(f"hash:{name}", mapping={f"f{index}": text for index, text in enumerate(some)})
            pipe.zadd(f"zset:{name}", {f"m{index}": index * 1.25 - 3 for index in range(len(some))})
        pipe.zadd("zset:ends", {"a": float("inf"), "b": float("-inf"), "c": 3})
        pipe.sadd("set:16", 1, -30_000)
        pipe.sadd("set:64", 1, 1 << 40)
        for number in range(250):
            pipe.xadd(
                "stream", {"n": number, **({"more": LONG} if number % 50 == 0 else {})}, id=f"{1000 + number // 3}-{number % 3 * 2}"
            )
        pipe.xdel("stream", "1001-2", "1010-0")
        pipe.xgroup_create("stream", "group", "0")
        pipe.xreadgroup("group", "reader", {"stream": ">"}, count=7)
        pipe.xgroup_create("empty", "group", mkstream=True)
        pipe.set("expires", "soon", pxat=4_000_000_000_123)
        pipe.execute()


def test_a_snapshot_has_what_every_type_in_every_form_holds(server: Redis) -> None:
    fill(server.client)
    found = {each["key"]: each for each in values(until(opened(config_of(server)), has_keys))}
    in_base64 = {each["key"]: each for each in values(until(opened(config_of(server, encoding="base64")), has_keys))}
    live = read_live(server)
    assert {base64.b64decode(key).decode(): each["value"] for key, each in in_base64.items()} == live
    assert found.keys() == live.keys()
    assert found["expires"] == {"db": 0, "key": "expires", "type": "string", "expires": 4_000_000_000_123, "value": "soon"}
    assert found["list:short"]["value"] == [str(each) for each in NUMBERS[:8]]
    assert {each["type"] for each in found.values()} == {"string", "list", "set", "zset", "hash", "stream"}


def test_fields_of_a_hash_that_expire_are_told(server: Redis) -> None:
    client = server.client
    client.hset("h", mapping={"a": "1", "b": "2"})
    if "valkey_version" not in client.info("server"):
        pytest.skip("Redis 7.0 has no fields that expire")
    client.execute_command("HPEXPIREAT", "h", 4_000_000_000_123, "FIELDS", 1, "a")
    (held,) = values(until(opened(config_of(server)), has_keys))
    assert (held["value"], held["fields_expire"]) == ({"a": "1", "b": "2"}, {"a": 4_000_000_000_123})


def test_commands_follow_the_snapshot_with_their_database_and_their_transaction(server: Redis) -> None:
    client = server.client
    client.set("before", "1")
    task = opened(config_of(server))
    first = until(task, has_keys)
    client.set("a", "ä", px=100_000)
    with client.pipeline() as pipe:
        pipe.hset("h", mapping={"f": "v"})
        pipe.delete("a", "before")
        pipe.execute()
    server.with_database().client.rpush("l", "x", "y")
    client.publish("channel", "message")
    batches = until(task, has(5))
    # It would end a link whose snapshot the server has not done with.
    client.flushall()
    batches += until(task, has(1))
    simple = [(each["command"], each["key"], each["args"], each["transaction"] is not None) for each in values(batches)]
    expires = values(batches)[0]["args"][3]
    assert simple == [
        ("SET", "a", ["a", "ä", "PXAT", expires], False),
        ("HSET", "h", ["h", "f", "v"], True),
        ("DEL", "a", ["a", "before"], True),
        ("RPUSH", "l", ["l", "x", "y"], False),
        ("PUBLISH", None, ["channel", "message"], False),
        ("FLUSHALL", None, [], False),
    ]
    one, two = (values(batches)[number]["transaction"] for number in (1, 2))
    assert (one["id"], one["number"], two["number"]) == (two["id"], 1, 2)
    assert values(batches)[3]["db"] > 0
    headers = [header for batch in batches for header in batch.headers or ()]
    assert {header["redis.event"] for header in headers} == {"command"}
    assert values(first)[0]["key"] == "before"
    assert first[0].keys == ["before"]


def test_databases_and_commands_choose(server: Redis) -> None:
    other = server.with_database()
    other.client.set("there", "1")
    server.client.set("here", "1")
    task = opened(config_of(server, databases=str(other.database), commands="set,flushall"))
    assert [each["key"] for each in values(until(task, has_keys))] == ["there"]
    server.client.set("here", "2")
    other.client.delete("there")
    other.client.set("there", "2")
    assert [(each["command"], each["key"]) for each in values(until(task, has(1)))] == [("SET", "there")]
    server.client.flushall()
    assert [each["command"] for each in values(until(task, has(1)))] == ["FLUSHALL"]


def test_what_is_no_text_or_too_large_is_a_bad_record_with_its_key(server: Redis) -> None:
    server.client.execute_command("SET", "binary", b"\xff")
    server.client.set("large", "x" * 10_000)
    server.client.rpush("many", *["x" * 100] * 200)
    context = TaskContext(max_record_bytes=1_000)
    task = opened(config_of(server), context=context)
    reasons = sorted(each.reason for each in values(until(task, has_keys)))
    assert "the list at many takes " in reasons[0]
    assert "the string at binary has what is no text in UTF-8: encoding=base64" in reasons[1]
    assert "the string at large takes " in reasons[2]
    server.client.set("large", "y" * 10_000)
    server.client.set("small", "x")
    bad, good = values(until(task, has(2)))
    assert isinstance(bad, Rejected)
    assert bad.reason == "SET of large has 10,008 bytes, and at most 8,000 are read"
    assert good["args"] == ["small", "x"]


def test_a_task_that_begins_anew_goes_on_exactly_behind_what_is_stored(server: Redis) -> None:
    client = server.client
    task = opened(config_of(server))
    first = until(task, has_keys)
    for number in range(6):
        client.set(f"k{number}", number)
    found = until(task, has(6))
    task.close()
    whole = [offset for batch in found for offset in batch.offsets]
    client.set("more", "x")
    again = until(opened(config_of(server), after(first)), has(7))
    assert [offset for batch in again for offset in batch.offsets][:6] == whole
    rest = until(opened(config_of(server), after(found)), has(1))
    assert [each["key"] for each in values(rest)] == ["more"]


def test_a_snapshot_that_was_not_read_to_its_end_comes_again_under_another_run(server: Redis) -> None:
    server.client.mset({f"k{number}": number for number in range(10)})
    first = until(opened(config_of(server), context=TaskContext(batch_records=4)), has(4))
    again = until(opened(config_of(server), after(first)), has_keys)
    assert len(values(again)) == 10
    assert again[0].offsets[0] > first[-1].offsets[-1]


def test_a_place_that_the_server_no_longer_has_is_told_or_all_is_read_anew(server: Redis) -> None:
    server.client.set("k", "1")
    done = after(until(opened(config_of(server)), has_keys))
    lost = {name: Position((*at.offset[:3], at.offset[3] + 10_000_000), at.resume) for name, at in done.items()}
    with pytest.raises(
        PermanentError, match=r"no longer has the commands behind .* Set on\.gap=skip to read all that it holds anew"
    ):
        opened(config_of(server), lost)
    log = Mock()
    again = until(opened(config_of(server, on_gap="skip"), lost, TaskContext(log=log)), has_keys)
    assert [each["key"] for each in values(again)] == ["k"]
    assert "no longer has the commands" in log.warning.call_args.args[1]
    assert again[0].offsets[0] > next(iter(lost.values())).offset


def test_a_snapshot_that_the_server_makes_in_a_file_is_read_too(server: Redis) -> None:
    client = server.client
    client.set("k", "x" * 10_000)
    client.config_set("repl-diskless-sync", "no")
    try:
        assert [each["key"] for each in values(until(opened(config_of(server)), has_keys))] == ["k"]
    finally:
        client.config_set("repl-diskless-sync", "yes")


def test_without_a_snapshot_commands_are_read_from_now_on(server: Redis) -> None:
    server.client.set("k", "1")
    task = opened(config_of(server, snapshot_mode="never"))
    until(task, has_keys)
    server.client.set("k", "2")
    assert [each["args"] for each in values(until(task, has(1)))] == [["k", "2"]]


def test_a_transaction_is_given_as_a_whole_however_small_batches_are(server: Redis) -> None:
    task = opened(config_of(server), context=TaskContext(batch_records=1))
    until(task, has_keys)
    for begin in (0, 5):
        with server.client.pipeline() as pipe:
            for number in range(5):
                pipe.set(f"k{begin + number}", number)
            pipe.execute()
    assert [len(batch) for batch in until(task, has(10)) if len(batch)] == [5, 5]


def test_an_acknowledgement_says_what_is_stored(server: Redis) -> None:
    """WAIT counts a source as a replica: what it has acknowledged is in the topic."""
    task = opened(config_of(server))
    until(task, has_keys)
    client = server.client
    client.set("k", "1")
    found = until(task, has(1), stores=False)
    assert client.wait(1, 50) == 0
    task.committed(after(found))
    answered: list[int] = []
    waiting = threading.Thread(target=lambda: answered.append(client.wait(1, 20_000)))
    client.set("k", "1")
    found = until(task, has(1))
    waiting.start()
    until(task, lambda batches: answered)
    waiting.join()
    assert answered == [1]


def test_positions_are_checked(server: Redis) -> None:
    config = config_of(server)
    for partition, position, fix in (
        ("keys", Position((0, 0, 1, 0)), "Name replication."),
        ("replication", Position((1, 1, 3, 0)), "Give one that it had"),
        ("replication", Position((1, 1, 2, 0)), "Give its map, too"),
    ):
        (problem,) = SOURCE.check_position(config, partition, position)
        assert problem.fix.startswith(fix)
    assert SOURCE.find_position(config, "replication", Edge.EARLIEST) == Position((0, 0, 1, 0))
    (problem,) = SOURCE.check(config.replaced(lambda text: text + "/3" if text.startswith("redis:") else text))
    assert "names a database" in problem.reason
