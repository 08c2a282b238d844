"""header_from: fields as headers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.transforms.base import ON, Record, Records, given, given_many
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL, filled, filled_many, replaces_null
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept
from rocketconnect_sdk.transforms.paths import array_at, schema_at, value_at
from rocketconnect_sdk.transforms.texts import text_of
from rocketconnect_sdk.wording.counts import counted


class HeaderFrom(FieldsTransform):
    """Copies fields into headers, or moves them there. A null makes no header; tombstones pass."""

    name: ClassVar[str] = "header_from"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.HeaderFrom",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("fields", "The fields, separated by commas. All of them must be there.", Kind.LIST, required=True, example="id"),
        Option(
            "headers",
            "The headers that they become, in the same order; a value is written as cast to string does.",
            Kind.LIST,
            required=True,
            example="order",
        ),
        Option(
            "operation", "copy leaves the fields, move takes them out.", required=True, choices=("copy", "move"), example="copy"
        ),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._schemas = lru_cache(64)(self._schemas_of)
        self._moved = frozenset(config["fields"]) if config["operation"] == "move" else frozenset()

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        if len(config["fields"]) != len(config["headers"]):
            reason = f"names {counted(config['headers'], 'header')} for {counted(config['fields'], 'field')}"
            yield Problem("headers", ",".join(config["headers"])[:200], reason, "Name as many as fields.")

    def apply(self, record: Record) -> Record:
        """See Transform."""
        value, schema = given(record, self.config)
        if value is None:
            return record
        value = filled(value, schema) if replaces_null(self.config) else value
        held = [value_at(value, (name,), schema) for name in self.config["fields"]]
        headers = self._texts(held, None if schema is None else self._schemas(schema))
        changed = super().apply(record) if self._moved else record
        return replace(changed, headers={**record.headers, **headers})

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        values, schema = given_many(records, self.config)
        if schema is None or values is None:
            return None
        schemas = self._schemas(schema)
        values = filled_many(values, schema) if replaces_null(self.config) else values
        rows = zip(*(_field(values, name, schema) for name in self.config["fields"]), strict=True)
        there = [NO_HEADERS] * len(records) if records.headers is None else records.headers
        headers: list[Mapping[str, str]] = [{**old, **self._texts(held, schemas)} for old, held in zip(there, rows, strict=True)]
        changed = super().apply_many(records) if self._moved else records
        return None if changed is None else replace(changed, headers=headers if any(headers) else None)

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return [kept(field) for field in names if field[0] not in self._moved]

    def _schemas_of(self, schema: Schema) -> Sequence[Schema]:
        return [schema_at(schema, (name,)) for name in self.config["fields"]]

    def _texts(self, held: Sequence[object], schemas: Sequence[Schema] | None) -> dict[str, str]:
        """The headers of one record, whose fields hold this."""
        headers = {}
        for place, (header, value) in enumerate(zip(self.config["headers"], held, strict=True)):
            if value is None:
                continue
            try:
                headers[header] = text_of(value, None if schemas is None else schemas[place])
            except ValueError as error:
                msg = f"the field {self.config['fields'][place]} can't become a header: {error}"
                raise RecordError(msg) from None
        return headers


def _field(values: Sequence[object], name: str, schema: Schema) -> Sequence[object]:
    if isinstance(values, Column):
        return Column(array_at(values.array, (name,)))
    return [value_at(value, (name,), schema) for value in values]
