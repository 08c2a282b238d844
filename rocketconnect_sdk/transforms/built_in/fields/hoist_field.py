"""hoist_field: a struct with one field around the value."""

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Schema, struct
from rocketconnect_sdk.transforms.base import ON, Record, Records, Transform, given, given_many, put, put_many


class HoistField(Transform):
    """Makes the whole value the one field of a struct. Tombstones stay what they are."""

    name: ClassVar[str] = "hoist_field"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.HoistField",)
    options: ClassVar[Sequence[Option]] = (ON, Option("field", "The name of the field.", required=True, example="order"))

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._field: str = config["field"]
        self._around = lru_cache(64)(self._struct)

    def apply(self, record: Record) -> Record:
        """See Transform."""
        value, schema = given(record, self.config)
        if value is None:
            return record
        return put(record, self.config, {self._field: value}, None if schema is None else self._around(schema))

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        values, schema = given_many(records, self.config)
        if schema is None or values is None:
            return None
        around = self._around(schema)
        new = self._column(values, around) if isinstance(values, Column) else self._rows(values)
        return put_many(records, self.config, new, around)

    def _struct(self, schema: Schema) -> Schema:
        return struct([(self._field, schema)])

    def _rows(self, values: Sequence[object]) -> Sequence[object]:
        return [None if value is None else {self._field: value} for value in values]

    def _column(self, values: Column, around: Schema) -> Sequence[object]:
        import pyarrow as pa

        from rocketconnect_sdk.columns.arrow_types import to_arrow_type

        array = values.array
        return Column(pa.StructArray.from_arrays([array], fields=list(to_arrow_type(around)), mask=array.is_null()))
