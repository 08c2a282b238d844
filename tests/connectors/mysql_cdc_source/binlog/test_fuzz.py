"""Bytes that are no log are named as that, whatever they are."""

import tracemalloc
import zlib
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.mysql_cdc_source.binlog import header as types
from connectors.mysql_cdc_source.binlog.compression import unpack_body, unpack_column
from connectors.mysql_cdc_source.binlog.decoder import Decoder
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.events import Event, Rows
from connectors.mysql_cdc_source.binlog.row_reading.code import Row
from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.images import RowImages
from connectors.mysql_cdc_source.binlog.row_reading.table_map import ColumnFacts, TableMap
from connectors.mysql_cdc_source.binlog.values.json_binary import json_text
from connectors.mysql_cdc_source.columns import from_log, schema_of
from connectors.mysql_cdc_source.rows.log_columns import LogColumns, LoggedRows
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import RecordError
from tests.connectors.mysql_cdc_source.binlog.building import event, recorded, with_body
from tests.examples import some

_EVENTS = list(recorded())
_MOST = 64 << 20


def _decode_all(events: list[bytes], decoder: Decoder) -> list[Event]:
    found = []
    for raw in events:
        with suppress(MalformedEvent):
            found += [decoded for _, decoded in decoder.decode(raw)]
    return found


def _extended(table: TableMap) -> TableMap:
    """As if each column that could be were of one of MariaDB's own types."""
    facts = [ColumnFacts(column.name or "?", extension=next(iter(column.extension_candidates), None)) for column in table.columns]
    return table.completed(facts)


@st.composite
def _damages(draw: st.DrawFn) -> tuple[int, bytes]:
    """The number of an event, and another body for it: some bytes changed, taken out, put in, or from another event."""
    number = draw(st.integers(1, len(_EVENTS) - 1))
    body = bytearray(_EVENTS[number][types.SIZE : -types.CHECKSUM_SIZE])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(body) - 1, 0)))
        match draw(st.integers(0, 4)):
            case 0 if body:
                body[at] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF]) | st.integers(0, 255))
            case 1:
                del body[at : at + draw(st.integers(1, 30))]
            case 2:
                body[at:at] = draw(st.binary(max_size=10))
            case 3:
                del body[at:]
            case _:
                other = _EVENTS[draw(st.integers(1, len(_EVENTS) - 1))]
                body[at:] = other[draw(st.integers(types.SIZE, len(other))) :]
    return number, bytes(body)


@settings(max_examples=some(3_000))
@given(_damages())
def test_a_damaged_event_is_read_as_another_or_named(damage: tuple[int, bytes]) -> None:
    number, body = damage
    events = list(_EVENTS)
    events[number] = with_body(events[number], body)
    _decode_all(events, Decoder(complete=_extended))


@settings(max_examples=some(1_000))
@given(_damages())
def test_rows_of_a_damaged_event_that_are_read_later_are_rows_or_named(damage: tuple[int, bytes]) -> None:
    number, body = damage
    events = list(_EVENTS)
    events[number] = with_body(events[number], body)
    for found in _decode_all(events, Decoder(complete=_extended, later=True)):
        if isinstance(found, Rows):
            for images in (found.before, found.after):
                _read_both_ways(images, [found.table.columns[place] for place in found.after_columns or found.before_columns])


def _read_both_ways(images: Sequence[Row], columns: list[Column]) -> None:
    if not isinstance(images, RowImages) or any(map(from_log, columns)):
        return
    with suppress(RecordError, MalformedEvent):
        rows = list(images)
        if len(rows[0]) == len(columns):
            wanted = [to_array(held, schema_of(column)) for held, column in zip(zip(*rows, strict=True), columns, strict=True)]
            reader = LogColumns(columns)
            made = reader.arrays([LoggedRows(images, reader)])
            assert [repr(array.to_pylist()) for array in made] == [repr(array.to_pylist()) for array in wanted]


@settings(max_examples=some(500))
@given(st.integers(0, 255), st.binary(max_size=200))
@example(types.TABLE_MAP, b"\1" * 8 + b"\1a\0\1b\0" + b"\xfe" + b"\xff" * 8)
def test_any_bytes_of_any_type_are_an_event_or_named(kind: int, body: bytes) -> None:
    _decode_all([event(kind, body)], Decoder())


@settings(max_examples=some(500))
@given(st.binary(max_size=100))
def test_any_bytes_are_a_header_or_named(raw: bytes) -> None:
    _decode_all([raw], Decoder())


@settings(max_examples=some(2_000))
@given(st.integers(0, 15), st.binary(max_size=300))
def test_any_bytes_are_json_or_named(kind: int, raw: bytes) -> None:
    try:
        text = json_text(bytes([kind]) + raw)
    except MalformedEvent:
        return
    assert len(text) < 100 + 20 * len(raw)


def test_a_document_whose_parts_are_within_each_other_ends() -> None:
    # An array of two entries that both are the array itself.
    nested = b"\2" + b"\2\0" + b"\x0a\0" + b"\2\0\0" * 2
    with pytest.raises(MalformedEvent, match="overlap"):
        json_text(nested)


def test_what_would_unpack_to_more_than_any_server_makes_is_named() -> None:
    packed = b"\x84" + (1 << 31).to_bytes(4, "big") + zlib.compress(bytes(1000))
    for unpack in (unpack_body, unpack_column):
        with pytest.raises(MalformedEvent, match="are the most"):
            unpack(packed)


def test_sizes_that_an_event_only_claims_take_no_memory() -> None:
    huge = b"\xfe" + (1 << 62).to_bytes(8, "little")
    claims = [
        event(types.TABLE_MAP, b"\1" * 8 + b"\1a\0\1b\0" + huge),
        event(types.MARIADB_GTID_LIST, (0x0FFFFFFF).to_bytes(4, "little")),
        event(types.PREVIOUS_GTIDS, (1 << 40).to_bytes(8, "little")),
        event(types.PREVIOUS_GTIDS, (1).to_bytes(8, "little") + bytes(16) + (1 << 40).to_bytes(8, "little")),
        event(types.MARIADB_QUERY_COMPRESSED, bytes(13) + b"\0" + b"\x84\x3f\xff\xff\xff" + b"x\x9c\x03\0"),
        event(types.MARIADB_QUERY_COMPRESSED, bytes(13) + b"\0" + b"\x81\5" + zlib.compress(bytes(2 * _MOST))),
        event(types.TRANSACTION_PAYLOAD, b"\2\1\0\3\t\xfe" + b"\xff" * 8 + b"\0" + b"\x28\xb5\x2f\xfd" + b"\xff" * 12),
    ]
    tracemalloc.start()
    try:
        for raw in claims:
            with pytest.raises(MalformedEvent):
                list(Decoder().decode(raw))
        assert tracemalloc.get_traced_memory()[1] < _MOST
    finally:
        tracemalloc.stop()
