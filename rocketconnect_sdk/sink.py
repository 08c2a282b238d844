"""The sink side of the connector API.

A sink is an ArrowSink (writes tables of Arrow in the executor), a DataFrameSink (writes a Spark DataFrame with Spark), a RecordSink
(a small picklable writer that runs in Spark's partitions, or in the executor with engine=native), or a BufferedSink (takes records
now, says later what is durable). All but the last are given batches of explicit queue ranges: when write() or commit() returns, the
batch is durable (invariant 2).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.record import Offset, SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.source import Plan
from rocketconnect_sdk.targets.owned import Target
from rocketconnect_sdk.verification import SinkTables


class Guarantee(Enum):
    """The delivery that a sink gives; the conformance suite holds it to that."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    IDEMPOTENT = "IDEMPOTENT"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"


@dataclass(frozen=True, slots=True)
class SourceMark:
    """The highest place of a source partition that was seen in a queue. What is not above it is a double and is dropped."""

    epoch: int
    incarnation: int
    offset: Offset


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a sink is in one queue.

    Attributes:
        until: The offset of the next message to read.
        incarnation: Raised by a deliberate reset; a position with a higher one wins over one stored with the data.
        marks: By "connector uid/source partition id": the highest place seen.
        stored_ms: When the broker stored the message before `until`, milliseconds since 1970; 0: not known. Tells a message
            from another one that got its offset later.
        era: How often it was accepted that the queue holds other messages than before: then offsets begin again below `until`.
    """

    until: int
    incarnation: int = 0
    marks: Mapping[str, SourceMark] = field(default_factory=dict)
    stored_ms: int = 0
    era: int = 0

    @property
    def place(self) -> tuple[int, int, int]:
        """Positions of one queue in their order: what is lower was before."""
        return self.incarnation, self.era, self.until

    def to_json(self) -> dict[str, Any]:
        """As a sink can store it: whole, of what JSON knows."""
        marks = {key: [mark.epoch, mark.incarnation, list(mark.offset)] for key, mark in self.marks.items()}
        return {"until": self.until, "incarnation": self.incarnation, "marks": marks, "stored_ms": self.stored_ms, "era": self.era}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> "QueuePosition":
        """From what `to_json` gave.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is none.
        """
        marks = {key: SourceMark(epoch, incarnation, tuple(offset)) for key, (epoch, incarnation, offset) in form["marks"].items()}
        return cls(form["until"], form["incarnation"], marks, form.get("stored_ms", 0), form.get("era", 0))  # these two came later


@dataclass(frozen=True, slots=True)
class SinkCommit:
    """What a batch is made of, and where the sink is when it is durable.

    Attributes:
        connector_uid: The connector.
        task: The task.
        epoch: The epoch of the owner: a target that has stored a higher one must refuse the batch.
        before: By queue "topic/broker/queue": the stored position that this batch continues (compare-and-set on until).
        after: By queue: the position when the batch is durable. Queues without messages in the batch are not in either.
        rows: How many records are in the batch.
        token: The same for the same ranges of the same connector: for targets that take an idempotency token.
    """

    connector_uid: str
    task: int
    epoch: int
    before: Mapping[str, QueuePosition]
    after: Mapping[str, QueuePosition]
    rows: int
    token: str


@dataclass(frozen=True, slots=True)
class FlushPolicy:
    """When a batch is closed: whichever comes first. A pause, a stop and a drain close it too.

    Attributes:
        rows: So many records; 0: no limit of its own.
        bytes: So many bytes of values; 0: no limit of its own.
        interval: Seconds since its first record; 0: as soon as there is anything.
    """

    rows: int = 0
    bytes: int = 0
    interval: float = 0.0


class Sink(ABC):
    """A kind of sink; stateless. See Source for the class attributes; what is said there of every source holds for every sink."""

    name: ClassVar[str]
    aliases: ClassVar[Sequence[str]] = ()
    options: ClassVar[Sequence[Option]] = ()
    defaults: ClassVar[Mapping[str, str]] = {}
    guarantee: ClassVar[Guarantee] = Guarantee.AT_LEAST_ONCE
    foreign: ClassVar[bool] = False
    open_ended: ClassVar[bool] = False

    def check(self, config: Config) -> Iterable[Problem]:
        """What is wrong beyond single options. See Source.check."""
        del config
        return ()

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """How many tasks. The runtime deals the queues of the topics out among them: task i of n takes every n-th queue."""
        del config
        return Plan([{} for _ in range(max_tasks)])

    def targets(self, config: Config) -> Iterable[Target]:
        """What this connector writes and no other one may: a connector that names what another one has is refused.

        By default nothing: several may write there, as each stores with its data which part of it is its own, or stores nothing.
        Called where `check` is, also of a configuration in which something else is wrong; changes nothing.
        """
        del config
        return ()

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """What is wrong without transforms and where the converter reads no rows (Converter.reads_rows). By default nothing."""
        del config
        return ()

    def takes_rows(self, config: Config) -> bool:
        """Whether it writes rows, whose types its option `columns` may say: a check then looks at its topics. By default not."""
        del config
        return False

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """What is wrong with such rows, by topic: the newest with types, where no transform changes them. By default nothing."""
        del config, rows
        return ()

    def flush_policy(self, config: Config) -> FlushPolicy:
        """When its tasks close batches, for people who make a connector of it. By default nothing is told."""
        del config
        return FlushPolicy()

    def takes_column(self, schema: Schema) -> bool:
        """Whether its option `columns` may name this type: a check then proposes it. By default any."""
        del schema
        return True

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes what the connector leaves behind in the other system, and never what it has written. See Source.deleted."""
        del config, connector_uid

    def tables(self, config: Config) -> SinkTables | None:
        """The tables that it writes. See Source.tables."""
        del config
        return None


