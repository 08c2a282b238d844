"""CloudEvents in their forms, and records as events."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.cloudevents.events import STRUCTURED
from rocketconnect_sdk.errors import ConfigError, RecordError
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, decimal, struct, timestamp

EVENT = {
    "specversion": "1.0",
    "id": "A234-1234-1234",
    "source": "https://github.com/cloudevents/spec/pull",
    "type": "com.github.pull_request.opened",
    "subject": "123",
    "time": "2018-04-05T17:31:00.25Z",
    "comexampleextension1": "value",
    "comexampleothervalue": 5,
    "datacontenttype": "application/json",
    "data": {"n": 12345678901234567890.25, "none": None},
}
PLAIN = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def made(**options: str) -> Converter:
    return converter("cloudevents", options, is_key=False)


def of(data: bytes | str | object, **headers: str) -> list[Any]:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    found, schema = made().records_of(body, {name.replace("__", "-"): text for name, text in headers.items()})
    assert schema is None
    return [each.value for each in found]


def test_structured_events_are_objects_with_the_time_and_the_key_that_they_say() -> None:
    (found,), _ = made().records(json.dumps({**EVENT, "partitionkey": "k", "dataschema": None}).encode())
    assert (found.value, found.key, found.timestamp_ms) == ({**EVENT, "partitionkey": "k"}, "k", 1_522_949_460_250)
    data = {**PLAIN, "data_base64": "AP8="}
    assert of(data, content_type="application/cloudevents+json; charset=UTF-8") == [data]
    assert of({**PLAIN, "data": None}) == [{**PLAIN, "data": None}]


def test_several_are_in_a_message_and_a_bad_one_can_be_replayed_alone() -> None:
    both = [EVENT, {**PLAIN, "id": "2"}]
    data = json.dumps(both).encode()
    assert of(data) == both
    assert json.loads(made().alone(data, 1)) == both[1]
    assert made().alone(json.dumps(EVENT).encode(), 0) == json.dumps(EVENT).encode()
    assert of(b"[]") == []


@pytest.mark.parametrize("prefix", ["ce_", "CE_", "cloudEvents:", "cloudEvents_", "ce__"])
def test_attributes_may_be_properties_of_the_message(prefix: str) -> None:
    headers = {f"{prefix}{name}": text for name, text in {**PLAIN, "myext": "x y"}.items()}
    assert of({"a": 1}, **headers, content__type="application/json") == [
        {**PLAIN, "myext": "x y", "datacontenttype": "application/json", "data": {"a": 1}}
    ]


def test_data_of_such_a_message_are_what_its_type_says() -> None:
    headers = {f"CE_{name}": text for name, text in PLAIN.items()}
    assert of(b"\0", **headers) == of(b"", **headers) == [PLAIN]
    assert of(b"\xff", **headers) == [{**PLAIN, "data_base64": "/w=="}]
    assert of(b"7", **headers) == [{**PLAIN, "data": 7}]
    texts = {"text/plain": "ü", "application/xml": "<a/>"}
    for kind, text in texts.items():
        assert of(text.encode(), **headers, CE_contenttype=kind) == [{**PLAIN, "datacontenttype": kind, "data": text}]
    assert of(b"7", **headers, CE_contenttype="image/png") == [{**PLAIN, "datacontenttype": "image/png", "data_base64": "Nw=="}]
    assert of(b"\xff", **headers, CE_contenttype="text/plain")[0]["data_base64"] == "/w=="
    # Of HTTP what is no ASCII is written as in URLs, and elsewhere a % is one.
    assert of(b"", **{f"ce__{name}": text for name, text in PLAIN.items()}, ce__subject="100%25%20%C3%BC")[0]["subject"] == "100% ü"
    assert of(b"", **headers, CE_subject="100%25")[0]["subject"] == "100%25"
    with pytest.raises(RecordError, match=r"the data of an event are no application/vnd.a\+json"):
        of(b"{", **headers, CE_contenttype="application/vnd.a+json")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"id": ""}, "its id is ''"),
        ({"source": None}, "its source is None"),
        ({"specversion": "0.3"}, "an event of CloudEvents '0.3', and only 1.0"),
        ({"time": "2018-04-05"}, "no time as RFC 3339"),
        ({"time": "2018-02-30T00:00:00Z"}, "no time as RFC 3339"),
        ({"data": 1, "data_base64": ""}, "both data and data_base64"),
        ({"data_base64": "a"}, "is no base64"),
        ({"subject": 5}, "its subject is 5"),
    ],
)
def test_what_is_no_event_is_told_with_what_is_wrong(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(RecordError, match=told):
        of({**PLAIN, **wrong})


def test_a_message_in_another_format_is_told_as_one() -> None:
    with pytest.raises(RecordError, match=r"an event in application/cloudevents\+avro, and only JSON"):
        of(b"x", content__type="application/cloudevents+avro")


def test_records_that_are_events_are_written_as_they_are() -> None:
    assert json.loads(made().encode(EVENT, None)) == EVENT
    row = struct([*((name, STRING) for name in PLAIN), ("subject", OPTIONAL_STRING), ("data", struct([("price", decimal(2))]))])
    written = made().encode({**PLAIN, "subject": None, "data": {"price": Decimal("1.50")}}, row)
    assert written == b'{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"price":1.50}}'
    bad = (({"Bad": 1}, "more than lower-case"), ({"list": [1]}, "no text, no whole number"), ({"id": None}, "its id is None"))
    for wrong, told in bad:
        with pytest.raises(RecordError, match=told):
            made().encode({**PLAIN, **wrong}, None)


def test_other_records_become_the_data_of_events() -> None:
    row = struct([("id", STRING), ("shop", STRING), ("total", decimal(2)), ("at", timestamp())])
    value = {"id": "o-1", "shop": "süd", "total": Decimal("12.50"), "at": datetime(2024, 2, 29, 1, 2, 3, 400, UTC)}
    writing = made(
        id="${value.id}",
        source="/shops/${value.shop}",
        type="order.placed",
        subject="${topic}",
        time="${value.at}",
        dataschema="https://x/orders",
        extensions="partitionkey=${value.shop},tenant=t",
    )
    writing.for_topic("orders")
    assert json.loads(writing.encode(value, row)) == {
        "specversion": "1.0",
        "id": "o-1",
        "source": "/shops/süd",
        "type": "order.placed",
        "subject": "orders",
        "time": "2024-02-29T01:02:03.000400Z",
        "dataschema": "https://x/orders",
        "partitionkey": "süd",
        "tenant": "t",
        "datacontenttype": "application/json",
        "data": {"id": "o-1", "shop": "süd", "total": 12.5, "at": "2024-02-29T01:02:03.000400Z"},
    }
    assert b'"total":12.50' in writing.encode(value, row)
    plain = made(id="${value}")
    plain.for_topic("lines")
    head = {"specversion": "1.0", "source": "/lines", "type": "rocketconnect.record"}
    assert json.loads(plain.encode("a", None)) == {**head, "id": "a", "datacontenttype": "text/plain", "data": "a"}
    assert json.loads(plain.encode(b"a", None)) == {
        **head,
        "id": "a",
        "datacontenttype": "application/octet-stream",
        "data_base64": "YQ==",
    }


def test_a_record_that_has_no_id_is_a_bad_one() -> None:
    with pytest.raises(RecordError, match=r"set value.converter.id="):
        made().encode({"a": 1}, None)
    with pytest.raises(RecordError):
        made(id="${value.id}").encode({"a": 1}, None)


def test_options_name_what_a_value_has() -> None:
    for name, text in {"id": "${key}", "source": "${x}", "extensions": "Bad=1", "subject": "${header.a}"}.items():
        with pytest.raises(ConfigError) as told:
            made(**{name: text})
        assert told.value.problems[0].key == name


@pytest.mark.parametrize(
    ("event", "body", "kind"),
    [
        ({**PLAIN, "datacontenttype": "application/json", "data": {"a": 1}, "n": "5", "b": "x y%"}, b'{"a":1}', "application/json"),
        ({**PLAIN, "datacontenttype": "text/plain", "data": "\u00fc"}, "\u00fc".encode(), "text/plain"),
        ({**PLAIN, "datacontenttype": "image/png", "data_base64": "AP8="}, b"\x00\xff", "image/png"),
        (PLAIN, b"\0", None),
    ],
)
def test_in_binary_mode_attributes_are_properties(event: dict[str, Any], body: bytes, kind: str | None) -> None:
    writing = made(mode="binary")
    properties = writing.properties_of(event, None)
    assert (writing.encode(event, None), properties.get("CE_contenttype")) == (body, kind)
    assert properties.items() >= {f"CE_{name}": text for name, text in PLAIN.items()}.items()
    assert [each.value for each in made().records_of(body, properties)[0]] == [event]


def test_what_the_sdk_for_java_writes_is_read() -> None:
    """Recorded of its module for RocketMQ, at commit ecde1d4."""
    event = {
        "specversion": "1.0",
        "id": "j1",
        "source": "/java",
        "type": "t",
        "datacontenttype": "application/json",
        "subject": "s",
    }
    head = {"CE_source": "/java", "CE_type": "t", "CE_id": "j1", "CE_subject": "s", "CE_specversion": "1.0"}
    binary = made().records_of(b'{"a":1}', {**head, "CE_contenttype": "application/json"})[0]
    structured = made().records_of(json.dumps({**event, "data": {"a": 1}}).encode(), {"CE_contenttype": STRUCTURED})[0]
    assert [each.value for each in (*binary, *structured)] == [{**event, "data": {"a": 1}}] * 2


def test_properties_say_what_a_message_is() -> None:
    assert made().properties_of(EVENT, None) == {"CE_contenttype": "application/cloudevents+json"}
    binary = made(mode="binary", id="7", extensions="empty=${value.none}")
    with pytest.raises(RecordError, match="the attribute empty of an event is empty, and no property of RocketMQ is"):
        binary.encode({"none": ""}, None)
    # Where an event in JSON does not say what its data are, they are JSON.
    assert made(mode="binary").properties_of({**PLAIN, "data": 1, "is": True}, None) == {
        **{f"CE_{name}": text for name, text in PLAIN.items()},
        "CE_is": "true",
        "CE_contenttype": "application/json",
    }
