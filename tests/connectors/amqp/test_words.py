"""What messages become, and what records become, without a broker."""

import struct
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from proton import Data, Described, Message, byte, decimal32, decimal64, float32, symbol, timestamp, ulong

from connectors.amqp.dialects import AMQP, JMS
from connectors.amqp.faults import NotThere, refused
from connectors.amqp.jms_sink import JmsSink
from connectors.amqp.jms_source import JmsSource
from connectors.amqp.messages import Shape, received
from connectors.amqp.sections import read_sections
from connectors.amqp.shaping import Making
from connectors.amqp.sink import AmqpSink
from connectors.amqp.source import AmqpSource
from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.queues.values import VALUES
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.writes import Op, Operation
from tests.connectors.amqp.driving import problems


def sections(*pairs: tuple[int, Any]) -> bytes:
    data = Data()
    for kind, value in pairs:
        data.put_object(Described(ulong(kind), value))
    encoded: bytes = data.encode()
    return encoded


def shaped(encoded: bytes, form: str = "text", key: str = "", *, jms: bool = False) -> Received:
    shape = Shape(JMS if jms else AMQP, VALUES[form], form, key, 1_000)
    return received("tag", "q", encoded, len(encoded), "", shape)


def made(value: bytes | None, more: dict[str, str] | None = None, **of: Any) -> Any:
    given = {"body": "data", "is_jms": False, "kind": "", "durable": True, "ttl": 0.0, "headers": True, "duplicates": False}
    headers, time_ms = of.pop("header", {}), of.pop("time_ms", None)
    making = Making(**{**given, **of})
    operation = Operation(Op.APPEND, "q", "", value, more=more or {}, headers=headers, time_ms=time_ms)
    message = Message()
    message.decode(making.encoded(operation, "q"))
    return message


def test_all_that_a_message_says_is_there_and_nothing_else() -> None:
    given: Any = Message("ü", durable=True, id="m", correlation_id=UUID(int=5), subject="s", priority=9, reply_to="r")
    given.ttl, given.creation_time, given.delivery_count, given.group_id, given.user_id = 5.0, 1_700_000_000.5, 2, "g", b"\xff"
    given.properties = {"region": "eu", "n": 3, "at": timestamp(1_700_000_000_123), "raw": b"\xff", "f": float32(0.5), "none": None}
    given.annotations = {symbol("x-opt-a"): "b"}
    found = shaped(given.encode(), key="property.region")
    assert (found.value, found.key, found.timestamp_ms, found.redelivered) == ("ü", "eu", 1_700_000_000_500, True)
    assert found.headers == {
        "region": "eu",
        "n": "3",
        "at": "2023-11-14T22:13:20.123000Z",
        "raw": "ff",
        "f": "0.5",
        "amqp.message.id": "m",
        "amqp.correlation.id": str(UUID(int=5)),
        "amqp.subject": "s",
        "amqp.reply.to": "r",
        "amqp.user.id": "ff",
        "amqp.group.id": "g",
        "amqp.group.sequence": "0",
        "amqp.creation.time": "2023-11-14T22:13:20.500000Z",
        "amqp.durable": "true",
        "amqp.priority": "9",
        "amqp.ttl": "5000",
        "amqp.delivery.count": "2",
        "amqp.address": "q",
        "amqp.annotation.x-opt-a": "b",
    }
    assert shaped(Message("x").encode()).headers == {"amqp.address": "q"}


