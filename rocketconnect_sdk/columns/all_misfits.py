"""All columns that do not fit, each with the first value that is none of it and the type that takes all of its values: for checks.

Where rows are written the first error is enough. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.columns.inference import inferred_fields
from rocketconnect_sdk.columns.objects import of_another, rows_of_array, rows_of_values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field, Schema, Type

_ADVICE = "; make it `"


def misfits_of_objects(objects: Sequence[Mapping[str, object]], columns: Schema) -> list[str]:
    """What is wrong with JSON objects for columns, column by column; first with those that have none of them."""
    names = {field.name for field in columns.fields}
    other = next((each for each in objects if each and names.isdisjoint(each)), None)
    found = [] if other is None else [str(of_another(list(other), columns))]
    for field in columns.fields:
        values = [{field.name: each[field.name]} for each in objects if each.get(field.name) is not None]
        try:
            rows_of_values(values, _alone(field))
        except RecordError as error:
            found.append(_with_type_of_all(str(error), field, values))
    return found


def misfits_of_rows(rows: Sequence[pa.StructArray], columns: Schema) -> list[str]:
    """What is wrong with rows of columns, which may be of several schemas, for columns: as misfits_of_objects."""
    found = []
    for field in columns.fields:
        places = ((array, array.type.get_field_index(field.name)) for array in rows)
        there = (array.flatten()[place] for array, place in places if place >= 0)
        for column in there:
            try:
                rows_of_array(pa.StructArray.from_arrays([column], names=[field.name]), _alone(field))
            except RecordError as error:
                found.append(str(error))
                break
    return found


def _alone(field: Field) -> Schema:
    return Schema(Type.STRUCT, fields=(field,))


def _with_type_of_all(said: str, field: Field, values: Sequence[Mapping[str, object]]) -> str:
    """Advice that holds for all values: the first of another type may be a date, and the next one any text."""
    if not any(isinstance(value, str) for each in values for value in each.values()):
        return said
    taking = next((each.schema for each in inferred_fields(values).fields), None)
    reason = said.partition(_ADVICE)[0]
    if taking is None or replace(taking, optional=True) == replace(field.schema, optional=True):
        return reason
    return f"{reason}{_ADVICE}{type_name(taking)}`"
