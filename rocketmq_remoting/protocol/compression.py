"""Compressed bodies: zlib from the standard library, lz4 (frame format) and zstd from optional packages."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import ProtocolError, Unsupported
from rocketmq_remoting.model import Compression

if TYPE_CHECKING:
    from types import ModuleType

COMPRESSED_FLAG = 1
_TYPE_BITS = 7 << 8
# A broker takes messages of 4 MiB by default and 128 MiB in any setting; what unpacks to more is hostile.
MAX_BODY_BYTES = 128 << 20
_CHUNK = 1 << 20


class UnpacksToMore(ProtocolError):
    """A body unpacks to more bytes than are wanted of it."""


def compression_of(sys_flag: int) -> Compression:
    """Return how a body with this system flag is compressed; producers before 4.9.5 set no type and mean zlib.

    Raises:
        ProtocolError: the type is none that RocketMQ knows.
    """
    bits = sys_flag & _TYPE_BITS
    try:
        return Compression(bits) if bits else Compression.ZLIB
    except ValueError:
        msg = f"unknown compression type {bits >> 8}"
        raise ProtocolError(msg) from None


def compress(body: bytes, compression: Compression) -> bytes:
    """Compress a body.

    Raises:
        Unsupported: the package for it is not installed.
    """
    if compression is Compression.ZLIB:
        return zlib.compress(body, 5)
    if compression is Compression.LZ4:
        packed: bytes = _lz4().compress(body)
        return packed
    zstd: bytes = _zstd().ZstdCompressor(level=3).compress(body)
    return zstd


def decompress(body: bytes, compression: Compression, limit: int = MAX_BODY_BYTES) -> bytes:
    """Unpack a body, at most `limit` bytes of it in memory.

    Raises:
        UnpacksToMore: than the limit.
        ProtocolError: the body is damaged.
        Unsupported: the package for it is not installed.
    """
    if compression is Compression.ZLIB:
        stream = zlib.decompressobj()
        try:
            plain = stream.decompress(body, limit + 1)
        except zlib.error as error:
            msg = f"damaged zlib body: {error}"
            raise ProtocolError(msg) from error
        return _whole(plain, limit, compression, complete=stream.eof)
    if compression is Compression.LZ4:
        frame = _lz4().LZ4FrameDecompressor()
        try:
            plain = frame.decompress(body, limit + 1)
        except (RuntimeError, ValueError) as error:
            msg = f"damaged lz4 body: {error}"
            raise ProtocolError(msg) from error
        return _whole(plain, limit, compression, complete=frame.eof)
    return _unpack_zstd(body, limit)


def _unpack_zstd(body: bytes, limit: int) -> bytes:
    zstandard = _zstd()
    parts: list[bytes] = []
    size = 0
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            while size <= limit and (part := reader.read(_CHUNK)):
                parts.append(part)
                size += len(part)
        # A frame that is cut short reads as if it ended: its announced size tells.
        announced = zstandard.frame_content_size(body)
    except zstandard.ZstdError as error:
        msg = f"damaged zstd body: {error}"
        raise ProtocolError(msg) from error
    return _whole(b"".join(parts), limit, Compression.ZSTD, complete=announced in {-1, size})


def _whole(plain: bytes, limit: int, compression: Compression, *, complete: bool) -> bytes:
    if len(plain) > limit:
        msg = f"a {compression.name} body unpacks to more than {limit} bytes"
        raise UnpacksToMore(msg)
    if not complete:
        msg = f"a {compression.name} body is cut short"
        raise ProtocolError(msg)
    return plain


def _lz4() -> ModuleType:
    try:
        import lz4.frame
    except ImportError:
        msg = "bodies compressed with lz4 need the package `lz4`: pip install lz4"
        raise Unsupported(msg) from None
    module: ModuleType = lz4.frame
    return module


def _zstd() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        msg = "bodies compressed with zstd need the package `zstandard`: pip install zstandard"
        raise Unsupported(msg) from None
    return zstandard
