"""Where a value does not fit its schema."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given

from rocketconnect_sdk.columns.misfit import misfit
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.rocketconnect_sdk.typed_values import typed

INT32 = Schema(Type.INT32)
WALL = datetime(2024, 2, 29, 12)  # noqa: DTZ001 - a clock on a wall


@given(typed())
def test_what_fits_has_no_place(schema_and_value: tuple[Schema, object]) -> None:
    assert misfit(*schema_and_value) == ""


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (Schema(Type.INT8), 128, "the value is '128': no int8"),
        (INT32, True, "the value is 'True': no int32"),
        (Schema(Type.UINT64), -1, "the value is '-1': no uint64"),
        (Schema(Type.FLOAT64), float("nan"), "the value is 'nan': no double"),
        (decimal(2, precision=4), Decimal("100.00"), "the value is '100.00': no decimal(4,2)"),
        (decimal(2), Decimal("1.001"), "the value is '1.001': no decimal(38,2)"),
        (decimal(2), Decimal("NaN"), "the value is 'NaN': no decimal(38,2)"),
        (Schema(Type.DATE), "0000-00-00", "the value is '0000-00-00': no date"),
        (Schema(Type.DATE), WALL, "the value is '2024-02-29 12:00:00': no date"),
        (Schema(Type.TIME), 7, "the value is '7': no time"),
        (Schema(Type.TIME, unit=Unit.NANOSECONDS), time(1), "the value is '01:00:00': no time(ns)"),
        (timestamp(), WALL, "the value is '2024-02-29 12:00:00': no timestamp"),
        (timestamp(zone=False), WALL.replace(tzinfo=UTC), "the value is '2024-02-29 12:00:00+00:00': no timestamp_ntz"),
        (Schema(Type.UUID), "x", "the value is 'x': no uuid"),
        (Schema(Type.BOOLEAN), 1, "the value is '1': no boolean"),
        (STRING, None, "the value is null, which its type string does not take"),
    ],
)
def test_what_does_not_fit_is_said_with_its_value(schema: Schema, value: object, said: str) -> None:
    assert misfit(schema, value) == said


def test_the_place_is_the_path_to_the_first_part_that_does_not_fit() -> None:
    row = struct([("id", INT32), ("born", Schema(Type.DATE, optional=True))], optional=True)
    envelope = struct([("before", row), ("after", row), ("ids", Schema(Type.ARRAY, items=Schema(Type.UUID)))])
    row_of = {"id": 1, "born": date(2024, 2, 29)}
    ids = [UUID(int=1), "x"]
    assert misfit(envelope, {"before": None, "after": row_of, "ids": ids}) == "ids[1] is 'x': no uuid"
    bad = {"before": None, "after": {"id": 1, "born": "0000-00-00"}, "ids": ids}
    assert misfit(envelope, bad) == "after.born is '0000-00-00': no date"
    assert misfit(envelope, {"after": [], "ids": []}) == "after is '[]': no struct"
    counts = Schema(Type.MAP, keys=STRING, items=INT32)
    assert misfit(counts, {"a": 1, "b": "x"}) == "the value[...] is 'x': no int32"


def test_texts_and_bytes_are_not_shown_since_errors_go_into_logs() -> None:
    assert misfit(struct([("name", STRING)]), {"name": b"a secret"}) == "name is a bytes: no string"
