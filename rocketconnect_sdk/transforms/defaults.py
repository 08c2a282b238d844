"""Defaults of schemas in the place of nulls, as replace.null.with.default of Kafka Connect's transforms has it."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Default, Schema, Type

REPLACE_NULL = Option(
    "replace.null.with.default",
    "A field that is null counts as the default that its schema has. By Kafka Connect's class names transforms have true.",
    Kind.BOOL,
    "false",
)
"""Kafka Connect's own default is true; a null that somebody has written is none that is missing, so it is false under our names."""


def replaces_null(config: Config) -> bool:
    """Whether a transform is to do it; one without the option is not."""
    return config.get(REPLACE_NULL.key) is True


@lru_cache(maxsize=256)
def defaults_of(schema: Schema) -> Mapping[str, Default]:
    """By name the fields of a struct that have one."""
    return {field.name: field.schema.default for field in schema.fields if field.schema.default is not None}


def filled(value: object, schema: Schema | None) -> object:
    """A struct with the defaults in the place of its nulls; what is no struct, or has no schema, stays what it is."""
    if schema is None or not isinstance(value, Mapping) or not (defaults := defaults_of(schema)):
        return value
    missing = {name: default for name, default in defaults.items() if value.get(name) is None}
    return {**value, **missing} if missing else value


def filled_many(values: Sequence[object], schema: Schema) -> Sequence[object]:
    """The same for values of one schema."""
    if schema.type is not Type.STRUCT or not (defaults := defaults_of(schema)):
        return values
    if not isinstance(values, Column):
        return [filled(value, schema) for value in values]
    import pyarrow as pa

    array = values.array
    schemas = {field.name: field.schema for field in schema.fields}
    columns = [
        filled_array(column, schemas[field.name]) if field.name in defaults else column
        for field, column in zip(array.type, array.flatten(), strict=True)
    ]
    return Column(pa.StructArray.from_arrays(columns, fields=list(array.type), mask=array.is_null()))


def filled_array(array: Any, schema: Schema, there: Any = None) -> Any:
    """An Arrow array with the default of its schema, where that has one, in the place of its nulls.

    Args:
        array: The values.
        schema: Theirs.
        there: An Arrow array of booleans; where it is false a null stays null. None: nowhere.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from rocketconnect_sdk.arrow import to_array

    if schema.default is None or not array.null_count:
        return array
    nulls = array.is_null() if there is None else pc.and_(array.is_null(), there)
    # By taking: it knows every type.
    with_default = pa.concat_arrays([array, to_array([schema.default], schema).cast(array.type)])
    return with_default.take(pc.if_else(nulls, len(array), pa.array(range(len(array)), pa.int64())))
