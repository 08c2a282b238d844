"""Tables of lakes: a sink writes them, and other programs read and change them."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.sinks import DataFrameSink, DataFrameSinkTask
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, struct
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.spark.types import to_spark
from tests.connectors.answers import lose_an_answer
from tests.connectors.lakes.changes import NUMBER, TEXT, Frame, Row

PLAN, EPOCH = 28_342_800_000, 28_342_800_417
"""As they come from the clock: milliseconds since 2026 began."""
ONE = struct([("id", NUMBER), ("day", NUMBER)], name="row")
TWO = struct([("id", NUMBER), ("day", NUMBER), ("more", NUMBER)], name="row")
UPSERT = {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true", "truncate.enabled": "true"}


@dataclass(frozen=True, slots=True)
class Seam:
    """A function of a sink: behind its call something counts, and not before.

    Attributes:
        module: Where it is.
        name: Its name.
    """

    module: ModuleType
    name: str

    def in_front(self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
        """Has something happen once, immediately before the next call."""
        does: Callable[..., None] = getattr(self.module, self.name)

        def behind(*args: object) -> None:
            monkeypatch.setattr(self.module, self.name, does)
            happens()
            does(*args)

        monkeypatch.setattr(self.module, self.name, behind)

    def lose_an_answer(self, monkeypatch: pytest.MonkeyPatch, *, written: bool) -> None:
        """The next call has no answer, though what it does was done where `written`."""
        lose_an_answer(monkeypatch, self.module, self.name, written=written)

    def kill(self, *, behind: bool) -> None:
        """Has this process killed at each further call, before or behind it. For a process that is there to be killed."""
        does: Callable[..., None] = getattr(self.module, self.name)

        def dies(*args: object) -> None:
            if behind:
                does(*args)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(self.module, self.name, dies)


class LakeTable(ABC):
    """A table, which is not there yet.

    Args:
        place: What belongs to it is beneath this directory.

    Class attributes:
        sink: What writes it.
        text: The name of the second column of rows that change.
        claims: Where an owner becomes that of its task.
        appends: Where rows are added.
        changes: Where rows are changed.
        clears: A commit that has failed leaves no file behind.
        partition_texts: What a key that is the partition of its row can be, of those that are tried.
    """

    sink: ClassVar[type[DataFrameSink]]
    text: ClassVar[str] = "a.b"
    claims: ClassVar[Seam]
    appends: ClassVar[Seam]
    changes: ClassVar[Seam]
    clears: ClassVar[bool] = False
    partition_texts: ClassVar[Sequence[str]] = ("ch", "a/b=c %20")

    def __init__(self, place: Path) -> None:
        self.place = place

    @staticmethod
    @abstractmethod
    def settings() -> Mapping[str, str]:
        """Of the Spark session."""

    @property
    def options(self) -> Mapping[str, str]:
        """Of the sink: where the table is."""
        return {"path": str(self.place)}

    @property
    def root(self) -> Path:
        """The directory of the table."""
        return self.place

    @abstractmethod
    def is_there(self) -> bool:
        """Whether it was made."""

    @abstractmethod
    def read(self) -> list[Row]:
        """Its rows, as another program reads them."""

    @abstractmethod
    def partitions(self) -> list[str]:
        """By what it is partitioned, as another program has it."""

    def files(self) -> Sequence[str]:
        """The files that its newest state has; of a lake that puts small ones together."""
        raise NotImplementedError

    @abstractmethod
    def commits(self) -> int:
        """How often rows were added, changed or removed."""

    def adds(self, *ids: int) -> None:
        """Another program adds rows."""
        pytest.skip("nothing else than the sink writes it by Spark")

    def in_the_middle_of_a_change(
        self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object], does: Callable[[], object]
    ) -> None:
        """Does something that changes rows; something else happens behind its look at the table and before its commit."""
        self.changes.in_front(monkeypatch, happens)
        does()

    def owner(self, more: Mapping[str, str] | None = None, **given: Any) -> "Owner":
        """A task that writes it: see Owner."""
        return Owner(self, more, **given)

    def ids(self) -> list[object]:
        return sorted(row["id"] for row in self.read())

    def stored(self) -> list[Row]:
        """The rows by their ids."""
        return sorted(self.read(), key=lambda row: str(row["id"]).zfill(20))

    def texts(self) -> dict[object, object]:
        return {row["id"]: row[self.text] for row in self.read()}

    def on_the_disk(self) -> set[Path]:
        """Its files, and those that no commit has."""
        return set(self.root.rglob("*.parquet"))

    @property
    def rows(self) -> Schema:
        """Of rows that change."""
        return struct([("id", NUMBER), (self.text, TEXT)], name="row", optional=True)

    @property
    def wider_rows(self) -> Schema:
        """With one more column."""
        return struct([("id", NUMBER), (self.text, TEXT), ("more", NUMBER)], name="row", optional=True)


class Owner:
    """A task, and the batches that it gets. Plans and epochs count from those above.

    Args:
        table: What it writes.
        more: Options.
        task: Its number.
        owner: Its plan and its epoch.
        uid: Of its connector.
        options: More of them; an underscore stands for a point.
    """

    def __init__(
        self,
        table: LakeTable,
        more: Mapping[str, str] | None = None,
        *,
        task: int = 0,
        owner: tuple[int, int] = (1, 1),
        uid: str = "uid",
        **options: str,
    ) -> None:
        given = {**table.options, **(more or {}), **{key.replace("_", "."): value for key, value in options.items()}}
        self._table = table
        self._spark = spark_session(table.settings())
        generation, epoch = PLAN + owner[0], EPOCH + owner[1]
        context = TaskContext(connector_uid=uid, task=task, generation=generation, epoch=epoch, spark=self._spark)
        self.task: DataFrameSinkTask = table.sink().open(parse(table.sink.options, given), {}, context)
        self.queue = f"orders/broker-a/{task}"
        self.at = 0

    def start(self) -> Mapping[str, QueuePosition]:
        stored = self.task.start()
        self.at = stored.get(self.queue, QueuePosition(0)).until
        return stored

    def append(self, begin: int, end: int, *, queue: int = 0, schema: Schema = ONE, **fields: object) -> None:
        """A row for each offset."""
        self.task.columns_for(schema)
        values = [{"id": offset, "day": 5, **fields} for offset in range(begin, end)]
        self.put(values, schema, commit_of(f"orders/broker-a/{queue}", begin, end))

    def put(self, values: Sequence[object], schema: Schema, commit: SinkCommit) -> None:
        """A batch, of which the task was not asked whether it takes it."""
        self.task.write(self._spark.createDataFrame(pa.table({"value": to_spark(to_array(values, schema))})), commit)

    def write(self, values: Sequence[object], schema: Schema | None, keys: Sequence[str | None] | None = None) -> None:
        """The next messages, of rows that change."""
        until = self.at + len(values)
        if schema is not None:
            self.task.columns_for(schema)
        held = {"value": to_spark(to_array(values, schema or STRING))}
        if keys is not None:
            held["key"] = pa.array(keys, pa.string())
        self.task.write(Frame(pa.table(held)), commit_of(self.queue, self.at, until))  # type: ignore[arg-type]
        self.at = until

    def rows(self, **texts: str) -> None:
        """A row for each key, which is a letter and a number."""
        self.write([{"id": int(name[1:]), self._table.text: text} for name, text in texts.items()], self._table.rows)


def commit_of(queue: str, begin: int, end: int) -> SinkCommit:
    return SinkCommit("uid", 0, 1, {queue: QueuePosition(begin)}, {queue: QueuePosition(end)}, end - begin, f"token{begin}")
