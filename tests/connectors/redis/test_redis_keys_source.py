"""What keys of Redis become."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from connectors.redis.keys_source import RedisKeysSource
from rocketconnect_sdk import Config, Position, Rejected, SourceBatch, SourceTask, SystemAway, TaskContext, parse
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.conformance.source import stored
from rocketconnect_sdk.polled import batches_of
from tests.servers.redis import Redis

SOURCE = RedisKeysSource()


class TestKeys(SourceSuite):
    @pytest.fixture
    def case(self, redis: Redis) -> SourceCase:
        with redis.client.pipeline() as pipe:
            for number in range(20):
                pipe.set(f"k{number}", number)
            pipe.execute()
        expected = [{"key": f"k{number}", "type": "string", "ttl": None, "value": str(number)} for number in range(20)]
        return SourceCase(SOURCE, {"url": redis.url}, sorted(expected, key=repr))

    def test_it_reads_everything(self, case: SourceCase) -> None:
        """A database has no order."""
        found = rest(opened(case.parsed))
        assert sorted(values(found), key=repr) == case.expected


def config_of(redis: Redis, **options: str) -> Config:
    return parse(SOURCE.options, {"url": redis.url, **{name.replace("_", "."): value for name, value in options.items()}})


def opened(config: Config, positions: Mapping[str, Position] | None = None, context: TaskContext | None = None) -> SourceTask:
    task = SOURCE.open(config, SOURCE.plan(config, 1, {}).tasks[0], context or TaskContext())
    task.start(positions or {})
    return task


def rest(task: SourceTask) -> list[SourceBatch]:
    """What comes until all keys are read."""
    found: list[SourceBatch] = []
    while not task.finished:
        found += batches_of(task.poll())
    return found


def values(batches: list[SourceBatch]) -> list[Any]:
    return [value for batch in batches for value in batch.values]


def after(batch: SourceBatch) -> dict[str, Position]:
    return {batch.partition: stored(Position(batch.end or batch.offsets[-1], batch.resume or {}))}


def test_each_type_is_an_object_with_what_the_key_holds(redis: Redis) -> None:
    redis.client.set("string", "")
    redis.client.hset("hash", mapping={"a": "ä", "b": ""})
    redis.client.rpush("list", "b", "a", "b")
    redis.client.sadd("set", "b", "a")
    redis.client.zadd("zset", {"a": 1.5, "b": float("inf")})
    redis.client.xadd("stream", {"a": 1}, id="5-0")
    redis.client.xgroup_create("empty", "g", mkstream=True)
    redis.client.set("expires", "soon", px=100_000)
    batches = rest(opened(config_of(redis)))
    found = {value["key"]: (value["type"], value["value"]) for value in values(batches)}
    assert found == {
        "string": ("string", ""),
        "hash": ("hash", {"a": "ä", "b": ""}),
        "list": ("list", ["b", "a", "b"]),
        "set": ("set", ["a", "b"]),
        "zset": ("zset", [{"member": "a", "score": 1.5}, {"member": "b", "score": "inf"}]),
        "stream": ("stream", [{"id": "5-0", "fields": [["a", "1"]]}]),
        "empty": ("stream", []),
        "expires": ("string", "soon"),
    }
    (ttl,) = [value["ttl"] for value in values(batches) if value["key"] == "expires"]
    assert 0 < ttl <= 100_000
    (batch,) = batches
    columns = zip(batch.keys or (), batch.headers or (), strict=True)
    assert list(columns) == [(value["key"], {"redis.type": value["type"]}) for value in values([batch])]


def test_patterns_and_types_choose(redis: Redis) -> None:
    redis.client.set("a:1", "x")
    redis.client.sadd("a:2", "x")
    redis.client.set("b:1", "x")
    assert [value["key"] for value in values(rest(opened(config_of(redis, keys_pattern="a:*", types="string"))))] == ["a:1"]


def test_what_is_no_text_is_a_bad_record_or_in_base64(redis: Redis) -> None:
    redis.client.execute_command("HSET", "h", "f", b"\xff")
    (bad,) = values(rest(opened(config_of(redis))))
    assert isinstance(bad, Rejected)
    assert "the hash at h has what is no text in UTF-8: encoding=base64" in bad.reason
    assert b'"f": "\\\\xff"' in bad.original
    redis.client.execute_command("SET", b"\xff", "v")
    redis.client.delete("h")
    (batch,) = rest(opened(config_of(redis)))
    assert batch.keys == [None]
    (batch,) = rest(opened(config_of(redis, encoding="base64")))
    assert batch.values == [{"key": "/w==", "type": "string", "ttl": None, "value": "dg=="}]
    assert batch.keys == ["/w=="]


def test_a_value_that_is_too_large_is_not_read_and_told(redis: Redis) -> None:
    redis.client.set("big", "x" * 10_000)
    redis.client.set("small", "x")
    found = values(rest(opened(config_of(redis), context=TaskContext(max_record_bytes=1000))))
    (bad,) = [value for value in found if isinstance(value, Rejected)]
    assert "the string at big takes " in bad.reason
    assert len(found) == 2


def add_many(redis: Redis, count: int = 3_000) -> set[str]:
    redis.client.mset({f"k{number}": "x" * 100 for number in range(count)})
    return {f"k{number}" for number in range(count)}


def test_killed_anywhere_it_goes_on_at_the_page_and_misses_no_key(redis: Redis) -> None:
    keys = add_many(redis)
    config = config_of(redis)
    positions: dict[str, Position] = {}
    found: list[str] = []
    for _ in range(1_000):
        task = opened(config, positions, TaskContext(batch_records=200))
        for _ in range(4):
            for batch in batches_of(task.poll()):
                found += [value["key"] for value in values([batch])]
                offset = batch.end or batch.offsets[-1]
                assert offset > (positions["keys"].offset if positions else ())
                positions = after(batch)
        if task.finished:
            break
        task.close()
    assert set(found) == keys
    assert len(found) < 3 * len(keys)


def test_another_server_knows_no_cursor_of_this_one_and_all_is_read_again() -> None:
    with Redis().running() as server:
        keys = add_many(server)
        config = config_of(server)
        task = opened(config)
        first = batches_of(task.poll())[0]
        task.poll()
        server.kill()
        with pytest.raises(SystemAway, match="does not answer"):
            polled_until(task)
        server.start()
        again = [value["key"] for value in values(rest(opened(config, after(first))))]
        assert set(again) == keys


def polled_until(task: SourceTask) -> None:
    """Polls until something is raised."""
    for _ in range(1_000):
        task.poll()


def test_with_an_interval_all_keys_are_read_again(redis: Redis) -> None:
    redis.client.set("k", "1")
    config = config_of(redis, scan_interval="1h")
    task = opened(config)
    (batch,) = batches_of(task.poll())
    assert (batch.values, batch.end) == ([{"key": "k", "type": "string", "ttl": None, "value": "1"}], (1, 0))
    assert task.poll() is None
    assert not task.finished
    assert task.idle_seconds == 1.0
    redis.client.set("k", "2")
    (at,) = after(batch).values()
    assert opened(config, {"keys": at}).poll() is None
    due = {"keys": Position(at.offset, {**at.resume, "began": at.resume["began"] - 3601})}  # type: ignore[operator]
    (again,) = batches_of(opened(config, due).poll())
    assert [value["value"] for value in values([again])] == ["2"]
    assert again.end == (2, 0)


@pytest.mark.parametrize("change", ["delete", "set"])
def test_a_key_that_changes_while_it_is_read_is_read_as_it_is_or_left_out(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    redis.client.rpush("k", "a")
    task = opened(config_of(redis))
    batch_of: Callable[..., SourceBatch] = task._batch  # type: ignore[attr-defined]
    calls: list[int] = []

    def changed(keys: list[Any]) -> SourceBatch:
        if not calls:
            redis.client.delete("k")
            if change == "set":
                redis.client.set("k", "text")
        calls.append(1)
        return batch_of(keys)

    monkeypatch.setattr(task, "_batch", changed)
    found = [value["value"] for value in values(rest(task))]
    assert found == ([] if change == "delete" else ["text"])


def problems(given: Mapping[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "redis_keys_source", "topic": "t", **given})
    return {each.key: str(each) for each in checked.problems}


def test_what_is_configured_wrong_is_told(redis: Redis) -> None:
    found = problems({"url": "redis://a/x", "types": "string,json", "encoding": "x"})
    assert found.keys() == {"url", "types", "encoding"}
    assert "has 'json', which is no type" in found["types"]
    assert "Name keys." in next(iter(SOURCE.check_position(config_of(redis), "s", Position((0, 0))))).fix
    redis.client.execute_command("ACL", "SETUSER", "nobody", "on", "nopass", "~*", "+info", "+select")
    (problem,) = SOURCE.check(config_of(redis, user="nobody"))
    assert "scan" in problem.reason
    redis.client.execute_command("ACL", "DELUSER", "nobody")
