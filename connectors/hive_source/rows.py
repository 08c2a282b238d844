"""The rows of a file as those of the table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.hive.names import Doubled, check_once, in_lower_case
from connectors.hive_source.listing import TableFile, TableObjects
from connectors.hive_source.table import constants
from connectors.lakes.reading.batches import Batches
from connectors.lakes.reading.files import FileRows
from connectors.lakes.reading.fitting import Unfit
from connectors.lakes.reading.log import Commit, DataFile
from connectors.object_store_source.content import opened
from connectors.object_store_source.readers import Reader
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch

ENDED = 1
"""The second number of the offset behind a file: what is before its end has 0."""


class TableReader(Reader):
    """One file, from a row on.

    Args:
        objects: The files of the table.
        file: Which.
        skipped: So many rows are done.
        key: The columns of the keys; none: records have no keys.
        context: Of the task.

    Raises:
        Gone: the file is no more.
        PermanentError: it is not what the table says.
    """

    def __init__(self, objects: TableObjects, file: TableFile, skipped: int, key: Sequence[str], context: TaskContext) -> None:
        super().__init__(file, context)
        columns = objects.state.columns
        if absent := [name for name in key if name not in columns.names]:
            msg = f"the table has no column {absent[0]}, but {', '.join(columns.names)}: correct key.columns"
            raise PermanentError(msg)
        self._batches = Batches(Commit(0, 1, (), columns), key, columnar=context.columns)
        self._rows = _FileRows(objects, file, skipped, context)
        self._done = skipped

    def next(self) -> SourceBatch | None:
        """See Reader."""
        rows = self._rows.next()
        begin = self._done
        self._done += 0 if rows is None else len(rows)
        is_last = rows is None or self._done >= self._rows.count
        if is_last:
            self._rows.close()
        if rows is None:
            return SourceBatch(self.found.partition, [], [], end=(self._done, ENDED))
        offsets: list[Offset] = [(row, 0) for row in range(begin + 1, self._done + 1)]
        return self._batch(self._batches.made(rows, self.found.partition, offsets), self._done if is_last else None)


class _FileRows(FileRows):
    """Reads a file of any store, whose names may have letters of any case: Hive knows them in lower case alone."""

    def __init__(self, objects: TableObjects, file: TableFile, row: int, context: TaskContext) -> None:
        self._opening = (objects, file)
        state = objects.state
        data = DataFile(Path(file.name), file.size, constants=constants(file.part, state))
        super().__init__(data, state.columns, row, context.batch_records, context.batch_bytes)

    def opened(self) -> Any:
        """See FileRows. Raises Gone."""
        return opened(*self._opening)

    def names_in(self, there: pa.Schema) -> list[str]:
        """See FileRows."""
        wanted = [name for name in self._columns.names if name not in self._file.constants]
        found = [name for name in there.names if name.lower() in wanted]
        try:
            check_once([name.lower() for name in found])
        except Doubled as error:
            raise _doubled(error) from None
        return found

    def named_as_table(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """See FileRows."""
        names = [name.lower() for name in batch.schema.names]
        try:
            arrays = [in_lower_case(values, name) for values, name in zip(batch.columns, names, strict=True)]
        except Doubled as error:
            raise _doubled(error) from None
        return pa.RecordBatch.from_arrays(arrays, names=names) if arrays else batch


def _doubled(error: Doubled) -> Unfit:
    return Unfit(f"{error} is in the file twice, in letters of other cases")
