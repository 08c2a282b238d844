"""What goes through a server, and what a server refuses."""

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pika
import pytest

from connectors.rabbitmq.sink import RabbitmqSink
from connectors.rabbitmq.source import RabbitmqSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit
from rocketconnect_sdk.source import SourceTask
from tests.servers.rabbitmq import MOST_BYTES, READER, Rabbitmq

QUEUE = "orders/b/0"


def configured(plugin: Any, server: Rabbitmq, given: Mapping[str, str]) -> Config:
    config = parse(plugin.options, {"url": server.url, **{key.replace("_", "."): value for key, value in given.items()}})
    return config.replaced(lambda text: text.replace("${env:WRONG}", "wrong").replace("${env:RIGHT}", "right"))


def told(plugin: Any, server: Rabbitmq, **given: str) -> dict[str, str]:
    return {each.key: each.reason for each in plugin.check(configured(plugin, server, given))}


@contextmanager
def reading(server: Rabbitmq, share: str = "0/1", **given: str) -> Iterator[SourceTask]:
    source = RabbitmqSource()
    task = source.open(configured(source, server, given), {"share": share}, TaskContext(max_record_bytes=1_000))
    try:
        task.start({})
        yield task
    finally:
        task.close()


def records(task: SourceTask, count: int) -> SourceBatch:
    """The first so many records, as one batch, which is stored."""
    found: list[SourceBatch] = []
    while sum(map(len, found)) < count:
        found += [batch for batch in batches_of(task.poll()) if len(batch)]
        time.sleep(0.001)
    task.committed({batch.partition: Position(batch.offsets[-1]) for batch in found})
    return SourceBatch.concat(found)


@contextmanager
def writing(server: Rabbitmq, **given: str) -> Iterator[RecordSinkTask]:
    sink = RabbitmqSink()
    task = sink.open(configured(sink, server, given), {}, TaskContext())
    try:
        task.start()
        yield task
    finally:
        task.close()


def write(
    task: RecordSinkTask, values: Sequence[object], keys: Sequence[object] | None = None, headers: Any = None
) -> dict[int, str]:
    """Writes a batch as the runtime does; returns what was refused."""
    batch = SinkBatch(QUEUE, "orders", values, range(len(values)), keys, None, headers)
    commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(len(values))}, len(values), str(values))
    refused: dict[int, str] = {}
    try:
        receipts: Any = [task.writer().stage(batch, "part")]
    except RecordRefused as error:
        refused, receipts = error.refused, [error.receipt]
    try:
        task.commit(receipts, commit)
    except RecordRefused as error:
        refused |= error.refused
    return refused


