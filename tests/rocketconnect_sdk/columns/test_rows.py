"""Packed messages: what goes in comes out, and whatever bytes come only a RecordError leaves."""

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import time

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.compact import Column, Numbers
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of, unpack, values_of
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.examples import some
from tests.rocketconnect_sdk.typed_values import typed

COLUMNS = parse_columns("id:int64, name, ok:boolean")
VALUES = [{"id": 1, "name": "a", "ok": True}, {"id": None, "name": "", "ok": None}, None]


def packed(values: Sequence[object] = VALUES, schema: Schema = COLUMNS, offsets: Sequence[Offset] = ()) -> bytes:
    offsets = offsets or [(number,) for number in range(len(values))]
    return Rows(*array_of(values, schema), offsets_of(offsets), "u/p").pack()


@given(typed(), st.integers(1, 3))
@settings(max_examples=some(300), deadline=None)
def test_rows_come_back_and_many_are_as_one_by_one(case: tuple[Schema, object], count: int) -> None:
    schema, value = case
    assume(not _has_empty(schema))
    arrow = converter("arrow", {}, is_key=False)
    rows = unpack(packed([value] * count, schema))
    assert (values_of(rows), rows.schema) == ([value] * count, schema)
    assert arrow.decode(arrow.encode(value, schema)) == (value, schema)
    assert arrow.decode(rows.slice(0, 1).pack()) == (value, schema)


def _has_empty(schema: Schema) -> bool:
    """Whether there is a struct without fields in it."""
    inner = [*(field.schema for field in schema.fields), *(part for part in (schema.items, schema.keys) if part)]
    return (schema.type is Type.STRUCT and not schema.fields) or any(map(_has_empty, inner))


def test_offsets_tell_rows_apart() -> None:
    for offsets in ([(5,), (7,), (7, 1)], Numbers([5, 7, 8])):
        rows = unpack(packed(offsets=offsets))
        assert rows.last == offsets[2]
        assert [len(rows.above(mark)) for mark in ((), (4,), (5,), (6, 9), (9,))] == [3, 3, 2, 2, 0]
        assert values_of(rows.above((5,))) == VALUES[1:]
        assert values_of(unpack(rows.slice(1, 3).above((6,)).pack())) == VALUES[1:]


def test_keys_times_and_headers_come_along() -> None:
    headers = pa.array([[("h", "1")], [], []], pa.map_(pa.string(), pa.string()))
    keys, times = pa.array([b"k", None, b""], pa.binary()), pa.array([7, 8, 9], pa.int64())
    rows = unpack(Rows(*array_of(VALUES, COLUMNS), offsets_of([(1,), (2,), (3,)]), "u/p", keys, times, headers).pack())
    chosen = unpack(rows.take([0, 2]).pack())
    assert chosen.keys is not None
    assert chosen.timestamps_ms is not None
    assert chosen.headers is not None
    assert (chosen.keys.to_pylist(), chosen.timestamps_ms.to_pylist()) == ([b"k", b""], [7, 9])
    assert chosen.headers.to_pylist() == [[("h", "1")], []]
    assert (chosen.source, chosen.last) == ("u/p", (3,))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_row_alone_has_no_byte_of_its_neighbours(number: int) -> None:
    texts = ["first one", "second", "the third"]
    schema = struct(
        [
            ("text", STRING),
            ("list", Schema(Type.ARRAY, items=struct([("x", STRING)]))),
            ("map", Schema(Type.MAP, keys=STRING, items=STRING)),
        ]
    )
    values = [{"text": text, "list": [{"x": text}], "map": {text: text}} for text in texts]
    more = {
        "keys": pa.array([text.encode() for text in texts], pa.binary()),
        "headers": pa.array([[("h", text)] for text in texts], pa.map_(pa.string(), pa.string())),
    }
    rows = unpack(Rows(*array_of(values, schema), offsets_of([(1,), (2,), (3,)]), "u/p", **more).pack())
    body = rows.alone(number).pack()
    assert [text.encode() in body for text in texts] == [other == number for other in range(3)]
    assert values_of(unpack(body)) == [values[number]]
    assert unpack(body).last == (number + 1,)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": 1}, None),
        ({"id": 1, "more": 2}, COLUMNS),
        ({"in": {"id": 1, "more": 2}}, struct([("in", COLUMNS)])),
        ({"x": None}, struct([("x", STRING)])),
        ([{"x": None}], Schema(Type.ARRAY, items=struct([("x", STRING)]))),
        (1 << 40, Schema(Type.INT32)),
        ("a", Schema(Type.INT64)),
        (object(), STRING),
        ("\ud800", STRING),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value: object, schema: Schema | None) -> None:
    with pytest.raises(RecordError):
        converter("arrow", {}, is_key=False).encode(value, schema)


