from dataclasses import replace

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from services.executor.runtime.sink.columnar.batches import columns_of, table_of
from services.executor.runtime.sink.decode.part import Part

ROW = replace(struct([("id", Schema(Type.INT64))]), optional=True)


def part(start: int, values: list[object], schema: Schema | None) -> Part:
    records = SinkBatch("orders/a/0", "orders", values, range(start, start + len(values)), schema=schema)
    made = Part("orders/a/0", start, start + len(values), {}, records, len(values), 0, array=to_array(values, schema))
    made.table = columns_of(made, ["value", "offset"])
    return made


def test_tombstones_alone_stand_beside_values_of_a_schema() -> None:
    parts = [part(0, [None, None], None), part(2, [{"id": 1}, None], ROW), part(4, [None], None)]
    assert table_of(parts).column("value").to_pylist() == [None, None, {"id": 1}, None, None]


def test_tombstones_among_themselves_stay_nulls() -> None:
    assert table_of([part(0, [None], None), part(1, [None], ROW)]).column("value").to_pylist() == [None, None]
