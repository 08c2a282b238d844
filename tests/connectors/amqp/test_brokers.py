"""What real brokers do, and what clients of JMS in Java see."""

import signal
import time
from functools import partial
from typing import Any

import pytest

from connectors.amqp.jms_sink import JmsSink
from connectors.amqp.jms_source import JmsSource
from connectors.amqp.sink import AmqpSink
from connectors.amqp.source import AmqpSource
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, Rejected
from tests.connectors.amqp.driving import problems, reading, records, write, writing
from tests.servers.amqp.brokers import READER, Artemis, Broker, Classic

pytestmark = pytest.mark.slow
_CALLS = ("connectors.amqp.client:got", "connectors.amqp.client:put")


@pytest.fixture(params=[Artemis, Classic])
def broker(request: pytest.FixtureRequest) -> Broker:
    """Each of them."""
    found: Broker = request.getfixturevalue(request.param.__name__.lower())
    return found


def test_messages_of_java_are_records_with_the_headers_of_jms(broker: Broker) -> None:
    queue = broker.name()
    ids = broker.ask("send", name=queue, type="queue").split()
    with reading(JmsSource(), {"url": broker.url, "destinations": queue, "value.format": "json", "key": "property.region"}) as task:
        bad = records(task, 5)
    assert bad.values[2:4] == [{"name": "ü", "count": 5, "good": True}, [1, "two"]]
    assert [each.error for each in bad.values if isinstance(each, Rejected)] == ["InvalidPayload"] * 3
    assert bad.keys == ["eu"] * 5
    assert bad.headers is not None
    kinds = [each["jms.message.kind"] for each in bad.headers]
    assert kinds == ["text", "bytes", "map", "stream", "object"]
    wanted = {
        "JMSType": "type",
        "JMSCorrelationID": "correlation",
        "JMSPriority": "7",
        "number": "3",
        "JMSDeliveryMode": "PERSISTENT",
    }
    for each, identity in zip(bad.headers, ids, strict=True):
        assert each.items() >= {**wanted, "JMSMessageID": identity, "JMSDestination": queue}.items()
        assert int(each["JMSExpiration"]) - int(each["JMSTimestamp"]) == 600_000
    assert broker.waiting(queue) == 0


def test_records_are_messages_that_java_reads(broker: Broker) -> None:
    queue = broker.name()
    sent: Any = (("text", "ü"), ("bytes", b"raw"), ("map", {"a": 1, "b": "x"}), ("stream", [1, "two"]))
    given = {"url": broker.url, "destination": queue, "message.type": "T", "correlation.id": "${key}", "priority": "8"}
    for kind, value in sent:
        with writing(JmsSink(), **given, message_kind=kind) as task:
            assert write(task, [value], ["k"], [{"region": "eu"}]) == {}
    found = [line.split("\t") for line in broker.ask("read", name=queue, count=4).split("\n")]
    assert [each[0] for each in found] == ["text ü", "bytes raw", "map {a=1, b=x}", "stream 1 two"]
    assert {tuple(each[1:5]) for each in found} == {("T", "k", "8", "2")}
    assert all("region=eu" in each[5] for each in found)


def test_a_selector_leaves_the_others_there(broker: Broker) -> None:
    queue = broker.name()
    for region in ("eu", "us"):
        broker.publish(queue, [region], properties={"region": region})
    with reading(JmsSource(), {"url": broker.url, "destinations": queue, "selector": "region = 'us'"}) as task:
        assert records(task, 1).values == ["us"]
    assert broker.texts(queue) == ["eu"]


def test_a_subscription_of_a_topic_that_is_read_no_more_is_removed(broker: Broker) -> None:
    one, other = broker.name(), broker.name()
    given = {"url": broker.url, "destination.type": "topic"}
    source = JmsSource()
    with reading(source, {**given, "destinations": f"{one},{other}"}) as task:
        note = task.poll()
        assert (len(broker.subscriptions(one)), len(broker.subscriptions(other))) == (1, 1)
    (kept,) = batches_of(note)
    assert kept.end is not None
    assert kept.resume == {"kept": {"subscriptions": [one, other]}}
    with reading(source, {**given, "destinations": other}) as task:
        task.start({kept.partition: Position(kept.end, kept.resume)})
        assert (broker.subscriptions(one), len(broker.subscriptions(other))) == ([], 1)


