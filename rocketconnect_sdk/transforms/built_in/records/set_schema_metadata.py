"""set_schema_metadata: another name and version of the schema."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.transforms.base import ON, Record, Records, Transform, given, given_many, put, put_many
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL, filled, filled_many, replaces_null


class SetSchemaMetadata(Transform):
    """Gives the schema another name, another version, or both. What has no schema is a bad record; tombstones pass."""

    name: ClassVar[str] = "set_schema_metadata"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.SetSchemaMetadata",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("schema.name", "The name; without it the schema keeps its own.", example="Order"),
        Option("schema.version", "The version; without it the schema keeps its own.", Kind.INT),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._renamed = lru_cache(64)(self._with_metadata)

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        if config["schema.name"] is None and config["schema.version"] is None:
            fix = "Give schema.name, schema.version or both."
            yield Problem("", "", "says neither schema.name nor schema.version, so it would do nothing", fix)

    def apply(self, record: Record) -> Record:
        """See Transform."""
        value, schema = given(record, self.config)
        if value is None:
            return record
        if schema is None:
            msg = f"the {self.config['on']} has no schema that could be named: use a converter that gives one"
            raise RecordError(msg)
        value = filled(value, schema) if replaces_null(self.config) else value
        return put(record, self.config, value, self._renamed(schema))

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        values, schema = given_many(records, self.config)
        if schema is None or values is None:
            return None
        values = filled_many(values, schema) if replaces_null(self.config) else values
        return put_many(records, self.config, values, self._renamed(schema))

    def _with_metadata(self, schema: Schema) -> Schema:
        name, version = self.config["schema.name"], self.config["schema.version"]
        return replace(schema, name=schema.name if name is None else name, version=schema.version if version is None else version)
