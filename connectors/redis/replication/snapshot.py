"""Reads a snapshot, in the format of RDB files: versions up to 12 of Redis, and 80 of Valkey.

https://github.com/redis/redis and https://github.com/valkey-io/valkey: src/rdb.c.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import error, unpack
from typing import IO, Any

from connectors.redis.replication.forms import KINDS, MODULE, READS
from connectors.redis.replication.reader import Reader
from rocketconnect_sdk.errors import PermanentError, RetriableError

_SIX_BITS = 0x3F
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@dataclass(slots=True)
class Held:
    """A key, and what it holds.

    Attributes:
        database: Its number.
        key: The key.
        kind: Its type, as TYPE answers it; of a module the name of its type.
        expires_ms: When it expires, in milliseconds since 1970; None: it does not.
        value: As the command of values.READS answers; None: it is not read.
        fields_expire_ms: Of a hash: when those of its fields expire that do.
        size: So many bytes it takes in the snapshot.
    """

    database: int
    key: bytes
    kind: str
    expires_ms: int | None
    value: Any = None
    fields_expire_ms: Mapping[bytes, int] = field(default_factory=dict)
    size: int = 0


class Snapshot:
    """The keys of a snapshot.

    Args:
        file: The snapshot, from its beginning.
        most: A key that takes more bytes is read without its value.

    Attributes:
        stream_database: The database that the stream of commands behind the snapshot begins with.
    """

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._reader = Reader(file)
        self._most = most
        self._is_valkey = False
        self.stream_database = 0

    def keys(self) -> Iterator[Held]:
        """All keys, in the order of the snapshot.

        Raises:
            RetriableError: it is damaged; the next one may not be.
            PermanentError: it has what is not read, and what stands behind that can't be found.
        """
        try:
            yield from self._keys()
        except (IndexError, error, ValueError, EOFError) as flaw:
            msg = f"the snapshot is damaged at byte {self._reader.at:,}: {flaw}"
            raise RetriableError(msg) from flaw

    def _keys(self) -> Iterator[Held]:
        head = self._reader.take(9)
        if not re.fullmatch(rb"REDIS\d{4}|VALKEY\d{3}", head):
            msg = f"it begins with {head!r}"
            raise ValueError(msg)
        self._is_valkey = head.startswith(b"VALKEY")
        database, expires = 0, None
        while (code := self._reader.byte()) != 255:
            if code == 254:
                database = self._reader.length()
            elif code == 252:
                expires = self._reader.moment()
            elif code == 253:
                expires = int(unpack("<i", self._reader.take(4))[0]) * 1000
            elif not self._passed(code):
                yield self._held(database, expires, code)
                expires = None

    def _passed(self, code: int) -> bool:
        """Passes what is no key. Returns: whether it is none."""
        self._reader.budget = self._most
        if code == 250:
            name, text = self._reader.string(), self._reader.string()
            if name == b"repl-stream-db" and int(text) >= 0:
                self.stream_database = int(text)
        elif code in _LENGTHS:
            for _ in range(_LENGTHS[code]):
                self._reader.length()
        elif code == 249:
            self._reader.byte()
        elif code == 245:
            self._reader.string()
        elif code == 247:
            self._reader.length()
            self._reader.module_parts()
        else:
            return False
        return True

    def _held(self, database: int, expires: int | None, code: int) -> Held:
        begin = self._reader.at
        self._reader.budget, self._reader.expire = self._most, {}
        key = self._reader.string()
        held = Held(database, key, KINDS.get(code, ""), expires)
        if code == MODULE:
            held.kind = _module_name(self._reader.length())
            self._reader.module_parts()
        elif (read := READS.get((code, self._is_valkey)) or READS.get((code, None))) is not None:
            held.value = read(self._reader)
        else:
            fix = "Delete the key, or read with snapshot.mode=never what changes from now on"
            msg = f"the snapshot has the key {key!r} of database {database} in form {code}, which is not read. {fix}"
            raise PermanentError(msg)
        if self._reader.budget < 0:
            held.value = None
        held.fields_expire_ms = self._reader.expire
        held.size = self._reader.at - begin
        return held


def _module_name(number: int) -> str:
    """Of nine letters of six bits; ten more are a version."""
    return "".join(_LETTERS[number >> shift & _SIX_BITS] for shift in range(58, 9, -6))


_LENGTHS = {251: 2, 244: 3, 248: 1}
"""Of what is no key: so many lengths stand there."""