def test_a_message_of_many_rows_is_no_single_value() -> None:
    with pytest.raises(RecordError, match="3 rows"):
        converter("arrow", {}, is_key=False).decode(packed())


MESSAGES = [
    packed(),
    packed([[{"a": b"x"}], []], Schema(Type.ARRAY, items=struct([("a", Schema(Type.BYTES))]))),
    packed([{"x": {1: "a"}}], struct([("x", Schema(Type.MAP, keys=Schema(Type.INT32), items=STRING))])),
    packed([math.pi], Schema(Type.FLOAT64)),
    packed([time(0, 0, 3)], Schema(Type.TIME, unit=Unit.MILLISECONDS)),
]


@given(st.sampled_from(MESSAGES), st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=6), st.integers(0, 3))
@settings(max_examples=some(2000), deadline=2000)
def test_damaged_bytes_are_refused_or_read_and_take_no_more_room(body: bytes, damage: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(body)
    for place, byte in damage:
        data[place % len(data)] = byte
    with suppress(RecordError):
        rows = unpack(bytes(data[: len(data) * (4 - cut) // 4]))
        assert rows.size <= len(data)
        values_of(rows)


def test_what_could_stand_for_any_number_of_bytes_is_refused() -> None:
    array, schema = array_of(["a"] * 1000, STRING)
    rows = Rows(array, schema, offsets_of([(n,) for n in range(1000)]))
    fields = {"value": rows.values, "offset": rows.offsets}
    batch = pa.RecordBatch.from_pydict(fields).replace_schema_metadata(pa.ipc.open_stream(rows.pack()).schema.metadata)
    for codec in ("lz4", "zstd"):
        with pytest.raises(RecordError, match="compressed"):
            unpack(stream(batch, compression=codec))
    assert len(unpack(stream(batch))) == 1000
    coded = pa.RecordBatch.from_pydict({**fields, "value": rows.values.dictionary_encode()}, metadata=batch.schema.metadata)
    with pytest.raises(RecordError, match="dictionary"):
        unpack(stream(coded))


def test_elements_that_take_no_room_are_not_believed() -> None:
    schema = Schema(Type.ARRAY, items=struct([]))
    with pytest.raises(RecordError, match="without fields"):
        packed([[{}]], schema)
    elements = pa.Array.from_buffers(pa.struct([]), 2_000_000_000, [None])
    lists = pa.ListArray.from_arrays(pa.array([0, 2_000_000_000], pa.int32()), elements, type=to_arrow_type(schema))
    with pytest.raises(RecordError, match="without fields"):
        unpack(Rows(lists, schema, offsets_of([(1,)])).pack())


@pytest.mark.parametrize("metadata", [{}, {"rocketconnect.schema": "x", "rocketconnect.source": ""}])
def test_other_arrow_streams_are_refused(metadata: dict[str, str]) -> None:
    for columns in ({"value": pa.array(["a"])}, {"value": pa.array(["a"]), "offset": offsets_of([(1,)])}):
        with pytest.raises(RecordError):
            unpack(stream(pa.RecordBatch.from_pydict(columns, metadata=metadata)))


def stream(batch: pa.RecordBatch, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def test_a_value_that_python_cannot_hold_is_bad_by_itself() -> None:
    schema = timestamp(Unit.MILLISECONDS)
    rows = Rows(pa.array([0, 1 << 60], pa.timestamp("ms", "UTC")), schema, offsets_of([(1,), (2,)]))
    good, bad = values_of(unpack(rows.pack()))
    assert str(good) == "1970-01-01 00:00:00+00:00"
    assert isinstance(bad, RecordError)


def test_a_column_is_a_sequence_of_its_values() -> None:
    column = Column(array_of(VALUES, COLUMNS)[0])
    assert column == VALUES
    assert list(column[1:]) == VALUES[1:]
    assert column[0] == VALUES[0]
    assert None in column
    assert repr(column) == repr(VALUES)


def test_logical_types_keep_their_schema() -> None:
    for schema in (decimal(2), Schema(Type.DATE), Schema(Type.TIME, unit=Unit.MILLISECONDS)):
        assert unpack(packed([None], schema)).schema == schema