def test_what_the_sink_publishes_the_source_reads_and_what_no_queue_takes_is_a_bad_record(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    with writing(
        server,
        routing_key="${key}",
        headers="trace=${header.trace}",
        correlation_id="${offset}",
        priority="3",
        content_type="text/plain",
    ) as sink:
        refused = write(sink, ["a ü", "b", "c"], [queue, "nowhere", queue], [{"trace": "1"}, {"trace": "2"}, {"trace": "3"}])
    assert refused == {1: "no queue takes it from the exchange '' by the routing key 'nowhere'"}
    with reading(server, queues=queue, key="message.id") as source:
        batch = records(source, 2)
    assert (batch.values, batch.keys) == (["a ü", "c"], [f"{QUEUE}/0", f"{QUEUE}/2"])
    assert batch.headers is not None
    assert batch.headers[0] == {
        "trace": "1",
        "rabbitmq.queue": queue,
        "rabbitmq.exchange": "",
        "rabbitmq.routing.key": queue,
        "rabbitmq.message.id": f"{QUEUE}/0",
        "rabbitmq.correlation.id": "0",
        "rabbitmq.priority": "3",
        "rabbitmq.content.type": "text/plain",
    }
    assert server.waiting(queue) == 0


@pytest.mark.slow
def test_a_queue_that_is_not_there_is_told_and_one_that_is_deleted_ends_the_task(server: Rabbitmq) -> None:
    source = RabbitmqSource()
    queue = server.make(server.root)
    missing = {"queues": f"the server has no queue '{server.root}-2' in vhost '/' (404)", "bindings": "no exchange 'no'"}
    found = told(source, server, queues=f"{queue},{server.root}-2", bindings="no=a")
    assert set(found) == set(missing)
    assert all(words in found[key] for key, words in missing.items())
    with pytest.raises(PermanentError, match="no queue"), reading(server, queues=f"{server.root}-2"):
        pass
    with reading(server, queues=queue) as task:
        with server.channel() as channel:
            channel.queue_delete(queue)
        with pytest.raises(SystemAway, match=f"gives nothing of the queue '{queue}' any more"):
            records(task, 1)
        with pytest.raises(PermanentError, match="no queue"):
            task.poll()


@pytest.mark.slow
def test_queues_are_made_and_bound_and_one_in_another_form_is_told(server: Rabbitmq) -> None:
    queue = f"{server.root}-made"
    given = {
        "queues": queue,
        "declare": "quorum",
        "declare.arguments": "x-max-length=100",
        "bindings": "amq.topic=eu.#,amq.fanout=",
    }
    assert told(RabbitmqSource(), server, **given) == {}
    for _ in range(2):
        with reading(server, **given) as task:
            server.publish("eu.x", ["1"], "amq.topic")
            server.publish("", ["2"], "amq.fanout")
            server.publish("us.x", ["3"], "amq.topic")
            assert records(task, 2).values == ["1", "2"]
    with pytest.raises(PermanentError, match="it is there in another form"), reading(server, queues=queue, declare="classic"):
        pass


@pytest.mark.slow
def test_bad_values_are_bad_records_and_are_acknowledged(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    server.publish(queue, [b"{}", b"\xff", b"[" + b"1," * 1_000 + b"1]", b"7"])
    with reading(server, queues=queue, value_format="json") as task:
        values = records(task, 4).values
    assert [each.error if isinstance(each, Rejected) else each for each in values] == [{}, "InvalidPayload", "RecordTooLarge", 7]
    assert server.waiting(queue) == 0


@pytest.mark.slow
def test_several_tasks_share_the_messages_of_several_queues_out(server: Rabbitmq) -> None:
    queues = [server.make(f"{server.root}-{number}") for number in range(2)]
    given = {"queues": ",".join(queues), "prefetch": "4"}
    assert len(RabbitmqSource().plan(configured(RabbitmqSource(), server, given), 2, {}).tasks) == 2
    with reading(server, "0/2", **given) as one, reading(server, "1/2", **given) as other:
        for queue in queues:
            server.publish(queue, [str(number) for number in range(20)])
        seen: dict[str, list[str]] = {"task-0": [], "task-1": []}
        while sum(map(len, seen.values())) < 40:
            for task in (one, other):
                for batch in batches_of(task.poll()):
                    seen[batch.partition] += map(str, batch.values)
                    task.committed({batch.partition: Position(batch.offsets[-1])})
    assert sorted(seen["task-0"] + seen["task-1"]) == sorted(2 * [str(number) for number in range(20)])
    assert all(seen.values())
    assert [server.waiting(queue) for queue in queues] == [0, 0]


@pytest.mark.slow
def test_a_preview_leaves_the_messages_there(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    server.publish(queue, ["a", "b"])
    source = RabbitmqSource()
    task = source.open(configured(source, server, {"queues": queue}), {"share": "0/1"}, TaskContext(epoch=0))
    task.start({})
    found: list[object] = []
    while len(found) < 2:
        found += [value for batch in batches_of(task.poll()) for value in batch.values]
    task.close()
    assert server.waiting(queue) == 2


@pytest.mark.slow
def test_a_stream_is_not_read(server: Rabbitmq) -> None:
    queue = server.make(server.root, arguments={"x-queue-type": "stream"})
    with reading(server, queues=queue) as task:
        server.publish(queue, ["a"])
        with pytest.raises(PermanentError, match="is a stream"):
            records(task, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"user": READER, "password": "${env:WRONG}"}, r"refuses user or password \(403\)"),
        ({"virtual.host": "nowhere"}, r"vhost nowhere not found \(530\)"),
        ({"user": READER, "password": "${env:RIGHT}", "virtual.host": "closed"}, "refused for user 'reader'"),
        ({"user": READER, "password": "${env:RIGHT}"}, "access to queue .* refused for user 'reader'"),
    ],
)
def test_who_is_not_let_in_is_told_why(server: Rabbitmq, given: dict[str, str], words: str) -> None:
    queue = server.make("other")
    with pytest.raises(PermanentError, match=words), reading(server, queues=queue, **given):
        pass
    with (
        pytest.raises(PermanentError, match=words.replace("queue", "exchange")),
        writing(server, routing_key=queue, **given) as task,
    ):
        write(task, ["a"])


