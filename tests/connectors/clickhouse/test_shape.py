"""Values at the edges of every type, in columns of every type of ClickHouse: each is written as it is, or has a reason."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from connectors.clickhouse.client import Client
from connectors.clickhouse.dialect import ClickHouse, rows_block, structure_of
from connectors.clickhouse.endpoint import Endpoint
from connectors.clickhouse.types import column_of
from rocketconnect_sdk.http import HttpClient
from rocketconnect_sdk.schema import Schema, Type, struct, timestamp
from rocketconnect_sdk.tables.columns import target_of
from rocketconnect_sdk.tables.dialect import fitted
from rocketconnect_sdk.targets.rows import Rows
from tests.rocketconnect_sdk.edges import EDGES

TABLES = ClickHouse(Client(Endpoint("", ""), HttpClient(["http://h"]), ""), (), exact=True)
_WHOLE = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64, 128, 256)]
_MOMENTS = ["DateTime", *(f"DateTime64({digits})" for digits in (0, 3, 5, 9))]
_TEXTS = ["String", "FixedString(3)", "Enum8('a' = 1)", "IPv4", "UUID", "JSON"]
KINDS = ["Bool", *_WHOLE, "Float32", "Float64", "Date", "Date32", *_TEXTS, "Decimal(9, 2)", "Decimal(76, 3)", *_MOMENTS]


def _written(kind: str, schema: Schema, values: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """What is in the column, and by row why it is not."""
    column, records = column_of("c", kind), struct([("c", schema)])
    target = target_of([column], records)
    rows, reasons = fitted(TABLES, [column], Rows(pa.StructArray.from_arrays([values], names=["c"]), records), target)
    assert rows_block(rows, structure_of(rows, target, [column]))
    assert rows.num_rows == len(values)
    return rows.column(0), reasons


def test_a_whole_number_that_is_too_large_for_its_column_is_told_alone() -> None:
    found, reasons = _written("UInt8", Schema(Type.INT32), pa.array([7, 300, -1, 255], pa.int32()))
    assert reasons == {
        1: "c 300 has no place in a column of uint8",
        2: "c -1 has no place in a column of uint8",
    }
    assert found.to_pylist() == [7, None, None, 255]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_what_it_is_without_those_that_have_a_reason_beside_it(kind: str) -> None:
    for schema, values in EDGES.items():
        found, reasons = _written(kind, schema, values)
        taken = pa.array([row not in reasons for row in range(len(values))], pa.bool_())
        without, none = _written(kind, schema, values.filter(taken))
        assert none == {}
        # As text: a NaN is no other one.
        assert str(found.filter(taken).to_pylist()) == str(without.to_pylist())


def _nested(schema: Schema, values: pa.Array) -> Iterator[tuple[Schema, pa.Array]]:
    optional = replace(schema, optional=True)
    with_null = pa.concat_arrays([values, pa.nulls(1, values.type)])
    yield optional, with_null
    offsets = pa.array(range(len(values) + 1), pa.int32())
    yield Schema(Type.ARRAY, items=schema), pa.ListArray.from_arrays(offsets, values)
    offsets = pa.array([0, *range(len(with_null) + 1)], pa.int32())
    yield Schema(Type.ARRAY, items=optional), pa.ListArray.from_arrays(offsets, with_null)
    yield struct([("x", schema)]), pa.StructArray.from_arrays([values], names=["x"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *(f"Nullable({kind})" for kind in KINDS if kind != "JSON"), "Map(String, String)"])
def test_values_within_others_are_told_by_row_too(kind: str) -> None:
    within = [kind] if kind in ("JSON", "Map(String, String)") else [kind, f"Array({kind})", f"Array(Array({kind}))"]
    for column in within:
        for schema, values in EDGES.items():
            for of, held in _nested(schema, values):
                _, reasons = _written(column, of, held)
                assert reasons.keys() <= set(range(len(held)))


@pytest.mark.parametrize("kind", ["Nullable(Date32)", "Nullable(DateTime)"])
def test_a_null_beside_a_value_that_has_no_place_stays_a_null(kind: str) -> None:
    is_date = "Date32" in kind
    schema = Schema(Type.DATE, optional=True) if is_date else timestamp(optional=True)
    values = pa.array([None, date(1, 1, 1)], pa.date32())
    found, reasons = _written(kind, schema, values if is_date else values.cast(pa.timestamp("us", "UTC")))
    assert (found.is_null()[0].as_py(), list(reasons)) == (True, [1])
