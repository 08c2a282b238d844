"""Rows with types as the text that `string` makes of them: the option `columns` of a sink reads them again."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.objects import rows_of_values
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError

ROW = {
    "n": 1,
    "price": Decimal("12345678901234567890.10"),
    "born": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 1, 2, 3, 500, tzinfo=UTC),
    "seen": datetime(2024, 2, 29, 1, 2, 3),  # noqa: DTZ001 - what a clock shows
    "clock": time(23, 59, 59),
    "id": UUID(int=7),
    "raw": b"\xff\0",
    "none": None,
}
COLUMNS = "n:int64,price:decimal(38,2),born:date,at:timestamp,seen:timestamp_ntz,clock:time,id:uuid,raw:bytes,none:int32"


def test_a_row_of_types_that_json_has_not_is_read_again_by_columns() -> None:
    text, _ = (string := converter("string", {}, is_key=False)).decode(string.encode(ROW, None))
    (read,) = rows_of_values([text], parse_columns(COLUMNS)).to_pylist()
    assert read == ROW


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (date(2024, 2, 29), b"2024-02-29"),
        (datetime(2024, 2, 29, 3, tzinfo=timezone(timedelta(hours=2))), b"2024-02-29T01:00:00Z"),
        (Decimal("1E+3"), b"1000"),
        ([Decimal("0.10"), {"x": None}], b'["0.10",{"x":null}]'),
    ],
)
def test_a_value_is_written_as_its_text(value: object, text: bytes) -> None:
    assert converter("string", {}, is_key=False).encode(value, None) == text


def test_what_has_no_text_form_is_refused() -> None:
    with pytest.raises(RecordError, match="object is neither JSON nor a date"):
        converter("string", {}, is_key=False).encode({"x": object()}, None)
