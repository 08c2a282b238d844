"""What records become in Redis."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest
from redis import Redis as Client

from connectors.redis.sink import RedisSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordRefused, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit
from tests.servers.redis import Redis

QUEUE = "orders/b/0"


class Run:
    """A task that writes one queue."""

    def __init__(self, redis: Redis, epoch: int = 1, **options: str) -> None:
        sink = RedisSink()
        config = parse(sink.options, {"url": redis.url, **{key.replace("_", "."): value for key, value in options.items()}})
        assert list(sink.check(config)) == []
        self.task: RecordSinkTask = sink.open(config, {}, TaskContext(epoch=epoch))
        self.at = self.task.start().get(QUEUE, QueuePosition(0)).until

    def write(
        self, values: Sequence[object], keys: Sequence[object] | None = None, headers: Sequence[Mapping[str, str]] | None = None
    ) -> dict[int, str]:
        """Writes a batch as the runtime does; returns what was refused."""
        batch = SinkBatch(QUEUE, "orders", values, range(self.at, self.at + len(values)), keys, None, headers)
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = error.refused, [error.receipt]
        commit = SinkCommit(
            "test", 0, 1, {QUEUE: QueuePosition(self.at)}, {QUEUE: QueuePosition(self.at + len(values))}, len(values), f"t{self.at}"
        )
        while True:
            try:
                self.task.commit(receipts, commit)
            except RecordRefused as error:
                refused |= error.refused
                receipts = error.receipt
                continue
            self.at += len(values)
            return refused


def change(op: str, before: object, after: object, **more: object) -> str:
    return json.dumps({"op": op, "before": before, "after": after, **more})


BOTH = pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])


@pytest.mark.parametrize("kind", ["hash", "stream"])
def test_bytes_are_stored_as_they_are_in_fields_as_in_values_and_as_base64_in_json(redis: Redis, kind: str) -> None:
    data = b"\xff\x00\x80"
    row = {"id": 1, "photo": data, "text": b"as text", "more": {"thumb": data}, "gone": None}
    run = Run(redis, type=kind, key="k")
    assert run.write([row], ["k"]) == {}
    with closing(Client.from_url(redis.url)) as raw:
        entries: Any = {} if kind == "hash" else raw.xrange("k")
        found = raw.hgetall("k") if kind == "hash" else entries[0][1]
    more = b'{"thumb":"%s"}' % b64encode(data)
    assert found == {b"id": b"1", b"photo": data, b"text": b"as text", b"more": more}
    assert Run(redis, key="json").write([row], ["k"]) == {}
    assert json.loads(redis.client.get("json"))["photo"] == b64encode(data).decode()


@BOTH
def test_strings_have_the_last_value_of_their_key_and_go_with_it(redis: Redis, delivery: str) -> None:
    run = Run(redis, delivery=delivery, delete_enabled="true")
    assert run.write(["one", b"\xff\x00", {"a": 1.5}, "two", None], ["k", "b", "j", "k", "gone"]) == {}
    assert redis.client.get("orders:k") == "two"
    assert redis.client.get("orders:j") == '{"a":1.5}'
    assert redis.client.execute_command("STRLEN", "orders:b") == 2
    assert run.write([None], ["k"]) == {}
    assert redis.client.get("orders:k") is None


def test_what_has_no_key_or_no_value_is_refused_with_words(redis: Redis) -> None:
    refused = Run(redis).write(["a", None, "b"], [None, "k", "k"])
    assert refused[0] == "the record has no key, which ${key} stands for"
    assert refused[1] == "there is no value: it says that a row is gone, and delete.enabled is false. Set it to delete by key"
    assert redis.client.get("orders:k") == "b"


def test_keys_of_tables_are_their_value_or_all_of_their_columns(redis: Redis) -> None:
    run = Run(redis)
    run.write(["x", "y"], ['{"id":7}', {"a": 1, "b": "c"}])
    assert redis.client.get("orders:7") == "x"
    assert redis.client.get('orders:{"a":1,"b":"c"}') == "y"
    run = Run(redis, epoch=2, key="${topic}/${key.a}-${key.b}/${value.n.m}/${header.who.is}")
    run.write(['{"n":{"m":3}}'], [{"a": 1, "b": "c"}], [{"who.is": "me"}])
    assert redis.client.get("orders/1-c/3/me") == '{"n":{"m":3}}'


@BOTH
def test_a_hash_has_the_fields_of_its_newest_value_alone(redis: Redis, delivery: str) -> None:
    run = Run(redis, delivery=delivery, type="hash", key="h:${value.id}", delete_enabled="true")
    assert run.write([{"id": 1, "a": "x", "b": None, "c": [1, 2]}, '{"id":2,"a":true}']) == {}
    assert redis.client.hgetall("h:1") == {"id": "1", "a": "x", "c": "[1,2]"}
    assert redis.client.hgetall("h:2") == {"id": "2", "a": "true"}
    run.write([{"id": 1, "d": "9"}])
    assert redis.client.hgetall("h:1") == {"id": "1", "d": "9"}
    refused = run.write(["text", change("d", {"id": 1}, None)])
    assert refused == {0: "the value has no fields: it is neither a row nor a JSON object"}
    assert not redis.client.exists("h:1")


def test_changes_of_rows_are_what_they_say(redis: Redis) -> None:
    run = Run(redis, type="hash", key="h:${key}", delete_enabled="true")
    key = ['{"id":1}']
    run.write([change("c", None, {"id": 1, "a": "x", "big": "y"})], key)
    run.write([change("u", None, {"id": 1, "a": "z", "big": None}, unchanged=["big"])], key)
    assert redis.client.hgetall("h:1") == {"id": "1", "a": "z", "big": "y"}
    run.write([change("u", {"id": 1}, {"id": 2, "a": "moved"})], ['{"id":2}'])
    assert not redis.client.exists("h:1")
    assert redis.client.hgetall("h:2") == {"id": "2", "a": "moved"}
    refused = run.write([change("t", None, None), change("d", {"id": 2}, None)], [None, '{"id":2}'])
    assert "truncation" in refused[0]
    assert not redis.client.exists("h:2")


def test_a_field_of_a_hash_is_the_value(redis: Redis) -> None:
    run = Run(redis, type="hash", key="prices", field="${key}", delete_enabled="true")
    run.write(["1.5", "2.5", None], ["a", "b", "a"])
    assert redis.client.hgetall("prices") == {"b": "2.5"}


def test_sets_and_sorted_sets_have_members(redis: Redis) -> None:
    run = Run(redis, type="set", key="s", member="${key}", delete_enabled="true")
    run.write(["", "", None], ["a", "b", "a"])
    assert redis.client.smembers("s") == {"b"}
    run = Run(redis, epoch=2, type="sorted_set", key="z", member="${value.who}", score="${value.points}")
    refused = run.write(['{"who":"a","points":2.5}', '{"who":"b","points":"many"}', '{"who":"c"}', '{"who":"a","points":-1}'])
    assert refused == {1: "its score 'many' is no number", 2: "the record has no points there, which ${value.points} stands for"}
    assert redis.client.zrange("z", 0, -1, withscores=True) == [("a", -1.0)]


def test_streams_have_entries_with_fields_and_about_so_many(redis: Redis) -> None:
    run = Run(redis, type="stream", stream_maxlen="100")
    refused = run.write(["no fields", *({"n": number} for number in range(2_000))])
    assert refused == {0: "the value has no fields: it is neither a row nor a JSON object"}
    entries = redis.client.xrange("orders")
    assert entries[-1][1] == {"n": "1999"}
    assert 100 <= len(entries) < 400


def test_keys_expire(redis: Redis) -> None:
    Run(redis, ttl="1h").write(["v"], ["k"])
    assert 3_590_000 < redis.client.pttl("orders:k") <= 3_600_000


@BOTH
def test_a_value_that_is_refused_hides_none_before_it(redis: Redis, delivery: str) -> None:
    run = Run(redis, delivery=delivery, type="sorted_set", key="z", member="${key}", score="${value}")
    assert list(run.write(["1", "many"], ["a", "a"])) == [1]
    assert redis.client.zrange("z", 0, -1, withscores=True) == [("a", 1.0)]


@BOTH
def test_a_key_that_holds_another_type_refuses_its_records_alone(redis: Redis, delivery: str) -> None:
    redis.client.set("list-a", "a string")
    run = Run(redis, delivery=delivery, type="list", key="list-${value}")
    refused = run.write(["a", "b"])
    assert list(refused) == [0]
    assert "WRONGTYPE" in refused[0] or refused[0] == "the key list-a holds a string, and no list"
    assert redis.client.lrange("list-b", 0, -1) == ["b"]
    assert redis.client.get("list-a") == "a string"


def test_a_server_that_has_lost_its_newest_data_ends_the_task_and_what_is_lost_is_read_again(redis: Redis) -> None:
    run = Run(redis, type="list")
    run.write(["a"])
    note = redis.client.get("rocketconnect:test:task-0")
    run.write(["b"])
    redis.client.set("rocketconnect:test:task-0", note)
    redis.client.rpop("orders")
    with pytest.raises(PermanentError, match="has lost its newest data"):
        run.write(["c"])
    again = Run(redis, epoch=2, type="list")
    assert again.at == 1
    again.write(["b", "c"])
    assert redis.client.lrange("orders", 0, -1) == ["a", "b", "c"]


def test_what_is_configured_wrong_is_told_at_once(redis: Redis) -> None:
    sink = RedisSink()
    given = {"url": "redis://me:pw@127.0.0.1:1/x", "type": "sorted_set", "field": "f", "key": "${nothing}"}
    problems = {each.key: each.reason for each in _problems(sink, given)}
    assert problems["key"] == "${nothing} stands for nothing"
    assert problems["url"] == "is no URL of a Redis"
    problems = {each.key: each.reason for each in _problems(sink, {"url": redis.url, "type": "sorted_set", "field": "f"})}
    assert problems == {
        "field": "means nothing with type=sorted_set",
        "score": "is missing: each member of a sorted set has a score",
    }


def _problems(sink: RedisSink, given: Mapping[str, str]) -> list[Any]:
    from rocketconnect_sdk.errors import ConfigError

    try:
        return list(sink.check(parse(sink.options, given)))
    except ConfigError as error:
        return list(error.problems)


def test_a_server_that_is_away_is_waited_for(redis: Redis) -> None:
    sink = RedisSink()
    config = parse(sink.options, {"url": "redis://127.0.0.1:1/0"})
    (problem,) = sink.check(config)
    assert problem.is_warning
    with pytest.raises(SystemAway, match="does not answer"):
        sink.open(config, {}, TaskContext()).start()


def test_positions_go_with_the_connector(redis: Redis) -> None:
    Run(redis).write(["v"], ["k"])
    assert redis.client.keys("rocketconnect:*")
    sink = RedisSink()
    sink.deleted(parse(sink.options, {"url": redis.url}), "test")
    assert redis.client.keys("*") == ["orders:k"]


@BOTH
def test_no_record_reaches_the_keys_of_positions(redis: Redis, delivery: str) -> None:
    exact = Run(redis)
    exact.write(["a"], ["k"])
    notes = redis.client.keys("rocketconnect:*")
    assert len(notes) == 2
    for kind in ("string", "list", "set", "hash"):
        run = Run(redis, type=kind, key="${key}", delivery=delivery)
        for name in notes:
            (reason,) = run.write([{"a": "1"}], [name]).values()
            assert "keep positions" in reason
        assert all("generation" in json.loads(redis.client.get(name)) for name in notes)
    assert Run(redis, key="${key}").write(["a"], ["rocketconnect:mine"]) == {}
