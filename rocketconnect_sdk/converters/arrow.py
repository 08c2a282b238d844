"""Arrow: many rows in one message, for tables between two RocketConnect ends, in the form of rocketconnect_sdk.columns.rows."""

from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.wording.counts import counted


class ArrowConverter(Converter):
    """Many rows of a table in one message, as Arrow: sources pack what they read at once, sinks tell the rows apart again.

    For values alone, and for topics that only RocketConnect reads.
    """

    # The runtime packs and unpacks (rocketconnect_sdk.columns.rows); what `encode` gives is a message of one row.

    name = "arrow"
    for_keys = False
    wants_columns = True

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """A message with this row alone."""
        from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of

        return Rows(*array_of([value], schema), offsets_of([(0,)])).pack()

    def schema_in(self, data: bytes) -> Schema | None:
        """That of its rows."""
        from rocketconnect_sdk.columns.rows import unpack

        return unpack(data).schema

    def alone(self, data: bytes, row: int) -> bytes:
        """A message with this row of it."""
        from rocketconnect_sdk.columns.rows import unpack

        return unpack(data).alone(row).pack()

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The row of a message that has one."""
        from rocketconnect_sdk.columns.rows import unpack, values_of

        rows = unpack(data)
        if len(rows) != 1:
            msg = f"a message of {counted(rows, 'row')} where one value is expected"
            raise RecordError(msg)
        (value,) = values_of(rows)
        if isinstance(value, Exception):
            raise value
        return value, rows.schema
