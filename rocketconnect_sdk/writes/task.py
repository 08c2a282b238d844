"""The task: it writes operations, and the positions with them where the target can."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

from rocketconnect_sdk.errors import PermanentError, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.targets.commits import is_written
from rocketconnect_sdk.targets.owners import Owner
from rocketconnect_sdk.writes.connection import Connection, TransactionalConnection
from rocketconnect_sdk.writes.notes import PLAN, claim, is_claimed, names_of, note_of, read_notes, written
from rocketconnect_sdk.writes.operations import Addressing, Operation, read_operations, schemas_of

_TRIES = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Staged:
    """The operations of a batch of so many records, and the schemas by target that are wanted."""

    records: int
    operations: Sequence[Operation]
    schemas: Mapping[str, Schema] = field(default_factory=dict)


class OperationWriter(SinkWriter):
    """Makes operations, wherever the records are; the task makes the changes."""

    def __init__(self, addressing: Addressing) -> None:
        self._addressing = addressing

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """See SinkWriter."""
        del part
        operations, refused = read_operations(batch, self._addressing)
        schemas = schemas_of(batch, operations) if self._addressing.schemas else {}
        staged = _Staged(len(batch), operations, schemas)
        if refused:
            raise RecordRefused(refused, staged)
        return staged


class WriteTask(RecordSinkTask):
    """Writes operations, and the positions with them where the target can.

    Args:
        connect: Makes a connection.
        addressing: How records become operations.
        owner: Who writes.
        flush: When batches are closed.
        request_rows: See WriteSink.
    """

    def __init__(
        self, connect: Callable[[], Connection], addressing: Addressing, owner: Owner, flush: FlushPolicy, request_rows: int
    ) -> None:
        self._connect = connect
        self._addressing = addressing
        self._owner = owner
        self._flush = flush
        self._request_rows = request_rows
        self._connection: Connection | None = None
        self._notes: dict[str, str] = {}
        self._positions: dict[str, QueuePosition] = {}
        self._done = ("", 0)
        """Of the batch that was tried last its token, and how many of its operations are made."""
        self._refused: dict[int, str] = {}

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        self.close()
        self._done, self._refused = ("", 0), {}
        return self._with(self._started)

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return OperationWriter(self._addressing)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        if isinstance(self._opened(), TransactionalConnection):
            self._with(lambda connection: self._transact(connection, receipts, commit))
        else:
            self._with(lambda connection: self._write(connection, receipts, commit))

    def close(self) -> None:
        """See SinkTask."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _opened(self) -> Connection:
        self._connection = self._connection or self._connect()
        return self._connection

    def _with(self, call: Callable[[Connection], T]) -> T:
        try:
            return call(self._opened())
        except SystemAway:
            self.close()
            raise

    def _started(self, connection: Connection) -> Mapping[str, QueuePosition]:
        connection.ping()
        if not isinstance(connection, TransactionalConnection):
            return {}
        for _ in range(_TRIES):
            names = names_of(connection.notes([PLAN]).get(PLAN), self._owner)
            held = read_notes(connection.notes(names), self._owner)
            made = claim(names, held, self._owner)
            if connection.transact((), {name: held.texts.get(name) for name in names}, made):
                self._keep({**held.texts, **made}, held.positions)
                return dict(held.positions)
        msg = "other tasks of this connector claim their parts all the time"
        raise RetriableError(msg)

    def _keep(self, texts: Mapping[str, str], positions: Mapping[str, QueuePosition]) -> None:
        self._notes = {name: texts[name] for name in (PLAN, note_of(self._owner.task))}
        self._positions = dict(positions)

    def _transact(self, connection: Connection, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        assert isinstance(connection, TransactionalConnection)  # noqa: S101 - see commit
        numbers, operations = _flat(receipts)
        for _ in range(_TRIES):
            if is_written(self._positions, commit):
                return
            positions = {**self._positions, **commit.after}
            made = written(positions, self._owner)
            try:
                done = connection.transact(operations, self._notes, made)
            except RecordRefused as error:
                refused = {numbers[operation]: why for operation, why in error.refused.items()}
                raise RecordRefused(refused, _without(receipts, refused)) from None
            if done:
                self._keep({**self._notes, **made}, positions)
                return
            self._look_again(connection)
        msg = "somebody else changes the target all the time"
        raise RetriableError(msg)

    def _look_again(self, connection: TransactionalConnection) -> None:
        """A note was not as expected: another task of this plan has begun, or an answer was lost, or this owner is replaced."""
        names = names_of(connection.notes([PLAN]).get(PLAN), self._owner)
        held = read_notes(connection.notes(names), self._owner)
        if PLAN not in held.texts:
            fix = "Restart the connector to go on behind what it has read, or reset its position first to write all again"
            msg = f"the target has nothing of this connector any more, as if it had been emptied. {fix}"
            raise PermanentError(msg)
        behind = [queue for queue, position in self._positions.items() if _is_before(held.positions.get(queue), position)]
        if behind or not is_claimed(held.texts, self._owner):
            which = f" of {', '.join(sorted(behind))}" if behind else ""
            msg = f"what was written{which} is not there any more: the target has lost its newest data"
            msg = f"{msg}. Restart the connector: it reads again what is lost"
            raise PermanentError(msg)
        self._keep(held.texts, held.positions)

    def _write(self, connection: Connection, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        numbers, operations = _flat(receipts)
        if self._done[0] != commit.token:
            self._done, self._refused = (commit.token, 0), {}
        if schemas := {target: schema for staged in receipts for target, schema in staged.schemas.items()}:
            connection.prepare(schemas)
        begin = self._done[1]
        while begin < len(operations):
            some = operations[begin : begin + self._request_rows]
            some = some[: max(1, connection.fits(some))]
            for index, why in connection.write(some).items():
                number = numbers[begin + index]
                # Of a record several operations may be refused.
                self._refused[number] = f"{self._refused[number]}; {why}" if number in self._refused else why
            # When it is tried again, it goes on here: what is appended is not appended again.
            begin += len(some)
            self._done = (commit.token, begin)
        if self._refused:
            refused, self._refused = self._refused, {}
            raise RecordRefused(refused, ())


def _is_before(there: QueuePosition | None, known: QueuePosition) -> bool:
    return there is None or there.place < known.place


def _flat(receipts: Sequence[Receipt]) -> tuple[list[int], list[Operation]]:
    """The operations, and of each the number of its record among all that were staged."""
    numbers: list[int] = []
    operations: list[Operation] = []
    before = 0
    for staged in receipts:
        numbers += [before + operation.record for operation in staged.operations]
        operations += staged.operations
        before += staged.records
    return numbers, operations


def _without(receipts: Sequence[Receipt], refused: Mapping[int, str]) -> list[Receipt]:
    """The same without the operations of some records."""
    begins = accumulate((staged.records for staged in receipts), initial=0)
    return [
        replace(staged, operations=[each for each in staged.operations if begin + each.record not in refused])
        for begin, staged in zip(begins, receipts, strict=False)
    ]
