"""field_condition: records by what a field of them is."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar
from uuid import UUID

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.configuration.patterns import compiled, pattern_problem
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, decimal, timestamp
from rocketconnect_sdk.transforms.base import LOOKED_AT, Predicate, Record, Records, given, given_many
from rocketconnect_sdk.transforms.casting import cast
from rocketconnect_sdk.transforms.paths import FIELD, SYNTAX, array_at, read_path, schema_at, value_at
from rocketconnect_sdk.transforms.texts import text_of

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS = (*_COMPARED, "in", "matches", "is_null")
_SCHEMAS: Mapping[type, Schema] = {
    bool: Schema(Type.BOOLEAN),
    int: decimal(38, precision=76),
    float: Schema(Type.FLOAT64),
    Decimal: decimal(38, precision=76),
    str: STRING,
    bytes: BYTES,
    date: Schema(Type.DATE),
    time: Schema(Type.TIME),
    UUID: Schema(Type.UUID),
}
"""How the value of the option is read for values without a schema."""


class FieldCondition(Predicate):
    """Chooses records by a field. A null is chosen by is_null alone, and so is, without a schema, a field that is not there.

    The value is read once for each type. Numbers without a schema are compared as exact numbers. Values of structs, arrays and
    maps can only be is_null or match. With a schema the field must be there.
    """

    name: ClassVar[str] = "field_condition"
    options: ClassVar[Sequence[Option]] = (
        LOOKED_AT,
        FIELD,
        SYNTAX,
        Option(
            "operator",
            "How it is compared. matches: its whole text matches a regular expression (Java's). in: it is one of several.",
            required=True,
            choices=_OPERATORS,
            example="is_null",
        ),
        Option("value", "What it is compared with, read by the type of the field as cast reads a text; for in: with commas."),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._path = read_path(config["field"], config["field.syntax.version"])
        self._operator: str = config["operator"]
        self._schema_at = lru_cache(64)(schema_at)
        self._values = lru_cache(64)(self._read)
        self._matches = compiled(config["value"]).fullmatch if self._operator == "matches" else None

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Predicate."""
        value = config["value"]
        if config["operator"] == "is_null":
            if value is not None:
                yield Problem("value", value[:200], "says nothing: is_null compares with nothing", "Take it out.")
        elif value is None:
            yield Problem("value", "", f"is missing: {config['operator']} compares with it", "Give it.")
        elif config["operator"] == "matches" and (why := pattern_problem(value)):
            yield Problem("value", value[:200], why, "Write one, such as test-.*")

    def test(self, record: Record) -> bool:
        """See Predicate."""
        value, schema = given(record, self.config)
        if value is None:
            return self._operator == "is_null"
        if schema is not None:
            return self._holds(value_at(value, self._path, schema), self._schema_at(schema, self._path))
        return self._holds(_found(value, self._path), None)

    def test_many(self, records: Records) -> Sequence[bool] | None:
        """See Predicate."""
        values, schema = given_many(records, self.config)
        if values is None or schema is None:
            return None
        of = self._schema_at(schema, self._path)
        if isinstance(values, Column):
            return [self._holds(value, of) for value in Column(array_at(values.array, self._path))]
        return [self._holds(value_at(value, self._path, schema), of) for value in values]

    def _holds(self, value: object, schema: Schema | None) -> bool:
        if value is None or self._operator == "is_null":
            return value is None and self._operator == "is_null"
        if self._matches is not None:
            try:
                return self._matches(text_of(value, schema)) is not None
            except ValueError as error:
                msg = f"the field {self.config['field']} has no text: {error}"
                raise RecordError(msg) from None
        wanted = self._values(_schema_of(value) if schema is None else schema)
        if self._operator == "in":
            return value in wanted
        return bool(_COMPARED[self._operator](value, wanted[0]))

    def _read(self, schema: Schema) -> Sequence[object]:
        """What it is compared with."""
        text = self.config["value"]
        texts = [part.strip() for part in text.split(",")] if self._operator == "in" else [text]
        try:
            return [cast(each, STRING, schema) for each in texts]
        except ValueError as error:
            msg = f"the field {self.config['field']} is {type_name(schema)}, and {text[:200]!r} {error}"
            raise RecordError(msg) from None


def _found(value: object, path: tuple[str, ...]) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _schema_of(value: object) -> Schema:
    if isinstance(value, datetime):
        return timestamp(zone=value.tzinfo is not None)
    found = _SCHEMAS.get(type(value))
    if found is None:
        msg = f"a {type(value).__name__} can't be compared with a text"
        raise RecordError(msg)
    return found
