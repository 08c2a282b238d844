"""Values as the columns of a table."""

from dataclasses import replace
from datetime import time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import Policy, Takes, as_table, nullable, settle
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.evolution.numbers import NUMBERS, joined
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, WHOLE, Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.spark.types import stored_type, to_spark
from tests.rocketconnect_sdk.typed_values import LEAVES, typed

EVERYTHING = Takes(columns=True, nulls=True, type=lambda *_: True)
_SPARKS = [schema for schema in LEAVES if schema.precision <= 38]
_NUMBERS = [schema for schema in _SPARKS if schema.type in NUMBERS]


def stored(values: list[Any], schema: Schema) -> pa.Array:
    return to_spark(to_array(values, schema))


def fitted(values: list[Any], schema: Schema, column: Schema) -> tuple[list[Any], dict[int, str]]:
    """Of one column called value."""
    made, reasons = fit(stored(values, schema), schema, struct([("value", column)]))
    made.validate(full=True)
    return made.field(0).to_pylist(maps_as_pydicts="strict"), reasons


@given(typed(), st.integers(0, 2))
def test_values_of_the_columns_own_types_stay_as_they_are(given: tuple[Schema, Any], skip: int) -> None:
    schema, value = given
    try:
        array = stored([value] * 3, schema)[skip:]
    except RecordError:
        return  # longer decimals than Spark has, and what Arrow has no room for
    made, reasons = fit(array, schema, as_table(schema))
    made.validate(full=True)
    assert reasons == {}
    held = made if schema.type is Type.STRUCT else made.field(0)
    assert held.to_pylist() == array.to_pylist()
    assert made.type == stored_type(to_arrow_type(nullable(as_table(schema))))


@given(st.data(), st.sampled_from(_SPARKS), st.sampled_from(_SPARKS))
def test_in_the_column_that_two_types_become_every_value_of_both_is_what_it_was(
    data: st.DataObject, old: Schema, new: Schema
) -> None:
    column = joined(old, new)
    if column is None or (column.unit is Unit.NANOSECONDS and new.unit is not Unit.NANOSECONDS):
        return  # nanoseconds end in the year 2262
    values = data.draw(st.lists(LEAVES[new], max_size=4))
    made, reasons = fitted(values, new, column)
    assert reasons == {}
    again, reasons = fit(pa.array(made, stored_type(to_arrow_type(column))), column, struct([("value", new)]))
    if new.type in NUMBERS or new.type is Type.TIMESTAMP or new.type is Type.TIME:
        assert reasons == {}
        assert again.field(0).equals(stored(values, new))


@given(
    st.data(),
    st.sampled_from([s for s in _SPARKS if s.type in NUMBERS]),
    st.sampled_from([s for s in _SPARKS if s.type in NUMBERS]),
)
def test_a_number_is_taken_as_it_was_or_refused(data: st.DataObject, of: Schema, column: Schema) -> None:
    values = data.draw(st.lists(LEAVES[of] | st.none(), max_size=6))
    made, reasons = fitted(values, replace(of, optional=True), replace(column, optional=True))
    for index, (value, found) in enumerate(zip(values, made, strict=True)):
        if index in reasons:
            assert value is not None
            assert found is None
            assert "has no place in a column of" in reasons[index]
        elif value is None:
            assert found is None
        elif isinstance(value, float) or isinstance(found, float):
            # Decimals whose digits a float gives back.
            assert float(found) == pytest.approx(float(value), rel=1e-6 if column.type is Type.FLOAT32 else 0, abs=0)
        else:
            assert Decimal(found) == Decimal(value)
        if index not in reasons and value is not None and column.type in WHOLE:
            low, high = WHOLE[column.type]
            assert low <= found <= high


def test_one_value_that_has_no_place_costs_that_value() -> None:
    values = list(range(10_000))
    values[6_789] = 1 << 40
    made, reasons = fitted(values, Schema(Type.INT64), Schema(Type.INT32))
    assert reasons == {6_789: "value 1099511627776 has no place in a column of int32"}
    assert made[:6_789] + made[6_790:] == values[:6_789] + values[6_790:]


def test_whole_numbers_beyond_the_sign_of_the_column_are_refused_though_spark_has_room_for_them() -> None:
    assert fitted([-1, 0, 4_294_967_295, 4_294_967_296], Schema(Type.INT64), Schema(Type.UINT32))[1].keys() == {0, 3}
    assert fitted([-1, 0, (1 << 63) - 1], Schema(Type.INT64), Schema(Type.UINT64))[1].keys() == {0}


