"""value_to_key: fields of the value as the key."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Schema, struct
from rocketconnect_sdk.transforms.base import Record, Records, Transform
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL, filled, filled_many, replaces_null
from rocketconnect_sdk.transforms.paths import schema_at, value_at


class ValueToKey(Transform):
    """Makes a struct of some fields of the value the key. A tombstone keeps its key."""

    name: ClassVar[str] = "value_to_key"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.ValueToKey",)
    options: ClassVar[Sequence[Option]] = (
        Option(
            "fields",
            "The fields that the key is made of, separated by commas. All of them must be there.",
            Kind.LIST,
            required=True,
            example="id",
        ),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._fields: Sequence[str] = tuple(dict.fromkeys(config["fields"]))
        self._key_schema = lru_cache(64)(self._struct)

    def apply(self, record: Record) -> Record:
        """See Transform."""
        if record.value is None:
            return record
        key_schema = None if record.schema is None else self._key_schema(record.schema)
        value = filled(record.value, record.schema) if replaces_null(self.config) else record.value
        return replace(record, key=self._key(value, record.schema), key_schema=key_schema)

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        values, schema = records.values, records.schema
        if schema is None or None in values:
            return None
        key_schema = self._key_schema(schema)
        values = filled_many(values, schema) if replaces_null(self.config) else values
        keys = self._column(values, key_schema) if isinstance(values, Column) else [self._key(value, schema) for value in values]
        return replace(records, keys=keys, key_schema=key_schema)

    def _struct(self, schema: Schema) -> Schema:
        return struct([(name, schema_at(schema, (name,))) for name in self._fields])

    def _key(self, value: object, schema: Schema | None) -> Mapping[str, object]:
        if not isinstance(value, Mapping):
            msg = f"the value is no struct, whose fields could be the key, but {type(value).__name__}"
            raise RecordError(msg)
        return {name: value_at(value, (name,), schema) for name in self._fields}

    def _column(self, values: Column, key_schema: Schema) -> Sequence[object]:
        import pyarrow as pa

        from rocketconnect_sdk.columns.arrow_types import to_arrow_type

        columns = dict(zip((field.name for field in values.array.type), values.array.flatten(), strict=True))
        fields = list(to_arrow_type(key_schema))
        return Column(pa.StructArray.from_arrays([columns[name] for name in self._fields], fields=fields))
