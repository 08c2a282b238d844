"""Connectors for tests of the runtime: real ones, small, with faults on order."""

import hashlib
import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from rocketconnect_sdk.columns.sinks import DataFrameSink, DataFrameSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordError, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import Position, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.schema import STRING
from rocketconnect_sdk.sink import (
    BufferedSink,
    BufferedSinkTask,
    FlushPolicy,
    QueuePosition,
    Receipt,
    RecordSink,
    RecordSinkTask,
    SinkCommit,
    SinkWriter,
    SourceMark,
)
from rocketconnect_sdk.source import Plan, Source, SourceTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Lines(Source):
    """The lines of files: a partition is a file, the offset the number of lines. A line "key=..." has that key.

    Lines that begin with "!" are rejected; a run of lines that begin with "#" is left out, and only moves the position. While a
    file NAME.away exists, the system is away; NAME.fail: a permanent error. While the first has a NAME.beat and nothing is to be
    read, each poll moves the position of the partition "log" by one. Each time that it is kept alive, NAME.alive of the first gets
    the name of a thread as a line, and each time that something is stored NAME.stored its offset.
    """

    name = "lines"
    options = (
        Option("files", "Paths.", Kind.LIST, required=True),
        Option("keyed", "The text before the first space is the key.", Kind.BOOL, "false"),
        Option("time", "Milliseconds since 1970 of the first line, each next one 1 s later; 0: none.", Kind.INT, "0"),
        Option("pace", "Seconds to wait before each poll.", Kind.FLOAT, "0"),
        Option("late", "So many polls find nothing: what is there is under way.", Kind.INT, "0"),
        Option("alive", "SourceTask.keep_alive_seconds; 0: for ever.", Kind.FLOAT, "0"),
    )

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        files = config["files"]
        return Plan([{"files": ",".join(files[i::max_tasks])} for i in range(min(max_tasks, len(files)))])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "LinesTask":
        files = task["files"].split(",") if "files" in task else list(config["files"])
        paths = [Path(file) for file in files]
        alive = config["alive"] or math.inf
        made = LinesTask(paths, context, keyed=config["keyed"], pace=config["pace"], late=config["late"], alive=alive)
        made.time_ms = config["time"]
        return made


class LinesTask(SourceTask):
    remaining_unit = "lines"
    time_ms = 0

    def __init__(self, files: Sequence[Path], context: TaskContext, *, keyed: bool, pace: float, late: int, alive: float) -> None:
        self._files = files
        self._context = context
        self._keyed = keyed
        self._pace = pace
        self._late = late
        self._alive = alive
        self._waits = False
        self._lines: dict[Path, list[str]] = {}
        self._at: dict[Path, int] = {}
        self._turn = 0
        self._beats = 0

    def start(self, positions: Mapping[str, Position]) -> None:
        for file in self._files:
            self._at[file] = positions[str(file)].offset[0] if str(file) in positions else 0
        self._beats = positions["log"].offset[0] if "log" in positions else 0

    def remaining(self) -> int | None:
        # Of a file that was not opened it is not known.
        left = [len(self._lines[file]) - self._at[file] for file in self._files if file in self._lines]
        return sum(left) if len(left) == len(self._files) else None

    def poll(self) -> SourceBatch | None:
        time.sleep(self._pace)
        self._waits = self._late > 0
        if self._waits:
            self._late -= 1
            return None
        for _ in self._files:
            self._turn += 1
            file = self._files[self._turn % len(self._files)]
            self._look(file)
            lines = self._read(file)
            at = self._at[file]
            found = lines[at : at + self._context.batch_records]
            if found:
                comments = list(takewhile(lambda line: line.startswith("#"), found))
                records = list(takewhile(lambda line: not line.startswith("#"), found))
                self._at[file] = at + len(comments or records)
                if comments:
                    return SourceBatch(str(file), [], [], end=(self._at[file],))
                return self._batch(file, at, records)
        if self._files[0].with_suffix(".beat").exists():
            self._beats += 1
            return SourceBatch("log", [], [], end=(self._beats,))
        return None

    def _read(self, file: Path) -> list[str]:
        held = self._lines.get(file, [])
        if self._at[file] >= len(held):
            held = self._lines[file] = file.read_text().split("\n")[:-1] if file.exists() else []
        return held

    def _batch(self, file: Path, at: int, lines: list[str]) -> SourceBatch:
        values: list[object] = [_rejected(line) if line.startswith("!") else line for line in lines]
        offsets = [(number,) for number in range(at + 1, at + 1 + len(lines))]
        keys = [line.partition(" ")[0] for line in lines] if self._keyed else None
        times = [self.time_ms + 1_000 * number for number in range(at, at + len(lines))] if self.time_ms else None
        return SourceBatch(str(file), values, offsets, keys, times, schema=STRING, size=sum(map(len, lines)))

    @staticmethod
    def _look(file: Path) -> None:
        if file.with_suffix(".away").exists():
            msg = f"{file} is away"
            raise SystemAway(msg)
        if file.with_suffix(".fail").exists():
            msg = f"{file} is broken: mend it"
            raise PermanentError(msg)

    @property
    def keep_alive_seconds(self) -> float:
        return self._alive

    def keep_alive(self) -> None:
        self._note("alive", threading.current_thread().name)
        self._look(self._files[0])

    def committed(self, positions: Mapping[str, Position]) -> None:
        if str(self._files[0]) in positions:
            self._note("stored", str(positions[str(self._files[0])].offset[0]))

    def _note(self, kind: str, text: str) -> None:
        with self._files[0].with_suffix(f".{kind}").open("a") as file:
            file.write(f"{text}\n")

    @property
    def caught_up(self) -> bool:
        return not self._waits

    @property
    def idle_seconds(self) -> float:
        return 0.01

    def close(self) -> None:
        pass