def test_a_time_is_the_same_one_in_the_unit_of_the_column() -> None:
    values = to_array([time(0, 0, 1)], Schema(Type.TIME, unit=Unit.MILLISECONDS)).to_pylist()
    for unit in Unit:
        made, reasons = fitted(values, Schema(Type.TIME, unit=Unit.MILLISECONDS), Schema(Type.TIME, unit=unit))
        assert (made, reasons) == ([unit.in_second], {})
    made, reasons = fitted([time(0, 0, 1, 5)], Schema(Type.TIME), Schema(Type.TIME, unit=Unit.MILLISECONDS))
    assert reasons.keys() == {0}


def test_nothing_of_a_time_is_cut_off() -> None:
    micros, millis = timestamp(), timestamp(Unit.MILLISECONDS)
    values = [None, *to_array([1_000, 1_001, -1_000, -1], Schema(Type.INT64)).cast(pa.timestamp("us", "UTC")).to_pylist()]
    found, reasons = fitted(values, replace(micros, optional=True), replace(millis, optional=True))
    assert reasons.keys() == {2, 4}
    assert [found[index] for index in (0, 1, 3)] == [values[index] for index in (0, 1, 3)]
    nanos = timestamp(Unit.NANOSECONDS)
    assert fitted([1_000, 1_001, None], replace(nanos, optional=True), replace(micros, optional=True))[1].keys() == {1}
    far = pa.array([4_102_444_800_000_000_000 // 1000 * 10], pa.timestamp("us", "UTC")).to_pylist()
    assert fitted(far, micros, nanos)[1].keys() == {0}
    least = pa.StructArray.from_arrays([pa.array([-(1 << 63), 0], pa.int64()).cast(pa.timestamp("us", "UTC"))], ["value"])
    held, reasons = fit(least, struct([("value", micros)]), struct([("value", replace(nanos, optional=True))]))
    assert held.field(0).to_pylist() == [None, 0]
    assert reasons.keys() == {0}


@pytest.mark.parametrize(
    ("of", "column"),
    [
        (STRING, Schema(Type.INT32)),
        (Schema(Type.INT32), STRING),
        (STRING, Schema(Type.UUID)),
        (timestamp(zone=True), timestamp(zone=False)),
        (Schema(Type.DATE), timestamp()),
        (Schema(Type.BOOLEAN), Schema(Type.INT8)),
        (STRING, struct([("a", STRING)])),
        (struct([("a", STRING)]), Schema(Type.MAP, keys=STRING, items=STRING)),
        (Schema(Type.MAP, keys=STRING, items=STRING), Schema(Type.MAP, keys=Schema(Type.INT8), items=STRING)),
    ],
)
def test_between_types_that_mean_something_else_nothing_is_converted_but_null(of: Schema, column: Schema) -> None:
    of, column = replace(of, optional=True), replace(column, optional=True)
    sample: dict[Type, Any] = {Type.STRING: "1", Type.INT32: 1, Type.BOOLEAN: True, Type.STRUCT: {"a": "x"}, Type.MAP: {"a": "x"}}
    value = sample.get(of.type, pa.array([0], pa.int32()).cast(pa.date32()).to_pylist()[0])
    if of.type is Type.TIMESTAMP:
        value = pa.array([0], pa.timestamp("us", "UTC")).to_pylist()[0]
    made, reasons = fit(stored([{"v": value}, {"v": None}], struct([("v", of)])), struct([("v", of)]), struct([("v", column)]))
    assert reasons.keys() == {0}
    assert reasons[0].startswith("v is ")
    assert made.to_pylist()[1] == {"v": None}


def test_what_is_missing_is_null_or_the_default_or_refused() -> None:
    of = struct([("a", STRING)])
    wanted = struct([("b", Schema(Type.INT32, default=7)), ("a", STRING), ("c", OPTIONAL_STRING)])
    made, reasons = fit(stored([{"a": "x"}, None, {"a": "y"}], replace(of, optional=True)), of, wanted)
    assert made.to_pylist() == [{"b": 7, "a": "x", "c": None}, None, {"b": 7, "a": "y", "c": None}]
    assert reasons == {}
    _, reasons = fit(stored([{"a": "x"}, None], replace(of, optional=True)), of, struct([("b", STRING)]))
    assert reasons == {0: "b is missing, and the column takes no null"}


def test_a_null_where_the_column_takes_none_is_refused_but_not_inside_of_a_null() -> None:
    of = struct([("s", struct([("a", OPTIONAL_STRING)], optional=True))])
    column = struct([("s", struct([("a", STRING)], optional=True))])
    _, reasons = fit(stored([{"s": {"a": "x"}}, {"s": {"a": None}}, {"s": None}], of), of, column)
    assert reasons == {1: "s.a is null, and the column takes no null"}


def test_what_does_not_fit_in_a_list_or_map_is_that_of_its_record() -> None:
    many = Schema(Type.ARRAY, optional=True, items=Schema(Type.INT32, optional=True))
    pairs = Schema(Type.MAP, optional=True, keys=STRING, items=Schema(Type.INT32))
    of = struct([("l", many), ("m", pairs)])
    small = replace(Schema(Type.INT8), optional=True)
    column = struct([("l", replace(many, items=small)), ("m", replace(pairs, items=Schema(Type.INT8)))])
    values = [
        {"l": [1, None], "m": {"a": 1}},
        {"l": None, "m": None},
        {"l": [1, 300], "m": {}},
        {"l": [], "m": {"a": 1, "b": 300}},
        {"l": [4], "m": {"c": -128}},
    ]
    for skip in (0, 1):
        made, reasons = fit(stored(values, of)[skip:], of, column)
        made.validate(full=True)
        assert reasons == {
            2 - skip: "l.[] 300 has no place in a column of int8",
            3 - skip: "m.{} 300 has no place in a column of int8",
        }
        good = [index for index in range(len(made)) if index not in reasons]
        assert [made.to_pylist(maps_as_pydicts="strict")[index] for index in good] == [values[skip:][index] for index in good]


@given(st.data(), st.sampled_from(_SPARKS), st.sampled_from(_SPARKS))
def test_what_evolved_takes_every_record_of_the_new_schema(data: st.DataObject, old: Schema, new: Schema) -> None:
    table, records = struct([("a", old)]), struct([("b", old), ("a", replace(new, optional=True))])
    values = [{"b": data.draw(LEAVES[old]), "a": data.draw(LEAVES[new] | st.none())} for _ in range(3)]
    settled = settle(table, records, Policy.EVOLVE, EVERYTHING)
    made, reasons = fit(stored(values, records), records, settled.table)
    made.validate(full=True)
    column = settled.table.fields[0].schema
    if joined(old, new) is None:
        allowed = [index for index, value in enumerate(values) if value["a"] is not None]
        assert reasons.keys() <= set(allowed)
    elif column.unit is not Unit.NANOSECONDS or new.unit is Unit.NANOSECONDS:
        assert reasons == {}
    assert made.field("b").equals(stored([value["b"] for value in values], old))


def test_decimals_lose_no_digit() -> None:
    values = [Decimal("1.10"), Decimal("1.15"), Decimal("99.90")]
    made, reasons = fitted(values, decimal(2, precision=4), decimal(1, precision=2))
    assert reasons.keys() == {1, 2}
    assert made[0] == Decimal("1.1")


@pytest.mark.parametrize("text", ["4.27", "-8.19", "99.99", "0.07"])
def test_a_decimal_and_the_number_that_is_nearest_to_it_become_each_other(text: str) -> None:
    of, double, single = decimal(2, precision=5), Schema(Type.FLOAT64), Schema(Type.FLOAT32)
    nearest = pa.scalar(float(text), pa.float32()).as_py()
    assert fitted([Decimal(text)], of, double) == ([float(text)], {})
    assert fitted([Decimal(text)], of, single) == ([nearest], {})
    assert fitted([float(text)], double, of) == ([Decimal(text)], {})
    assert fitted([nearest], single, of) == ([Decimal(text)], {})


@given(st.data(), st.sampled_from([schema for schema in _NUMBERS if schema.type is Type.DECIMAL]))
def test_a_decimal_that_is_taken_as_a_number_is_the_nearest_one(data: st.DataObject, of: Schema) -> None:
    values = data.draw(st.lists(LEAVES[of], min_size=1, max_size=6))
    made, reasons = fitted(values, of, Schema(Type.FLOAT64))
    assert [made[index] for index in range(len(values)) if index not in reasons] == [
        float(value) for index, value in enumerate(values) if index not in reasons
    ]
