"""Files get their names, and then the metastore is told of their partitions: until it is, nobody sees a new one."""

from collections.abc import Mapping, Sequence
from functools import partial
from logging import Logger

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from connectors.hive.names import in_lower_case
from connectors.hive.tables import columns_of, same_place
from connectors.hive.types import lowered, met
from connectors.hive_sink.table import Landing, without
from connectors.object_store_sink.task import ObjectTask, ObjectWriter, SinkSettings, dealt
from rocketconnect_sdk.columns.arrow_types import from_arrow_type
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.evolution import as_table, nullable
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkWriter
from rocketconnect_sdk.targets.manifests import Owner

_SHOWN = 100


class HiveTask(ObjectTask):
    """Adds files to a table, exactly once. Several tasks of one connector may.

    Args:
        target: Where files go.
        landing: The table.
        owner: Who writes.
        flush: When batches are closed.
        log: For people.
    """

    def __init__(self, target: SinkSettings, landing: Landing, owner: Owner, flush: FlushPolicy, log: Logger) -> None:
        super().__init__(target, owner, flush, log, self._register)
        self._landing = landing

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. A table that cannot be written is told before anything is claimed."""
        self._landing.there()
        return super().start()

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return HiveWriter(self._target, self._owner, self._landing)

    def _register(self, names: Sequence[str]) -> None:
        if not register(self._landing, names):
            told = "%s: the table is gone; let MSCK REPAIR TABLE find the partitions that are there, when there is one again"
            self._log.warning(told, self._landing)


class HiveWriter(ObjectWriter):
    """Stages files; makes and changes the table, too.

    Args:
        target: Where they go.
        owner: Who writes.
        landing: The table.
    """

    def __init__(self, target: SinkSettings, owner: Owner, landing: Landing) -> None:
        super().__init__(target, owner)
        self._landing = landing

    def objects(self, batch: SinkBatch) -> list[tuple[str, int, memoryview]]:
        """By partition the offset of its first record, and its file. See ObjectWriter."""
        form, levels = self._target.form, self._landing.levels
        values = form.array(batch.values, batch.schema)
        schema = form.columns or batch.schema or from_arrow_type(values.type, optional=True)
        records = lowered(nullable(as_table(schema)))
        columns = columns_of(self._landing.ready(records))
        is_rows = schema.type is Type.STRUCT
        rows, reasons = fit(in_lower_case(values) if is_rows else values, records if is_rows else schema, met(columns, records))
        reasons = too_long(rows, columns) | reasons
        if reasons:
            raise RecordError(next(iter(reasons.values())))
        table = pa.Table.from_struct_array(rows)
        folders = levels.folders(batch.topic, table, batch.timestamps_ms)
        kept = table.select([each.name for each in without(columns, [level.name for level in levels.all]).fields])
        return dealt(kept, folders, batch.offsets, partial(_file, compression=form.compression))

    def __getstate__(self) -> dict[str, object]:
        """See ObjectWriter."""
        return {**super().__getstate__(), "_landing": self._landing}


def too_long(rows: pa.StructArray, columns: Schema) -> dict[int, str]:
    """By index the rows with a text that a column of varchar or char has no room for: who reads it would see a part."""
    found: dict[int, str] = {}
    for each, values in fields_of(rows, columns):
        if each.schema.length and pa.types.is_string(values.type):
            bad = pc.greater(pc.utf8_length(values), each.schema.length)
            why = f"is longer than the {each.schema.length} characters of its column"
            found |= {row: f"{each.name} {str(values[row])[:_SHOWN]} {why}" for row in pc.indices_nonzero(bad).to_pylist()}
    return found


def _file(rows: pa.Table, compression: str) -> memoryview:
    sink = pa.BufferOutputStream()
    # Hive before 4 reads no other timestamps; Spark and Trino read these, too.
    parquet.write_table(rows, sink, compression=compression, use_deprecated_int96_timestamps=True)
    return memoryview(sink.getvalue()).cast("B")


def register(landing: Landing, names: Sequence[str]) -> bool:
    """Makes the partitions of files known, as far as they are not: files of these names, behind the place of the table.

    Returns: whether there is a table.

    Raises:
        PermanentError: the table is another one, or a partition is elsewhere, where nobody sees the files.
        SystemAway, RetriableError: see Metastore.
    """
    folders = dict.fromkeys(name.rpartition("/")[0] for name in names)
    wanted = {folder: values for folder in folders if (values := landing.levels.values(folder))}
    if not wanted:
        return True
    table = landing.there()
    if table is None:
        return False
    known = {each.values: each.location for each in landing.metastore.partitions(table, list(wanted))}
    for folder, values in wanted.items():
        there = known.get(tuple(values))
        mine = same_place(f"{table.location.rstrip('/')}/{folder}")
        if there is not None and same_place(there) != mine:
            msg = (
                f"{landing}: the partition {folder} is in {there}, and its new files are in {mine}, where nobody looks. "
                "Set its location to that, and restart the connector"
            )
            raise PermanentError(msg)
    new = [table.partition(values, folder) for folder, values in wanted.items() if tuple(values) not in known]
    if new:
        landing.metastore.add_partitions(table, new)
    return True
