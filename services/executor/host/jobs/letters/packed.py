"""The rows of packed messages for people, and other values for them. Pure.

Runs in a process of its own, which ends with the answer: what makes columns of bytes is nothing that an executor loads.
"""

from collections.abc import Iterator

from rocketconnect_sdk.columns.rows import Rows, unpack
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.letters.rows import column_types, read_rows, write_rows
from services.executor.contract import answers, questions
from services.executor.host.jobs.shown import text_of

_MOST_ROWS = 200
_MOST_BYTES = 1 << 20
"""Of JSON in one answer, as far as more than one row is in it (invariant 7)."""


def rows_read(order: questions.ReadRows) -> answers.RowsRead:
    """Say what a packed message has."""
    try:
        rows = unpack(order.body)
    except RecordError as error:
        return answers.RowsRead([], [], 0, str(error))
    return answers.RowsRead(column_types(rows.schema), list(_within(_each(rows.slice(0, _MOST_ROWS)))), len(rows))


def rows_changed(order: questions.ChangeRows) -> answers.RowsChanged:
    """Make the message that has other values in its rows."""
    try:
        return answers.RowsChanged(read_rows(unpack(order.body), order.rows).pack())
    except RecordError as error:
        return answers.RowsChanged(b"", str(error))


def _each(rows: Rows) -> Iterator[answers.ReadRow]:
    found = (rows.keys, rows.timestamps_ms, rows.headers)
    keys, times, headers = (None if column is None else column.to_pylist() for column in found)
    for index, value in enumerate(write_rows(rows)):
        is_wrong = isinstance(value, RecordError)
        key = None if keys is None else keys[index]
        yield answers.ReadRow(
            value="" if is_wrong else str(value),
            problem=str(value) if is_wrong else "",
            key=None if key is None else text_of(key),
            time_ms=None if times is None else times[index],
            headers={} if headers is None else dict(headers[index] or ()),
        )


def _within(rows: Iterator[answers.ReadRow]) -> Iterator[answers.ReadRow]:
    """The first of them, one at least."""
    size = 0
    for number, row in enumerate(rows):
        size += len(row.value)
        if number and size > _MOST_BYTES:
            return
        yield row
