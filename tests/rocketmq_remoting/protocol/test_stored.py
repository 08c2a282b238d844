"""The decoder of stored messages: what a broker stores, and whatever else may arrive."""

import struct
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketmq_remoting import Compression, MessageQueue, ProtocolError, encode_batch, encode_properties
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, MAX_BODY_BYTES, compress
from rocketmq_remoting.protocol.stored import INNER_BATCH_FLAG, MAGIC_V1, MAGIC_V2, NEED_UNWRAP_FLAG, decode_stored

QUEUE = MessageQueue("topic", "broker", 3)
UNIT = NEED_UNWRAP_FLAG | INNER_BATCH_FLAG
IPV6 = 1 << 4 | 1 << 5


@dataclass(frozen=True)
class Stored:
    body: bytes
    queue_offset: int = 0
    properties: bytes = b""
    sys_flag: int = 0
    topic: bytes = b"topic"
    version2: bool = False

    def encode(self) -> bytes:
        born = bytes(16 if self.sys_flag & 1 << 4 else 4) + struct.pack(">i", 1234)
        store = (bytes(15) + b"\x01" if self.sys_flag & 1 << 5 else bytes([127, 0, 0, 1])) + struct.pack(">i", 10911)
        magic = MAGIC_V2 if self.version2 else MAGIC_V1
        rest = b"".join(
            (
                struct.pack(">IIIIqqiq", magic, 0, 3, 0, self.queue_offset, 77, self.sys_flag, 1_600_000_000_000),
                born,
                struct.pack(">q", 1_700_000_000_123),
                store,
                struct.pack(">iqi", 2, 0, len(self.body)),
                self.body,
                struct.pack(">H" if self.version2 else ">B", len(self.topic)),
                self.topic,
                struct.pack(">H", len(self.properties)),
                self.properties,
            )
        )
        return struct.pack(">i", len(rest) + 4) + rest


forms = st.builds(
    Stored,
    body=st.binary(max_size=60),
    queue_offset=st.integers(0, 1 << 40),
    properties=st.binary(max_size=40),
    sys_flag=st.sampled_from([0, 1 << 4, 1 << 5, IPV6]),
    topic=st.binary(min_size=1, max_size=127),
    version2=st.booleans(),
)


@given(st.lists(forms, max_size=6))
def test_stored_messages_of_every_form_decode(stored: list[Stored]) -> None:
    batch = decode_stored(QUEUE, b"".join(message.encode() for message in stored))
    assert batch.bodies == [message.body for message in stored]
    assert batch.offsets == [message.queue_offset for message in stored]
    assert batch.raw_properties == [message.properties for message in stored]
    assert batch.store_timestamps_ms == [1_700_000_000_123] * len(stored)
    assert batch.units == len(stored)
    for pulled, message in zip(batch, stored, strict=True):
        assert pulled.sys_flag == message.sys_flag
        assert pulled.born_timestamp_ms == 1_600_000_000_000
        assert pulled.reconsume_times == 2
        assert pulled.store_host == ("[::1]:10911" if message.sys_flag & 1 << 5 else "127.0.0.1:10911")
        assert pulled.born_host == ("[::]:1234" if message.sys_flag & 1 << 4 else "0.0.0.0:1234")


def test_the_message_id_is_the_brokers_address_and_the_place_in_its_log() -> None:
    (message,) = decode_stored(QUEUE, Stored(b"x").encode())
    assert message.message_id == "7F00000100002A9F000000000000004D"


@given(
    bodies=st.lists(st.binary(max_size=30) | st.just(b"RCPOS\x01u|1|p|0|17\x02"), min_size=1, max_size=20),
    numbers=st.lists(st.integers(10, 99) | st.integers(8, 11), min_size=20, max_size=20),
    more=st.sampled_from([b"", b"KEYS\x01k\x02", b"x\x01y\x02"]),
    said=st.sampled_from([None, 0, 1]),
)
def test_a_unit_is_unwrapped_the_same_whether_its_properties_are_alike_or_not_and_whatever_it_says_of_its_count(
    bodies: list[bytes], numbers: list[int], more: bytes, said: int | None
) -> None:
    properties = [b"RCPOS\x01u|1|p|0|%d\x02" % number + more for number in numbers[: len(bodies)]]
    of_unit = b"" if said is None else b"UNIQ_KEY\x01K\x02INNER_NUM\x01%d\x02" % (len(bodies) + said)
    unit = Stored(encode_batch(bodies, properties).payload, 5, of_unit, UNIT).encode()
    plain = Stored(b"after", 5 + len(bodies), b"a\x01b\x02").encode()
    batch = decode_stored(QUEUE, plain + unit + plain + unit)
    assert batch.bodies == [b"after", *bodies] * 2
    assert list(batch.raw_properties) == [b"a\x01b\x02", *properties] * 2
    assert list(decode_stored(QUEUE, unit + unit).raw_properties) == properties * 2


