"""Columns of messages: encoding many, cutting and joining what was decoded."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting import (
    BATCH_OVERHEAD_BYTES,
    MAX_BATCH_MESSAGES,
    Compression,
    DecodedBatch,
    InvalidMessage,
    InvalidRequest,
    Message,
    MessageQueue,
    MessageTooLarge,
    encode_batch,
    encode_messages,
)
from rocketmq_remoting.batch import Source
from rocketmq_remoting.protocol.compression import decompress

QUEUE = MessageQueue("topic", "broker", 0)


def _decode(payload: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    at = 0
    while at < len(payload):
        size, _, _, _, length = struct.unpack_from(">iiiii", payload, at)
        body = payload[at + 20 : at + 20 + length]
        (properties_length,) = struct.unpack_from(">H", payload, at + 20 + length)
        properties = payload[at + 22 + length : at + size]
        assert len(properties) == properties_length
        found.append((body, properties))
        at += size
    return found


@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=20)), min_size=1, max_size=20))
def test_a_batch_holds_each_body_with_its_properties(messages: list[tuple[bytes, bytes]]) -> None:
    batch = encode_batch([body for body, _ in messages], [properties for _, properties in messages])
    assert _decode(batch.payload) == messages
    assert batch.count == len(messages)


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=20), st.binary(max_size=20))
def test_properties_for_all_stand_in_each_message(bodies: list[bytes], properties: bytes) -> None:
    assert encode_batch(bodies, properties) == encode_batch(bodies, [properties] * len(bodies))


def test_compressed_bodies_are_marked_in_the_system_flag() -> None:
    batch = encode_batch([b"a" * 1000], compression=Compression.ZSTD)
    ((body, _),) = _decode(batch.payload)
    assert decompress(body, Compression.ZSTD) == b"a" * 1000
    assert batch.sys_flag == 1 | 2 << 8


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="at least one message"):
        encode_batch([])


def test_bodies_and_properties_of_different_number_are_refused() -> None:
    with pytest.raises(InvalidMessage, match="2 bodies and 1 properties"):
        encode_batch([b"a", b"b"], [b""])


def test_more_messages_than_a_unit_holds_are_refused() -> None:
    assert encode_batch([b""] * MAX_BATCH_MESSAGES).count == MAX_BATCH_MESSAGES
    with pytest.raises(MessageTooLarge, match="split it"):
        encode_batch([b""] * (MAX_BATCH_MESSAGES + 1))


def test_a_batch_over_the_size_limit_is_refused() -> None:
    encode_batch([bytes(100 - BATCH_OVERHEAD_BYTES)], max_bytes=100)
    with pytest.raises(MessageTooLarge, match="takes 101 bytes and the limit is 100"):
        encode_batch([bytes(101 - BATCH_OVERHEAD_BYTES)], max_bytes=100)


@pytest.mark.parametrize("properties", [bytes(32_768), [bytes(32_768)]])
def test_properties_over_the_limit_are_refused(properties: bytes | list[bytes]) -> None:
    with pytest.raises(MessageTooLarge, match="properties of 32768 bytes"):
        encode_batch([b""], properties)


def test_messages_of_one_batch_are_compressed_alike() -> None:
    with pytest.raises(InvalidRequest, match="send them apart"):
        encode_messages([Message(b"a"), Message(b"b", compression=Compression.LZ4)])


@pytest.mark.parametrize("message", [Message(b"", delay_level=1), Message(b"", deliver_at_ms=1)])
def test_delayed_messages_are_refused_in_a_batch(message: Message) -> None:
    with pytest.raises(InvalidRequest, match="one by one"):
        encode_messages([message])


def _batch(start: int, count: int, *, per_unit: int = 1) -> DecodedBatch:
    offsets = list(range(start, start + count))
    return DecodedBatch(
        QUEUE,
        [b"%d" % offset for offset in offsets],
        offsets,
        [b"p%d" % offset for offset in offsets],
        [offset * 10 for offset in offsets],
        [Source(b"buffer %d" % start, [index // per_unit for index in range(count)])],
        -(-count // per_unit),
    )


def _is_consistent(batch: DecodedBatch) -> bool:
    return all(
        (message.body, message.raw_properties, message.store_timestamp_ms)
        == (b"%d" % message.queue_offset, b"p%d" % message.queue_offset, message.queue_offset * 10)
        for message in batch
    )


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 4))
def test_a_cut_keeps_exactly_the_offsets_of_the_range(start: int, end: int, per_unit: int) -> None:
    whole = DecodedBatch.concat([_batch(5, 7, per_unit=per_unit), _batch(12, 3), _batch(15, 1)])
    cut = whole.between(start, end)
    assert cut.offsets == [offset for offset in range(5, 16) if start <= offset < end]
    assert _is_consistent(cut)
    assert {message._buffer for message in cut} <= {message._buffer for message in whole}
    assert [(message.queue_offset, message._buffer, message._at) for message in cut] == [
        (message.queue_offset, message._buffer, message._at) for message in whole if start <= message.queue_offset < end
    ]


@given(st.lists(st.booleans(), min_size=11, max_size=11))
def test_a_selection_keeps_exactly_what_is_marked(keep: list[bool]) -> None:
    whole = DecodedBatch.concat([_batch(5, 7), _batch(12, 4)])
    chosen = whole.select(keep)
    assert chosen.offsets == [offset for offset, wanted in zip(range(5, 16), keep, strict=True) if wanted]
    assert _is_consistent(chosen)


def test_joined_batches_keep_their_order_and_count_their_units() -> None:
    joined = DecodedBatch.concat([_batch(0, 6, per_unit=3), _batch(6, 2)])
    assert joined.offsets == list(range(8))
    assert joined.units == 4
    assert _is_consistent(joined)


def test_an_index_outside_of_the_batch_raises_index_error() -> None:
    with pytest.raises(IndexError):
        _batch(0, 2)[2]
    with pytest.raises(IndexError):
        _batch(0, 2)[-1]
