"""Sinks that write keys, documents, messages: the author writes a connection, the rest is here.

    class MySink(WriteSink):
        def addressing(self, config): ...   # which templates, which form of values
        def connect(self, config, context): ...   # a Connection
        def look(self, config): ...   # what is wrong with a configuration

A record becomes operations (put, delete, append) where it is; the task writes them in their order.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import MappingProxyType
from typing import ClassVar, TypeVar

from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, Receipt, RecordSink, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.targets.commits import is_written
from rocketconnect_sdk.writes.connection import Connection, TransactionalConnection
from rocketconnect_sdk.writes.notes import PLAN, Owner, claim, is_claimed, names_of, read_notes, written
from rocketconnect_sdk.writes.operations import Addressing, Form, Op, Operation, field_texts, read_operations, schemas_of
from rocketconnect_sdk.writes.templates import FORM, TEMPLATE_FIX, Template, as_text, template_problem

__all__ = [
    "DELETE_ENABLED",
    "FLUSHES",
    "FORM",
    "TEMPLATE_FIX",
    "Addressing",
    "Connection",
    "Form",
    "Op",
    "Operation",
    "Template",
    "TransactionalConnection",
    "WriteSink",
    "WriteTask",
    "as_text",
    "field_texts",
    "template_problem",
]

DELETE_ENABLED = Option(
    "delete.enabled",
    "A record without a value deletes what its key names. Otherwise it is a bad record. The deletions of change envelopes are made "
    "by the same option.",
    Kind.BOOL,
    "false",
)
FLUSHES = (FLUSH_ROWS, FLUSH_BYTES, flush_interval("0s", "Without it what there is is written at once."))
"""When batches are closed."""
_TRIES = 5
T = TypeVar("T")


class WriteSink(NeedsPackages, RecordSink):
    """A sink that writes keys, documents or messages over a connection.

    Its guarantee is EXACTLY_ONCE where `connect` gives a TransactionalConnection, IDEMPOTENT where all records have keys, and
    AT_LEAST_ONCE where some are appended. `check` asks for the packages that it needs before it calls `look`.

    Class attributes:
        request_rows: So many operations go into one write at most, fewer where Connection.fits says so. A transaction has all of
            a batch.
    """

    options: ClassVar[Sequence[Option]] = FLUSHES
    defaults: ClassVar[Mapping[str, str]] = MappingProxyType({"engine": "native"})
    request_rows: ClassVar[int] = 1_000
    wants_headers = True

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        if missing := self.lacks:
            yield Problem("connector.class", self.name, missing, f"{self.packages_fix}.")
        else:
            yield from self.look(config)

    def look(self, config: Config) -> Iterable[Problem]:
        """What is wrong beyond single options, where its packages are there. See Sink.check."""
        del config
        return ()

    @abstractmethod
    def addressing(self, config: Config) -> Addressing:
        """How records become operations."""

    @abstractmethod
    def connect(self, config: Config, context: TaskContext) -> Connection:
        """Makes a connection, which may connect when it is first used. Always of the same kind for one configuration."""

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "WriteTask":
        """See RecordSink."""
        del task
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        return WriteTask(
            lambda: self.connect(config, context),
            self.addressing(config),
            Owner(context.generation, context.task, context.epoch),
            self.flush_policy(config),
            self.request_rows,
        )


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
        self._notes = {name: texts[name] for name in (PLAN, self._owner.name)}
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
            self._refused |= {numbers[begin + index]: why for index, why in connection.write(some).items()}
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