@given(
    bodies=st.lists(st.binary(max_size=30), min_size=1, max_size=20),
    base=st.integers(0, 1 << 40),
    properties=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "ü"])),
)
def test_a_unit_of_a_batch_topic_is_unwrapped(bodies: list[bytes], base: int, properties: dict[str, str]) -> None:
    raw = encode_properties(properties)
    unit = Stored(encode_batch(bodies, raw).payload, base, sys_flag=UNIT).encode()
    batch = decode_stored(QUEUE, unit + Stored(b"after", base + len(bodies)).encode())
    assert batch.bodies == [*bodies, b"after"]
    assert batch.offsets == list(range(base, base + len(bodies) + 1))
    assert batch.raw_properties == [raw] * len(bodies) + [b""]
    assert batch.units == 2
    assert batch[0].properties == properties
    assert batch[0].message_id == batch[len(bodies) - 1].message_id


@pytest.mark.parametrize("compression", Compression)
def test_compressed_bodies_are_unpacked(compression: Compression) -> None:
    flag = COMPRESSED_FLAG | compression.value
    batch = decode_stored(QUEUE, Stored(compress(b"plain" * 100, compression), sys_flag=flag).encode())
    assert batch.bodies == [b"plain" * 100]


@given(st.lists(forms, min_size=1, max_size=3), st.data())
def test_an_answer_cut_short_raises_protocol_error(stored: list[Stored], data: st.DataObject) -> None:
    whole = b"".join(message.encode() for message in stored)
    last = len(stored[-1].encode())
    cut = data.draw(st.integers(len(whole) - last + 1, len(whole) - 1))
    with pytest.raises(ProtocolError):
        decode_stored(QUEUE, whole[:cut])


