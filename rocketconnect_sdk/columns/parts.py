"""The columns of structs, by their names: what stands at a place of one schema is not what stands there in another."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from rocketconnect_sdk.schema import Field, Schema


def fields_of(values: pa.StructArray, schema: Schema) -> Iterator[tuple[Field, pa.Array]]:
    """The fields of a schema with their columns, in its order; where a struct is null, its columns are.

    Args:
        values: Structs.
        schema: What they are: a struct of the same fields, in any order.

    Raises:
        ValueError: The structs have other fields. That is a defect of whoever put the two together.
    """
    places = places_of(values, schema)
    columns = values.flatten()
    for field, place in zip(schema.fields, places, strict=True):
        yield field, columns[place]


def places_of(values: pa.StructArray, schema: Schema) -> Sequence[int]:
    """Where the fields of a schema are among the columns of structs.

    Args:
        values: See fields_of.
        schema: See fields_of.

    Raises:
        ValueError: See fields_of.
    """
    there = [field.name for field in values.type]
    wanted = [field.name for field in schema.fields]
    if there == wanted:
        return range(len(wanted))
    if sorted(there) != sorted(wanted):
        msg = f"structs of the fields {', '.join(there) or 'none'} are no values of a schema with {', '.join(wanted) or 'none'}"
        raise ValueError(msg)
    return [there.index(name) for name in wanted]
