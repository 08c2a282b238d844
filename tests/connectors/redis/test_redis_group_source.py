"""Streams of Redis, read in a group."""

import time
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import Mock

import pytest

from connectors.redis.group_source import RedisGroupSource
from rocketconnect_sdk import PermanentError, Position, TaskContext, parse
from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite, driving
from rocketconnect_sdk.queues import Received, Share, Subscription
from tests.servers.redis import Redis


def case_of(redis: Redis, **given: str) -> QueueCase:
    source = RedisGroupSource()
    source.drained_seconds = 0.2  # type: ignore[misc]

    def publish(texts: Sequence[str]) -> None:
        with redis.client.pipeline() as pipe:
            for text in texts:
                pipe.xadd("s", {"v": text})
            pipe.execute()

    def consumers() -> int:
        found = redis.client.xinfo_consumers("s", "g") if redis.client.exists("s") else []
        return sum(each["name"].startswith("rocketconnect-test-") for each in found)

    config = {"url": redis.url, "streams": "s,other", "group": "g", "value.field": "v"}
    return QueueCase(
        source,
        {**config, **{key.replace("_", "."): value for key, value in given.items()}},
        publish,
        lambda: redis.client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"),
        consumers,
        ("connectors.redis.groups:_by_key",),
        every=4,
        seconds=15,
    )


class TestGroup(QueueSuite):
    @pytest.fixture
    def case(self, redis: Redis) -> QueueCase:
        return case_of(redis)


def subscribed(
    case: QueueCase, name: str = "rocketconnect-test-0", context: TaskContext | None = None, **of: object
) -> Subscription:
    share = replace(Share(name, prefetch=100), **of)  # type: ignore[arg-type]
    return case.source.subscribe(case.parsed, share, context or TaskContext())


def given(subscription: Subscription) -> list[object]:
    return [each.value for each in subscription.receive(100, 1 << 20, 0.01)]


def test_an_entry_comes_with_key_time_and_headers(redis: Redis) -> None:
    redis.client.xadd("s", {"a": "1"}, id="1700-3")
    (got,) = subscribed(case_of(redis, value_field="")).receive(10, 1 << 20, 0.01)
    assert (got.value, got.key, got.timestamp_ms) == ({"a": "1"}, b"s", 1700)
    assert got.headers == {"redis.stream": "s", "redis.id": "1700-3"}
    assert not got.redelivered


def test_a_group_begins_where_it_is_told(redis: Redis) -> None:
    case = case_of(redis, group_start="latest")
    case.publish(["old"])
    subscription = subscribed(case)
    assert given(subscription) == []
    case.publish(["new"])
    assert given(subscription) == [b"new"]


def test_what_another_consumer_has_left_behind_is_taken_over_and_nothing_of_its_own(redis: Redis) -> None:
    case = case_of(redis, claim_idle="100ms")
    case.publish(["a", "b"])
    dead = subscribed(case, "dead")
    assert given(dead) == [b"a", b"b"]
    own = subscribed(case)
    case.publish(["c"])
    until = time.monotonic() + 60
    found: list[Received] = []
    while len(found) < 3 and time.monotonic() < until:
        found += own.receive(100, 1 << 20, 0.01)
    assert {each.value: each.redelivered for each in found} == {b"a": True, b"b": True, b"c": False}
    time.sleep(0.2)
    own._next_claim = 0.0  # type: ignore[attr-defined]
    assert given(own) == []


def test_what_is_on_its_way_is_kept_from_others(redis: Redis) -> None:
    case = case_of(redis, claim_idle="10s")
    case.publish(["a"])
    one = subscribed(case)
    (got,) = one.receive(10, 1 << 20, 0.01)
    assert one.ping_seconds < 10
    time.sleep(0.5)
    began = time.monotonic()
    one.ping([got.tag])
    (pending,) = redis.client.xpending_range("s", "g", "-", "+", 10)
    assert pending["time_since_delivered"] <= (time.monotonic() - began) * 1000 + 100


def test_what_was_removed_while_it_waited_is_told(redis: Redis) -> None:
    case = case_of(redis)
    case.publish(["a", "b"])
    assert given(subscribed(case)) == [b"a", b"b"]
    redis.client.xtrim("s", maxlen=1, approximate=False)
    log = Mock()
    again = subscribed(case, context=TaskContext(log=log))
    assert given(again) == [b"b"]
    assert "before they were read" in log.warning.call_args.args[0]
    assert redis.client.xpending("s", "g")["pending"] == 1


def test_a_group_that_was_removed_is_made_anew_and_said(redis: Redis) -> None:
    case = case_of(redis, group_start="latest")
    log = Mock()
    first = subscribed(case)
    case.publish(["a"])
    redis.client.xgroup_destroy("s", "g")
    again = subscribed(case, before=dict(first.state), context=TaskContext(log=log))
    assert given(again) == [b"a"]
    assert "is made anew" in log.warning.call_args.args[0]


def test_a_preview_takes_nothing_from_the_group(redis: Redis) -> None:
    case = case_of(redis)
    case.publish(["a"])
    preview = subscribed(case, passing=True)
    assert given(preview) == [b"a"]
    assert given(preview) == []
    assert redis.client.xinfo_groups("s") == []


def test_a_consumer_that_still_has_entries_stays_when_the_connector_goes(redis: Redis) -> None:
    case = case_of(redis)
    positions: dict[str, Position] = {}
    case.publish(["a"])
    with driving(case, positions) as driver:
        driver.read(1, commit=False)
    case.source.deleted(case.parsed, "test")
    assert case.left is not None
    assert case.left() == 1
    with driving(case, positions, epoch=2) as driver:
        driver.read(1)
    case.source.deleted(case.parsed, "test")
    assert case.left() == 0


def test_what_is_configured_wrong_is_told(redis: Redis) -> None:
    redis.client.set("s", "text")
    case = case_of(redis)
    (problem,) = case.source.check(case.parsed)
    assert problem.reason == "holds a string, and no stream"
    with pytest.raises(PermanentError, match="holds no stream"):
        subscribed(case)
    away = parse(case.source.options, {**case.config, "url": "redis://127.0.0.1:1/0"})
    (problem,) = case.source.check(away)
    assert problem.is_warning
