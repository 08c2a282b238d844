"""kafka_sink against Kafka itself."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME

from connectors.kafka import sending
from connectors.kafka.client import Client
from connectors.kafka.sink import KafkaSink
from connectors.kafka.source import KafkaSource
from rocketconnect_sdk import Config, PermanentError, RetriableError, SystemAway, TaskContext, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.kafka.writing import QUEUE, Run, parsed
from tests.servers.kafka.broker import PASSWORD, Kafka

if TYPE_CHECKING:
    from rocketconnect_sdk.record import SourceBatch

pytestmark = [pytest.mark.slow, pytest.mark.kafka]
LIMIT = 120.0


def config_of(kafka: Kafka, topic: str, **options: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return {"bootstrap.servers": kafka.servers, "target.topic": topic, "positions.topic": f"{topic}.positions", **named}


def run_of(kafka: Kafka, topic: str, task: int = 0, generation: int = 1, epoch: int = 1, **options: str) -> Run:
    return Run(parsed(config_of(kafka, topic, **options)), task, generation, epoch)


def values(kafka: Kafka, topic: str) -> list[bytes]:
    return [message.value() for message in kafka.read(topic)]


def read(kafka: Kafka, topic: str, headers: str) -> "list[SourceBatch]":
    """What kafka_source reads."""
    source = KafkaSource()
    config = parse(source.options, {"bootstrap.servers": kafka.servers, "kafka.topics": topic, "headers": headers})
    task = source.open(config, source.plan(config, 1, {}).tasks[0], TaskContext())
    task.start({})
    found: list[SourceBatch] = []
    end = time.monotonic() + LIMIT
    while not task.caught_up or not found:
        assert time.monotonic() < end
        found += [batch for batch in batches_of(task.poll()) if len(batch)]
    task.close()
    return found


@pytest.mark.parametrize("headers", ["text", "json"])
def test_what_was_read_from_kafka_comes_back_as_it_was(kafka: Kafka, topic: str, headers: str) -> None:
    kafka.make(topic)
    pairs: list[tuple[str, bytes | None]] = [("a", b"x"), ("b", "ü".encode())]
    if headers == "json":
        pairs += [("a", b"\xff"), ("none", None)]
    kafka.put(topic, [b"\x00\xff", b"", None], key=b"\xfe", headers=pairs, timestamp=1_700_000_000_123)
    kafka.put(topic, [b"no key"], timestamp=1_700_000_000_124)
    run = run_of(kafka, f"{topic}.copy", headers=headers).start()
    for batch in read(kafka, topic, headers):
        assert run.write(batch.values, batch.keys, batch.headers, batch.timestamps_ms) == {}
    run.close()
    first, second = (
        [(each.value(), each.key(), each.headers(), each.timestamp()) for each in kafka.read(name)]
        for name in (topic, f"{topic}.copy")
    )
    assert second == first
    assert second[0][3] == (TIMESTAMP_CREATE_TIME, 1_700_000_000_123)
    assert len(second) == 4


def test_records_of_a_key_keep_their_order_in_the_partition_that_kafka_gives_the_key(kafka: Kafka, topic: str) -> None:
    kafka.make(topic, 5)
    run = run_of(kafka, topic).start()
    keys = [f"key{number % 7}" for number in range(700)]
    for begin in range(0, 700, 100):
        run.write([f"{number}" for number in range(begin, begin + 100)], keys[begin : begin + 100])
    run.write([f"none {number}" for number in range(50)], queue="orders/b/8")
    run.close()
    there = kafka.read(topic)
    by_key: dict[bytes | None, list[bytes]] = {}
    expected: dict[bytes | None, list[bytes]] = {
        b"key%d" % key: [b"%d" % number for number in range(key, 700, 7)] for key in range(7)
    }
    for message in there:
        by_key.setdefault(message.key(), []).append(message.value())
    assert by_key == {None: [b"none %d" % number for number in range(50)], **expected}
    assert {message.partition() for message in there if message.key() is None} == {3}
    writer = kafka.producer(partitioner="murmur2_random")
    places: dict[bytes, int] = {}
    for key in range(7):
        writer.produce(
            topic, b"of another", b"key%d" % key, on_delivery=lambda _, each: places.update({each.key(): each.partition()})
        )
    assert writer.flush(60) == 0
    assert places == {message.key(): message.partition() for message in there if message.key() is not None}


def test_what_the_broker_refuses_is_refused_alone_and_tombstones_are_messages_without_a_value(kafka: Kafka, topic: str) -> None:
    kafka.make(topic, max_message_bytes="2000", cleanup_policy="compact")
    for epoch, delivery in enumerate(("exactly_once", "at_least_once"), 1):
        run = run_of(kafka, topic, epoch=epoch, delivery=delivery).start()
        sizes = [10, 3000, 900, 900, 900, 2500, 20]
        refused = run.write([*(f"{number}" * size for number, size in enumerate(sizes)), None, "no key"], [*"abcdefg", "a", None])
        assert sorted(refused) == [1, 5, 8]
        assert "max.message.bytes of the topic" in refused[1]
        assert "Kafka refuses it" in refused[8]
        again = run.write(["next"], ["h"])
        run.close()
        assert again == {}
        keys = [message.key() for message in kafka.read(topic)]
        assert keys[-7:] == [b"a", b"c", b"d", b"e", b"g", b"a", b"h"]
    assert len(keys) < 40
    assert kafka.read(topic)[5].value() is None


def test_a_name_that_no_topic_can_have_is_refused_alone(kafka: Kafka, topic: str) -> None:
    run = run_of(kafka, f"{topic}.${{key}}", target_partitions="2", positions_topic=f"{topic}.positions").start()
    refused = run.write(["a", "b", "c"], ["x", "y/z", "x"])
    run.close()
    assert refused == {1: f"no topic of Kafka can have the name '{topic}.y/z'"}
    assert values(kafka, f"{topic}.x") == [b"a", b"c"]
    with pytest.raises(SystemAway, match="is not there"):
        run_of(kafka, f"{topic}.none", epoch=2, target_create="false").start().write(["a"])


def test_settings_that_the_cluster_refuses_are_told(kafka: Kafka, topic: str) -> None:
    run = run_of(kafka, topic, target_settings="no.such=1").start()
    with pytest.raises(PermanentError, match=rf"no\.such.*The topic {topic} can't be made"):
        run.write(["a"])
    with pytest.raises(PermanentError, match="can't be made"):
        run_of(kafka, f"{topic}.x", target_replication_factor="9").start()


def test_a_late_owner_writes_nothing_also_in_the_middle_of_its_transaction(kafka: Kafka, topic: str) -> None:
    old = [run_of(kafka, topic, task).start() for task in (0, 1)]
    old[1].write(["a"], queue="orders/b/1")
    new = run_of(kafka, topic, 0, generation=2, epoch=2).start()
    assert new.positions == {"orders/b/1": QueuePosition(1)}
    for late in old:
        with pytest.raises(PermanentError, match="a newer owner"):
            late.write(["late"] * 1000, queue="orders/b/1")
    new.write(["b"], queue="orders/b/1")
    sibling = run_of(kafka, topic, 1, generation=2, epoch=2).start()
    sibling.write(["c"])
    new.write(["d"], queue="orders/b/1")
    assert values(kafka, topic) == [b"a", b"b", b"c", b"d"]
    for run in (*old, new, sibling):
        run.close()


def test_a_transaction_that_somebody_leaves_open_holds_a_start_back_until_it_is_over(kafka: Kafka, topic: str) -> None:
    run_of(kafka, topic, 1, transaction_timeout="5s").start().close()
    writer = kafka.producer(transactional_id=f"rocketconnect-{TaskContext().connector_uid}-1", transaction_timeout_ms="5000")
    writer.init_transactions(60)
    writer.begin_transaction()
    writer.produce(f"{topic}.positions", b"{}", b"test/task-1")
    writer.flush(60)
    with pytest.raises(SystemAway, match="a transaction of another task is open there"):
        run_of(kafka, topic, request_timeout="1s").start()
    run = run_of(kafka, topic).start()
    run.write(["a"])
    run.close()
    assert values(kafka, topic) == [b"a"]


def test_a_server_that_is_killed_in_the_middle_comes_back_with_every_record_once(
    topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Kafka().running() as kafka:
        kafka.make(topic, 2)
        run, commits = run_of(kafka, topic, request_timeout="3s").start(), sending.committed

        def killed(client: Client) -> None:
            # All of the transaction is there, also its note, and the server has not heard that it is to be committed.
            assert client.own.flush(60) == 0
            kafka.kill()
            commits(client)

        for begin in (0, 200):
            # The node alone forgets the marks of a transaction that it was killed behind: see docs/kafka.md.
            _wait(lambda begin=begin: len(values(kafka, topic)) == begin)  # type: ignore[misc]
            monkeypatch.setattr("connectors.kafka.connection.committed", killed)
            with pytest.raises((SystemAway, RetriableError)):
                run.write([f"{number}" for number in range(begin, begin + 100)])
            monkeypatch.setattr("connectors.kafka.connection.committed", commits)
            kafka.start()
            _wait(lambda: bool(run.start()))
            assert run.positions.get(QUEUE, QueuePosition(0)).until == begin
            for each in (begin, begin + 100):
                run.write([f"{number}" for number in range(each, each + 100)])
        run.close()
        assert values(kafka, topic) == [b"%d" % number for number in range(400)]


def test_users_need_rights_and_are_told_which(kafka: Kafka, topic: str) -> None:
    kafka.make(topic)
    kafka.make(f"{topic}.positions", cleanup_policy="compact")
    raw = {
        **config_of(kafka, topic),
        "bootstrap.servers": f"127.0.0.1:{kafka.tls_port}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "user": "scram",
        "password": "${env:PASSWORD}",
        "ssl.ca.location": kafka.authority,
        "transactional.id.prefix": topic,
    }

    def reasons(password: str = PASSWORD) -> str:
        return " ".join(f"{each.key} {each.reason}" for each in KafkaSink().check(_with(raw, password)))

    assert "refuses the user" in reasons("wrong")
    assert "wrong" not in reasons("wrong")
    for name in (topic, f"{topic}.positions"):
        for right in ("READ", "WRITE", "DESCRIBE"):
            kafka.allow("scram", name, right)
    _wait(lambda: "delivery is not possible: the cluster begins no transaction" in reasons())
    with pytest.raises(PermanentError, match="kafka-acls"):
        Run(_with(raw)).start()
    kafka.allow_transactions("scram", topic)
    _wait(lambda: not reasons())
    run = Run(_with(raw)).start()
    run.write(["a"])
    run.close()
    assert values(kafka, topic) == [b"a"]


def test_positions_are_removed_with_their_connector(kafka: Kafka, topic: str) -> None:
    config = parsed(config_of(kafka, topic))
    run = Run(config).start()
    run.write(["a"])
    run.close()
    again = Run(config, epoch=2).start()
    assert again.positions == {QUEUE: QueuePosition(1)}
    again.close()
    for _ in range(2):
        KafkaSink().deleted(config, TaskContext().connector_uid)
    new = Run(config).start()
    assert new.positions == {}
    new.close()


def _with(raw: Mapping[str, str], password: str = PASSWORD) -> Config:
    return parsed(raw).replaced(lambda text: password if text == "${env:PASSWORD}" else text)


def _wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while True:
        try:
            if done():
                return
        except (SystemAway, RetriableError):
            pass
        assert time.monotonic() < end, "it did not come in time"
