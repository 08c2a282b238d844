"""What needs no server: headers and keys, what is told of options, of servers that are none, and of what servers say."""

import socket
import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pika
import pytest

from connectors.rabbitmq import fields
from connectors.rabbitmq.faults import MessageTooLarge, NotThere, said
from connectors.rabbitmq.messages import received
from connectors.rabbitmq.options import arguments_of
from connectors.rabbitmq.sink import RabbitmqSink
from connectors.rabbitmq.source import RabbitmqSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.queues.texts import as_text
from rocketconnect_sdk.queues.values import VALUES
from rocketconnect_sdk.record import Rejected


def problems(plugin: Any, given: Mapping[str, str]) -> dict[str, str]:
    try:
        return {each.key: each.reason for each in plugin.check(parse(plugin.options, given))}
    except ConfigError as error:
        return {each.key: each.reason for each in error.problems}


def message(body: bytes = b"x", key: str = "", form: str = "text", **properties: Any) -> Received:
    method = SimpleNamespace(exchange="e", routing_key="a.b", delivery_tag=7, redelivered=True)
    made = pika.BasicProperties(**properties)
    return received("q", method, made, body, value=VALUES[form], key=key, most_bytes=1_000)


def test_properties_and_headers_of_all_types_are_texts() -> None:
    found = message(
        headers={
            "trace": "t",
            "number": 1 << 40,
            "yes": True,
            "none": None,
            "bytes": b"\xff\x00",
            "price": Decimal("1.50"),
            "part": 3.75,
            "x-death": [{"count": 1 << 40, "time": datetime(2026, 1, 2, tzinfo=UTC), "queue": "q ü"}],
        },
        message_id="m",
        correlation_id="c",
        type="t",
        timestamp=1_700_000_000,
        priority=0,
        content_type="text/plain",
    )
    assert found.headers == {
        "trace": "t",
        "number": "1099511627776",
        "yes": "true",
        "bytes": "ff00",
        "price": "1.50",
        "part": "3.75",
        "x-death": '[{"count":1099511627776,"time":"2026-01-02T00:00:00Z","queue":"q ü"}]',
        "rabbitmq.queue": "q",
        "rabbitmq.exchange": "e",
        "rabbitmq.routing.key": "a.b",
        "rabbitmq.message.id": "m",
        "rabbitmq.correlation.id": "c",
        "rabbitmq.type": "t",
        "rabbitmq.timestamp": "1700000000",
        "rabbitmq.priority": "0",
        "rabbitmq.content.type": "text/plain",
    }
    assert (found.timestamp_ms, found.redelivered, found.tag) == (1_700_000_000_000, True, 7)


def test_numbers_and_times_of_a_table_are_read_as_they_are() -> None:
    fields.install()
    texts = {
        b"d": struct.pack(">d", 3.75),
        b"f": struct.pack(">f", 0.5),
        b"l": struct.pack(">q", -(1 << 62)),
        b"T": struct.pack(">Q", 1_700_000_000_000),
        b"t": b"\x01",
        b"V": b"",
    }
    inner = b"".join(b"\x01" + kind + kind + value for kind, value in texts.items())
    table = b"\x01nF" + struct.pack(">I", len(inner)) + inner + b"\x01aA" + struct.pack(">I", 9) + b"d" + texts[b"d"]
    found, end = pika.data.decode_table(struct.pack(">I", len(table)) + table, 0)
    assert end == 4 + len(table)
    assert found == {
        "n": {"d": 3.75, "f": 0.5, "l": -(1 << 62), "T": 1_700_000_000_000, "t": True, "V": None},
        "a": [3.75],
    }
    assert {type(each) for each in found["n"].values()} == {float, int, bool, type(None)}


def test_what_rabbitmq_vouches_for_no_header_of_a_sender_says() -> None:
    found = message(headers={"rabbitmq.user.id": "root", "mine": "x"})
    assert "rabbitmq.user.id" not in found.headers
    assert (found.headers["header.rabbitmq.user.id"], found.headers["mine"]) == ("root", "x")


@pytest.mark.parametrize("kind", [b"F", b"A"])
def test_tables_nested_as_deep_as_nobody_reads_do_not_end_the_connection(kind: bytes) -> None:
    fields.install()
    value = b"V"
    for _ in range(1_000):
        inner = b"\x01a" + value if kind == b"F" else value
        value = kind + struct.pack(">I", len(inner)) + inner
    table = b"\x01h" + value + b"\x01nt\x01"
    found, end = pika.data.decode_table(struct.pack(">I", len(table)) + table, 0)
    assert end == 4 + len(table)
    assert found["n"] is True
    assert len(as_text(found["h"])) > 1_000


def test_a_time_beyond_the_calendar_is_a_header_alone() -> None:
    found = message(timestamp=1_700_000_000_000)
    assert found.timestamp_ms is None
    assert found.headers["rabbitmq.timestamp"] == "1700000000000"


@pytest.mark.parametrize(
    ("key", "wanted"), [("", None), ("routing.key", "a.b"), ("message.id", "m"), ("header.id", "7"), ("header.no", None)]
)
def test_a_key_is_what_the_option_names(key: str, wanted: str | None) -> None:
    assert message(key=key, message_id="m", headers={"id": 7}).key == wanted