@pytest.mark.slow
def test_both_sides_show_certificates_and_what_is_not_trusted_is_told(server: Rabbitmq) -> None:
    certificate, key = server.certificate
    queue = server.make(server.root)
    server.publish(queue, ["a"])
    ours = {"url": server.tls_url, "ssl.certificate.location": certificate, "ssl.key.location": key, "queues": queue}
    with reading(server, **ours, ssl_ca_location=server.authority) as task:
        assert records(task, 1).values == ["a"]
    with pytest.raises(PermanentError, match="the certificate of the server is not trusted"), reading(server, **ours):
        pass
    ours = {"url": server.tls_url, "queues": queue, "ssl.ca.location": server.authority}
    with (
        pytest.raises((PermanentError, RetriableError), match="does not take our certificate, or wants one"),
        reading(server, **ours),
    ):
        pass


@pytest.mark.slow
def test_a_server_that_hangs_is_noticed_and_gone_on_with(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    with (
        reading(server, queues=queue, heartbeat="1s", request_timeout="2s") as source,
        writing(server, routing_key=queue, request_timeout="2s") as sink,
    ):
        server.signal(signal.SIGSTOP)
        try:
            begun = time.monotonic()
            with pytest.raises(SystemAway, match="does not answer within 2 s"):
                write(sink, ["a"])
            assert time.monotonic() - begun < 10
            with pytest.raises(SystemAway, match="nothing is heard of the server"):
                records(source, 1)
            assert time.monotonic() - begun < 30
        finally:
            server.signal(signal.SIGCONT)
        assert write(sink, ["a"]) == {}
        assert set(records(source, 1).values) == {"a"}


@pytest.mark.slow
def test_a_message_that_is_too_large_is_refused_alone(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    with writing(server, routing_key=queue) as task:
        assert write(task, ["a", "x" * (MOST_BYTES + 1), "b", "y" * MOST_BYTES]) == {
            1: "it has 1,000,001 bytes, and the server takes 1,000,000 at most (max_message_size)"
        }
    assert {body[:1] for _, _, body in server.read(queue)} == {b"a", b"b", b"y"}


@pytest.mark.slow
def test_what_no_queue_takes_is_published_again_until_one_does(server: Rabbitmq) -> None:
    other = server.make(f"{server.root}-there")
    with writing(server, routing_key="${key}", unroutable="retry") as task:
        for _ in range(2):
            with pytest.raises(RetriableError, match="1 message unroutable, the first: no queue takes it"):
                write(task, ["a", "b"], [other, server.root])
        server.make(server.root)
        assert write(task, ["a", "b"], [other, server.root]) == {}
    assert [server.waiting(other), server.waiting(server.root)] == [1, 1]
    with writing(server, routing_key="nowhere", unroutable="drop") as task:
        assert write(task, ["a"]) == {}


@pytest.mark.slow
def test_what_a_full_queue_does_not_take_is_published_again_alone(server: Rabbitmq) -> None:
    queue = server.make(server.root, arguments={"x-max-length": 3, "x-overflow": "reject-publish"})
    with writing(server, routing_key=queue) as task:
        with pytest.raises(RetriableError, match="2 messages refused: the server has not taken them"):
            write(task, ["a", "b", "c", "d", "e"])
        with server.channel() as channel:
            channel.queue_purge(queue)
        assert write(task, ["a", "b", "c", "d", "e"]) == {}
    assert [body for _, _, body in server.read(queue)] == [b"d", b"e"]


@pytest.mark.slow
def test_an_exchange_is_made_or_told_and_one_of_a_record_is_refused_alone(server: Rabbitmq) -> None:
    sink, exchange = RabbitmqSink(), f"{server.root}-e"
    found = told(sink, server, exchange=exchange)
    assert found == {"exchange": f"{server.url}: the server has no exchange '{exchange}' in vhost '/' (404)"}
    with pytest.raises(PermanentError, match="no exchange"), writing(server, exchange=exchange) as task:
        write(task, ["a"])
    assert told(sink, server, exchange=exchange, exchange_declare="fanout") == {}
    with writing(server, exchange=exchange, exchange_declare="fanout", routing_key="", unroutable="drop") as task:
        assert write(task, ["a"]) == {}
    queue = server.make(server.root)
    with server.channel() as channel:
        channel.queue_bind(queue, exchange)
    with writing(server, exchange="${key}", routing_key="x") as task:
        refused = write(task, ["a", "b", "c"], [exchange, "no-such", exchange])
    assert list(refused) == [1]
    assert "no exchange 'no-such'" in refused[1]
    assert [body for _, _, body in server.read(queue)] == [b"a", b"c"]
    given = {"exchange": exchange, "exchange.declare": "topic"}
    with pytest.raises(PermanentError, match="it is there in another form"), writing(server, **given) as task:
        write(task, ["a"])


@pytest.mark.slow
def test_properties_are_made_of_the_record_and_what_can_not_be_is_refused_alone(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    given = {"priority": "${header.p}", "message.type": "${header.t}", "headers": "h=${header.h}", "expiration": "90s"}
    headers = [{"p": "255", "t": "t", "h": "h"}, {"p": "256", "t": "t", "h": "h"}, {"p": "1", "t": "t" * 256, "h": "h"}]
    headers += [{"p": "1", "t": "t", "h": "h" * 200_000}, {"p": "1", "t": "t"}]
    with writing(server, routing_key=queue, **given) as task:
        refused = write(task, ["a"] * 5, None, headers)
    assert refused == {
        1: "its priority '256' is no whole number from 0 to 255",
        2: "its message.type takes more than the 255 bytes that AMQP allows",
        3: refused[3],
        4: "the record has no such header, which ${header.h} stands for",
    }
    assert refused[3].startswith("its headers and properties take 200,")
    ((_, properties, _),) = server.read(queue)
    assert (properties.priority, properties.type, properties.headers) == (255, "t", {"h": "h"})
    assert (properties.expiration, properties.delivery_mode) == ("90000", pika.DeliveryMode.Persistent.value)


@pytest.mark.slow
def test_a_server_that_is_short_of_memory_is_waited_for(server: Rabbitmq) -> None:
    queue = server.make(server.root)
    with writing(server, routing_key=queue, request_timeout="2s") as task:
        server.control("set_vm_memory_high_watermark", "0")
        try:
            with pytest.raises(SystemAway, match="takes no messages for now: low on memory"):
                write(task, ["a"])
        finally:
            server.control("set_vm_memory_high_watermark", "0.4")
        assert write(task, ["a"]) == {}
    assert server.waiting(queue) >= 1


@pytest.mark.slow
def test_messages_survive_a_server_that_is_killed(server: Rabbitmq) -> None:
    with Rabbitmq().running() as own:
        queue = own.make("q")
        with writing(own, routing_key=queue) as task:
            assert write(task, [str(number) for number in range(500)]) == {}
            own.kill()
            with pytest.raises(SystemAway):
                write(task, ["late"])
            own.start()
            with reading(own, queues=queue) as source:
                assert records(source, 500).values == [str(number) for number in range(500)]