@pytest.mark.parametrize(
    ("pairs", "form", "value"),
    [
        ([(0x75, b"a"), (0x75, b"b")], "text", "ab"),
        ([(0x75, b"\xff")], "bytes", b"\xff"),
        ([(0x76, [1, "a"]), (0x76, [True])], "json", [1, "a", True]),
        ([(0x77, {"a": symbol("b"), "n": [ulong(1), None]})], "json", {"a": "b", "n": [1, None]}),
        ([(0x77, {"a": b"b"})], "text", '{"a":"b"}'),
        ([(0x77, "[1]")], "json", [1]),
        ([(0x77, 7)], "text", "7"),
        ([(0x77, None)], "text", None),
        ([(0x77, timestamp(0))], "json", datetime(1970, 1, 1, tzinfo=UTC)),
        ([(0x77, timestamp(1 << 60))], "json", 1 << 60),
        ([], "json", None),
    ],
)
def test_a_body_of_any_form_is_a_value(pairs: list[tuple[int, Any]], form: str, value: object) -> None:
    assert shaped(sections(*pairs), form).value == value


@pytest.mark.parametrize(
    ("encoded", "form", "words"),
    [
        (b"\x00\x53", "text", "is no message of AMQP"),
        (b"\x40", "text", "no section"),
        (sections((0x75, b"\xff")), "text", "is no UTF-8"),
        (sections((0x75, 1 << 40)), "bytes", "a section 0x75 that is int"),
        (sections((0x75, "text")), "bytes", "a section 0x75 that is str"),
        (sections((0x76, 5)), "json", "a section 0x76 that is int"),
        (sections((0x74, [1])), "json", "a section 0x74 that is list"),
        (sections((0x72, 1)), "json", "a section 0x72 that is int"),
        (sections((0x73, {"a": 1})), "json", "a section 0x73 that is dict"),
        (sections((0x70, [None, None, None, None, "x"])), "json", "a delivery-count that is no number"),
        (sections((0x70, [None, "x"])), "json", "a priority that is no number"),
        (b"\x00\x53\x77\xc1\x03\x02\x45\x40", "json", "no value of Python"),
        (sections((0x75, b"{")), "json", "is no JSON"),
        (sections((0x77, decimal32(5))), "json", "a decimal number"),
        (
            sections((0x73, ["m", *[None] * 5, symbol("application/x-java-serialized-object")]), (0x75, b"x")),
            "text",
            "object of Java",
        ),
    ],
)
def test_what_can_not_be_read_is_a_bad_record_that_is_accepted(encoded: bytes, form: str, words: str) -> None:
    found = shaped(encoded, form)
    assert isinstance(found.value, Rejected)
    assert words in found.value.reason
    assert found.tag == "tag"


@pytest.mark.parametrize("section", [b"\x77", b"\x74"])
@pytest.mark.parametrize("depth", [450, 990, 5_000])
def test_a_message_that_is_nested_too_deep_is_a_bad_record_or_a_whole_one(section: bytes, depth: int) -> None:
    value = b"\x45"
    for _ in range(depth):
        value = b"\xd0" + struct.pack(">II", len(value) + 4, 1) + value
    if section == b"\x74":
        inner = b"\xa1\x01a" + value
        value = b"\xd1" + struct.pack(">II", len(inner) + 4, 2) + inner
    for form in ("json", "text", "bytes"):
        found = shaped(b"\x00\x53" + section + value, form)
        assert found.tag == "tag"
        assert not isinstance(found.value, Rejected) or "nested too deep" in found.value.reason


def test_what_a_broker_vouches_for_no_property_of_a_sender_says() -> None:
    encoded = sections((0x74, {"amqp.user.id": "root", "JMSXUserID": "root", "mine": "x"}), (0x77, "x"))
    for dialect in (AMQP, JMS):
        headers = received("tag", "q", encoded, len(encoded), "", Shape(dialect, bytes.decode, "text", "", 1_000)).headers
        assert not {"amqp.user.id", "JMSXUserID"} & headers.keys()
        assert (headers["property.amqp.user.id"], headers["property.JMSXUserID"], headers["mine"]) == ("root", "root", "x")


def test_a_message_that_is_too_large_is_a_bad_record_with_its_length() -> None:
    found = received("tag", "q", b"first part", 5_000, "digest", Shape(AMQP, bytes, "bytes", "", 1_000))
    assert isinstance(found.value, Rejected)
    assert (found.value.error, found.value.length, found.size) == ("RecordTooLarge", 5_000, 5_000)


