"""extract_field: a field in the place of the struct that it is in."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.transforms.base import ON, Record, Records, Transform, given, given_many, put, put_many
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL, filled_array, replaces_null
from rocketconnect_sdk.transforms.paths import FIELD, SYNTAX, array_at, read_path, schema_at, value_at


class ExtractField(Transform):
    """Makes a field the whole value. Where it is null, or a struct on the way to it is, the record becomes a tombstone."""

    name: ClassVar[str] = "extract_field"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.ExtractField",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        FIELD,
        SYNTAX,
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._path = read_path(config["field"], config["field.syntax.version"])
        self._schema_at = lru_cache(64)(schema_at)

    def apply(self, record: Record) -> Record:
        """See Transform."""
        value, schema = given(record, self.config)
        if value is None:
            return record
        found = None if schema is None else self._schema_at(schema, self._path)
        return put(record, self.config, self._held(value, schema, found), found)

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        values, schema = given_many(records, self.config)
        if schema is None or values is None:
            return None
        found = self._schema_at(schema, self._path)
        new: Sequence[object]
        if isinstance(values, Column):
            new = Column(self._array(values.array, found))
        else:
            new = [self._held(value, schema, found) for value in values]
        return put_many(records, self.config, new, found)

    def _held(self, value: object, schema: Schema | None, found: Schema | None) -> object:
        held = value_at(value, self._path, schema)
        if held is not None or found is None or found.default is None or not replaces_null(self.config):
            return held
        # A struct on the way that is null has no field that could have a default.
        return None if value_at(value, self._path[:-1], schema) is None else found.default

    def _array(self, array: Any, found: Schema) -> Any:
        held = array_at(array, self._path)
        if not replaces_null(self.config):
            return held
        return filled_array(held, found, array_at(array, self._path[:-1]).is_valid())