@pytest.mark.parametrize("is_killed", [False, True])
def test_artemis_drops_what_is_sent_twice(artemis: Artemis, *, is_killed: bool) -> None:
    queue = artemis.name()
    given = {"url": artemis.url, "address": queue, "address.type": "queue", "duplicate.detection": "true"}
    values = [str(number) for number in range(50)]
    steps = 0
    for step in range(1, 200, 3):
        if not is_killed:
            break
        steps += 1
        if not run_and_kill(partial(_write_all, given, values), step, _CALLS):
            break
    for _ in range(2):
        with writing(AmqpSink(), **given) as task:
            assert write(task, values) == {}
    assert artemis.texts(queue) == values
    assert steps > 3 or not is_killed


def _write_all(given: dict[str, str], values: list[str]) -> None:
    with writing(AmqpSink(), **given) as task:
        write(task, values)


def test_who_is_not_let_in_is_told_why(artemis: Artemis) -> None:
    queue = artemis.name()
    wrong = {"url": artemis.url, "user": READER, "password": "${env:WRONG}"}
    with pytest.raises(PermanentError, match="refuses user or password"), reading(AmqpSource(), {**wrong, "addresses": queue}):
        pass
    right = {**wrong, "password": "${env:RIGHT}", "address.type": "queue"}
    with pytest.raises(PermanentError, match="does not let us do this"), reading(AmqpSource(), {**right, "addresses": queue}):
        pass
    with writing(AmqpSink(), **right, address=queue) as task, pytest.raises(PermanentError, match="does not let us do this"):
        write(task, ["a"])


def test_what_a_broker_does_not_make_is_told(artemis: Artemis) -> None:
    given = {"url": artemis.url, "address.type": "queue"}
    with pytest.raises(PermanentError, match=r"queue 'fixed\.no': "), reading(AmqpSource(), {**given, "addresses": "fixed.no"}):
        pass
    with writing(AmqpSink(), **given, address="${key}") as task:
        refused = write(task, ["a", "b"], ["fixed.no", artemis.name()])
    assert list(refused) == [0]


def test_both_sides_show_certificates_and_what_is_not_trusted_is_told(artemis: Artemis) -> None:
    certificate, key = artemis.certificate
    queue = artemis.name()
    artemis.publish(queue, ["a"])
    read = {"url": artemis.tls_url, "addresses": queue, "address.type": "queue"}
    ours = {**read, "ssl.certificate.location": certificate, "ssl.key.location": key}
    with reading(AmqpSource(), {**ours, "ssl.ca.location": artemis.authority}) as task:
        assert records(task, 1).values == ["a"]
    with pytest.raises(PermanentError, match="the certificate of the broker is not trusted"), reading(AmqpSource(), ours):
        pass
    without = {**read, "ssl.ca.location": artemis.authority}
    with pytest.raises(PermanentError, match="does not take our certificate, or wants one"), reading(AmqpSource(), without):
        pass
    plain = {**read, "url": artemis.tls_url.replace("amqps", "amqp")}
    with (
        pytest.raises((RetriableError, SystemAway), match=r"does not speak AMQP|has ended|does not answer"),
        reading(AmqpSource(), plain),
    ):
        pass


def test_a_broker_that_hangs_or_is_killed_is_waited_for_and_gone_on_with() -> None:
    with Artemis().running() as broker:
        queue = broker.name()
        read = {"url": broker.url, "addresses": queue, "address.type": "queue", "heartbeat": "2s", "request.timeout": "3s"}
        to = {"url": broker.url, "address": queue, "address.type": "queue", "request.timeout": "3s"}
        with reading(AmqpSource(), read) as source, writing(AmqpSink(), **to) as sink:
            assert write(sink, ["a"]) == {}
            assert records(source, 1).values == ["a"]
            broker.signal(signal.SIGSTOP)
            with pytest.raises(SystemAway, match="within 3 s"):
                write(sink, ["b"])
            with pytest.raises(SystemAway):
                records(source, 1)
            broker.kill()
            with pytest.raises(SystemAway):
                write(sink, ["b"])
            broker.start()
            assert write(sink, ["b"]) == {}
            # That the first one was accepted may be lost with the broker.
            found = {*records(source, 1).values}
            while "b" not in found:
                found |= {*records(source, 1).values}
            assert found <= {"a", "b"}


def test_an_idle_connection_of_a_sink_is_made_again(artemis: Artemis) -> None:
    queue = artemis.name()
    with writing(JmsSink(), url=artemis.url, destination=queue, heartbeat="1s") as task:
        assert write(task, ["a"]) == {}
        artemis.cut()
        time.sleep(1)
        assert write(task, ["b"]) == {}
    assert artemis.texts(queue) == ["a", "b"]
    assert problems(JmsSink(), url=artemis.url) == {}
