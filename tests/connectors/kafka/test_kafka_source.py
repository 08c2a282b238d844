from collections.abc import Mapping, Sequence

import pytest
from confluent_kafka import KafkaError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.kafka.source import KafkaSource
from rocketconnect_sdk import PermanentError, Position, SourceBatch, SystemAway, TaskContext, parse
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.source import Edge
from tests.connectors.kafka.stand_in import Cluster
from tests.connectors.partitions import Runtime

STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "commit", "grow", "away", "read", "read", "read", "store", "kill"]), st.integers(1, 4)),
    max_size=30,
)


def config_of(cluster: Cluster, **options: str) -> dict[str, str]:
    return {"bootstrap.servers": cluster.servers, **{name.replace("_", "."): value for name, value in options.items()}}


def batches(config: Mapping[str, str], context: TaskContext | None = None) -> list[SourceBatch]:
    source = KafkaSource()
    parsed = parse(source.options, config)
    task = source.open(parsed, source.plan(parsed, 1, {}).tasks[0], context or TaskContext())
    task.start({})
    found: list[SourceBatch] = []
    while some := batches_of(task.poll()):
        found += some
    task.close()
    return found


def problems(config: Mapping[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "kafka_source", "topic": "t", **config})
    return {each.key: str(each) for each in checked.problems}


def test_records_come_with_keys_times_headers_and_tombstones(cluster: Cluster) -> None:
    cluster.make("orders")
    cluster.put("orders", [b"v", None], key=b"k", headers=[("h", b"x")], time_ms=77)
    _, batch, *_ = batches(config_of(cluster, kafka_topics="orders"))
    assert list(batch.values) == [b"v", None]
    assert batch.keys == [b"k", b"k"]
    assert batch.timestamps_ms == [77, 77]
    assert batch.headers == [{"h": "x"}] * 2
    assert batch.partition == f"orders/0@{cluster.topics['orders'][0]}"


def test_topics_come_by_name_and_by_pattern_each_once_and_those_of_kafka_itself_do_not(cluster: Cluster) -> None:
    for name in ("orders", "orders-new", "other", "__orders"):
        cluster.make(name)
        cluster.put(name, [name.encode()])
    found = batches(config_of(cluster, kafka_topics="orders", kafka_topics_pattern=".*orders.*"))
    assert sorted(value for batch in found for value in batch.values) == [b"orders", b"orders-new"]  # type: ignore[type-var]


def test_each_topic_may_have_a_topic_of_its_own(cluster: Cluster) -> None:
    for name in ("a.b", "c"):
        cluster.make(name)
        cluster.put(name, [b"v"])
    found = batches(config_of(cluster, kafka_topics="a.b,c", topic_template="of-${topic}"))
    assert {topic for batch in found for topic in batch.topics or ()} == {"of-a_b", "of-c"}
    cluster.make("a_b")
    with pytest.raises(PermanentError, match="of-a_b"):
        batches(config_of(cluster, kafka_topics="a.b,a_b", topic_template="of-${topic}"))


