"""Against Kafka itself."""

import random
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from connectors.kafka.options import CHECK_SECONDS
from connectors.kafka.source import KafkaSource
from rocketconnect_sdk import Config, PermanentError, Position, SourceTask, SystemAway, TaskContext, parse
from rocketconnect_sdk.polled import batches_of
from tests.connectors.partitions import Runtime
from tests.servers.kafka.broker import PASSWORD, Kafka

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.slow, pytest.mark.kafka]
LIMIT = 120.0
SOURCE = KafkaSource()


def parsed(config: "Mapping[str, str]", password: str = PASSWORD) -> Config:
    return parse(SOURCE.options, config).replaced(lambda text: password if text == "${env:PASSWORD}" else text)


def user_of(kafka: Kafka, topic: str, mechanism: str, *, tls: bool = False) -> dict[str, str]:
    user = "plain" if mechanism == "PLAIN" else "scram"
    return {
        "bootstrap.servers": f"127.0.0.1:{kafka.tls_port if tls else kafka.sasl_port}",
        "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "user": user,
        "password": "${env:PASSWORD}",
        "kafka.topics": topic,
        **({"ssl.ca.location": kafka.authority} if tls else {}),
    }


def opened(config: Config, positions: "Mapping[str, Position] | None" = None) -> SourceTask:
    task = SOURCE.open(config, SOURCE.plan(config, 1, positions or {}).tasks[0], TaskContext())
    task.start(positions or {})
    return task


