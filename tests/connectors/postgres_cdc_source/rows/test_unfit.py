"""Values that the server has and types here do not: infinity, years before 1 and after 9999, 24:00:00, NaN."""

from datetime import date, datetime, time
from typing import Any

import pytest

from rocketconnect_sdk.converters.json.converter import JsonConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import parse
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing, is_streaming

_COLUMNS = "day date, must date NOT NULL, moment timestamp, point timestamptz, clock time, number numeric(8, 2), days date[]"
_UNFIT = "'infinity', '0044-03-15 BC', '-infinity', '10000-01-01', '24:00:00', 'NaN', '{infinity}'"


@pytest.fixture
def table(shop: Shop) -> Shop:
    """With a table of all that can be unfit, with a row in which it is."""
    shop.run(
        f"CREATE TABLE {shop.name}.u (id int PRIMARY KEY, {_COLUMNS})",
        f"ALTER TABLE {shop.name}.u REPLICA IDENTITY FULL",
        f"INSERT INTO {shop.name}.u VALUES (1, {_UNFIT})",
    )
    return shop


def _good(captured: Captured, schemas: list[Any]) -> list[bool]:
    json = JsonConverter(parse(JsonConverter.options, {}), is_key=False)
    found = []
    for value, schema in zip(captured.values(), schemas, strict=True):
        try:
            json.encode(value, schema)
            found.append(True)
        except RecordError:
            found.append(False)
    return found


def _watched(captured: Captured) -> list[Any]:
    """The schemas of the records, as they come."""
    poll, schemas = captured.task.poll, []

    def polled() -> Any:
        batch = poll()
        if batch is not None:
            schemas.extend([batch.schema] * len(batch))  # type: ignore[union-attr]
        return batch

    captured.task.poll = polled  # type: ignore[method-assign]
    return schemas


def test_the_change_that_cures_a_row_and_its_deletion_are_good(table: Shop) -> None:
    with capturing(table.config(snapshot_mode="never", table_exclude=rf"{table.name}\.t")) as captured:
        schemas = _watched(captured)
        captured.until(is_streaming)
        cure = "day = NULL, must = '2024-01-02', moment = NULL, point = NULL, clock = NULL, number = 1.5, days = NULL"
        table.run(f"UPDATE {table.name}.u SET {cure}", f"INSERT INTO {table.name}.u VALUES (2, {_UNFIT})")
        table.run(f"DELETE FROM {table.name}.u WHERE id = 2")
        captured.until(lambda so_far: len(so_far.records) >= 3)
    assert _good(captured, schemas) == [True, False, True]
    nothing = {"day": None, "must": None, "moment": None, "point": None, "clock": None, "number": None, "days": None}
    assert [value["before"] for value in captured.values()] == [{"id": 1, **nothing}, None, {"id": 2, **nothing}]


def test_what_becomes_of_them_is_configured_for_all_and_for_columns(table: Shop) -> None:
    more = {"column_unfit": "null", "column_unfit_text": r".*\.(point|number)", "column_unfit_epoch": r".*\.moment"}
    with capturing(table.config(table_exclude=rf"{table.name}\.t", **more)) as captured:
        schemas = _watched(captured)
        captured.until(is_streaming)
        row = "'2024-01-02', '2024-01-03', '2024-01-04 05:06:07.008', '2024-01-05 06:07:08+00', '09:10:11', 1.5, '{2024-01-06}'"
        table.run(f"INSERT INTO {table.name}.u VALUES (2, {_UNFIT}), (3, {row})")
        captured.until(lambda so_far: len(so_far.records) >= 3)
    assert all(_good(captured, schemas))
    read, logged, fit = (value["after"] for value in captured.values())
    assert read == {
        "id": 1,
        "day": None,
        "must": None,
        "moment": datetime(1970, 1, 1),  # noqa: DTZ001 - it has no zone
        "point": "10000-01-01 00:00:00+00",
        "clock": None,
        "number": "NaN",
        "days": None,
    }
    assert {**logged, "id": 1} == read
    assert (fit["point"], fit["number"], fit["clock"], fit["day"]) == (
        "2024-01-05 06:07:08",
        "1.50",
        time(9, 10, 11),
        date(2024, 1, 2),
    )