@pytest.mark.parametrize(
    ("body", "form", "error"),
    [(b"\xff", "text", "InvalidPayload"), (b"{", "json", "InvalidPayload"), (b"x" * 1_001, "text", "RecordTooLarge")],
)
def test_what_can_not_be_read_is_a_bad_record_that_is_acknowledged(body: bytes, form: str, error: str) -> None:
    found = message(body, form=form)
    assert isinstance(found.value, Rejected)
    assert (found.value.error, found.value.original, found.tag) == (error, body, 7)


def test_arguments_have_the_types_that_the_server_wants() -> None:
    pairs = (
        "x-max-length=10",
        "x-single-active-consumer=true",
        "x-overflow=reject-publish",
        "a=-1",
        "b=12345678901234567890",
        "c=",
    )
    assert arguments_of(pairs) == {
        "x-max-length": 10,
        "x-single-active-consumer": True,
        "x-overflow": "reject-publish",
        "a": -1,
        "b": "12345678901234567890",
        "c": "",
    }


def test_all_problems_of_a_source_are_told_at_once() -> None:
    given = {"url": "amqp://me@h", "queues": "a,a", "declare": "stream", "bindings": "x", "key": "value", "declare.arguments": "=1"}
    found = problems(RabbitmqSource(), given)
    assert found == {
        "url": "has a user or a password in it, and these have options of their own",
        "queues": "names a queue twice",
        "declare": found["declare"],
        "declare.arguments": "has '=1', which is no NAME=VALUE",
        "bindings": "has 'x', which is no NAME=VALUE",
        "key": "is none of routing.key, message.id, correlation.id or header.NAME",
    }
    given = {
        "url": "amqp://h",
        "queues": "q",
        "password": "${env:X}",
        "declare.arguments": "x-queue-type=quorum",
        "ssl.ca.location": "/a",
    }
    assert problems(RabbitmqSource(), given) == {
        "user": "is missing, and `password` is given",
        "declare.arguments": "has x-queue-type, and `declare` says that",
        "ssl.ca.location": "means nothing without TLS",
    }
    assert problems(RabbitmqSource(), {"url": "amqp://h/orders", "queues": "q"}) == {
        "url": "has a virtual host in it, and that has an option of its own, virtual.host"
    }


def test_all_problems_of_a_sink_are_told_at_once() -> None:
    given = {"url": "http://h", "exchange": "${x}", "headers": "a=${y}", "priority": "${value", "exchange.declare": "queue"}
    assert set(problems(RabbitmqSink(), given)) == {"url", "exchange", "headers", "exchange.declare"}
    given = {"url": "amqp://localhost:1", "exchange.declare": "topic", "routing.key": "", "unroutable": "drop"}
    assert set(problems(RabbitmqSink(), given)) == {"url", "exchange.declare", "routing.key", "unroutable"}


def test_a_server_that_is_away_or_hangs_is_waited_for_and_what_is_none_is_told() -> None:
    source = RabbitmqSource()
    with socket.create_server(("localhost", 0)) as server:
        place = f"amqp://localhost:{server.getsockname()[1]}"
        given = parse(source.options, {"url": place, "queues": "q", "request.timeout": "300ms"})
        task = source.open(given, {"share": "0/1"}, TaskContext())
        with pytest.raises(SystemAway, match=r"the server does not answer within 0\.3 s"):
            task.start({})
        server.accept()[0].close()

        def answering() -> None:
            connection, _ = server.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.recv(1 << 16)
            connection.close()

        thread = Thread(target=answering)
        thread.start()
        with pytest.raises(RetriableError, match="is no server of AMQP 0-9-1"):
            task.start({})
        thread.join()
    with pytest.raises(SystemAway, match=r"the server does not answer: .*refused"):
        task.start({})


def test_a_queue_is_the_same_however_its_server_is_written() -> None:
    source = RabbitmqSource()
    places = {
        (origin.place, origin.name)
        for url in ("amqp://Rabbit", "amqp://rabbit:5672/")
        for origin in source.origins(parse(source.options, {"url": url, "queues": "a,b"}))
    }
    assert places == {("amqp://rabbit:5672//", "a"), ("amqp://rabbit:5672//", "b")}


@pytest.mark.parametrize(
    ("code", "text", "kind", "words"),
    [
        (404, "NOT_FOUND - no queue 'q' in vhost '/'", NotThere, "the server has no queue 'q' in vhost '/' (404)"),
        (403, "ACCESS_REFUSED - access to queue 'q' refused for user 'me'", PermanentError, "rabbitmqctl set_permissions"),
        (
            403,
            "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.",
            PermanentError,
            "refuses user or password",
        ),
        (406, "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q'", PermanentError, "it is there in another form"),
        (406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out", SystemAway, "for now"),
        (406, "PRECONDITION_FAILED - message size 20 is larger than configured max size 10", MessageTooLarge, "takes 10 at most"),
        (405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q'", PermanentError, "somebody else has it alone"),
        (404, "NOT_FOUND - home node 'r@b' of durable queue 'q' is down or inaccessible", SystemAway, "for now"),
        (530, "NOT_ALLOWED - vhost v not found", PermanentError, "Correct virtual.host"),
        (320, "CONNECTION_FORCED - broker forced connection closure", SystemAway, "has ended the connection"),
    ],
)
def test_what_a_server_says_is_told_with_what_to_do(code: int, text: str, kind: type[Exception], words: str) -> None:
    error = said(code, text, "amqp://h")
    assert type(error) is kind
    assert words in str(error)
