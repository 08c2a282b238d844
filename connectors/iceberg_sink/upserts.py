"""A batch of rows and changes of rows becomes one commit of the table: the files that have rows of its keys are written anew."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from connectors.iceberg_sink.table import Change, TableState
from connectors.iceberg_sink.task import IcebergTask
from connectors.lakes.staging import free, of, quoted, staged
from connectors.lakes.task import ROWS_OF_A_FILE
from connectors.lakes.upserts import Upserting, Upserts
from rocketconnect_sdk.evolution import Settled, nullable
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import SinkCommit
from rocketconnect_sdk.targets.commits import is_written
from rocketconnect_sdk.targets.fitted import only
from rocketconnect_sdk.targets.merging import Merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class UpsertTask(Upserting, IcebergTask):
    """Keeps an Iceberg table as changes say, exactly once.

    Args:
        upserts: What becomes of batches.
        given: See IcebergTask.
    """

    def __init__(self, upserts: Upserts, *given: Any) -> None:
        super().__init__(*given)
        self._upserts = upserts

    def _known(self) -> Schema | None:
        from rocketconnect_sdk.spark.types import from_spark_type

        look = self._table.look()
        return None if look is None else from_spark_type(look.columns)

    def _merge(self, merge: Merge, settled: Settled, commit: SinkCommit, *, makes: bool) -> None:
        from rocketconnect_sdk.spark.types import to_spark_type

        kind: Any = to_spark_type(settled.table)
        self._makes = makes
        look = self._found(kind)
        if is_written(self._kept.positions(look.properties), commit):
            return
        if not merge.gone and not merge.truncates:
            self.move(commit)
            return
        if settled.changes and not makes:
            self._commit(None, Change(columns=kind))
            look = self._found(kind)
        # Of a row that goes there is but the key.
        columns: Any = to_spark_type(only(nullable(settled.table), merge.rows.column_names))
        self._publish(look, commit, rewritten(self._session, look, merge, columns, self._upserts.key))


def rewritten(session: "SparkSession", look: TableState, merge: Merge, columns: "StructType", key: Sequence[str]) -> Change:
    """Writes the files of a table anew that have rows of a batch, as files that no commit has yet.

    Args:
        session: Of Spark, with Iceberg.
        look: At the table.
        merge: What becomes of it.
        columns: The types of its rows.
        key: The columns of the key.

    Raises: as TableState.stage.
    """
    from pyspark.sql.functions import broadcast, col
    from pyspark.sql.types import StructType

    names, there = merge.rows.column_names, look.columns
    keys = session.createDataFrame(merge.rows.select(list(key)), StructType([columns[name] for name in key])).alias("k")
    same = reduce(and_, [col(of("t", name)) == col(of("k", name)) for name in key])
    with ExitStack() as held:
        tasks = look.tasks() if merge.truncates else look.tasks(*_within(merge.rows, key))
        if not merge.truncates:
            tasks = _touched(held.enter_context(look.reading(session, tasks)), broadcast(keys), same, tasks)
        table = held.enter_context(look.reading(session, tasks))
        batch = staged(session, merge, columns, key, table)
        gone = free(names, "gone")
        written = batch.where(~col(quoted(gone))).drop(gone) if any(merge.gone) else batch.drop(gone)
        rows = _whole(written, table, there, key, keeps=not merge.truncates)
        if not merge.truncates:
            kept = table.alias("t").join(broadcast(keys), same, "left_anti").select([col(of("t", name)) for name in there.names])
            rows = kept.unionByName(rows)
        if sum(int(task.file().recordCount()) for task in tasks) + merge.rows.num_rows <= ROWS_OF_A_FILE:
            rows = rows.coalesce(1)
        return Change(files=look.stage(rows), gone=[task.file() for task in tasks], on=look.snapshot)


def _within(rows: pa.Table, key: Sequence[str]) -> tuple[str, tuple[int, int] | None]:
    """A column of the key that has whole numbers, with the lowest and the highest one."""
    for name in key:
        if pa.types.is_integer(rows.schema.field(name).type) and rows.num_rows:
            found = pc.min_max(rows.column(name)).as_py()
            return name, (found["min"], found["max"])
    return "", None


def _touched(table: "DataFrame", keys: "DataFrame", same: Any, tasks: Sequence[Any]) -> list[Any]:
    """The tasks whose files have a row of one of the keys."""
    from pyspark.sql.functions import input_file_name

    file = free(table.columns, "file")
    named = table.withColumn(file, input_file_name()).alias("t").join(keys, same, "left_semi")
    names = {row[0] for row in named.select(file).distinct().collect()}
    return [task for task in tasks if str(task.file().location()) in names]


def _whole(rows: "DataFrame", table: "DataFrame", there: "StructType", key: Sequence[str], *, keeps: bool) -> "DataFrame":
    """The rows in all columns of the table: those that they do not have keep their values, or are null in new rows."""
    from pyspark.sql.functions import col, lit

    names = set(rows.columns)
    others = [each for each in there if each.name not in names]
    if not others or not keeps:
        return rows.select(
            [col(quoted(each.name)) if each.name in names else lit(None).cast(each.dataType).alias(each.name) for each in there]
        )
    same = [col(of("s", name)) == col(of("t", name)) for name in key]
    both = rows.alias("s").join(table.alias("t"), reduce(and_, same), "left")
    return both.select([col(of("s" if each.name in names else "t", each.name)).alias(each.name) for each in there])
