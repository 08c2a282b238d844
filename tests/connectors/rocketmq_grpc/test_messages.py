import gzip
import zlib
from typing import Any

import pytest

from connectors.rocketmq_grpc.messages import Sending, copied, sent, was_there
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from rocketconnect_sdk.record import Rejected

MOST = 100
TOPIC = pb.Resource(name="orders")


def received(body: bytes = b"body", encoding: pb.Encoding.ValueType = pb.IDENTITY, **system: object) -> pb.Message:
    told = {"message_id": "ID", "queue_id": 3, "queue_offset": 7, "delivery_attempt": 2, "born_host": "here", **system}
    return pb.Message(
        topic=TOPIC,
        body=body,
        user_properties={"country": "CH", "RCPOS": "mark", "replicator.clusters": "north"},
        system_properties=pb.SystemProperties(body_encoding=encoding, **told),  # type: ignore[arg-type]
    )


def test_a_message_says_where_it_was_and_keeps_what_it_has() -> None:
    message = received(tag="new", keys=["a", "b"], message_group="g")
    message.system_properties.store_timestamp.FromMilliseconds(1_001)
    message.system_properties.born_timestamp.FromMilliseconds(1_000)
    found = copied(message, "broker-a", "east", MOST)
    assert (found.value, found.key, found.timestamp_ms, found.size) == (b"body", "g", 1_001, 4)
    assert found.properties == {
        "country": "CH",
        "TAGS": "new",
        "KEYS": "a b",
        "UNIQ_KEY": "ID",
        "__SHARDINGKEY": "g",
        "replicator.mark": "mark",
        "replicator.clusters": "north,east",
        "replicator.topic": "orders",
        "replicator.queue": "broker-a/3",
        "replicator.offset": "7",
        "replicator.message.id": "ID",
        "replicator.store.time": "1001",
        "replicator.born.time": "1000",
        "replicator.born.host": "here",
        "replicator.delivery.attempt": "2",
    }
    assert was_there(message, "north")
    assert not was_there(message, "east")


@pytest.mark.parametrize(("system", "key"), [({"keys": ["a", "b"]}, "a b"), ({}, None)])
def test_without_a_message_group_the_keys_choose_the_queue(system: dict[str, Any], key: str | None) -> None:
    assert copied(received(**system), "b", "east", MOST).key == key


@pytest.mark.parametrize("pack", [zlib.compress, gzip.compress])
def test_a_compressed_body_is_unpacked(pack: object) -> None:
    packed = pack(b"x" * MOST)  # type: ignore[operator]
    assert copied(received(packed, pb.GZIP), "b", "east", MOST).value == b"x" * MOST


@pytest.mark.parametrize(
    ("message", "error", "reason"),
    [
        (received(b"x" * 101), "RecordTooLarge", "it has 101 bytes, and a message 100"),
        (received(zlib.compress(b"x" * 101), pb.GZIP), "RecordTooLarge", "more than the 100 bytes"),
        (received(b"\x28\xb5\x2f\xfd", pb.GZIP), "CorruptBody", "not in zlib's form"),
        (received(zlib.compress(b"x" * 50)[:-5], pb.GZIP), "CorruptBody", "ends too early"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_record_with_its_properties(message: pb.Message, error: str, reason: str) -> None:
    found = copied(message, "b", "east", MOST)
    assert isinstance(found.value, Rejected)
    assert found.value.error == error
    assert reason in found.value.reason
    assert found.value.original == message.body
    assert found.properties["country"] == "CH"


def test_a_message_that_is_sent_has_its_tag_keys_and_id_where_the_protocol_has_them() -> None:
    properties = {"TAGS": "new", "KEYS": "a  b", "UNIQ_KEY": "ID", "__SHARDINGKEY": "old", "country": "CH", "RETRY_TOPIC": "x"}
    found = sent(b"body", properties, Sending(TOPIC, "g", None, "OTHER", 1_500))
    system = found.system_properties
    assert (found.topic.name, found.body, dict(found.user_properties)) == ("orders", b"body", {"country": "CH"})
    assert (system.tag, list(system.keys), system.message_id, system.message_group) == ("new", ["a", "b"], "ID", "g")
    assert system.message_type == pb.FIFO
    assert system.born_timestamp.ToMilliseconds() == 1_500
    assert not system.HasField("delivery_timestamp")


def test_a_time_of_delivery_makes_a_delayed_message_and_no_group_a_normal_one() -> None:
    delayed = sent(b"x", {}, Sending(TOPIC, "", 2_000, "ID", 0)).system_properties
    assert (delayed.message_type, delayed.delivery_timestamp.ToMilliseconds(), delayed.message_id) == (pb.DELAY, 2_000, "ID")
    normal = sent(b"x", {}, Sending(TOPIC, "", None, "ID", 0)).system_properties
    assert normal.message_type == pb.NORMAL
    assert not normal.HasField("message_group")
    assert not normal.HasField("tag")


def test_a_text_that_is_none_in_utf8_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        sent(b"x", {"n": "\udcff"}, Sending(TOPIC, "", None, "ID", 0))
