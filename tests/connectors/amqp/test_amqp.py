"""What goes through a broker, and what a broker may do wrong: each by a small one in this process."""

import socket
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from connectors.amqp.jms_sink import JmsSink
from connectors.amqp.jms_source import JmsSource
from connectors.amqp.sink import AmqpSink
from connectors.amqp.source import AmqpSource
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, Rejected
from tests.connectors.amqp.driving import MOST_BYTES, QUEUE, problems, reading, records, write, writing
from tests.servers.amqp.standin import StandIn

_HEADER = b"AMQP\x03\x01\x00\x00"


def test_what_the_sink_sends_the_source_reads_and_what_a_broker_rejects_is_a_bad_record(standin: StandIn) -> None:
    standin.faults.outcomes = ["accepted", "rejected"]
    given = {"message_type": "T", "correlation_id": "${key}", "properties": "trace=${header.trace}"}
    with writing(JmsSink(), url=standin.url, destination="q-${key}", **given) as sink:
        refused = write(sink, ["a ü", "b", {"c": 1}], ["1", "1", "1"], [{"trace": str(each)} for each in range(3)], [5, 6, 7])
    assert refused == {1: "the broker rejects it: not like this (test:refused)"}
    with reading(JmsSource(), {"url": standin.url, "destinations": "q-1", "key": "JMSCorrelationID"}) as source:
        batch = records(source, 2)
        assert (batch.values, batch.keys, batch.timestamps_ms) == (["a ü", '{"c":1}'], ["1", "1"], [5, 7])
        assert batch.headers is not None
        wanted = {"trace": "2", "JMSMessageID": f"ID:{QUEUE}/2", "JMSType": "T", "jms.message.kind": "text"}
        assert batch.headers[1].items() >= wanted.items()
        _until(source, lambda: standin.waiting("q-1") == 0)


