"""What streams of Redis become."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from connectors.redis.entries import name_of, own_key
from connectors.redis.source import RedisSource
from rocketconnect_sdk import Config, PermanentError, Position, Rejected, SourceBatch, SourceTask, SystemAway, TaskContext, parse
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.source import Edge
from tests.connectors.partitions import Runtime
from tests.servers.redis import Redis

SOURCE = RedisSource()
ON_GAP = Option("on.gap", "As the runtime has it.", default="fail", choices=("fail", "skip"))
GONE = r"s: 3 entries from \S+ on were removed and never read"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.redis.streams._WAIT_MS", 5)


def config_of(redis: Redis, **options: str) -> Config:
    given = {"url": redis.url, "streams": "s", **{name.replace("_", "."): value for name, value in options.items()}}
    return parse((*SOURCE.options, ON_GAP), given)


def opened(config: Config, positions: Mapping[str, Position] | None = None, context: TaskContext | None = None) -> SourceTask:
    share = SOURCE.plan(config, 1, positions or {}).tasks[0]
    task = SOURCE.open(config, share, context or TaskContext())
    task.start(positions or {})
    return task


def rest(task: SourceTask) -> list[SourceBatch]:
    """What comes until nothing does."""
    found: list[SourceBatch] = []
    while some := batches_of(task.poll()):
        found += some
    return found


def values(batches: list[SourceBatch]) -> list[Any]:
    return [value for batch in batches for value in batch.values]


def after(batches: list[SourceBatch]) -> dict[str, Position]:
    """What is stored behind them."""
    return {batch.partition: Position(batch.end or batch.offsets[-1], batch.resume or {}) for batch in batches}


def add(redis: Redis, count: int, stream: str = "s", begin: int = 0, **options: Any) -> None:
    with redis.client.pipeline() as pipe:
        for number in range(begin, begin + count):
            pipe.xadd(stream, {"n": number}, **options)
        pipe.execute()


def test_an_entry_is_an_object_with_its_stream_as_key_its_id_as_time_and_both_as_headers(redis: Redis) -> None:
    redis.client.xadd("s", {"a": "ä", "b": ""}, id="1700000000123-7")
    (batch,) = [each for each in rest(opened(config_of(redis))) if len(each)]
    assert batch.values == [{"a": "ä", "b": ""}]
    assert batch.keys == [b"s"]
    assert batch.timestamps_ms == [1700000000123]
    assert batch.headers == [{"redis.stream": "s", "redis.id": "1700000000123-7"}]
    assert (batch.partition, batch.offsets) == ("s", [(1700000000123, 8)])
    assert batch.size == 4


def test_one_field_is_the_value_in_a_form_of_its_own_and_another_the_key(redis: Redis) -> None:
    redis.client.xadd("s", {"id": 7, "data": '{"x":[1]}'})
    redis.client.xadd("s", {"other": 1})
    redis.client.xadd("s", {"id": 8, "data": "{"})
    config = config_of(redis, value_field="data", key_field="id", value_format="json", key_format="string")
    (batch,) = [each for each in rest(opened(config)) if len(each)]
    good, nothing, bad = values([batch])
    assert (good, nothing) == ({"x": [1]}, None)
    assert "value.format=json" in bad.reason
    assert batch.keys == ["7", None, "8"]


def test_a_field_that_is_no_text_or_stands_there_twice_makes_a_bad_record_or_is_kept_exactly(redis: Redis) -> None:
    redis.client.execute_command("XADD", "s", "*", "a", b"\xff")
    redis.client.execute_command("XADD", "s", "*", "a", "1", "a", "2")
    binary, twice = values(rest(opened(config_of(redis))))
    assert isinstance(binary, Rejected)
    assert "the field 'a' is no text in UTF-8: fields=pairs keeps" in binary.reason
    assert isinstance(twice, Rejected)
    assert "the field 'a' stands there twice" in twice.reason
    assert twice.original == b'{"a": "1", "a": "2"}'
    assert values(rest(opened(config_of(redis, fields="pairs")))) == [[["YQ==", "/w=="]], [["YQ==", "MQ=="], ["YQ==", "Mg=="]]]
    again = SOURCE.read_again(config_of(redis), "s", b'{"a": "1"}')
    assert again is not None
    assert again.values == [{"a": "1"}]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"orders:eu", "orders:eu"),
        (b"a b%41\n", "a b%41\n"),
        (b"\xff\x00/%", "%FF%00/%25"),
        ("schlüssel@ö".encode(), "schlüssel@ö"),
    ],
)
def test_streams_are_called_by_keys_of_any_bytes(redis: Redis, key: bytes, text: str) -> None:
    redis.client.execute_command("XADD", key, "*", "a", "1")
    assert own_key(name_of(key)) == key
    (batch,) = [each for each in rest(opened(config_of(redis, streams="", streams_pattern="*"))) if len(each)]
    assert batch.partition.isprintable()
    assert (batch.keys, values([batch])) == ([text.encode()], [{"a": "1"}])
    assert batch.headers is not None
    assert batch.headers[0]["redis.stream"] == text


def test_each_stream_has_a_topic_where_that_is_wanted_and_none_is_shared(redis: Redis) -> None:
    add(redis, 1, "o.a")
    add(redis, 1, "o:b")
    config = config_of(redis, streams="", streams_pattern="o*", topic_template="redis-${stream}")
    topics = {batch.partition: batch.topics for batch in rest(opened(config)) if len(batch)}
    assert topics == {"o.a": ["redis-o_a"], "o:b": ["redis-o_b"]}
    add(redis, 1, "o_a")
    with pytest.raises(PermanentError, match="whose rows would be mixed"):
        opened(config)


def test_a_stream_that_comes_later_is_asked_a_plan_for_and_read_from_its_beginning(redis: Redis) -> None:
    add(redis, 1, "s")
    replan = Mock()
    config = config_of(redis, streams="s,t", start="latest", discover_interval="0.1")
    task = opened(config, context=TaskContext(replan=replan))
    first = rest(task)
    assert values(first) == []
    replan.assert_not_called()
    add(redis, 2, "t")
    task._next_look = 0.0  # type: ignore[attr-defined]
    task.poll()
    replan.assert_called_once()
    assert values(rest(opened(config, after(first)))) == [{"n": "0"}, {"n": "1"}]


@pytest.mark.parametrize("trim", ["maxlen", "xtrim", "xdel"])
def test_entries_that_were_removed_before_they_were_read_are_told_with_their_number_or_passed(redis: Redis, trim: str) -> None:
    add(redis, 3)
    done = after(rest(opened(config_of(redis))))
    add(redis, 4, begin=3)
    if trim == "maxlen":
        add(redis, 1, begin=7, maxlen=2, approximate=False)
    elif trim == "xtrim":
        add(redis, 1, begin=7)
        redis.client.xtrim("s", maxlen=2, approximate=False)
    else:
        add(redis, 1, begin=7)
        redis.client.xdel("s", *[entry for entry, _ in redis.client.xrange("s", count=6)])
    with pytest.raises(PermanentError, match=GONE + r"\. Set on\.gap=skip"):
        opened(config_of(redis), done)
    log = Mock()
    found = rest(opened(config_of(redis, on_gap="skip"), done, TaskContext(log=log)))
    assert values(found) == [{"n": "6"}, {"n": "7"}]
    assert "3 entries from" in log.warning.call_args.args[1]
    add(redis, 1, begin=8)
    assert values(rest(opened(config_of(redis), after(found)))) == [{"n": "8"}]


def test_entries_that_are_removed_while_it_reads_are_told(redis: Redis) -> None:
    add(redis, 3)
    task = opened(config_of(redis))
    rest(task)
    add(redis, 5, begin=3, maxlen=2, approximate=False)
    with pytest.raises(PermanentError, match=GONE):
        rest(task)
    skipping = opened(config_of(redis, on_gap="skip"))
    assert values(rest(skipping)) == [{"n": "6"}, {"n": "7"}]
    add(redis, 5, begin=8, maxlen=2, approximate=False)
    assert values(rest(skipping)) == [{"n": "11"}, {"n": "12"}]


def trimmed(client: Any) -> None:
    client.xtrim("s", maxlen=0, approximate=False)


def deleted(client: Any) -> None:
    client.xdel("s", *[entry for entry, _ in client.xrange("s")])


@pytest.mark.parametrize("remove", [trimmed, deleted])
def test_what_was_read_may_be_removed(redis: Redis, remove: Callable[[Any], None]) -> None:
    add(redis, 3)
    done = after(rest(opened(config_of(redis))))
    remove(redis.client)
    task = opened(config_of(redis), done)
    assert rest(task) == []
    add(redis, 2, begin=3)
    found = rest(task)
    assert values(found) == [{"n": "3"}, {"n": "4"}]
    remove(redis.client)
    add(redis, 1, begin=5)
    assert values(rest(opened(config_of(redis), after(found)))) == [{"n": "5"}]


def test_entries_that_are_deleted_between_others_are_told_as_a_warning(redis: Redis) -> None:
    add(redis, 5)
    log = Mock()
    task = opened(config_of(redis), context=TaskContext(batch_records=1))
    first = [each for _ in range(2) for each in batches_of(task.poll())]
    redis.client.xdel("s", redis.client.xrange("s")[2][0])
    found = rest(opened(config_of(redis), after(first), TaskContext(log=log)))
    assert len(values(found)) == 3
    assert "1 entry was deleted" in log.warning.call_args.args[0] % log.warning.call_args.args[1:]
    # It was told; what is removed from now on was read.
    trimmed(redis.client)
    assert rest(opened(config_of(redis), after(found))) == []


def test_what_is_before_the_beginning_may_be_removed(redis: Redis) -> None:
    add(redis, 3)
    begun = after(rest(opened(config_of(redis, start="latest"))))
    trimmed(redis.client)
    add(redis, 2, begin=3)
    assert values(rest(opened(config_of(redis, start="latest"), begun))) == [{"n": "3"}, {"n": "4"}]


@pytest.mark.parametrize("more", [2, 5])
def test_a_stream_that_was_made_anew_is_told_while_nothing_runs(redis: Redis, more: int) -> None:
    add(redis, 5)
    done = after(rest(opened(config_of(redis))))
    redis.client.delete("s")
    add(redis, more, begin=10)
    with pytest.raises(PermanentError, match="deleted and made anew"):
        opened(config_of(redis), done)
    found = rest(opened(config_of(redis, on_gap="skip"), done))
    assert values(found) == [{"n": str(10 + number)} for number in range(more)]
    assert rest(opened(config_of(redis), after(found))) == []


def test_a_stream_that_is_made_anew_while_it_is_read_is_told(redis: Redis) -> None:
    add(redis, 5)
    config = config_of(redis)
    task = opened(config)
    done = after(rest(task))
    redis.client.delete("s")
    add(redis, 3, begin=10)
    with pytest.raises(PermanentError, match="deleted and made anew"):
        rest(task)
    redis.client.delete("s")
    redis.client.xadd("s", {"n": 1}, id="1-1")
    with pytest.raises(PermanentError, match=r"was read up to offset \S+ and ends at 1-2"):
        opened(config, done)
    redis.client.delete("s")
    with pytest.raises(PermanentError, match="s is not there any more"):
        opened(config, done)


def test_a_stream_that_was_deleted_is_told_once_and_the_next_one_of_its_key_is_read_whole(redis: Redis) -> None:
    add(redis, 5)
    config = config_of(redis, on_gap="skip")
    done = after(rest(opened(config)))
    redis.client.delete("s")
    log = Mock()
    gone = rest(opened(config, done, TaskContext(log=log)))
    assert "s is not there any more" in log.warning.call_args.args[1]
    add(redis, 7, begin=10)
    found = rest(opened(config_of(redis), after(gone)))
    assert values(found) == [{"n": str(10 + number)} for number in range(7)]


def test_a_stream_that_goes_while_it_is_read_is_another_start(redis: Redis) -> None:
    add(redis, 5)
    task = opened(config_of(redis, discover_interval="0.1"))
    rest(task)
    redis.client.delete("s")
    task._next_look = 0.0  # type: ignore[attr-defined]
    with pytest.raises(SystemAway, match="s: not there any more"):
        task.poll()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_killed_at_any_step_it_sends_every_entry_once(redis: Redis, seed: int) -> None:
    choose = random.Random(seed)  # a walk that can be had again
    runtime = Runtime(SOURCE, config_of(redis, streams="", streams_pattern="s*", discover_interval="0.1"))
    written, streams = 0, 1
    for _ in range(40):
        step = choose.choice(["add", "stream", "trim", "read", "read", "read", "read", "store", "kill"])
        if step == "stream":
            streams = min(4, streams + 1)
        elif step == "add":
            count = choose.randint(1, 5)
            add(redis, count, f"s{choose.randrange(streams)}", begin=written)
            written += count
        elif step == "trim":
            # What is stored everywhere may go.
            for name, at in runtime.positions.items():
                redis.client.xtrim(name, minid=f"{at.offset[0]}-{at.offset[1]}", approximate=False)
        elif step == "read":
            runtime.read()
        elif step == "store":
            runtime.store(choose.randint(1, 9))
        else:
            runtime.kill()
    runtime.kill()
    runtime.forget()
    for _ in range(10 + written):
        runtime.read()
    assert sorted(int(value["n"]) for value in runtime.values) == list(range(written))  # type: ignore[index]


def test_a_position_is_checked_and_found_by_time(redis: Redis) -> None:
    for ms in (1_000, 2_000):
        redis.client.xadd("s", {"n": ms}, id=f"{ms}-5")
    config = config_of(redis)
    assert SOURCE.find_position(config, "s", 1.5) == Position((1_500, 0))
    assert SOURCE.find_position(config, "s", 3.0) == Position((2_000, 6))
    assert SOURCE.find_position(config, "s", 0.5) == SOURCE.find_position(config, "s", Edge.EARLIEST) == Position((1_000, 5))
    assert values(rest(opened(config, {"s": Position((1_500, 0))}))) == [{"n": "2000"}]
    (problem,) = SOURCE.check_position(config, "s", Position((2_000, 7)))
    assert problem.fix == "Give one from [1000, 5] up to [2000, 6]."


def test_of_a_position_that_was_set_by_hand_in_the_middle_what_is_removed_is_told_though_nobody_has_counted(redis: Redis) -> None:
    for ms in (1_000, 2_000, 3_000):
        redis.client.xadd("s", {"n": ms}, id=f"{ms}-0")
    redis.client.xtrim("s", maxlen=1, approximate=False)
    with pytest.raises(PermanentError, match="entries were removed, by XTRIM or MAXLEN perhaps, and never read"):
        opened(config_of(redis), {"s": Position((1_000, 1))})


def problems(given: Mapping[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "redis_source", "topic": "t", **given})
    return {each.key: str(each) for each in checked.problems}


def test_all_that_is_wrong_is_told_at_once(redis: Redis) -> None:
    redis.client.set("text", "x")
    assert "is missing" in problems({"url": redis.url})["streams"]
    assert "holds a string, and no stream" in problems({"url": redis.url, "streams": "text"})["streams"]
    found = problems({"url": redis.url, "streams": "s", "value.format": "json", "fields": "x", "start": "then"})
    assert found.keys() >= {"fields", "start"}
    found = problems({"url": redis.url, "streams": "s", "value.field": "v", "fields": "pairs"})
    assert "means nothing with value.field" in found["fields"]
    found = problems({"url": redis.url, "streams": "s", "value.format": "json"})
    assert "means nothing without value.field" in found["value.format"]
    (wait,) = SOURCE.check(config_of(redis))
    assert (wait.value, wait.reason, wait.is_warning) == ("s", "is not there", True)
    (away,) = SOURCE.check(config_of(redis, url="redis://127.0.0.1:1/0"))
    assert away.is_warning


def test_a_key_that_holds_something_else_by_now_ends_the_task_in_words(redis: Redis) -> None:
    add(redis, 1)
    task = opened(config_of(redis))
    rest(task)
    redis.client.set("s", "text")
    with pytest.raises(PermanentError, match="the key s holds a string, and no stream"):
        opened(config_of(redis))


def test_two_sources_of_a_stream_have_an_origin_in_common(redis: Redis) -> None:
    first = config_of(redis, url="redis://host", streams="a,b")
    second = config_of(redis, url="rediss://HOST:6379/0", streams="", streams_pattern="b*")
    (other,) = SOURCE.origins(second)
    found = other.in_common(SOURCE.origins(first))
    assert found is not None
    assert found.name == "b"


def test_what_is_left_is_counted(redis: Redis) -> None:
    add(redis, 10)
    task = opened(config_of(redis), context=TaskContext(batch_records=4))
    assert task.remaining() == 10
    left = []
    while batches_of(task.poll()):
        left.append(task.remaining())
    assert left[-1] == 0
    assert left == sorted(left, reverse=True)  # type: ignore[type-var]
    assert json.dumps(left)