def until(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not done():
        assert time.monotonic() < end, f"{what} did not come within {LIMIT} s"


def polled(task: SourceTask) -> bool:
    """Polls on; what is raised is what is waited for."""
    task.poll()
    return False


def read_on(runtime: Runtime) -> bool:
    runtime.read()
    return False


def has_sent(runtime: Runtime, count: int) -> bool:
    runtime.read()
    return len(runtime.values) >= count


def values(task: SourceTask, count: int) -> list[object]:
    found: list[object] = []

    def are_all() -> bool:
        found.extend(value for batch in batches_of(task.poll()) for value in batch.values)
        return len(found) >= count

    until(are_all, "every record")
    task.close()
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_any_step_it_sends_every_record_once(kafka: Kafka, topic: str, seed: int) -> None:
    kafka.make(topic)
    choose = random.Random(seed)  # a walk that can be had again
    config = parsed({"bootstrap.servers": kafka.servers, "kafka.topics.pattern": f"{topic}.*", "discover.interval": "0.1"})
    runtime = Runtime(SOURCE, config)
    written, partitions, topics = 0, 1, [topic]
    for _ in range(60):
        step = choose.choice(["put", "commit", "grow", "topic", "read", "read", "read", "read", "store", "kill"])
        some = [b"%d" % at for at in range(written, written + choose.randint(1, 5))]
        if step == "put":
            kafka.put(topic, some, choose.randrange(partitions))
            written += len(some)
        elif step == "commit":
            kafka.commit(topic, some, choose.randrange(partitions))
            written += len(some)
        elif step == "grow" and partitions < 4:
            partitions += 1
            kafka.grow(topic, partitions)
        elif step == "topic" and len(topics) < 3:
            topics.append(f"{topic}-{len(topics)}")
            kafka.make(topics[-1])
            kafka.put(topics[-1], some)
            written += len(some)
        elif step == "read":
            runtime.read()
        elif step == "store":
            runtime.store(choose.randint(1, 9))
        elif step == "kill":
            runtime.kill()
    runtime.kill()
    runtime.forget()
    until(partial(has_sent, runtime, written), "every record")
    assert runtime.values == sorted((b"%d" % n for n in range(written)), key=repr)


def test_a_server_that_is_killed_comes_back_with_nothing_lost(topic: str) -> None:
    with Kafka().running() as kafka:
        kafka.make(topic)
        kafka.put(topic, [b"%d" % n for n in range(500)])
        runtime = Runtime(SOURCE, parsed({"bootstrap.servers": kafka.servers, "kafka.topics": topic, "request.timeout": "2s"}))
        until(partial(has_sent, runtime, 1), "the first")
        runtime.store(2)
        kafka.kill()
        task = runtime.tasks()[0]
        with pytest.raises(SystemAway, match="does not answer"):
            until(partial(polled, task), "the end of the connection")
        runtime.kill()
        kafka.start()
        kafka.put(topic, [b"%d" % n for n in range(500, 600)])
        until(partial(has_sent, runtime, 600), "every record")
        assert runtime.values == sorted((b"%d" % n for n in range(600)), key=repr)
        kafka.signal(signal.SIGSTOP)
        config = parsed({"bootstrap.servers": kafka.servers, "kafka.topics": topic, "request.timeout": "2s"})
        began = time.monotonic()
        (problem,) = SOURCE.check(config)
        assert problem.is_warning
        assert time.monotonic() - began < 3 * CHECK_SECONDS
        with pytest.raises(SystemAway, match="does not answer"):
            until(partial(polled, runtime.tasks()[0]), "the end of waiting")
        runtime.kill()
        kafka.signal(signal.SIGCONT)


@pytest.mark.parametrize(("mechanism", "tls"), [("PLAIN", False), ("SCRAM-SHA-256", False), ("SCRAM-SHA-256", True)])
def test_users_are_proven_and_their_rights_looked_at(kafka: Kafka, topic: str, mechanism: str, *, tls: bool) -> None:
    kafka.make(topic)
    kafka.put(topic, [b"v"])
    raw = user_of(kafka, topic, mechanism, tls=tls)
    (wrong,) = SOURCE.check(parsed(raw, "wrong"))
    assert "refuses the user" in wrong.reason
    assert "wrong" not in wrong.reason
    with pytest.raises(PermanentError, match="refuses the user"):
        opened(parsed(raw, "wrong"))
    kafka.allow(raw["user"], topic, "DESCRIBE")
    (denied,) = SOURCE.check(parsed(raw))
    assert (denied.value, denied.reason) == (topic, "may not be read by the user")
    with pytest.raises(PermanentError, match="kafka-acls"):
        values(opened(parsed(raw)), 1)
    kafka.allow(raw["user"], topic, "READ")
    until(lambda: not list(SOURCE.check(parsed(raw))), "the right")
    assert values(opened(parsed(raw)), 1) == [b"v"]


def test_a_user_without_any_right_is_told_beside_a_topic_that_is_not_there(kafka: Kafka, topic: str) -> None:
    kafka.make(topic)
    raw = {**user_of(kafka, f"{topic},{topic}x", "PLAIN")}
    kafka.allow("plain", f"{topic}x", "READ")
    told = {problem.value: f"{problem.reason} {problem.fix}" for problem in SOURCE.check(parsed(raw))}
    assert "kafka-acls" in told[topic]
    assert "is not there" in told[f"{topic}x"]


def test_a_certificate_that_is_not_trusted_is_told(kafka: Kafka, topic: str) -> None:
    raw = user_of(kafka, topic, "PLAIN", tls=True)
    raw["ssl.ca.location"] = ""
    (problem,) = SOURCE.check(parsed(raw))
    assert "ssl.ca.location" in problem.reason
    with pytest.raises(PermanentError, match=r"ssl\.ca\.location"):
        opened(parsed(raw))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_what_is_not_committed_is_read_where_that_is_wanted_alone(kafka: Kafka, topic: str, isolation: str) -> None:
    kafka.make(topic)
    writer = kafka.producer(transactional_id=topic)
    writer.init_transactions(60)
    writer.begin_transaction()
    writer.produce(topic, b"open")
    writer.flush(60)
    config = parsed({"bootstrap.servers": kafka.servers, "kafka.topics": topic, "isolation.level": isolation})
    task = opened(config)
    if isolation == "read_uncommitted":
        assert values(task, 1) == [b"open"]
    else:
        until(lambda: not batches_of(task.poll()) and task.caught_up, "the end")
        assert not any(len(batch) for batch in batches_of(task.poll()))
        writer.commit_transaction(60)
        assert values(task, 1) == [b"open"]


def test_what_retention_removes_is_told_at_start_and_while_it_reads(kafka: Kafka, topic: str) -> None:
    kafka.make(topic)
    kafka.put(topic, [b"%d" % n for n in range(20)])
    config = parsed({"bootstrap.servers": kafka.servers, "kafka.topics": topic})
    (partition,) = {batch.partition for batch in batches_of(opened(config).poll())}
    kafka.trim(topic, 9)
    with pytest.raises(PermanentError, match=r"from offset 3 up to 9 were removed"):
        opened(config, {partition: Position((3,))})


def test_a_topic_that_is_made_anew_while_it_is_read_is_never_read_at_the_old_offset(kafka: Kafka, topic: str) -> None:
    kafka.make(topic)
    kafka.put(topic, [b"old%d" % n for n in range(5)])
    runtime = Runtime(SOURCE, parsed({"bootstrap.servers": kafka.servers, "kafka.topics": topic, "discover.interval": "3600"}))
    until(partial(has_sent, runtime, 5), "the old ones")
    runtime.store(100)
    kafka.drop(topic)

    def made() -> bool:
        try:
            kafka.make(topic)
        except Exception:  # it is there until the server has removed it
            return False
        return True

    until(made, "the new topic")
    kafka.put(topic, [b"new%d" % n for n in range(20)])
    with pytest.raises(PermanentError, match="made anew under its name"):
        until(partial(read_on, runtime), "the word that it is another one")
    assert not [value for value in runtime.values if value.startswith(b"new")]  # type: ignore[attr-defined]
