"""Compressed bodies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting import Compression, ProtocolError
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, compress, compression_of, decompress

every = st.sampled_from(Compression)


@given(body=st.binary(max_size=3000), compression=every)
def test_a_compressed_body_unpacks_to_the_same(body: bytes, compression: Compression) -> None:
    assert decompress(compress(body, compression), compression) == body


@given(body=st.binary(max_size=200), compression=every)
def test_arbitrary_bytes_unpack_or_raise_protocol_error(body: bytes, compression: Compression) -> None:
    try:
        plain = decompress(body, compression)
    except ProtocolError:
        return
    assert len(plain) < 200 * 1100


@pytest.mark.parametrize("compression", Compression)
def test_a_body_cut_short_raises_protocol_error(compression: Compression) -> None:
    packed = compress(bytes(range(256)) * 50, compression)
    for cut in (1, len(packed) // 2, len(packed) - 1):
        with pytest.raises(ProtocolError):
            decompress(packed[:cut], compression)


@pytest.mark.parametrize("compression", Compression)
def test_a_bomb_is_not_unpacked_past_the_limit(compression: Compression) -> None:
    packed = compress(bytes(50_000_000), compression)
    assert len(packed) < 1_000_000
    with pytest.raises(ProtocolError, match="unpacks to more than 1000000 bytes"):
        decompress(packed, compression, limit=1_000_000)


@pytest.mark.parametrize("compression", Compression)
def test_a_body_of_exactly_the_limit_unpacks(compression: Compression) -> None:
    assert decompress(compress(bytes(1000), compression), compression, limit=1000) == bytes(1000)


def test_a_compressed_body_without_a_type_is_zlib_as_old_producers_mean_it() -> None:
    assert compression_of(COMPRESSED_FLAG) is Compression.ZLIB


def test_an_unknown_compression_type_raises_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="unknown compression type 7"):
        compression_of(COMPRESSED_FLAG | 7 << 8)