def test_a_property_without_a_form_in_text_stays_readable() -> None:
    found = shaped(sections((0x74, {"d": decimal64(7), "nan": float("nan")}), (0x77, "x")))
    assert (found.headers["nan"], found.value) == ("nan", "x")


def test_headers_of_jms_are_what_its_clients_call_them() -> None:
    given: Any = Message({"a": 1}, id="ID:1", subject="T", correlation_id="c", priority=8, durable=True)
    given.ttl, given.creation_time, given.annotations = 1.0, 1_000.0, {symbol("x-opt-jms-msg-type"): byte(2)}
    found = shaped(given.encode(), "json", "JMSCorrelationID", jms=True)
    assert (found.value, found.key) == ({"a": 1}, "c")
    assert found.headers == {
        "JMSMessageID": "ID:1",
        "JMSCorrelationID": "c",
        "JMSType": "T",
        "JMSDestination": "q",
        "JMSDeliveryMode": "PERSISTENT",
        "JMSPriority": "8",
        "JMSXDeliveryCount": "1",
        "JMSTimestamp": "1000000",
        "JMSExpiration": "1001000",
        "jms.message.kind": "map",
    }


@pytest.mark.parametrize(
    ("body", "kind"), [("a", "text"), (b"a", "bytes"), ({"a": 1}, "map"), ([1], "stream"), (None, "message"), (5, "message")]
)
def test_the_kind_of_a_message_of_other_clients_is_told_by_its_body(body: Any, kind: str) -> None:
    assert shaped(Message(body).encode(), jms=True).headers["jms.message.kind"] == kind


def test_a_record_becomes_all_that_its_options_say() -> None:
    texts = {"message.id": "m", "subject": "s", "group.id": "g", "correlation.id": "c", "priority": "7", "property.trace": "t"}
    headers = {"region": "eu", "amqp.address": "old", "JMSType": "old", "redelivered": "true"}
    found = made(b"x", texts, header=headers, ttl=1.001, duplicates=True, time_ms=1_700_000_000_123)
    assert (found.body, found.inferred, found.durable) == (b"x", True, True)
    assert (found.id, found.subject, found.group_id, found.correlation_id, found.priority) == ("m", "s", "g", "c", 7)
    assert found.properties == {"region": "eu", "trace": "t", "_AMQ_DUPL_ID": "m"}
    assert (round(found.ttl * 1000), round(found.creation_time * 1000)) == (1_001, 1_700_000_000_123)


@pytest.mark.parametrize(
    ("kind", "value", "body", "number"),
    [
        ("text", "ü".encode(), "ü", 5),
        ("bytes", b"\xff", b"\xff", 3),
        ("map", b'{"a":1.5}', {"a": 1.5}, 2),
        ("stream", b"[1]", [1], 4),
    ],
)
def test_messages_of_jms_tell_their_kind(kind: str, value: bytes, body: object, number: int) -> None:
    found = made(value, is_jms=True, body=kind, kind="topic")
    assert found.body == body
    assert found.annotations == {symbol("x-opt-jms-msg-type"): byte(number), symbol("x-opt-jms-dest"): byte(1)}


@pytest.mark.parametrize(
    ("value", "of", "words"),
    [
        (b"\xff", {"body": "text"}, "no text in UTF-8"),
        (b"x", {"body": "map"}, "neither a row nor JSON"),
        (b"[1]", {"body": "map"}, "has no fields"),
        (b"{}", {"body": "stream"}, "is no list"),
        (b'{"a":{"b":1}}', {"body": "map", "is_jms": True, "kind": "queue"}, "'a' has fields of its own"),
        (b'{"a":9223372036854775808}', {"body": "map"}, "larger than those of AMQP"),
        (b'{"a":0.12345678901234567890123}', {"body": "map"}, "more digits"),
        (b"x", {"more": {"priority": "high"}}, "no whole number from 0 to 255"),
        (b"x", {"more": {"subject": "\ud800"}}, "no text in UTF-8"),
    ],
)
def test_a_record_that_can_not_be_a_message_is_refused(value: bytes, of: dict[str, Any], words: str) -> None:
    with pytest.raises(RecordError, match=words):
        made(value, **of)