@given(steps=STEPS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_killed_at_any_step_it_sends_every_record_once(cluster: Cluster, steps: Sequence[tuple[str, int]]) -> None:
    cluster.topics.clear()
    cluster.make("orders")
    source = KafkaSource()
    runtime = Runtime(source, parse(source.options, config_of(cluster, kafka_topics="orders", discover_interval="0.1")))
    written, partitions = 0, 1
    for step, number in steps:
        values = [b"%d" % at for at in range(written, written + number)]
        if step in ("put", "commit"):
            (cluster.put if step == "put" else cluster.commit)("orders", values, written % partitions)
            written += number
        elif step == "grow":
            partitions += 1
            cluster.grow("orders", partitions)
        elif step == "away":
            cluster.wrong = [KafkaError(KafkaError._ALL_BROKERS_DOWN)]
            runtime.kill()
            cluster.wrong = []
        elif step == "read":
            runtime.read()
        elif step == "store":
            runtime.store(number)
        else:
            runtime.kill()
    runtime.kill()
    runtime.forget()
    for _ in range(10 + written):
        runtime.read()
    assert runtime.values == sorted((b"%d" % n for n in range(written)), key=repr)


def test_a_topic_that_is_made_anew_is_told_and_never_read_at_the_old_offset(cluster: Cluster) -> None:
    cluster.make("orders")
    cluster.put("orders", [b"old"] * 3)
    source = KafkaSource()
    parsed = parse(source.options, config_of(cluster, kafka_topics="orders"))
    runtime = Runtime(source, parsed)
    while runtime.read() or not runtime.sent:
        runtime.store(10)
    runtime.kill()
    cluster.make("orders")
    cluster.put("orders", [b"new"] * 5)
    with pytest.raises(PermanentError, match="made anew under its name"):
        runtime.read()


def test_a_topic_that_is_made_anew_while_it_is_read_is_not_read_on_in_silence(cluster: Cluster) -> None:
    cluster.make("orders")
    cluster.put("orders", [b"old"] * 3)
    source = KafkaSource()
    runtime = Runtime(source, parse(source.options, config_of(cluster, kafka_topics="orders")))
    for _ in range(5):
        runtime.read()
        runtime.store(10)
    cluster.make("orders")
    cluster.put("orders", [b"new"] * 5)
    # Kafka's client would give the last two of them.
    assert runtime.read() == 0
    with pytest.raises(PermanentError, match="made anew under its name"):
        runtime.read()
    assert runtime.values == [b"old"] * 3


def test_a_cluster_that_goes_away_is_waited_for(cluster: Cluster) -> None:
    cluster.make("orders")
    source = KafkaSource()
    parsed = parse(source.options, config_of(cluster, kafka_topics="orders"))
    task = source.open(parsed, source.plan(parsed, 1, {}).tasks[0], TaskContext())
    task.start({})
    task.poll()
    cluster.wrong = [KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")]
    with pytest.raises(SystemAway, match="does not answer: 1/1 brokers are down"):
        task.poll()
    task.close()


def test_a_named_topic_that_is_not_there_is_waited_for(cluster: Cluster) -> None:
    with pytest.raises(SystemAway, match=r"the topic orders is not there\. Create it"):
        batches(config_of(cluster, kafka_topics="orders"))


def test_all_that_is_wrong_is_told_at_once(cluster: Cluster) -> None:
    cluster.make("secret")
    cluster.forbidden.add("secret")
    found = problems(config_of(cluster, kafka_topics="orders,secret", kafka_topics_pattern="none"))
    assert "kafka-acls" in found["kafka.topics"]
    found = problems(config_of(cluster, kafka_topics="orders"))
    assert "is not there" in found["kafka.topics"]
    wrong = {"bootstrap.servers": "a", "start": "x", "value.format": "avro", "kafka.topics.pattern": "("}
    assert problems(wrong).keys() >= {"bootstrap.servers", "start", "schema.registry.url", "kafka.topics.pattern"}


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "kafka.topics"),
        ({"kafka.topics": "a", "security.protocol": "SASL_SSL"}, "user"),
        ({"kafka.topics": "a", "user": "u"}, "security.protocol"),
        ({"kafka.topics": "a", "ssl.ca.location": "/etc/hostname"}, "ssl.ca.location"),
        ({"kafka.topics": "a", "security.protocol": "SSL", "ssl.key.location": "/etc/hostname"}, "ssl.certificate.location"),
        ({"kafka.topics": "a", "bootstrap.servers": "user:secret@host:1"}, "bootstrap.servers"),
    ],
)
def test_options_that_do_not_go_together_are_told(cluster: Cluster, options: Mapping[str, str], key: str) -> None:
    cluster.make("a")
    assert key in problems({"bootstrap.servers": cluster.servers, **options})


def test_a_position_is_checked_and_found_by_time(cluster: Cluster) -> None:
    cluster.make("orders")
    cluster.put("orders", [b"a"], time_ms=1_000)
    cluster.put("orders", [b"b"], time_ms=2_000)
    source = KafkaSource()
    parsed = parse(source.options, config_of(cluster, kafka_topics="orders"))
    name = f"orders/0@{cluster.topics['orders'][0]}"
    assert source.find_position(parsed, name, 1.5) == Position((1,))
    assert source.find_position(parsed, name, 3.0) == Position((2,))
    assert source.find_position(parsed, name, Edge.LATEST) == Position((2,))
    (problem,) = source.check_position(parsed, name, Position((3,)))
    assert problem.fix == "Give one from [0] up to [2]."
    (problem,) = source.check_position(parsed, "orders/0", Position((1,)))
    assert name in problem.fix


def test_two_sources_of_a_topic_have_an_origin_in_common() -> None:
    source = KafkaSource()
    first = parse(source.options, {"bootstrap.servers": "b:1,a:1", "kafka.topics": "x,y"})
    second = parse(source.options, {"bootstrap.servers": "a:1,b:1", "kafka.topics": "y"})
    (other,) = source.origins(second)
    assert other.in_common(source.origins(first)) == other
