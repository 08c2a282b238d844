"""Schemas and columns through Spark's types and back."""

from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import readable, to_arrow_type
from rocketconnect_sdk.schema import STRING, Field, Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.spark.types import from_spark_field, from_spark_type, stored_type, to_spark, to_spark_field, to_spark_type
from tests.rocketconnect_sdk.typed_values import typed

known = typed()


@given(known)
def test_a_field_comes_back_from_spark_as_it_went_in(case: tuple[Schema, object]) -> None:
    field = Field("x", case[0])
    made = to_spark_field(field)
    assert from_spark_field(made) == field
    # As Spark keeps it in its own files and plans.
    assert from_spark_field(types.StructField.fromJson(made.jsonValue())) == field


@given(st.lists(known, max_size=3))
def test_rows_come_back_with_the_schemas_of_their_fields(cases: list[tuple[Schema, object]]) -> None:
    schema = struct([(f"f{number}", case[0]) for number, case in enumerate(cases)])
    kind = to_spark_type(schema)
    assert isinstance(kind, types.StructType)
    assert from_spark_type(kind) == schema


@given(known)
def test_a_column_for_spark_keeps_its_values(case: tuple[Schema, object]) -> None:
    schema, value = case
    array = to_array([value, None], schema)
    stored = to_spark(array)
    assert stored.type == stored_type(to_arrow_type(schema))
    assert to_spark(stored) is stored
    assert (len(stored), stored.null_count) == (len(array), array.null_count)


def test_what_spark_lacks_is_stored_as_something_with_room_for_it() -> None:
    def stored(values: list[object], schema: Schema) -> list[object]:
        found: list[object] = to_spark(to_array(values, schema)).to_pylist()
        return found

    assert stored([255], Schema(Type.UINT8)) == [255]
    assert [int(str(value)) for value in stored([(1 << 64) - 1], Schema(Type.UINT64))] == [(1 << 64) - 1]
    assert stored([5], Schema(Type.TIME, unit=Unit.NANOSECONDS)) == [5]
    assert stored([7], timestamp(Unit.NANOSECONDS)) == [7]
    (text,) = stored([{"id": "12345678-1234-5678-1234-567812345678"}], struct([("id", Schema(Type.UUID))]))
    assert text == {"id": "12345678-1234-5678-1234-567812345678"}


def test_a_decimal_that_spark_lacks_is_text_with_all_its_digits() -> None:
    values = [Decimal("-1234567890123456789012345678901234567.89"), Decimal("0.10"), None]
    kind = to_arrow_type(decimal(2, precision=40))
    assert to_spark(pa.array(values, kind)).to_pylist() == ["-1234567890123456789012345678901234567.89", "0.10", None]


def test_metadata_that_do_not_fit_the_type_are_not_believed() -> None:
    made = to_spark_field(Field("x", Schema(Type.UINT32)))
    cast = types.StructField("x", types.StringType(), metadata=made.metadata)
    assert from_spark_field(cast) == Field("x", Schema(Type.STRING, optional=True))


def test_a_null_struct_whose_parts_must_be_there_stays_null_beside_parts_of_other_types() -> None:
    inner = struct([("id", STRING), ("at", timestamp(Unit.MILLISECONDS))], optional=True)
    schema = struct([("inner", inner), ("facts", Schema(Type.JSON)), ("many", Schema(Type.ARRAY, items=inner))])
    rows = [{"inner": None, "facts": "{}", "many": [None]}, {"inner": None, "facts": "1", "many": []}] * 3
    stored = to_spark(to_array(rows, schema)[1:])
    assert stored.to_pylist() == rows[1:]
    assert stored.type == stored_type(to_arrow_type(schema))
    assert readable(to_array(rows, schema)[2:]).to_pylist() == rows[2:]
