"""What keys of Redis hold, as values of records. Pure."""

import base64
import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.record import Rejected

READS: Mapping[str, tuple[str | int, ...]] = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    "stream": ("XRANGE", "-", "+"),
}
"""By type the command that reads all of a key; the key stands behind its name."""
ENCODINGS = ("utf-8", "base64")
_NOT_THERE = -2
_Text = Callable[[bytes], str]


def value_of(key: bytes, kind: str, ttl_ms: int, answer: Any, encoding: str) -> object:
    """The value of a key's record; a Rejected where it holds what is no text.

    Args:
        key: The key.
        kind: Its type.
        ttl_ms: Milliseconds until it expires; negative: it does not.
        answer: What its command gave, of version 3 of the protocol.
        encoding: One of ENCODINGS.
    """
    try:
        return _record(key, kind, ttl_ms, answer, text_in(encoding))
    except UnicodeDecodeError:
        reason = f"the {kind} at {shown(key)} has what is no text in UTF-8: encoding=base64 keeps everything exactly"
        original = json.dumps(_record(key, kind, ttl_ms, answer, shown), ensure_ascii=False)
        return rejected("InvalidUtf8", reason, original.encode())


def key_of(key: bytes, encoding: str) -> str | None:
    """The key of a key's record; None: it is no text, and its record is a bad one."""
    try:
        return text_in(encoding)(key)
    except UnicodeDecodeError:
        return None


def holds(kind: str, ttl_ms: int, answer: Any) -> bool:
    """Whether a key was there when it was read: streams and strings alone may be empty."""
    return answer is not None and (bool(answer) or kind == "string" or (kind == "stream" and ttl_ms != _NOT_THERE))


def too_large(key: bytes, kind: str, size: int, most: int, where: str = "the server's memory") -> Rejected:
    """In the place of a value that is not read."""
    reason = f"the {kind} at {shown(key)} takes {size:,} bytes of {where}, and at most {most:,} are read: leave it out"
    return rejected("TooLarge", reason, key)


def unknown(key: bytes, kind: str) -> Rejected:
    """In the place of a value of a type that is not read."""
    return rejected("UnknownType", f"the key {shown(key)} holds a {kind}, which is not read: leave it out", key)


def _record(key: bytes, kind: str, ttl_ms: int, answer: Any, text: _Text) -> Mapping[str, object]:
    return {
        "key": text(key),
        "type": kind,
        "ttl": ttl_ms if ttl_ms >= 0 else None,
        "value": FORMS[kind](answer, text),
    }


def _hash(answer: Mapping[bytes, bytes], text: _Text) -> Mapping[str, str]:
    return {text(name): text(value) for name, value in answer.items()}


def _sorted_set(answer: list[tuple[bytes, float]], text: _Text) -> list[Mapping[str, object]]:
    return [{"member": text(member), "score": score if isfinite(score) else str(score)} for member, score in answer]


def _stream(answer: list[tuple[bytes, list[bytes]]], text: _Text) -> list[Mapping[str, object]]:
    return [
        {"id": entry.decode(), "fields": [[text(name), text(value)] for name, value in zip(fields[::2], fields[1::2], strict=True)]}
        for entry, fields in answer
    ]


FORMS: Mapping[str, Callable[[Any, _Text], object]] = {
    "string": lambda answer, text: text(answer),
    "hash": _hash,
    "list": lambda answer, text: [text(each) for each in answer],
    "set": lambda answer, text: sorted(text(each) for each in answer),
    "zset": _sorted_set,
    "stream": _stream,
}
"""By type what the answer of its command becomes."""


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def text_in(encoding: str) -> Callable[[bytes], str]:
    """How bytes become text, by one of ENCODINGS."""
    return _base64 if encoding == "base64" else bytes.decode


def shown(data: bytes) -> str:
    """Bytes for people."""
    return data.decode(errors="backslashreplace")
