"""Writes operations to Redis."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError, WatchError

from connectors.redis.client import ELSEWHERE, own_errors
from connectors.redis.commands import NOTES, Command, StoredAs
from rocketconnect_sdk.errors import RecordError, RecordRefused
from rocketconnect_sdk.targets.owners import Owner
from rocketconnect_sdk.writes import Connection, Operation, TransactionalConnection
from rocketconnect_sdk.writes.notes import PLAN, names_of


class RedisConnection(Connection):
    """Writes without positions.

    Args:
        client: Of the server.
        place: Names it, for people.
        stored: What records become.
    """

    def __init__(self, client: redis.Redis, place: str, stored: StoredAs) -> None:
        self.client = client
        self.place = place
        self.stored = stored

    def ping(self) -> None:
        """See Connection."""
        with own_errors(self.place):
            self.client.ping()

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        refused: dict[int, str] = {}
        sent: list[int] = []
        with own_errors(self.place), self._pipeline(transaction=False) as pipe:
            for index, commands in _commands(self.stored, operations, refused):
                for command in commands:
                    pipe.execute_command(*command)
                    sent.append(index)
            _answered(zip(sent, executed(pipe), strict=True), refused)
        return refused

    def _pipeline(self, *, transaction: bool) -> AbstractContextManager[Any]:
        # Any: half of the client's methods say no types.
        return self.client.pipeline(transaction=transaction)

    def close(self) -> None:
        """See Connection."""
        with suppress(RedisError, OSError):
            self.client.close()


class ExactConnection(RedisConnection, TransactionalConnection):
    """Writes with notes, which are keys rocketconnect:CONNECTOR:NAME, by WATCH and MULTI.

    All commands of a transaction are carried out, also behind one that fails. So what would make one fail is asked before, of keys
    that are watched: another type than the commands need. https://redis.io/docs/latest/develop/using-commands/transactions/
    """

    def __init__(self, client: redis.Redis, place: str, stored: StoredAs, connector_uid: str) -> None:
        super().__init__(client, place, stored)
        self._connector = connector_uid

    def notes(self, names: Sequence[str]) -> Mapping[str, str]:
        """See TransactionalConnection."""
        with own_errors(self.place):
            found = self.client.mget([self._key(name) for name in names])
        return {name: _text(text) for name, text in zip(names, found, strict=True) if text is not None}

    def transact(self, operations: Sequence[Operation], expected: Mapping[str, str | None], notes: Mapping[str, str]) -> bool:
        """See TransactionalConnection."""
        refused: dict[int, str] = {}
        made = list(_commands(self.stored, operations, refused))
        typed = list(dict.fromkeys(map(self.stored.key, operations))) if self.stored.needs_type else []
        with own_errors(self.place), self._pipeline(transaction=True) as pipe:
            pipe.watch(*map(self._key, expected), *typed)
            there = pipe.mget(list(map(self._key, expected)))
            if [None if text is None else _text(text) for text in there] != list(expected.values()):
                return False
            self._refuse_other_types(pipe, typed, operations, refused)
            if refused:
                raise RecordRefused(refused, None)
            pipe.multi()
            sent: list[int] = []
            for index, commands in made:
                for command in commands:
                    pipe.execute_command(*command)
                    sent.append(index)
            pipe.mset({self._key(name): text for name, text in notes.items()})
            try:
                answers = executed(pipe)
            except WatchError:
                return False
        _answered(zip(sent, answers, strict=False), refused)
        if refused:
            # It is done all the same: of these alone nothing is there.
            raise RecordRefused(refused, None)
        return True

    def _refuse_other_types(self, pipe: Any, keys: Sequence[str], operations: Sequence[Operation], refused: dict[int, str]) -> None:
        types = {key: _text(pipe.execute_command("TYPE", key)) for key in keys}
        for index, operation in enumerate(operations):
            key = self.stored.key(operation)
            if types and types[key] not in ("none", self.stored.needs_type):
                refused.setdefault(index, f"the key {key} holds a {types[key]}, and no {self.stored.needs_type}")

    def _key(self, name: str) -> str:
        return _key(self._connector, name)


def executed(pipe: Any) -> list[object]:
    """The answers to all that is in a pipeline, errors among them. Raises what is wrong with all of it."""
    return list(pipe.execute(raise_on_error=False))


def forget(client: redis.Redis, connector_uid: str) -> None:
    """Removes all notes of a connector."""
    plan = client.get(_key(connector_uid, PLAN))
    client.delete(*(_key(connector_uid, name) for name in names_of(None if plan is None else _text(plan), Owner(0, 0, 0))))


def _key(connector_uid: str, name: str) -> str:
    return f"{NOTES}:{connector_uid}:{name}"


def _commands(
    stored: StoredAs, operations: Sequence[Operation], refused: dict[int, str]
) -> Iterator[tuple[int, Sequence[Command]]]:
    for index, operation in enumerate(operations):
        try:
            yield index, list(stored.commands(operation))
        except RecordError as error:
            refused[index] = str(error)


def _answered(answers: "zip[tuple[int, object]]", refused: dict[int, str]) -> None:
    """Notes which operations the server has refused. Raises what is no matter of one of them."""
    for index, answer in answers:
        if isinstance(answer, (OutOfMemoryError, ReadOnlyError, *ELSEWHERE)) or (
            isinstance(answer, RedisError) and not isinstance(answer, ResponseError)
        ):
            raise answer
        if isinstance(answer, ResponseError):
            refused.setdefault(index, f"the server refuses it: {answer}")


def _text(answer: object) -> str:
    return answer.decode() if isinstance(answer, bytes) else str(answer)
