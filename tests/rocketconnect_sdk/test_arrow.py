from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import from_arrow, to_array, to_arrow
from rocketconnect_sdk.columns.arrow_types import from_arrow_type, to_arrow_type
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Rejected, SinkBatch
from rocketconnect_sdk.schema import STRING, Field, Schema, Type, Unit, decimal, struct, timestamp
from tests.rocketconnect_sdk.typed_values import LEAVES, TEXT

PLAIN = {replace(schema, optional=True): values for schema, values in LEAVES.items()}
schemas = st.recursive(
    st.sampled_from(list(PLAIN)),
    lambda inner: st.one_of(
        st.builds(lambda items: Schema(Type.ARRAY, optional=True, items=items), inner),
        st.builds(lambda items: Schema(Type.MAP, optional=True, keys=STRING, items=items), inner),
        st.builds(
            lambda parts: Schema(Type.STRUCT, optional=True, fields=tuple(Field(f"f{i}", part) for i, part in enumerate(parts))),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=5,
)


@given(schemas)
def test_a_schema_survives_arrow(schema: Schema) -> None:
    assert from_arrow_type(to_arrow_type(schema)) == schema


def test_values_of_a_schema_become_a_typed_array() -> None:
    schema = Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32, optional=True)), Field("b", STRING)))
    array = to_array([{"a": 1, "b": "x"}, {"a": None, "b": "y"}], schema)
    assert array.type == pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string(), nullable=False)])
    assert array.to_pylist() == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]


@pytest.mark.parametrize(("value", "type_"), [("text", Type.INT32), (2**40, Type.INT32), ({}, Type.STRING)])
def test_a_value_that_does_not_fit_is_a_bad_record(value: object, type_: Type) -> None:
    with pytest.raises(RecordError, match="does not fit its schema"):
        to_array([value], Schema(type_))


def test_what_a_unit_has_no_room_for_is_an_error_and_not_cut_off() -> None:
    late = datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    for schema, value in ((timestamp(Unit.MILLISECONDS), late), (Schema(Type.TIME, unit=Unit.MILLISECONDS), late.time())):
        for within, values in ((schema, [value]), (struct([("x", schema)]), [{"x": value}])):
            with pytest.raises(RecordError, match="would lose data"):
                to_array(values, within)


def test_a_decimal_that_arrow_lacks_is_named() -> None:
    for wrong in (decimal(0, precision=77), decimal(3, precision=2), decimal(-1)):
        with pytest.raises(RecordError, match="of at most 76 digits"):
            to_arrow_type(wrong)


def test_without_a_schema_plain_values_keep_their_type_and_others_become_json() -> None:
    assert to_array(["a", None], None).type == pa.string()
    assert to_array([b"a"], None).type == pa.binary()
    assert to_array([1, 2], None).type == pa.int64()
    assert to_array([None], None).type == pa.string()
    assert to_array([{"a": 1}, "b"], None).to_pylist() == ['{"a":1}', '"b"']


def test_a_type_without_a_schema_is_named() -> None:
    with pytest.raises(TypeError, match="duration"):
        from_arrow_type(pa.duration("s"))