def _until(task: Any, done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        task.poll()


@pytest.mark.parametrize("outcome", ["released", "modified"])
def test_what_a_broker_gives_back_is_sent_again_alone(standin: StandIn, outcome: str) -> None:
    standin.faults.outcomes = ["accepted", outcome, "accepted"]
    with writing(AmqpSink(), url=standin.url, address="q") as task:
        with pytest.raises(RetriableError, match="1 message not accepted, the first: "):
            write(task, ["a", "b", "c"])
        assert write(task, ["a", "b", "c"]) == {}
    assert standin.texts("q") == ["a", "c", "b"]


@pytest.mark.slow
def test_a_link_that_the_broker_ends_is_made_again_and_nothing_is_lost(standin: StandIn) -> None:
    standin.faults.outcomes = ["accepted", "detached"]
    with writing(AmqpSink(), url=standin.url, address="q") as task:
        with pytest.raises(SystemAway, match="'q': the broker has ended it: for a test"):
            write(task, ["a", "b", "c"])
        assert write(task, ["a", "b", "c"]) == {}
    assert set(standin.texts("q")) == {"a", "b", "c"}


@pytest.mark.slow
def test_a_connection_that_ends_while_dispositions_are_awaited_loses_nothing(standin: StandIn) -> None:
    standin.faults.outcomes = ["silent"]
    with writing(AmqpSink(), url=standin.url, address="q", request_timeout="60s") as task:
        cutting = Thread(target=_cut_when_it_has_one, args=(standin,))
        cutting.start()
        with pytest.raises(SystemAway, match=r"the broker (has ended|does not answer)"):
            write(task, ["a", "b"])
        cutting.join()
        assert write(task, ["a", "b"]) == {}
    assert set(standin.texts("q")) == {"a", "b"}


def _cut_when_it_has_one(standin: StandIn) -> None:
    end = time.monotonic() + 60
    while standin.faults.outcomes and time.monotonic() < end:
        time.sleep(0.001)
    standin.cut()


@pytest.mark.slow
def test_a_broker_that_says_nothing_of_a_message_is_waited_for_no_longer_than_is_configured(standin: StandIn) -> None:
    standin.faults.outcomes = ["silent"]
    with (
        writing(AmqpSink(), url=standin.url, address="q", request_timeout="300ms") as task,
        pytest.raises(SystemAway, match=r"has not said what becomes of each message within 0\.3 s"),
    ):
        write(task, ["a", "b"])


@pytest.mark.slow
def test_a_broker_that_wants_nothing_now_is_waited_for(standin: StandIn) -> None:
    standin.faults.credit = 0
    with (
        writing(AmqpSink(), url=standin.url, address="q", request_timeout="300ms") as task,
        pytest.raises(SystemAway, match=r"takes nothing for 'q' within 0\.3 s"),
    ):
        write(task, ["a"])


@pytest.mark.slow
def test_an_address_that_is_not_there_ends_the_task_or_refuses_the_records_that_name_it(standin: StandIn) -> None:
    words = "address 'missing': the broker does not have it: no missing"
    with pytest.raises(PermanentError, match=words), reading(AmqpSource(), {"url": standin.url, "addresses": "missing"}):
        pass
    with writing(AmqpSink(), url=standin.url, address="missing") as task, pytest.raises(PermanentError, match=words):
        write(task, ["a"])
    with writing(AmqpSink(), url=standin.url, address="${key}") as task:
        refused = write(task, ["a", "b", "c"], ["q", "missing-1", "q"])
        assert list(refused) == [1]
        assert "no missing-1 (amqp:not-found)" in refused[1]
    assert standin.texts("q") == ["a", "c"]
    standin.faults.refused = "amqp:unauthorized-access"
    with (
        pytest.raises(PermanentError, match="Give the user what is missing"),
        reading(AmqpSource(), {"url": standin.url, "addresses": "missing"}),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("is_told", [True, False])
def test_a_message_that_is_too_large_is_refused_alone(standin: StandIn, *, is_told: bool) -> None:
    standin.faults.largest, standin.faults.told = 1_000, 1_000 if is_told else 0
    with writing(AmqpSink(), url=standin.url, address="q") as task:
        refused = write(task, ["a", "x" * 2_000, "b", "y" * 300, "z" * 2_000])
    assert list(refused) == [1, 4]
    assert "bytes, and the broker" in refused[1]
    assert {text[:1] for text in standin.texts("q")} == {"a", "b", "y"}


@pytest.mark.slow
def test_more_addresses_than_links_are_written_one_after_the_other(standin: StandIn) -> None:
    names = [f"q{number}" for number in range(250)]
    with writing(AmqpSink(), url=standin.url, address="${key}") as task:
        assert write(task, names, names) == {}
    assert [standin.waiting(name) for name in names] == [1] * 250
    assert standin.links == 250


@pytest.mark.slow
def test_bad_messages_are_bad_records_and_are_accepted(standin: StandIn) -> None:
    standin.publish("q", [b"{}", b"\xff", "x" * (MOST_BYTES + (1 << 16)), 7])
    with reading(AmqpSource(), {"url": standin.url, "addresses": "q", "value_format": "json"}) as task:
        values = records(task, 4).values
        assert [each.error if isinstance(each, Rejected) else each for each in values] == [
            {},
            "InvalidPayload",
            "RecordTooLarge",
            7,
        ]
        _until(task, lambda: standin.waiting("q") == 0)


@pytest.mark.slow
def test_a_large_message_comes_through_a_window_that_is_smaller(standin: StandIn) -> None:
    standin.publish("q", [b"x" * (9 << 20), b"end"])
    with reading(AmqpSource(), {"url": standin.url, "addresses": "q"}) as task:
        first, last = records(task, 2).values
    assert isinstance(first, Rejected)
    assert (first.error, last) == ("RecordTooLarge", "end")
    assert first.length > 9 << 20


@pytest.mark.slow
def test_several_tasks_share_the_messages_of_several_queues_out(standin: StandIn) -> None:
    given = {"url": standin.url, "addresses": "a,b", "prefetch": "4"}
    with reading(AmqpSource(), given, "0/2") as one, reading(AmqpSource(), given, "1/2") as other:
        for queue in ("a", "b"):
            standin.publish(queue, [str(number) for number in range(20)])
        seen: dict[str, list[object]] = {"task-0": [], "task-1": []}
        end = time.monotonic() + 60
        while sum(map(len, seen.values())) < 40:
            assert time.monotonic() < end
            for task in (one, other):
                for batch in batches_of(task.poll()):
                    seen[batch.partition] += batch.values
                    task.committed({batch.partition: Position(batch.offsets[-1])})
    assert sorted(map(str, seen["task-0"] + seen["task-1"])) == sorted(2 * [str(number) for number in range(20)])
    assert all(seen.values())


@pytest.mark.slow
def test_a_preview_leaves_the_messages_there_as_if_nobody_had_seen_them(standin: StandIn) -> None:
    standin.publish("q", ["a", "b"])
    with reading(AmqpSource(), {"url": standin.url, "addresses": "q"}, is_preview=True) as task:
        records(task, 2, stored=False)
    with reading(AmqpSource(), {"url": standin.url, "addresses": "q"}) as task:
        batch = records(task, 2)
    assert batch.values == ["a", "b"]
    assert batch.headers is not None
    assert "redelivered" not in batch.headers[0]


@pytest.mark.slow
def test_a_broker_that_chooses_by_no_selector_is_told(standin: StandIn) -> None:
    standin.ignores_filters = True
    with (
        pytest.raises(PermanentError, match="does not choose messages of 'q' by a selector"),
        reading(AmqpSource(), {"url": standin.url, "addresses": "q", "selector": "a = 1"}),
    ):
        pass


def _answering(server: socket.socket, answer: bytes) -> Thread:
    def answered() -> None:
        connection, _ = server.accept()
        connection.sendall(answer)
        connection.recv(1 << 16)
        time.sleep(0.05)
        connection.close()

    thread = Thread(target=answered)
    thread.start()
    return thread


def test_a_broker_that_is_away_or_hangs_is_waited_for_and_what_is_none_is_told() -> None:
    with socket.create_server(("localhost", 0)) as server:
        given = {"url": f"amqp://localhost:{server.getsockname()[1]}", "addresses": "q", "request_timeout": "300ms"}
        with pytest.raises(SystemAway, match=r"the broker does not answer within 0\.3 s"), reading(AmqpSource(), given):
            pass
        server.accept()[0].close()
        for answer, kind, words in (
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", RetriableError, "does not speak AMQP 1.0"),
            (b"AMQP\x00\x00\x09\x01", RetriableError, "does not speak AMQP 1.0"),
            (_HEADER + b"\xff" * 64, RetriableError, "does not speak AMQP 1.0"),
            (b"", SystemAway, "the broker has ended the connection"),
        ):
            thread = _answering(server, answer)
            with pytest.raises(kind, match=words), reading(AmqpSource(), {**given, "request_timeout": "10s"}):
                pass
            thread.join()
    with pytest.raises(SystemAway, match=r"the broker does not answer: .*refused"), reading(AmqpSource(), given):
        pass
    assert "does not answer" in problems(AmqpSource(), **given)["url"]


@pytest.mark.slow
def test_a_broker_of_which_nothing_is_heard_is_given_up() -> None:
    with StandIn().running() as broker:
        broker.publish("q", ["a"])
        with reading(AmqpSource(), {"url": broker.url, "addresses": "q", "heartbeat": "1s"}) as task:
            records(task, 1)
            with broker.hanging():
                end = time.monotonic() + 60
                with pytest.raises(SystemAway, match="nothing is heard of the broker"):
                    while time.monotonic() < end:
                        task.poll()
