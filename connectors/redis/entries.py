"""What entries of streams become, and how their ids and keys are written. Pure."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.partitions import Entries
from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.record import Offset, Rejected

FORMS = ("object", "pairs")
"""What the fields of an entry become."""
_HIGHEST = (1 << 64) - 1
_PAIRS_FIX = "fields=pairs keeps all of them exactly, and value.field takes one of them"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999: ids need not be times."""


@dataclass(frozen=True, slots=True)
class Info:
    """What a server says of a stream.

    Attributes:
        length: So many entries there are.
        added: So many were ever added.
        first: The first one's place; that of the end, where there is none.
        end: Behind the last id that was given.
    """

    length: int
    added: int
    first: Offset
    end: Offset

    @classmethod
    def of(cls, answer: Mapping[bytes, Any], what: str) -> Self:
        """From the answer of XINFO STREAM.

        Args:
            answer: By name.
            what: The stream, for people.

        Raises:
            PermanentError: the server is too old.
        """
        if b"entries-added" not in answer:
            msg = f"{what} has no count of what was added to it: the server is older than Redis 7. Upgrade it"
            raise PermanentError(msg)
        end = offset_of(answer[b"last-generated-id"])
        length = int(answer[b"length"])
        first = parts(answer[b"recorded-first-entry-id"]) if length else end
        return cls(length, int(answer[b"entries-added"]), first, end)


class EntryForm:
    """What the entries of a source become.

    Args:
        value: The field that is the value; empty: all are.
        key: The field that is the key; empty: the stream's name is.
        fields: One of FORMS.
    """

    def __init__(self, value: str, key: str, fields: str) -> None:
        self._value = value.encode()
        self._key = key.encode()
        self._fields = _object if fields == "object" else _pairs

    def entries(self, name: str, topic: str, answer: Sequence[tuple[bytes, Sequence[bytes]]]) -> Entries:
        """Entries of a stream, in their order.

        Args:
            name: What the stream is called.
            topic: Where they go; empty: to the topic of the configuration.
            answer: Of XRANGE: ids, each with names and values in turns.
        """
        made = Entries(name, topic=topic)
        own = own_key(name)
        title = own if _is_text(own) else name.encode()
        for entry_id, fields in answer:
            names, values = fields[::2], fields[1::2]
            if self._value:
                made.values.append(_last(self._value, names, values))
            else:
                made.values.append(self._fields(names, values))
                made.size += self.size(made.values[-1], fields)
            ms, number = parts(entry_id)
            made.offsets.append((ms, number + 1))
            made.keys.append(_last(self._key, names, values) if self._key else title)
            made.timestamps_ms.append(ms if ms <= _LAST_MS else None)
            made.headers.append((("redis.stream", title), ("redis.id", entry_id)))
        return made

    def size(self, value: object, fields: Sequence[bytes]) -> int:
        """The size of a value in bytes.

        Args:
            value: That `entries` has made.
            fields: Of the entry that it was made of.
        """
        if self._value:
            return len(value) if isinstance(value, bytes) else 0
        return sum(map(len, fields))


def parts(entry_id: bytes) -> Offset:
    """The two numbers of an id."""
    ms, _, number = entry_id.partition(b"-")
    return int(ms), int(number)


def offset_of(entry_id: bytes) -> Offset:
    """The place behind an entry."""
    ms, number = parts(entry_id)
    return ms, number + 1


def last_id(place: Offset) -> str:
    """The last id that is before a place."""
    ms, number = place
    if number:
        return f"{ms}-{number - 1}"
    return f"{ms - 1}-{_HIGHEST}" if ms else "0-0"


def next_id(place: Offset) -> str:
    """The first id that is behind a place."""
    ms, number = place
    return f"{ms}-{number}" if number <= _HIGHEST else f"{ms + 1}-0"


def name_of(key: bytes) -> str:
    """What a stream is called: its key, with % and what is no printable text as %XX."""
    text = key.decode(errors="surrogateescape")
    return "".join(
        each if each.isprintable() and each != "%" else quote_from_bytes(each.encode(errors="surrogateescape")) for each in text
    )


def own_key(name: str) -> bytes:
    """The key of a stream by what it is called."""
    return unquote_to_bytes(name)


def _last(name: bytes, names: Sequence[bytes], values: Sequence[bytes]) -> bytes | None:
    """The value of a field; of one that stands there twice the last one."""
    return next((value for each, value in zip(reversed(names), reversed(values), strict=True) if each == name), None)


def _object(names: Sequence[bytes], values: Sequence[bytes]) -> Mapping[str, str] | Rejected:
    try:
        made = {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}
    except UnicodeDecodeError:
        pairs = zip(names, values, strict=True)
        name = next(name for name, value in pairs if not (_is_text(name) and _is_text(value)))
        return rejected("InvalidUtf8", f"the field {_shown(name)} is no text in UTF-8: {_PAIRS_FIX}", _json(names, values))
    if len(made) == len(names):
        return made
    name = next(name for at, name in enumerate(names) if name in names[:at])
    return rejected("BadFields", f"the field {_shown(name)} stands there twice: {_PAIRS_FIX}", _json(names, values))


def _pairs(names: Sequence[bytes], values: Sequence[bytes]) -> list[list[str]]:
    return [[base64.b64encode(each).decode() for each in pair] for pair in zip(names, values, strict=True)]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(name: bytes) -> str:
    return repr(name.decode(errors="backslashreplace"))[:100]


def _json(names: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    """For people who correct it: with what stands there twice, and with escapes for what is no text."""

    def text(data: bytes) -> str:
        return json.dumps(data.decode(errors="backslashreplace"), ensure_ascii=False)

    members = ", ".join(f"{text(name)}: {text(value)}" for name, value in zip(names, values, strict=True))
    return f"{{{members}}}".encode()
