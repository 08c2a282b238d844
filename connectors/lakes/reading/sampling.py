"""Some rows of a table, to show what they look like."""

from connectors.lakes.reading.batches import Records
from connectors.lakes.reading.files import FileRows, Missing
from connectors.lakes.reading.log import Commit
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.record import SourceBatch

_BYTES = 1 << 20


def first_rows(commit: Commit, records: Records, most: int) -> SourceBatch | None:
    """The first rows that a version has; None: it has none.

    Args:
        commit: The version.
        records: Makes records of them.
        most: So many at most.

    Raises:
        RetriableError, PermanentError: they can't be read.
    """
    for number, file in enumerate(commit.files):
        if file.unreadable or file.rows == 0:
            continue
        try:
            opened = FileRows(file, records.columns(file), 0, most, _BYTES)
        except Missing:
            continue
        try:
            rows = opened.next()
        finally:
            opened.close()
        if rows is not None and len(rows):
            return records.batch(file, rows[:most], "sample", TableCoordinate(commit.version, commit.whole, number), ())
    return None