def values_of(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema whose parts are all optional, None among them."""
    return st.one_of(st.none(), _present(schema))


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.type is Type.STRUCT:
        return st.fixed_dictionaries({field.name: values_of(field.schema) for field in schema.fields})
    if schema.items is not None:
        items = values_of(schema.items)
        return st.lists(items, max_size=3) if schema.type is Type.ARRAY else st.dictionaries(TEXT, items, max_size=3)
    return PLAIN[schema]


columns = schemas.flatmap(lambda schema: st.tuples(st.just(schema), st.lists(values_of(schema), max_size=5)))


@given(columns)
def test_a_column_becomes_records_and_the_same_column_again(given_: tuple[Schema, list[object]]) -> None:
    schema, values = given_
    column = to_array(values, schema)
    batch = from_arrow(column, "p", [(number,) for number in range(len(values))])
    assert (batch.values, batch.schema, len(batch)) == (values, schema, len(values))
    back = to_arrow(SinkBatch("t/b/0", "t", batch.values, range(len(values)), schema=batch.schema))
    assert back.column("value").equals(column)


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), schemas, min_size=1, max_size=3).flatmap(
        lambda fields: st.tuples(
            st.just(fields),
            st.lists(st.fixed_dictionaries({name: values_of(schema) for name, schema in fields.items()}), max_size=4),
        )
    )
)
def test_a_table_becomes_rows_and_the_same_table_again(given_: tuple[Mapping[str, Schema], list[Mapping[str, object]]]) -> None:
    fields, rows = given_
    schema = struct(list(fields.items()))
    columns = [to_array([row[name] for row in rows], part) for name, part in fields.items()]
    table = pa.table(columns, pa.schema([pa.field(name, to_arrow_type(part)) for name, part in fields.items()]))
    offsets = [(7, number + 1) for number in range(len(rows))]
    for data in (table, table.combine_chunks().to_batches()[0] if rows else table):
        batch = from_arrow(data, "p", offsets)
        assert (batch.partition, batch.values, batch.offsets, batch.schema) == ("p", rows, offsets, schema)
        back = to_arrow(SinkBatch("t/b/0", "t", batch.values, range(len(rows)), schema=batch.schema)).column("value")
        assert pa.Table.from_struct_array(back).equals(table.combine_chunks())


def test_a_column_of_keys_brings_its_schema_and_other_keys_none() -> None:
    table = pa.table({"id": pa.array([1, None], pa.int32()), "at": pa.array([0, 1], pa.timestamp("ms", "UTC"))})
    offsets = [(1,), (2,)]
    batch = from_arrow(table["at"], "p", offsets, keys=table["id"], timestamps_ms=[5, 6])
    assert (batch.keys, batch.key_schema) == ([1, None], Schema(Type.INT32, optional=True))
    assert batch.timestamps_ms == [5, 6]
    assert batch.size == table["at"].nbytes > 0
    assert from_arrow(table, "p", offsets, keys=["a", "b"]).key_schema is None
    assert from_arrow(table, "p", offsets, keys=["a", "b"]).keys == ["a", "b"]
    assert from_arrow(table, "p", offsets).keys is None


def test_a_value_or_key_that_python_cannot_hold_is_rejected_alone() -> None:
    late = pa.array([0, 10**16, None], pa.timestamp("ms", "UTC"))
    twice = pa.array([[("a", 1), ("a", 2)], [("a", 1)], None], pa.map_(pa.string(), pa.int64()))
    offsets = [(1,), (2,), (3,)]
    (first, second, third) = from_arrow(late, "p", offsets).values
    assert (first, third) == (datetime(1970, 1, 1, tzinfo=UTC), None)
    assert isinstance(second, Rejected)
    assert (second.error, second.length) == ("OverflowError", len(second.original))
    assert b"10000000000000000" in second.original
    assert [isinstance(value, Rejected) for value in from_arrow(twice, "p", offsets).values] == [True, False, False]
    rows = from_arrow(pa.table({"late": late, "twice": twice}), "p", offsets, keys=late)
    assert [isinstance(value, Rejected) for value in rows.values] == [True, True, False]
    assert rows.keys == [datetime(1970, 1, 1, tzinfo=UTC), None, None]
    keyed = from_arrow(pa.array([1, 2, 3]), "p", offsets, keys=late)
    assert [isinstance(value, Rejected) for value in keyed.values] == [False, True, False]


def test_columns_of_different_lengths_are_refused() -> None:
    table = pa.table({"a": [1, 2]})
    with pytest.raises(ValueError, match="2 values and 1 offsets"):
        from_arrow(table, "p", [(1,)])
    with pytest.raises(ValueError, match="2 values and 3 keys"):
        from_arrow(table, "p", [(1,), (2,)], keys=pa.array([1, 2, 3]))
    with pytest.raises(ValueError, match="2 values and 0 timestamps_ms"):
        from_arrow(table, "p", [(1,), (2,)], timestamps_ms=[])


def test_a_table_that_no_schema_stands_for_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"duration\[s\] has no schema: cast it to one of bool, .*timestamp\[ms to ns\], a struct"):
        from_arrow(pa.table({"a": pa.array([1], pa.duration("s"))}), "p", [(1,)])
    with pytest.raises(TypeError, match="two fields of the same name: a, a"):
        from_arrow(pa.table([[1], [2]], names=["a", "a"]), "p", [(1,)])
    with pytest.raises(TypeError, match="has no schema"):
        from_arrow_type(pa.decimal128(5, -2))


def test_a_sink_batch_is_a_table_of_values_keys_offsets_and_times() -> None:
    schema = struct([("id", Schema(Type.INT64)), ("price", decimal(2, optional=True))])
    rows = [{"id": 1, "price": Decimal("1.25")}, {"id": 2, "price": None}, None]
    batch = to_arrow(SinkBatch("t/b/0", "t", rows, [4, 7, 8], ["a", None, "b"], [0, 86_400_000, 1], schema=schema))
    assert batch.schema.names == ["value", "key", "offset", "timestamp"]
    assert batch.schema.field("value").type == to_arrow_type(schema)
    assert batch.to_pydict() == {
        "value": rows,
        "key": ["a", None, "b"],
        "offset": [4, 7, 8],
        "timestamp": [datetime(1970, 1, day, 0, 0, 0, ms * 1000, tzinfo=UTC) for day, ms in ((1, 0), (2, 0), (1, 1))],
    }


def test_what_a_sink_batch_does_not_know_is_null() -> None:
    batch = to_arrow(SinkBatch("t/b/0", "t", ["x", {"a": date(2024, 2, 29).isoformat()}], range(2)))
    assert batch.to_pylist() == [
        {"value": '"x"', "key": None, "offset": 0, "timestamp": None},
        {"value": '{"a":"2024-02-29"}', "key": None, "offset": 1, "timestamp": None},
    ]
    assert [field.type for field in batch.schema] == [pa.string(), pa.string(), pa.int64(), pa.timestamp("ms", "UTC")]
    assert to_arrow(SinkBatch("t/b/0", "t", [], [])).num_rows == 0
    with pytest.raises(RecordError, match="does not fit its schema"):
        to_arrow(SinkBatch("t/b/0", "t", ["x"], [0], schema=Schema(Type.INT64)))
