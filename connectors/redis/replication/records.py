"""What keys of a snapshot and commands of a stream become. Pure."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from connectors.redis.replication.commands import Command
from connectors.redis.replication.snapshot import Held
from connectors.redis.values import FORMS, holds, key_of, shown, text_in, too_large, unknown
from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.record import Offset, SourceBatch

PARTITION = "replication"
_NO_KEY = frozenset({"EVAL", "EVALSHA", "FCALL", "FLUSHALL", "FLUSHDB", "FUNCTION", "PUBLISH", "SCRIPT", "SPUBLISH", "SWAPDB"})
_KEY_SECOND = frozenset({"BITOP", "XGROUP"})
_OF_ALL = frozenset({"FLUSHALL", "FUNCTION", "SCRIPT", "SWAPDB"})
"""They concern more than the database that is selected."""
_KEPT_ARGUMENTS = 20
_SENTINELS = b"__sentinel__:hello"


class Records:
    """Makes batches.

    Args:
        encoding: One of values.ENCODINGS.
        databases: Those whose keys and commands are wanted; none: all.
        commands: The names of those that are wanted; none: all.
        most: A key or a command that takes more bytes is a bad record.
    """

    def __init__(self, encoding: str, databases: Collection[int], commands: Collection[str], most: int) -> None:
        self._encoding = encoding
        self._databases = frozenset(databases)
        self._commands = frozenset(commands)
        self._most = most

    def wants_key(self, held: Held) -> bool:
        """Whether a key of a snapshot is to be given: one that holds nothing is none."""
        is_there = held.value is None or holds(held.kind, 0, held.value)
        return is_there and (not self._databases or held.database in self._databases)

    def wants(self, command: Command) -> bool:
        """Whether a command is to be given. The end of a transaction is none, nor is what Sentinels tell each other."""
        if command.name == "EXEC" or (command.name == "PUBLISH" and command.arguments[:1] == [_SENTINELS]):
            return False
        of_database = not self._databases or command.database in self._databases or command.name in _OF_ALL
        return of_database and (not self._commands or command.name in self._commands)

    def of_keys(self, run: tuple[int, int], begin: int, keys: Sequence[Held]) -> SourceBatch:
        """Keys of a snapshot. Their offsets are the snapshot, 1 and their numbers."""
        return SourceBatch(
            PARTITION,
            [self._held(each) for each in keys],
            [(*run, 1, begin + number) for number in range(1, len(keys) + 1)],
            keys=[key_of(each.key, self._encoding) for each in keys],
            headers=[_headers(run, "snapshot", each.database) for each in keys],
            size=sum(each.size for each in keys),
        )

    def of_commands(self, run: tuple[int, int], commands: Sequence[Command]) -> SourceBatch:
        """Commands. Their offsets are the snapshot, 2 and their places in the stream."""
        return SourceBatch(
            PARTITION,
            [self._command(each) for each in commands],
            [place(run, each.offset) for each in commands],
            keys=[None if (key := _key(each)) is None else key_of(key, self._encoding) for each in commands],
            headers=[_headers(run, "command", each.database) for each in commands],
            size=sum(each.size for each in commands),
        )

    def _held(self, held: Held) -> object:
        if held.kind not in FORMS:
            return unknown(held.key, held.kind)
        if held.value is None:
            return too_large(held.key, held.kind, held.size, self._most, "the snapshot")
        what = f"the {held.kind} at {shown(held.key)}"
        return self._in_text(what, lambda text: _held_record(held, text))

    def _command(self, command: Command) -> object:
        key = _key(command)
        what = command.name if key is None else f"{command.name} of {shown(key)}"
        if command.size > self._most:
            reason = f"{what} has {command.size:,} bytes, and at most {self._most:,} are read"
            original = b" ".join(command.arguments[:_KEPT_ARGUMENTS])
            return rejected("TooLarge", reason, original)
        return self._in_text(what, lambda text: _command_record(command, key, text))

    def _in_text(self, what: str, record: Callable[[Callable[[bytes], str]], Mapping[str, object]]) -> object:
        try:
            return record(text_in(self._encoding))
        except UnicodeDecodeError:
            reason = f"{what} has what is no text in UTF-8: encoding=base64 keeps everything exactly"
            return rejected("InvalidUtf8", reason, json.dumps(record(shown), ensure_ascii=False).encode())


def place(run: tuple[int, int], offset: int) -> Offset:
    """The offset behind a place of the stream of commands."""
    return (*run, 2, offset)


def _key(command: Command) -> bytes | None:
    at = 1 if command.name in _KEY_SECOND else 0
    return None if command.name in _NO_KEY or len(command.arguments) <= at else command.arguments[at]


def _held_record(held: Held, text: Callable[[bytes], str]) -> Mapping[str, object]:
    record: dict[str, object] = {
        "db": held.database,
        "key": text(held.key),
        "type": held.kind,
        "expires": held.expires_ms,
        "value": FORMS[held.kind](held.value, text),
    }
    if held.fields_expire_ms:
        record["fields_expire"] = {text(name): moment for name, moment in held.fields_expire_ms.items()}
    return record


def _command_record(command: Command, key: bytes | None, text: Callable[[bytes], str]) -> Mapping[str, object]:
    transaction = {"id": command.transaction, "number": command.number} if command.transaction else None
    return {
        "db": command.database,
        "command": command.name,
        "key": None if key is None else text(key),
        "args": [text(each) for each in command.arguments],
        "transaction": transaction,
    }


def _headers(run: tuple[int, int], event: str, database: int) -> Mapping[str, str]:
    return {"redis.event": event, "redis.db": str(database), "redis.run": "-".join(map(str, run))}
