"""Frames: what is encoded decodes to the same, and nothing that arrives can do more than raise ProtocolError."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting import ProtocolError
from rocketmq_remoting.protocol.frame import (
    MAX_FRAME_BYTES,
    PREFIX_BYTES,
    Frame,
    Serialization,
    decode_frame,
    decode_prefix,
    encode_head,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
fields = st.dictionaries(text.filter(bool), text, max_size=8)


def _decode(data: bytes) -> Frame:
    serialization, header_length, body_length = decode_prefix(data[:PREFIX_BYTES])
    header = data[PREFIX_BYTES : PREFIX_BYTES + header_length]
    body = data[PREFIX_BYTES + header_length :]
    assert len(body) == body_length
    return decode_frame(serialization, header, body)


@given(
    code=st.integers(0, 32_767),
    opaque=st.integers(0, (1 << 31) - 1),
    named=fields,
    body=st.binary(max_size=100),
    response=st.booleans(),
    serialization=st.sampled_from(Serialization),
)
def test_an_encoded_frame_decodes_to_the_same(
    code: int, opaque: int, named: dict[str, str], body: bytes, response: bool, serialization: Serialization
) -> None:
    head = encode_head(code, opaque, named, len(body), response=response, serialization=serialization)
    frame = _decode(head + body)
    assert (frame.code, frame.opaque, frame.fields, frame.body) == (code, opaque, named, body)
    assert frame.is_response is response
    assert not frame.is_oneway


@given(serialization=st.sampled_from(Serialization), header=st.binary(max_size=200))
def test_arbitrary_headers_decode_or_raise_protocol_error(serialization: Serialization, header: bytes) -> None:
    try:
        frame = decode_frame(serialization, header, b"")
    except ProtocolError:
        return
    assert sum(map(len, frame.fields)) <= len(header)


@given(named=fields, cut=st.integers(0, 400))
def test_a_binary_header_that_is_cut_short_raises_protocol_error(named: dict[str, str], cut: int) -> None:
    head = encode_head(10, 1, named, 0)[PREFIX_BYTES:]
    if cut < len(head):
        with pytest.raises(ProtocolError):
            decode_frame(Serialization.BINARY, head[:cut], b"")


@given(named=fields, at=st.integers(0, 400), value=st.integers(0, 255))
def test_a_binary_header_with_one_changed_byte_decodes_or_raises_protocol_error(named: dict[str, str], at: int, value: int) -> None:
    head = bytearray(encode_head(10, 1, named, 0)[PREFIX_BYTES:])
    head[at % len(head)] = value
    try:
        frame = decode_frame(Serialization.BINARY, bytes(head), b"")
    except ProtocolError:
        return
    assert isinstance(frame, Frame)


@pytest.mark.parametrize(
    "header",
    [b"", b"[]", b"null", b"{}", b'{"code":1}', b'{"code":[],"opaque":1,"flag":0}', b"[" * 100_000, b"\xff\xfe", b"1e999"],
)
def test_malformed_json_headers_raise_protocol_error(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_frame(Serialization.JSON, header, b"")


def test_fields_of_a_json_header_become_strings() -> None:
    header = json.dumps({"code": 0, "opaque": 7, "flag": 1, "extFields": {"offset": 12, "ok": "true"}}).encode()
    assert decode_frame(Serialization.JSON, header, b"").fields == {"offset": "12", "ok": "true"}


@given(prefix=st.binary(min_size=PREFIX_BYTES, max_size=PREFIX_BYTES))
def test_no_prefix_makes_the_reader_allocate_more_than_the_limit(prefix: bytes) -> None:
    try:
        _, header_length, body_length = decode_prefix(prefix)
    except ProtocolError:
        return
    assert header_length >= 0
    assert body_length >= 0
    assert 4 + header_length + body_length <= MAX_FRAME_BYTES


def test_the_answer_of_another_protocol_is_told_as_such() -> None:
    with pytest.raises(ProtocolError, match="is this the port of a RocketMQ name server or broker, and is TLS set"):
        decode_prefix(b"HTTP/1.1")


def test_an_unknown_header_form_raises_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="unknown header form 9"):
        decode_prefix(struct.pack(">II", 10, 9 << 24 | 2))


def test_a_header_longer_than_its_frame_raises_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="can't hold a header of 100 bytes"):
        decode_prefix(struct.pack(">II", 20, 100))
