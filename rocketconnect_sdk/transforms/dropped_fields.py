"""Fields that a header names, left out of a record."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms.base import Record


class DroppedFields:
    """Leaves them out.

    Args:
        config: drop.fields.header.name, drop.fields.from.key and drop.fields.keep.schema.compatible, as unwrap has them.
    """

    def __init__(self, config: Config) -> None:
        self._header: str = config["drop.fields.header.name"]
        self._from_key: bool = config["drop.fields.from.key"]
        self._only_optional: bool = config["drop.fields.keep.schema.compatible"]
        self._left = lru_cache(64)(_left)

    def of(self, record: Record) -> Record:
        """The record without the fields that its header names; as it is where it has no such header.

        Raises:
            RecordError: the header is no list of names.
        """
        names = self._names(record.headers.get(self._header, ""))
        if not names:
            return record
        value, schema = self._dropped(record.value, record.schema, names)
        if not self._from_key:
            return replace(record, value=value, schema=schema)
        key, key_schema = self._dropped(record.key, record.key_schema, names)
        return replace(record, value=value, schema=schema, key=key, key_schema=key_schema)

    def _dropped(self, value: Any, schema: Schema | None, names: frozenset[str]) -> tuple[Any, Schema | None]:
        if not isinstance(value, Mapping):
            return value, schema
        if schema is None:
            # Nothing says that one of them is required.
            return {name: held for name, held in value.items() if name not in names}, None
        if schema.type is not Type.STRUCT:
            return value, schema
        left = self._left(schema, names, self._only_optional)
        return {field.name: value.get(field.name) for field in left.fields}, left

    def _names(self, text: str) -> frozenset[str]:
        if not text.lstrip().startswith("["):
            return frozenset(name.strip() for name in text.split(",") if name.strip())
        try:
            found = value_of(text)
        except RecordError:
            found = None
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            msg = f"the header {self._header} is no list of fields: {text[:200]!r}; write names with commas, or a JSON array"
            raise RecordError(msg)
        return frozenset(found)


def _left(schema: Schema, names: frozenset[str], only_optional: bool) -> Schema:
    """The schema of what is left."""
    fields = [field for field in schema.fields if field.name not in names or (only_optional and not field.schema.optional)]
    return replace(schema, fields=tuple(fields))