@given(forms | st.builds(lambda: Stored(encode_batch([b"a", b"bc"], b"p").payload, sys_flag=UNIT)), st.data())
def test_an_answer_with_changed_bytes_decodes_or_raises_protocol_error(stored: Stored, data: st.DataObject) -> None:
    whole = bytearray(stored.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        batch = decode_stored(QUEUE, bytes(whole))
    except ProtocolError:
        return
    assert len(batch.bodies) == len(batch.offsets) == len(batch.raw_properties) == len(batch.store_timestamps_ms)


@given(st.binary(max_size=300))
@example(bytes(88))
@example(struct.pack(">iI", 91, MAGIC_V1) + bytes(76) + struct.pack(">i", -88) + bytes(3))
def test_arbitrary_bytes_decode_or_raise_protocol_error(data: bytes) -> None:
    try:
        batch = decode_stored(QUEUE, data)
    except ProtocolError:
        return
    assert len(batch) == 0


@given(st.binary(min_size=1, max_size=100))
@example(struct.pack(">i12xi", 0, -22) + b"\0\0")
@example(struct.pack(">i12xi", -20, 0) + b"\0\0")
def test_arbitrary_units_decode_or_raise_protocol_error(unit: bytes) -> None:
    try:
        batch = decode_stored(QUEUE, Stored(unit, sys_flag=UNIT).encode())
    except ProtocolError:
        return
    assert sum(map(len, batch.bodies)) < len(unit) or (batch.bodies == [unit] and list(batch.damaged) == [0])


ZLIB = COMPRESSED_FLAG | Compression.ZLIB.value


@pytest.mark.parametrize(
    ("body", "flag", "why"),
    [
        (b"garbage", ZLIB, "damaged zlib body"),
        (compress(b"plain" * 100, Compression.ZLIB)[:-4], ZLIB, "cut short"),
        (b"garbage", COMPRESSED_FLAG | Compression.ZSTD.value, "damaged zstd body"),
        (b"garbage", COMPRESSED_FLAG | Compression.LZ4.value, "damaged lz4 body"),
        (b"garbage", COMPRESSED_FLAG | 7 << 8, "unknown compression type 7"),
        (
            compress(bytes(MAX_BODY_BYTES + 1), Compression.ZSTD),
            COMPRESSED_FLAG | Compression.ZSTD.value,
            "more than 134217728 bytes",
        ),
    ],
)
def test_a_body_that_cannot_be_unpacked_costs_its_message_alone(body: bytes, flag: int, why: str) -> None:
    stored = [Stored(b"before", 5), Stored(body, 6, b"a\x01b\x02", flag), Stored(b"after", 7)]
    batch = decode_stored(QUEUE, b"".join(each.encode() for each in stored), most_unpacked=1 << 30)
    assert (batch.bodies, batch.offsets, list(batch.damaged)) == ([b"before", body, b"after"], [5, 6, 7], [6])
    assert why in str(batch.damaged[6])
    assert not batch.is_cut
    assert list(batch.between(7).damaged) == []
    assert list(batch.select([False, True, True]).damaged) == [6]
    assert list(type(batch).concat([batch.between(0, 6), batch.between(6)]).damaged) == [6]


def _unit(messages: int, base: int, count: int | None, payload: bytes | None = None, *, flag: int = UNIT) -> Stored:
    said = b"" if count is None else b"INNER_NUM\x01%d\x02" % count
    return Stored(encode_batch([b"inner"] * messages).payload if payload is None else payload, base, said, flag)


@pytest.mark.parametrize(
    ("unit", "offsets"),
    [
        # What a broker says of it is right, and its content is not.
        (_unit(0, 6, 3, b"garbage"), [6, 7, 8]),
        (_unit(0, 6, 3, b"garbage", flag=UNIT | ZLIB), [6, 7, 8]),
        # Anybody can set the flags of a unit, on a topic that has none.
        (_unit(0, 6, None, b"garbage"), [6]),
        (_unit(0, 6, 30_000, b"garbage"), [6]),
        (_unit(3, 6, 3), [6]),
        (_unit(0, 6, 1, b""), [6]),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_a_unit_that_cannot_be_unwrapped_costs_its_own_offsets_alone(unit: Stored, offsets: list[int], *, is_last: bool) -> None:
    before, after = Stored(b"before", 5).encode(), Stored(b"after", offsets[-1] + 1).encode()
    answer = before + unit.encode() + (b"" if is_last else after)
    batch = decode_stored(QUEUE, answer, end=offsets[-1] + (1 if is_last else 2))
    assert batch.bodies[:2] == [b"before", unit.body]
    assert batch.offsets == [5, *offsets, *([] if is_last else [offsets[-1] + 1])]
    assert list(batch.damaged) == offsets
    assert all(batch.bodies[1 + more] == b"" for more in range(1, len(offsets)))


def test_what_unpacks_to_more_than_was_asked_for_is_left_in_the_answer() -> None:
    stored = [Stored(compress(bytes(1_000), Compression.ZLIB), offset, sys_flag=ZLIB).encode() for offset in range(10)]
    batch = decode_stored(QUEUE, b"".join(stored), most_unpacked=3_500)
    assert (batch.offsets, batch.is_cut, batch.unpacked_bytes) == ([0, 1, 2], True, 3_000)
    assert batch.nbytes > 3_000
    batch = decode_stored(QUEUE, b"".join(stored), most_unpacked=10_000)
    assert (len(batch), batch.is_cut) == (10, False)
    # The first one is given out, or reading would never get past it; what is not compressed costs nothing more.
    batch = decode_stored(QUEUE, stored[4] + stored[5] + Stored(b"plain", 6).encode(), most_unpacked=10)
    assert (batch.offsets, batch.is_cut) == ([4], True)
    batch = decode_stored(QUEUE, Stored(bytes(100), 3).encode() + stored[4], most_unpacked=10)
    assert (batch.offsets, batch.is_cut) == ([3], True)