class SinkTask(ABC):
    """What all forms have. All methods are called by one thread."""

    @property
    def flush(self) -> FlushPolicy:
        """When batches are closed; fixed for the life of the task."""
        return FlushPolicy()

    @abstractmethod
    def start(self) -> Mapping[str, QueuePosition]:
        """Opens the target, finishes or undoes what an earlier owner left half done, and claims the target for its epoch.

        Returns the positions that are stored with the data, by queue (empty when the target can't store any); they win over
        those of the position service, unless their incarnation is lower.

        Raises:
            SystemAway, RetriableError: called again after a backoff.
            PermanentError: the task is FAILED.
        """

    def move(self, commit: SinkCommit) -> None:
        """Stores commit.after with the target though there is nothing to write: all in the ranges is there already or is left out.

        What a task has not stored is read again after a restart, as the positions of start() win: so whoever stores positions does
        it here too. By default nothing.

        Raises: as RecordSinkTask.commit.
        """
        del commit

    @abstractmethod
    def close(self) -> None:
        """Gives back what is held. May be called more than once, also after an error, also without start."""


Receipt = Any
"""What a writer gives back for what it has staged: anything small that can be pickled."""


class SinkWriter(ABC):
    """Stages records; is pickled and sent to where the records are. Several may run at once, for different parts of a batch."""

    @abstractmethod
    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """Writes the records so that nobody sees them yet (or, for AT_LEAST_ONCE and IDEMPOTENT sinks, writes them).

        May make and change tables. It is called under the task's lease, and its process is ended if it goes on a second beyond it.

        Args:
            batch: The records, of one queue.
            part: Unique within the target for this part of this attempt: a name for staged files.

        Raises:
            RecordRefused: some records can't be written; the others were.
        """


class RecordSink(Sink):
    """A sink that writes records, in two phases: writers stage, the task commits.

    With whole_messages headers are the properties of messages as they are, and there are no keys; natively, without transforms.
    """

    wants_headers: ClassVar[bool] = False
    whole_messages: ClassVar[bool] = False

    @abstractmethod
    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "RecordSinkTask":
        """Makes the task. Must not block for long."""


class RecordSinkTask(SinkTask):
    """Commits what its writers staged."""

    @abstractmethod
    def writer(self) -> SinkWriter:
        """A writer for this epoch, picklable."""

    @abstractmethod
    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """Makes what was staged visible and durable, in the order of the receipts, and stores commit.after with it where it can.

        Without receipts it stores commit.after alone (see move). Raises as ArrowSinkTask.write, and RecordRefused: the target
        refuses some; indexes go through all that was staged. Its receipt: the receipts that are left, with which it is called then.
        """

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask: a commit of nothing."""
        self.commit((), commit)

    def abort(self, receipts: Sequence[Receipt]) -> None:
        """The batch will not be committed: removes what was staged. Called at most once for a batch."""
        del receipts


class BufferedSink(Sink):
    """A sink that takes records now, and makes them durable later, in its own time: large files, uploads, clients with buffers.

    Runs natively alone. After a crash all that was put and not durable is put again, so the guarantee is AT_LEAST_ONCE, or
    IDEMPOTENT where the target takes the same record twice as one. EXACTLY_ONCE only where the task stores the positions with the
    data, in one transaction, and gives them in start().
    """

    guarantee: ClassVar[Guarantee] = Guarantee.AT_LEAST_ONCE
    wants_headers: ClassVar[bool] = False

    @abstractmethod
    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "BufferedSinkTask":
        """Makes the task. Must not block for long."""


class BufferedSinkTask(SinkTask):
    """Takes records, and says what is durable of them.

    What start() finds put and not durable, by an earlier call or owner, it drops: it is put again. The limits of `flush` are of
    what is put and not durable: when one is reached, all is made durable. Without one of bytes it is buffer.bytes and one batch.
    """

    @abstractmethod
    def put(self, batch: SinkBatch) -> None:
        """Takes records of one queue, behind those that it took of the queue before.

        Without records and queue, about each second in which there are none, also while the task is paused: for what goes by time.

        Raises:
            RecordRefused: some records can't be written; the others were taken. Its receipt is not looked at.
            SystemAway, RetriableError: nothing of the batch was taken; called again with it. All that was put before is held.
            PermanentError: the task is FAILED.
        """

    @abstractmethod
    def durable(self, flush: bool) -> Mapping[str, int]:
        """Up to where all that was put is durable: by queue the offset behind it. Of queues that are left out it is as before.

        It is asked about each second. A position moves to the end of the last batch that is durable as a whole, and no further.

        Args:
            flush: Makes all that was put durable, as far as the task can: at a limit, a pause, a stop, a failure, and when other
                queues are to be read. It may give less; while a limit is reached nothing more is put, and it is asked again.

        Raises: as put. An offset behind what was put is a defect.
        """
