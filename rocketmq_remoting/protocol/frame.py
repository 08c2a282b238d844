"""Frames and their headers.

A frame is `length:4 | serialization:1, header length:3 | header | body`; the length counts what follows it. The header
is either JSON or RocketMQ's own binary form, which every server since 3.x reads; answers may come in either.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX_BYTES = 8
# A broker cuts a pull at 128 MiB at most and by default at 256 KiB; a longer frame is a fault or hostile.
MAX_FRAME_BYTES = 144 << 20

# The protocol version that the client claims (RocketMQ 5.3.3): name servers answer with standard JSON from 4.9.4 on.
CLIENT_VERSION = 479

_PREFIX = struct.Struct(">II")
_BINARY_HEAD = struct.Struct(">hBhii")
_LENGTH = struct.Struct(">i")
_SHORT = struct.Struct(">H")
_PYTHON = 3
_RESPONSE_FLAG = 1
_ONEWAY_FLAG = 2


class Serialization(IntEnum):
    """The form of a header."""

    JSON = 0
    BINARY = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded frame.

    Attributes:
        code: request or response code.
        opaque: the number that ties a response to its request.
        flag: bit 0 response, bit 1 one-way request.
        remark: the other side's words, mostly the reason of an error.
        fields: the header's own fields, all strings on the wire.
        body: the body.
    """

    code: int
    opaque: int
    flag: int
    remark: str
    fields: Mapping[str, str]
    body: bytes

    @property
    def is_response(self) -> bool:
        """Whether this answers a request."""
        return bool(self.flag & _RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        """Whether this is a request that wants no answer."""
        return bool(self.flag & _ONEWAY_FLAG)


def encode_head(
    code: int,
    opaque: int,
    fields: Mapping[str, str],
    body_length: int,
    *,
    response: bool = False,
    serialization: Serialization = Serialization.BINARY,
) -> bytes:
    """Return everything of a frame that stands before its body."""
    flag = _RESPONSE_FLAG if response else 0
    if serialization is Serialization.JSON:
        header = json.dumps(
            {
                "code": code,
                "language": "PYTHON",
                "version": CLIENT_VERSION,
                "opaque": opaque,
                "flag": flag,
                "serializeTypeCurrentRPC": "JSON",
                "extFields": dict(fields),
            }
        ).encode()
    else:
        header = _encode_binary_header(code, opaque, flag, fields)
    return _PREFIX.pack(4 + len(header) + body_length, serialization << 24 | len(header)) + header


def _encode_binary_header(code: int, opaque: int, flag: int, fields: Mapping[str, str]) -> bytes:
    parts: list[bytes] = []
    for name, value in fields.items():
        name_bytes = name.encode()
        value_bytes = value.encode()
        parts += (_SHORT.pack(len(name_bytes)), name_bytes, _LENGTH.pack(len(value_bytes)), value_bytes)
    packed = b"".join(parts)
    head = _BINARY_HEAD.pack(code, _PYTHON, CLIENT_VERSION, opaque, flag)
    return b"".join((head, b"\0\0\0\0", _LENGTH.pack(len(packed)), packed))


def decode_prefix(prefix: bytes, limit: int = MAX_FRAME_BYTES) -> tuple[Serialization, int, int]:
    """Read the first eight bytes of a frame.

    Returns:
        the header's form, its length and the body's length.

    Raises:
        ProtocolError: the lengths contradict each other or pass the limit, or the form is unknown.
    """
    total, word = _PREFIX.unpack(prefix)
    header_length = word & 0xFFFFFF
    if total > limit:
        msg = (
            f"a frame of {total} bytes is over the limit of {limit}: is this the port of a RocketMQ name server or "
            "broker, and is TLS set on both sides or on none?"
        )
        raise ProtocolError(msg)
    if header_length + 4 > total:
        msg = f"a frame of {total} bytes can't hold a header of {header_length} bytes"
        raise ProtocolError(msg)
    try:
        serialization = Serialization(word >> 24)
    except ValueError:
        msg = f"unknown header form {word >> 24}"
        raise ProtocolError(msg) from None
    return serialization, header_length, total - 4 - header_length


def decode_frame(serialization: Serialization, header: bytes, body: bytes) -> Frame:
    """Decode a header and put its body beside it.

    Raises:
        ProtocolError: the header is cut short or malformed.
    """
    try:
        if serialization is Serialization.JSON:
            return _decode_json_header(header, body)
        return _decode_binary_header(header, body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        msg = f"malformed header: {error}"
        raise ProtocolError(msg) from error


def _decode_json_header(header: bytes, body: bytes) -> Frame:
    parsed = json.loads(header)
    fields = parsed.get("extFields") or {}
    return Frame(
        code=int(parsed["code"]),
        opaque=int(parsed["opaque"]),
        flag=int(parsed["flag"]),
        remark=str(parsed.get("remark") or ""),
        fields={str(name): str(value) for name, value in fields.items()},
        body=body,
    )


def _decode_binary_header(header: bytes, body: bytes) -> Frame:
    code, _language, _version, opaque, flag = _BINARY_HEAD.unpack_from(header)
    at = _BINARY_HEAD.size
    remark, at = _read_string(header, at)
    (packed,) = _LENGTH.unpack_from(header, at)
    at += 4
    end = at + packed
    if packed < 0 or end > len(header):
        raise ValueError(f"{packed} bytes of fields in a header of {len(header)}")  # noqa: EM102
    fields = {}
    while at < end:
        (length,) = _SHORT.unpack_from(header, at)
        at += 2
        name = header[at : at + length].decode()
        value, at = _read_string(header, at + length)
        fields[name] = value
    return Frame(code, opaque, flag, remark, fields, body)


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, at)
    at += 4
    if length < 0 or at + length > len(data):
        raise ValueError(f"a string of {length} bytes with {len(data) - at} left")  # noqa: EM102
    return data[at : at + length].decode(), at + length
