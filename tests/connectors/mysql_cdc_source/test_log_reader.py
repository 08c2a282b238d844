"""What only MySQL writes: the events of a compressed transaction, which all end at one place."""

from typing import Any, cast

import pytest

from connectors.mysql_cdc_source.binlog.events import Change, Query, Rows
from connectors.mysql_cdc_source.binlog.header import Header
from connectors.mysql_cdc_source.binlog.row_reading.column import Column, Type
from connectors.mysql_cdc_source.binlog.row_reading.table_map import KeyColumn, TableMap
from connectors.mysql_cdc_source.binlog.server import Position
from connectors.mysql_cdc_source.binlog.stream import BinlogStream, Entry
from connectors.mysql_cdc_source.settings import SOURCE, path_of
from connectors.mysql_cdc_source.streaming import LogReader
from connectors.mysql_cdc_source.tables import Filter, Name
from rocketconnect_sdk.changes import ChangeForm
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making

TABLE = TableMap("d", "t", (Column(Type.LONG, nullable=False, name="id", unsigned=False),), (KeyColumn(0),), ())


class Scripted:
    """A stream of these entries."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def forget_definitions(self) -> None:
        pass

    def poll(self, timeout: float) -> list[Entry]:
        del timeout
        entries, self._entries = self._entries, []
        return entries


def _inserted(*ids: int) -> Entry:
    rows: list[tuple[Any, ...]] = [(number,) for number in ids]
    event = Rows(Change.INSERT, TABLE, [], rows, (), (0,), ends_statement=True)
    return Entry(Header(1_700_000_000, 30, 1, 50, 900, 0), event, Position("log.000002", 900), None, between=False)


def _making(form: ChangeForm) -> Making[Name]:
    return Making(form, "mysql", "s", path_of, SOURCE, "t", "${table}", columnar=True, positions={})


def test_rows_of_events_that_end_at_one_place_have_offsets_of_their_own() -> None:
    making = _making(ChangeForm(envelope=False))
    stream = cast("BinlogStream", Scripted([_inserted(1, 2), _inserted(3)]))
    (batch,) = LogReader(stream, 0, making, Filter(), lambda _: None, lambda *_: {}, TaskContext()).poll()
    assert batch.offsets == [(0, 2, 900, 1), (0, 2, 900, 2), (0, 2, 900, 3)]
    assert list(batch.values) == [{"id": 1}, {"id": 2}, {"id": 3}]


def _said(text: str, *, flags: int = 0) -> Entry:
    return Entry(Header(1_700_000_000, 2, 1, 50, 900, flags), Query("D", text), Position("log.000002", 900), None, between=True)


def test_names_of_statements_are_those_of_the_server_whatever_their_letters(caplog: pytest.LogCaptureFixture) -> None:
    making = _making(ChangeForm())
    said = (_said("TRUNCATE T"), _said("TRUNCATE T", flags=4), _said("DROP DATABASE D"), _said("ALTER TABLE other.T MODIFY id INT"))
    stream, chosen = cast("BinlogStream", Scripted([_inserted(1), *said])), Filter(databases=["d"])
    (batch,) = LogReader(stream, 0, making, chosen, lambda _: None, lambda *_: {}, TaskContext(), folded=True).poll()
    assert [value["op"] for value in batch.values] == ["c", "t"]  # type: ignore[index]
    (warned,) = caplog.messages
    assert warned.startswith("d.*: DROP DATABASE, at log.000002:850: ")
