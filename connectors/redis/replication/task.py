"""The task: what the server holds, then its commands."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.redis.replication.commands import Command, Commands, NoCommand, State
from connectors.redis.replication.link import Answer, History, Link
from connectors.redis.replication.received import Spool, Transfer
from connectors.redis.replication.records import PARTITION, Records, place
from connectors.redis.replication.snapshot import Held, Snapshot
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions.options import skips_gaps
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.source import SourceTask

READING, FOLLOWING = 1, 2
"""A position is (run, run, 1, keys of its snapshot) or (run, run, 2, place in the stream of commands)."""
_ALIVE_SECONDS = 1.0
_SILENT_SECONDS = 60.0
"""A server that has sent nothing for so long is away: each 10 s it sends a PING."""
_FIRST_SECONDS = 0.05
_WAIT_SECONDS = 0.05
_BEGIN_SECONDS = 2.0
"""A start waits no longer for a snapshot."""
_AT_ONCE = 256 * 1024
_PUMP_SECONDS = 0.05
_LARGEST = 8
"""A key or a command is not read that takes so many times the largest record."""
_TRANSACTION_BYTES = 16 << 20
"""A transaction that takes more is given in pieces."""


@dataclass(frozen=True, slots=True)
class _Stream:
    """The history that is followed.

    Attributes:
        run: What tells its offsets from those of other histories.
        identity: As the server calls it.
        successor: As a server calls its own that has taken over, where that is not told from it yet; empty: none has.
    """

    run: tuple[int, int]
    identity: str
    successor: str = ""


class ReplicationTask(SourceTask):
    """Reads a server as its replicas do.

    A snapshot can't be read again: another one has other keys. So each is a run of its own, told from all others by the epoch of
    the task and a clock that goes on when the task begins anew. Commands can be, as long as the server keeps them: their offsets
    are their places in its history.

    Args:
        config: Of the source.
        context: Of the task.
    """

    remaining_unit = "bytes"

    def __init__(self, config: Config, context: TaskContext) -> None:
        self._config = config
        self._context = context
        self._place: str = config["url"]
        self._mode: str = config["snapshot.mode"]
        most = _LARGEST * context.max_record_bytes
        databases = [int(each) for each in config["databases"]]
        self._records = Records(config["encoding"], databases, [each.upper() for each in config["commands"]], most)
        self._most = most
        self._link: Link | None = None
        self._transfer: Transfer | None = None
        self._keys: Iterator[Held] | None = None
        self._snapshot: Snapshot | None = None
        self._spool = Spool()
        self._given: Offset = ()
        self._stored: Offset = ()
        self._held: Offset = ()
        self._pending: list[Command] = []
        self._pending_size = 0
        self._last_run = (0, 0)
        self._has_heard = False
        self._acknowledged_at = self._beat = self._heard_at = 0.0
        self._done = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self._done = False
        self._pending, self._pending_size = [], 0
        self._has_heard = False
        at = positions.get(PARTITION, Position(()))
        self._given = self._stored = at.offset
        self._held = ()
        if self._mode == "only" and at.offset[2:3] == (FOLLOWING,):
            self._done = True
            return
        self._link = link = Link(self._config)
        history = link.open()
        identity = at.resume.get("id") if at.offset[2:3] == (FOLLOWING,) else None
        if isinstance(identity, str):
            answer = link.follow(identity, at.offset[3])
            if answer.is_full:
                self._pass_gap(at, history)
        else:
            answer = link.follow("", 0)
        self._target, self._heard_at = history.end, time.monotonic()
        if answer.is_full:
            self._begin(answer)
            end = time.monotonic() + _BEGIN_SECONDS
            while self._keys is None and time.monotonic() < end:
                self._pump(_WAIT_SECONDS)
        else:
            self._go_on(at, answer, history, str(identity))

    def poll(self) -> Polled:
        """See SourceTask."""
        if self._done:
            return None
        self._pump(_WAIT_SECONDS)
        if self._stored < self._held:
            # What is given under it must never be given again under another one.
            return None
        batches = self._read()
        if batches:
            self._given = batches[-1].end or batches[-1].offsets[-1]
        elif self._link is None and not self._done and not self._spool.left:
            msg = f"{self._place}: the link to the server is lost"
            raise SystemAway(msg)
        return batches or None

    @property
    def idle_seconds(self) -> float:
        """Reading itself waits for commands. See SourceTask."""
        return 0.01

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return self._done or (self._follows and self._commands.state.offset >= self._target)

    @property
    def finished(self) -> bool:
        """See SourceTask."""
        return self._done

    @property
    def keep_alive_seconds(self) -> float:
        """See SourceTask."""
        return _ALIVE_SECONDS

    def keep_alive(self) -> None:
        """Takes what comes, so that the server need not keep it, and tells that somebody is there. See SourceTask."""
        if not self._done:
            self._pump(0.0)

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        if PARTITION in positions:
            self._stored = max(self._stored, positions[PARTITION].offset)

    def remaining(self) -> int | None:
        """What has come and was not read; of a snapshot that is on its way nobody knows how much there is. See SourceTask."""
        if self._transfer is not None:
            left = self._transfer.size - self._transfer.file.tell() if self._keys is not None else None
            return None if left is None else max(0, left) + self._spool.left
        return self._spool.left

    def close(self) -> None:
        """See SourceTask."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        self._end_transfer()
        self._spool.close()

    @property
    def _follows(self) -> bool:
        return self._transfer is None and not self._done

    def _pass_gap(self, at: Position, history: History) -> None:
        """What stood behind a place is gone.

        Raises:
            PermanentError: nothing says that it may be.
        """
        told = (
            f"{self._place}: the server no longer has the commands behind {at.offset[3]:,}, or was started anew, or another one "
            f"without them has taken its place (its history has {history.end:,} bytes)"
        )
        if not skips_gaps(self._config):
            what = "go on behind them" if self._mode == "never" else "read all that it holds anew"
            msg = f"{told}. Set on.gap=skip to {what}, and have the server keep more of them (repl-backlog-size)"
            raise PermanentError(msg)
        accepted = "they are lost" if self._mode == "never" else "all that it holds is read anew"
        self._context.log.warning("%s; %s, as on.gap=skip says", told, accepted)

    def _begin(self, answer: Answer) -> None:
        """A snapshot comes, and then the commands behind it."""
        self._stream = _Stream(self._next_run(), answer.identity)
        self._commands = Commands(State(answer.offset, 0), self._most)
        self._transfer = Transfer()
        self._number = 0
        self._context.log.info("the server sends what it holds, at %s of its history", answer.offset)

    def _go_on(self, at: Position, answer: Answer, history: History, identity: str) -> None:
        """The commands behind a position come."""
        *run, _, offset = at.offset
        database, transaction, number = (_number(at.resume.get(name)) for name in ("db", "multi", "number"))
        self._commands = Commands(State(offset, database, transaction, number), self._most)
        self._stream = _Stream((run[0], run[1]), identity)
        if answer.identity != identity:
            # Behind that place the former server had other commands, some of which may have been given.
            self._commands.until = max(offset, history.shared)
            self._stream = replace(self._stream, successor=answer.identity)
            told = "another server has taken over, which has the history up to %s: what the former one had behind it is lost there"
            self._context.log.warning(told, self._commands.until)

    def _next_run(self) -> tuple[int, int]:
        """Above all that this task, and others of the connector before it, have had."""
        self._last_run = max((self._context.epoch, time.monotonic_ns() // 1000), (self._last_run[0], self._last_run[1] + 1))
        return self._last_run

    def _pump(self, wait: float) -> None:
        """Takes what has come over the link. One that is lost is no matter as long as there is something to read."""
        if self._link is None:
            return
        waits = wait if self._keys is None and not self._spool.left else 0.0
        end = time.monotonic() + _PUMP_SECONDS
        try:
            while self._has_room and (data := self._link.receive(waits)):
                self._take(data)
                self._heard_at, waits = time.monotonic(), 0.0
                if time.monotonic() > end:
                    break
            self._check_silence()
            self._acknowledge(self._link)
        except SystemAway:
            if self._transfer is not None and not self._transfer.is_whole:
                raise
            self._link.close()
            self._link = None

    def _check_silence(self) -> None:
        """Raises SystemAway: the server has sent nothing for too long."""
        if self._has_room and time.monotonic() - self._heard_at > _SILENT_SECONDS:
            msg = f"{self._place}: the server has sent nothing for {_SILENT_SECONDS:.0f} s"
            raise SystemAway(msg)

    @property
    def _has_room(self) -> bool:
        return self._spool.left < int(self._config["spool.bytes"])

    def _take(self, data: bytes) -> None:
        transfer = self._transfer
        if transfer is None or self._keys is not None:
            self._has_heard = True
            self._spool.feed(data)
            return
        try:
            self._spool.feed(transfer.feed(data))
        except ValueError as error:
            msg = f"{self._place}: {error}"
            raise RetriableError(msg) from error
        if transfer.is_whole:
            self._snapshot = Snapshot(transfer.file, self._most)
            self._keys = self._snapshot.keys()

    def _acknowledge(self, link: Link) -> None:
        """Tells the server what is stored; where nothing else was given, all that was read."""
        if self._transfer is not None and not self._transfer.is_whole:
            return
        # Before the first command the server may wait for somebody who tells that the snapshot has come.
        if time.monotonic() - self._acknowledged_at < (_ALIVE_SECONDS if self._has_heard else _FIRST_SECONDS):
            return
        self._acknowledged_at = time.monotonic()
        if self._transfer is not None or (self._stored >= self._given and not self._pending):
            link.acknowledge(self._commands.state.offset)
        elif self._stored[:3] == (*self._stream.run, FOLLOWING):
            link.acknowledge(self._stored[3])
        else:
            link.acknowledge(0)

    def _read(self) -> list[SourceBatch]:
        if self._keys is not None:
            return self._read_keys(self._keys)
        return [] if self._transfer is not None else self._read_commands()

    def _read_keys(self, keys: Iterator[Held]) -> list[SourceBatch]:
        """The next keys of the snapshot; behind its last one, where the commands begin."""
        found: list[Held] = []
        if self._mode == "never":
            # What is said of the stream stands before the first key.
            next(keys, None)
            return [self._end_snapshot()]
        size = 0
        for count, held in enumerate(keys, 1):
            if self._records.wants_key(held):
                found.append(held)
            size += held.size
            if count >= self._context.batch_records or size >= self._context.batch_bytes:
                return self._batch_of_keys(found)
        return [*self._batch_of_keys(found), self._end_snapshot()]

    def _batch_of_keys(self, keys: Sequence[Held]) -> list[SourceBatch]:
        if not keys:
            return []
        batch = self._records.of_keys(self._stream.run, self._number, keys)
        self._number += len(keys)
        return [batch]

    def _end_snapshot(self) -> SourceBatch:
        if self._snapshot is not None:
            self._commands.state.database = self._snapshot.stream_database
        self._end_transfer()
        if self._mode == "only":
            self._done = True
            self.close()
        return self._moved()

    def _end_transfer(self) -> None:
        transfer, self._transfer = self._transfer, None
        self._keys = self._snapshot = None
        if transfer is not None:
            transfer.close()

    def _moved(self) -> SourceBatch:
        """The position behind the last command."""
        end = place(self._stream.run, self._commands.state.offset)
        return SourceBatch(PARTITION, [], [], end=end, resume=self._resume())

    def _resume(self) -> Mapping[str, JSON]:
        state = self._commands.state
        within = {"multi": state.transaction, "number": state.number} if state.transaction else {}
        return {"id": self._stream.identity, "db": state.database, **within}

    def _read_commands(self) -> list[SourceBatch]:
        """The next commands, up to where no transaction is open; and where the history of another server begins."""
        commands, context = self._commands, self._context
        try:
            while True:
                for command in commands.read():
                    if self._records.wants(command):
                        self._pending.append(command)
                        self._pending_size += command.size
                    if commands.state.transaction:
                        is_enough = self._pending_size >= _TRANSACTION_BYTES
                    else:
                        is_enough = len(self._pending) >= context.batch_records or self._pending_size >= context.batch_bytes
                    if is_enough:
                        return self._batch_of_commands()
                if commands.state.offset >= commands.until:
                    return [*self._batch_of_commands(), self._succeed()]
                if not (data := self._spool.take(_AT_ONCE)):
                    break
                commands.feed(data)
        except NoCommand as error:
            msg = f"{self._place}: {error}, which is no command"
            raise RetriableError(msg) from error
        if commands.state.transaction:
            return []
        return self._batch_of_commands() or self._beaten()

    def _batch_of_commands(self) -> list[SourceBatch]:
        found, self._pending, self._pending_size = self._pending, [], 0
        if not found:
            return []
        batch = self._records.of_commands(self._stream.run, found)
        moved = self._moved()
        batch.end, batch.resume = moved.end, moved.resume
        self._beat = time.monotonic()
        return [batch]

    def _beaten(self) -> list[SourceBatch]:
        """Now and then how far was read where there was nothing to give."""
        if self._moved().end <= self._given or time.monotonic() - self._beat < self._config["heartbeat.interval"]:
            return []
        self._beat = time.monotonic()
        return [self._moved()]

    def _succeed(self) -> SourceBatch:
        """Goes over to the history of the server that has taken over, when that is stored."""
        self._stream = _Stream(self._next_run(), self._stream.successor)
        self._commands.until = sys.maxsize
        moved = self._moved()
        self._held = moved.end
        return moved


def _number(value: JSON) -> int:
    return value if isinstance(value, int) else 0
