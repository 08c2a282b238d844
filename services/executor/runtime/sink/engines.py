"""How a sink task writes a batch: natively, or with Spark."""

from collections.abc import Callable, Sequence
from typing import Protocol

from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.stages import Stage
from services.executor.runtime.errors.failure import Failure, as_bytes
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part

Ready = Callable[[Sequence[BadRecord]], None]
"""Called with the records of the batch that the sink is known to refuse, immediately before the target is changed: raises when it
must not be (invariants 3 and 5). One call before each step: a writer may change the target when it stages, as sinks that are not
EXACTLY_ONCE write there, and others make tables."""


class Engine(Protocol):
    """Writes batches of one sink task, all in one thread."""

    wanted: DecodeSettings
    gather_seconds: float
    """How long a batch is worth waiting for while there is more to read: see Batcher."""

    def finish(self, part: Part) -> None:
        """Prepares a part; called in the reader's thread while another batch is written."""

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Writes a batch; of one without records, its positions. Durable when it returns (invariant 2).

        Args:
            parts: Of one schema.
            commit: What the sink stores with the data.
            ready: See Ready.

        Returns: the records that the sink refused.

        Raises:
            SystemAway, RetriableError: call it again with the same batch.
        """

    def give_up(self) -> None:
        """The batch that failed last will not be written."""


class NativeEngine:
    """A record sink in this process."""

    gather_seconds = 0.0

    def __init__(self, task: RecordSinkTask, name: str, *, headers: bool, whole: bool = False) -> None:
        self.wanted = DecodeSettings(keys=not whole, headers=headers, whole=whole)
        self._task = task
        self._name = name
        self._writer: SinkWriter | None = None
        self._staged: dict[str, tuple[Receipt, list[BadRecord]]] = {}
        self._commits = Commits(task)

    def finish(self, part: Part) -> None:
        """Nothing to prepare."""

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Stages queue by queue, then commits; what is staged stays so when it is called again."""
        if not commit.rows:
            ready(())
            self._task.move(commit)
            return ()
        if self._writer is None:
            self._writer = self._task.writer()
        batches = by_queue(parts)
        if len(self._staged) < len(batches):
            ready(())
        for batch in batches:
            if batch.queue not in self._staged:
                self._staged[batch.queue] = stage(self._writer, batch, f"{self._name}-{commit.token[:16]}-{len(self._staged)}")
        refused = [bad for _, some in self._staged.values() for bad in some]
        refused = self._commits.run(batches, [receipt for receipt, _ in self._staged.values()], refused, commit, ready)
        self._staged = {}
        return refused

    def give_up(self) -> None:
        """Removes what is staged."""
        self._commits.forget()
        if self._staged:
            receipts = [receipt for receipt, _ in self._staged.values()]
            self._staged = {}
            self._task.abort(receipts)


class Commits:
    """Commits what was staged. What the target refuses only then goes by the error policy, and the others are committed."""

    def __init__(self, task: RecordSinkTask) -> None:
        self._task = task
        self._left: Sequence[Receipt] | None = None
        self._late: list[BadRecord] = []

    def run(
        self, batches: Sequence[SinkBatch], receipts: Sequence[Receipt], refused: list[BadRecord], commit: SinkCommit, ready: Ready
    ) -> list[BadRecord]:
        """Commits; goes on where it was when it is called again with the same batch.

        Args:
            batches: All that was staged, in the order of the receipts.
            receipts: What the writers gave for them.
            refused: What the writers refused.
            commit: See RecordSinkTask.
            ready: See Ready.

        Returns: all that were refused.
        """
        while True:
            ready([*refused, *self._late])
            try:
                self._task.commit(receipts if self._left is None else self._left, commit)
            except RecordRefused as refusal:
                self._late += _refused_of(refusal, batches, self._task)
                self._left = refusal.receipt  # type: ignore[assignment]  # receipts, by RecordSinkTask.commit
                continue
            refused = [*refused, *self._late]
            self.forget()
            return refused

    def forget(self) -> None:
        """The batch is committed, or will not be."""
        self._left, self._late = None, []


def _refused_of(refusal: RecordRefused, batches: Sequence[SinkBatch], by: object) -> list[BadRecord]:
    """The records of several batches that a sink has refused, by their numbers over all of them."""
    found: list[BadRecord] = []
    begin = 0
    for batch in batches:
        mine = {index - begin: why for index, why in refusal.refused.items() if begin <= index < begin + len(batch)}
        found += refused_records(RecordRefused(mine, None), batch, by) if mine else []
        begin += len(batch)
    return found


def stage(writer: SinkWriter, batch: SinkBatch, part: str) -> tuple[Receipt, list[BadRecord]]:
    """Stages a batch; returns its receipt and the records that the writer refused."""
    try:
        return writer.stage(batch, part), []
    except RecordRefused as refusal:
        return refusal.receipt, refused_records(refusal, batch, writer)


def refused_records(refusal: RecordRefused, batch: SinkBatch, by: object) -> list[BadRecord]:
    """The records of a batch that a sink has refused, each with its own reason, in their order; `by`: what refused them."""
    bad = []
    for index, reason in sorted(refusal.refused.items()):
        error = RecordRefused({index: reason}, None).with_traceback(refusal.__traceback__)
        failure = Failure.of_value(Stage.WRITE, error, as_bytes(batch.values[index]), by)
        row = None if batch.rows is None else batch.rows[index]
        bad.append(BadRecord(batch.queue, batch.offsets[index], failure, row=row))
    return bad


def by_queue(parts: Sequence[Part]) -> list[SinkBatch]:
    """One batch for each queue, in the order of the parts."""
    held: dict[str, list[SinkBatch]] = {}
    for part in parts:
        if len(part.records):
            held.setdefault(part.queue, []).append(part.records)
    return [SinkBatch.concat(batches) for batches in held.values()]