def _rejected(line: str) -> Rejected:
    whole = line.encode()
    return Rejected("Unreadable", "it begins with an exclamation mark", whole[:20], len(whole), hashlib.sha256(whole).hexdigest())


class Table(RecordSink):
    """Rows of an SQLite file, with the positions in the same transaction: exactly once."""

    name = "table"
    options = (
        Option("file", "The path.", required=True),
        Option("positions", "Store positions with the data.", Kind.BOOL, "true"),
        Option("interval", "FlushPolicy.interval.", Kind.FLOAT, "0"),
    )

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "TableTask":
        return TableTask(Path(config["file"]), context, stores=config["positions"], interval=config["interval"])


class TableTask(RecordSinkTask):
    def __init__(self, file: Path, context: TaskContext, *, stores: bool, interval: float) -> None:
        self._file = file
        self._context = context
        self._stores = stores
        self._interval = interval

    @property
    def flush(self) -> FlushPolicy:
        return FlushPolicy(interval=self._interval)

    def start(self) -> Mapping[str, QueuePosition]:
        self._db = sqlite3.connect(self._file, timeout=20, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, queue TEXT, at INTEGER, value TEXT)")
        self._db.execute("CREATE TABLE IF NOT EXISTS positions (queue TEXT PRIMARY KEY, position TEXT, epoch INTEGER)")
        found = self._db.execute("SELECT queue, position FROM positions").fetchall()
        self._db.execute("COMMIT")
        return {queue: _position(json.loads(text)) for queue, text in found} if self._stores else {}

    def writer(self) -> SinkWriter:
        return TableWriter(str(self._file))

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        if self._file.with_suffix(".away").exists():
            msg = f"{self._file} is away"
            raise SystemAway(msg)
        if self._file.with_suffix(".retry").exists():
            msg = f"{self._file} is busy"
            raise RetriableError(msg)
        self._db.execute("BEGIN IMMEDIATE")
        for queue, after in commit.after.items():
            stored = self._db.execute("SELECT position, epoch FROM positions WHERE queue=?", (queue,)).fetchone()
            if stored is not None and stored[1] > commit.epoch:
                self._db.execute("ROLLBACK")
                msg = f"{self._file} belongs to epoch {stored[1]}"
                raise PermanentError(msg)
            known, before = None if stored is None else _position(json.loads(stored[0])), commit.before[queue]
            if known is not None and self._stores and known.place != before.place and known.incarnation >= before.incarnation:
                self._db.execute("ROLLBACK")
                msg = f"{queue} is at {stored[0]}, not at {before.until}"
                raise PermanentError(msg)
            self._db.execute("INSERT OR REPLACE INTO positions VALUES (?,?,?)", (queue, _text(after), commit.epoch))
        for receipt in receipts:
            self._db.executemany("INSERT INTO rows (queue, at, value) VALUES (?,?,?)", receipt)
        self._db.execute("COMMIT")

    def close(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()


class TableWriter(SinkWriter):
    """Refuses values that begin with "?"; is away while FILE.stage exists."""

    def __init__(self, file: str) -> None:
        self._file = file

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        if Path(self._file).with_suffix(".stage").exists():
            msg = "cannot stage"
            raise SystemAway(msg)
        values = [json.dumps(value, default=str) if isinstance(value, dict) else value for value in batch.values]
        rows = [(batch.queue, at, value) for at, value in zip(batch.offsets, values, strict=True)]
        refused = {index: "it asks" for index, (_, _, value) in enumerate(rows) if str(value).startswith("?")}
        if refused:
            raise RecordRefused(refused, [row for index, row in enumerate(rows) if index not in refused])
        return rows


def _text(position: QueuePosition) -> str:
    marks = {key: [mark.epoch, mark.incarnation, mark.offset] for key, mark in position.marks.items()}
    return json.dumps({"until": position.until, "incarnation": position.incarnation, "marks": marks})


def _position(stored: dict) -> QueuePosition:  # type: ignore[type-arg]
    marks = {key: SourceMark(epoch, incarnation, tuple(offset)) for key, (epoch, incarnation, offset) in stored["marks"].items()}
    return QueuePosition(stored["until"], stored["incarnation"], marks)


class Log(RecordSink):
    """Lines appended to a file: at least once."""

    name = "log"
    wants_headers = True
    options = (Option("file", "The path.", required=True),)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "LogTask":
        return LogTask(Path(config["file"]))


class LogTask(RecordSinkTask):
    def __init__(self, file: Path) -> None:
        self._file = file

    def start(self) -> Mapping[str, QueuePosition]:
        return {}

    def writer(self) -> SinkWriter:
        return LogWriter()

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        with self._file.open("a") as file:
            for receipt in receipts:
                file.writelines(json.dumps(row) + "\n" for row in receipt)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        pass


class LogWriter(SinkWriter):
    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        keys = batch.keys or [None] * len(batch)
        headers = [dict(each) for each in batch.headers or [{}] * len(batch)]
        return [
            list(row)
            for row in zip(batch.queue.split("/")[:1] * len(batch), batch.offsets, keys, batch.values, headers, strict=True)
        ]


class Heap(BufferedSink):
    """Lines that are gathered, and appended to a file and synced when it is asked for it, or there are so many.

    Refuses values that begin with "?". FILE.puts gets the number of values of each put; while FILE.hold exists, the last value of
    each queue is held back, and while FILE.stuck exists all are; while FILE.away exists, the system is away.
    """

    name = "heap"
    options = (
        Option("file", "The path.", required=True),
        Option("at", "So many are written without being asked for; 0: none.", Kind.INT, "0"),
        Option("rows", "FlushPolicy.rows.", Kind.INT, "0"),
        Option("interval", "FlushPolicy.interval.", Kind.FLOAT, "0"),
    )

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "HeapTask":
        return HeapTask(Path(config["file"]), config["at"], FlushPolicy(rows=config["rows"], interval=config["interval"]))


class HeapTask(BufferedSinkTask):
    def __init__(self, file: Path, at: int, policy: FlushPolicy) -> None:
        self._file = file
        self._at = at
        self._policy = policy
        self._held: list[tuple[str, int, object]] = []
        self._durable: dict[str, int] = {}

    @property
    def flush(self) -> FlushPolicy:
        return self._policy

    def start(self) -> Mapping[str, QueuePosition]:
        self._held, self._durable = [], {}
        return {}

    def put(self, batch: SinkBatch) -> None:
        with self._file.with_suffix(".puts").open("a") as puts:
            puts.write(f"{len(batch)}\n")
        self._look()
        refused = {index: "it asks" for index, value in enumerate(batch.values) if str(value).startswith("?")}
        rows = zip([batch.queue] * len(batch), batch.offsets, batch.values, strict=True)
        self._held += [row for index, row in enumerate(rows) if index not in refused]
        if self._at and len(self._held) >= self._at:
            self._write()
        if refused:
            raise RecordRefused(refused, None)

    def durable(self, flush: bool) -> Mapping[str, int]:
        self._look()
        if flush:
            self._write()
        return self._durable

    def _write(self) -> None:
        if self._file.with_suffix(".stuck").exists():
            return
        last = {queue: at for queue, at, _ in self._held} if self._file.with_suffix(".hold").exists() else {}
        rows = [row for row in self._held if last.get(row[0]) != row[1]]
        self._held = [row for row in self._held if last.get(row[0]) == row[1]]
        with self._file.open("a") as file:
            file.writelines(f"{value}\n" for *_, value in rows)
            file.flush()
            os.fsync(file.fileno())
        self._durable.update({queue: at + 1 for queue, at, _ in rows})

    def _look(self) -> None:
        if self._file.with_suffix(".away").exists():
            msg = f"{self._file} is away"
            raise SystemAway(msg)

    def close(self) -> None:
        self._held = []


class Frames(DataFrameSink):
    """Each batch a Parquet directory named by its token. Values that begin with "?" cannot be written; it knows those with "?!"."""

    name = "frames"
    columns = ("value", "queue", "offset", "key", "timestamp", "headers", "topic")
    options = (Option("directory", "The path.", required=True),)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "FramesTask":
        return FramesTask(Path(config["directory"]))


class FramesTask(DataFrameSinkTask):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def start(self) -> Mapping[str, QueuePosition]:
        return {}

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        if frame.where("value like '?%'").count():
            msg = "it asks"
            raise RecordError(msg)
        if frame.count() != commit.rows:
            msg = f"{commit.rows} rows should be {frame.count()}"
            raise PermanentError(msg)
        frame.write.mode("overwrite").parquet(str(self._directory / commit.token))

    def unwritable(self, values: "pa.Array") -> Mapping[int, str]:
        return {index: "it shouts" for index, value in enumerate(values.to_pylist()) if value.startswith("?!")}

    def close(self) -> None:
        pass
