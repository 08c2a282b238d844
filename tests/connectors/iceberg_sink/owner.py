"""Tasks of the Iceberg sink, driven by hand."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.iceberg_sink import IcebergSink, catalogs
from connectors.iceberg_sink.catalogs import DirectoryCatalog
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import DataFrameSinkTask, QueuePosition, SinkCommit
from tests.connectors.answers import lose_an_answer
from tests.connectors.iceberg_sink.spark import read, settings

PLAN, EPOCH = 28_342_800_000, 28_342_800_417
"""As they come from the clock: milliseconds since 2026 began."""
NUMBER = Schema(Type.INT64, optional=True)
ONE = struct([("id", NUMBER), ("day", NUMBER)], name="row")
TWO = struct([("id", NUMBER), ("day", NUMBER), ("more", NUMBER)], name="row")


class Owner:
    """A task that writes db.rows, and the frames that it gets. Plans and epochs count from those above."""

    def __init__(
        self,
        warehouse: Path,
        more: Mapping[str, str] | None = None,
        *,
        task: int = 0,
        owner: tuple[int, int] = (1, 1),
        uid: str = "uid",
        **options: str,
    ) -> None:
        told = {key.replace("_", "."): value for key, value in options.items()}
        given = {"warehouse": str(warehouse), "table": "db.rows", **told, **(more or {})}
        generation, epoch = PLAN + owner[0], EPOCH + owner[1]
        context = TaskContext(connector_uid=uid, task=task, generation=generation, epoch=epoch, spark=spark_session(settings()))
        self.task: DataFrameSinkTask = IcebergSink().open(parse(IcebergSink.options, given), {}, context)

    def start(self) -> Mapping[str, QueuePosition]:
        return self.task.start()

    def write(self, begin: int, end: int, *, queue: int = 0, schema: Schema = ONE, **fields: object) -> None:
        """A row for each offset."""
        place = f"orders/broker-a/{queue}"
        commit = SinkCommit("uid", 0, 1, {place: QueuePosition(begin)}, {place: QueuePosition(end)}, end - begin, "token")
        self.task.columns_for(schema)
        values = [{"id": offset, "day": 5, **fields} for offset in range(begin, end)]
        rows = pa.table({"value": to_array(values, schema)})
        self.task.write(spark_session(settings()).createDataFrame(rows), commit)


def in_front(monkeypatch: pytest.MonkeyPatch, name: str, happens: Callable[[], object]) -> None:
    """Has something happen once, immediately before the next commit."""
    does: Callable[..., None] = getattr(catalogs, name)

    def behind(*args: object) -> None:
        monkeypatch.setattr(catalogs, name, does)
        happens()
        does(*args)

    monkeypatch.setattr(catalogs, name, behind)


def rows_path(warehouse: Path) -> Path:
    """The table that an Owner writes."""
    return warehouse / "db" / "rows"


def ids(warehouse: Path) -> list[object]:
    return sorted(row["id"] for row in read(rows_path(warehouse)))  # type: ignore[type-var]


def java_table(lake: Path) -> Any:
    """The same, as another program changes it."""
    catalog = DirectoryCatalog(rows_path(lake), lake, "db.rows", spark_session(settings()))
    found = catalog.load()
    assert found is not None
    return found


def replace_in_the_middle(monkeypatch: pytest.MonkeyPatch, owner: Callable[..., Owner], ids: Callable[[], list[object]]) -> None:
    """An owner is replaced in the middle of a write, and adds nothing.

    Args:
        monkeypatch: Until the end of the test.
        owner: Makes the owner with a number.
        ids: Of all rows.
    """
    zombie, new = owner(), owner(number=2)
    zombie.start()
    zombie.write(0, 10)
    in_front(monkeypatch, "exchange", new.start)
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.write(10, 20)
    assert ids() == list(range(10))
    new.write(10, 12, schema=TWO, more=7)
    assert ids() == list(range(12))
    assert owner(number=3).start() == {"orders/broker-a/0": QueuePosition(12)}


def lose_the_answer_of_a_commit(
    monkeypatch: pytest.MonkeyPatch, owner: Callable[..., Owner], ids: Callable[[], list[object]], *, written: bool
) -> None:
    """The answer of a commit is lost, and its rows are there once.

    Args:
        monkeypatch: Until the end of the test.
        owner: Makes the owner with a number.
        ids: Of all rows.
        written: It was done.
    """
    one = owner()
    one.start()
    one.write(0, 10)
    lose_an_answer(monkeypatch, catalogs, "exchange", written=written)
    with pytest.raises(RetriableError):
        one.write(10, 20)
    one.write(10, 20)
    assert owner(number=2).start() == {"orders/broker-a/0": QueuePosition(20)}
    assert ids() == list(range(20))