def test_maps_within_values_and_records_without_values_are_messages() -> None:
    assert made(b'{"a":{"b":[1,null,true]}}', body="value").body == {"a": {"b": [1, None, True]}}
    assert made(None).body is None


def test_fields_of_sections_beyond_those_that_are_known_are_left_out() -> None:
    assert read_sections(sections((0x70, [True]), (0x78, {}), (0x77, "x"))).fields == {"durable": True}


def test_all_problems_of_a_source_are_told_at_once() -> None:
    assert problems(AmqpSource(), url="amqp://me@h/a", addresses="a,a", key="value", address_type="x") == {
        "url": "has a user or a password in it, and these have options of their own",
        "addresses": "names one twice",
        "address.type": "must be one of , queue, topic",
        "key": "is none of message.id, correlation.id, subject, group.id or property.NAME",
    }
    given = {"url": "amqp://localhost:1", "destinations": "a", "password": "${env:X}", "ssl.ca.location": "/a"}
    assert problems(JmsSource(), **given, subscription_shared="true").keys() == {"user", "ssl.ca.location", "subscription.shared"}


def test_all_problems_of_a_sink_are_told_at_once() -> None:
    given = {"url": "http://h", "address": "${x}", "properties": "a=${y}", "body": "map"}
    assert problems(AmqpSink(), **given).keys() == {"url", "address", "properties", "body"}
    found = problems(JmsSink(), url="amqp://localhost:1", duplicate_detection="true", message_id="", persistent="false")
    assert found.keys() == {"url", "message.id", "persistent"}


def test_one_task_reads_a_topic_unless_its_subscription_is_shared() -> None:
    source = JmsSource()
    given = {"url": "amqp://h", "destinations": "t", "destination.type": "topic"}
    assert len(source.plan(parse(source.options, given), 3, {}).tasks) == 1
    assert len(source.plan(parse(source.options, {**given, "subscription.shared": "true"}), 3, {}).tasks) == 3
    assert len(source.plan(parse(source.options, {**given, "destination.type": "queue"}), 3, {}).tasks) == 3


def test_a_queue_is_the_same_however_its_broker_is_written() -> None:
    source = AmqpSource()
    places = {
        (origin.place, origin.name)
        for url in ("amqp://Broker", "amqp://broker:5672/")
        for origin in source.origins(parse(source.options, {"url": url, "addresses": "a", "address.type": "queue"}))
    }
    assert places == {("amqp://broker:5672", "queue:a")}


class _Condition:
    def __init__(self, name: str, description: str = "why") -> None:
        self.name, self.description, self.info = name, description, None


@pytest.mark.parametrize(
    ("name", "description", "kind", "words"),
    [
        ("amqp:not-found", "no q", NotThere, "does not have it: no q"),
        ("amqp:unauthorized-access", "no", PermanentError, "Give the user what is missing"),
        ("amqp:invalid-field", "Client: a already connected from b", SystemAway, "for now"),
        ("amqp:connection:forced", "", SystemAway, r"has ended it: amqp:connection:forced"),
        ("vendor:unknown", "x", SystemAway, r"x \(vendor:unknown\)"),
    ],
)
def test_what_a_broker_says_is_told_with_what_to_do(name: str, description: str, kind: type[Exception], words: str) -> None:
    error = refused(_Condition(name, description), "amqp://h", "queue 'q'")
    assert type(error) is kind
    with pytest.raises(kind, match=words):
        raise error
