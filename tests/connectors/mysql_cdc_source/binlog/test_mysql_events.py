"""Events that MySQL alone writes, made by hand from its documents: none was run against a server."""

import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
import zstandard

from connectors.mysql_cdc_source.binlog import header as types
from connectors.mysql_cdc_source.binlog.decoder import Decoder
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.events import (
    Change,
    FormatDescription,
    GtidList,
    Heartbeat,
    Incident,
    Other,
    Query,
    Rotate,
    Rows,
    Statement,
    Stop,
    TableMapped,
    TransactionBegin,
    XaPrepare,
    Xid,
)
from connectors.mysql_cdc_source.binlog.gtid import MysqlGtid, MysqlGtidSet
from connectors.mysql_cdc_source.binlog.row_reading.parts import Geometry
from tests.connectors.mysql_cdc_source.binlog.building import (
    description,
    event,
    field,
    mysql,
    one,
    rows_v2,
    sized,
    table_map,
)

SOURCE = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
_QUERY_HEAD = bytes(8) + b"\4" + bytes(2)


def _query(text: bytes, status: bytes = b"") -> bytes:
    return event(types.QUERY, _QUERY_HEAD + len(status).to_bytes(2, "little") + status + b"shop\0" + text)


def test_the_first_event_says_who_wrote_the_log_and_whether_it_has_checksums() -> None:
    assert one(Decoder(), description("8.0.36")) == FormatDescription("8.0.36", checksummed=False)
    described = one(Decoder(), description("10.11.6-MariaDB-log", checksum=True))
    assert described == FormatDescription("10.11.6-MariaDB-log", checksummed=True)
    assert described.mariadb


def test_after_a_description_with_checksums_a_wrong_one_is_named() -> None:
    decoder = Decoder()
    list(decoder.decode(description("8.0.36", checksum=True)))
    assert one(decoder, event(types.XID, (7).to_bytes(8, "little"), checksum=True)) == Xid(7)
    damaged = bytearray(event(types.XID, (7).to_bytes(8, "little"), checksum=True))
    damaged[20] ^= 1
    with pytest.raises(MalformedEvent, match="checksum"):
        list(decoder.decode(bytes(damaged)))


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (event(types.ROTATE, (4).to_bytes(8, "little") + b"binlog.000002"), Rotate("binlog.000002", 4)),
        (event(types.HEARTBEAT, b"binlog.000002", end=77), Heartbeat("binlog.000002", 77)),
        (event(types.XA_PREPARE, b"\1" + bytes(12)), XaPrepare(one_phase=True)),
        (event(types.GTID, b"\1" + SOURCE.bytes + (23).to_bytes(8, "little") + bytes(42)), TransactionBegin(MysqlGtid(SOURCE, 23))),
        (event(types.ANONYMOUS_GTID, bytes(60)), TransactionBegin(None)),
        (event(types.ROWS_QUERY, b"\5DELETE"), Statement("DELETE")),
        (event(types.INCIDENT, b"\1\0" + sized("lost")), Incident(1, "lost")),
        (event(types.STOP, b""), Stop()),
        (event(37, bytes(9)), Other(37)),
        (_query(b"BEGIN"), Query("shop", "BEGIN")),
    ],
    ids=["rotate", "heartbeat", "xa", "gtid", "anonymous", "rows query", "incident", "stop", "view change", "query"],
)
def test_an_event_is_what_the_documents_say(raw: bytes, wanted: object) -> None:
    assert one(mysql(), raw) == wanted


def test_the_gtids_before_a_file_are_its_first_event_but_one() -> None:
    body = (1).to_bytes(8, "little") + SOURCE.bytes + (2).to_bytes(8, "little")
    body += b"".join(number.to_bytes(8, "little") for number in (1, 6, 11, 12))
    assert one(mysql(), event(types.PREVIOUS_GTIDS, body)) == GtidList(MysqlGtidSet.parse(f"{SOURCE}:1-5:11"))


@pytest.mark.parametrize(
    ("status", "raw", "text"),
    [
        (b"", "é".encode(), "é"),
        (b"\0" + bytes(4) + b"\1" + bytes(8) + b"\6\3std" + b"\3" + bytes(4) + b"\4\x08\0" + bytes(4), "é€".encode("cp1252"), "é€"),
        (b"\4\x3f\0" + bytes(4), "é".encode(), "é"),
        (b"\4\x2d\0" + bytes(4), b"\xff", "\\xff"),
        (b"\x63unknown", "é".encode(), "é"),
    ],
)
def test_a_statement_is_in_the_character_set_of_its_client(status: bytes, raw: bytes, text: str) -> None:
    assert one(mysql(), _query(raw, status)) == Query("shop", text)


@pytest.mark.parametrize(("kind", "fix"), [(types.PARTIAL_UPDATE_ROWS, "binlog_row_value_options"), (types.GTID_TAGGED, "tag")])
def test_what_is_not_read_is_named_with_what_to_do(kind: int, fix: str) -> None:
    with pytest.raises(MalformedEvent, match=fix):
        list(mysql().decode(event(kind, bytes(50))))


def test_rows_of_version_2_are_read_and_its_extra_data_passed_over() -> None:
    decoder = mysql()
    list(
        decoder.decode(
            table_map([(3, b""), (15, b"\x28\0")], optional=field(1, b"\0") + field(2, b"\x2d") + field(4, b"\2id\4name"))
        )
    )
    body = (9).to_bytes(6, "little") + b"\1\0" + b"\5\0" + b"ext" + b"\2\xff\xff" + b"\0\1\0\0\0\2hi" + b"\2\2\0\0\0"
    rows = one(decoder, event(types.UPDATE_ROWS_V2, body))
    assert isinstance(rows, Rows)
    assert (rows.change, rows.before, rows.after) == (Change.UPDATE, [(1, "hi")], [(2, None)])
    assert [column.name for column in rows.table.columns] == ["id", "name"]


@pytest.mark.parametrize(("kind", "bitmaps"), [(types.WRITE_ROWS_V2, 1), (types.UPDATE_ROWS_V2, 2), (types.DELETE_ROWS_V2, 1)])
def test_rows_that_are_cut_off_anywhere_are_named(kind: int, bitmaps: int) -> None:
    decoder = mysql()
    list(decoder.decode(table_map([(3, b""), (15, b"\x28\0")], optional=field(2, b"\x2d"))))
    row = b"\0\1\0\0\0\4text" * bitmaps
    list(decoder.decode(rows_v2(kind, 2, row * 20, bitmaps=bitmaps)))
    for size in range(1, len(row)):
        for whole in (0, 20):
            with pytest.raises(MalformedEvent, match=r"rows? "):
                list(decoder.decode(rows_v2(kind, 2, row * whole + row[:size], bitmaps=bitmaps)))


def test_geometries_have_no_character_set_in_mysql() -> None:
    decoder = mysql()
    optional = field(3, b"\x2d") + field(7, b"\1")
    mapped = one(decoder, table_map([(255, b"\4"), (15, b"\x28\0")], optional=optional))
    assert isinstance(mapped, TableMapped)
    assert [(column.charset, column.geometry) for column in mapped.table.columns] == [(None, 1), ("utf8mb4", None)]
    point = (4326).to_bytes(4, "little") + b"\1\1\0\0\0" + bytes(16)
    rows = one(decoder, rows_v2(types.WRITE_ROWS_V2, 2, b"\0" + len(point).to_bytes(4, "little") + point + b"\1x"))
    assert isinstance(rows, Rows)
    assert rows.after == [(Geometry(4326, point[4:]), "x")]


def test_invisible_columns_and_keys_with_prefixes_are_known() -> None:
    mapped = one(mysql(), table_map([(3, b""), (15, b"\x28\0")], optional=field(9, b"\1\4\0\0") + field(12, b"\x40")))
    assert isinstance(mapped, TableMapped)
    assert mapped.table.primary_key == ((1, 4), (0, 0))
    assert [column.visible for column in mapped.table.columns] == [False, True]


def test_single_columns_may_have_other_character_sets_than_the_default() -> None:
    varchar = (15, b"\x28\0")
    mapped = one(mysql(), table_map([varchar, varchar, varchar], optional=field(2, b"\x2d\1\x08") + field(1, b"")))
    assert isinstance(mapped, TableMapped)
    assert [column.charset for column in mapped.table.columns] == ["utf8mb4", "latin1", "utf8mb4"]


def _transaction() -> tuple[bytes, list[object]]:
    begin, ends = _query(b"BEGIN"), event(types.XID, (5).to_bytes(8, "little"))
    mapped = table_map([(3, b"")], optional=field(1, b"\0") + field(4, b"\2id"))
    many = b"".join(b"\0" + number.to_bytes(4, "little") for number in range(50_000))
    inner = begin + mapped + rows_v2(types.WRITE_ROWS_V2, 1, many) + ends
    return inner, [(number,) for number in range(50_000)]


def _payload(inner: bytes, *, compression: int = 0, size: int | None = None, packed: bytes | None = None) -> bytes:
    content = zstandard.compress(inner) if packed is None else packed
    size = len(inner) if size is None else size
    head = b"\1\4\xfd" + len(content).to_bytes(3, "little")
    kind = b"\2\1" + bytes([compression]) if compression < 0xFB else b"\2\3\xfc" + compression.to_bytes(2, "little")
    return event(types.TRANSACTION_PAYLOAD, head + kind + b"\3\4\xfd" + size.to_bytes(3, "little") + b"\0" + content, end=5_000)


@pytest.mark.parametrize("compression", [0, 255])
def test_a_compressed_transaction_is_its_events_which_end_where_it_does(compression: int) -> None:
    inner, wanted = _transaction()
    raw = _payload(inner, compression=compression, packed=None if compression == 0 else inner)
    found = list(mysql().decode(raw))
    assert [type(each) for _, each in found] == [Query, TableMapped, Rows, Xid]
    assert {head.end for head, _ in found} == {5_000}
    assert found[2][1].after == wanted  # type: ignore[union-attr]


def test_a_compressed_transaction_that_is_cut_off_is_named() -> None:
    inner, _ = _transaction()
    packed = zstandard.compress(inner)
    for raw in (
        _payload(inner, packed=packed[: len(packed) // 2]),
        _payload(inner, packed=b"\x28\xb5\x2f\xfd" + b"\xff" * 12),
        _payload(inner, packed=b"no zstd at all, this is"),
        _payload(inner, size=len(inner) + 1),
        _payload(inner[:-5]),
        _payload(inner, compression=3),
        _payload(_payload(b"", packed=b"")),
    ):
        with pytest.raises(MalformedEvent):
            list(mysql().decode(raw))


def test_rows_before_the_name_of_their_table_are_named() -> None:
    with pytest.raises(MalformedEvent, match="start at the beginning of a transaction"):
        list(mysql().decode(rows_v2(types.WRITE_ROWS_V2, 1, b"\0\1\0\0\0")))


def test_the_types_of_mysql_are_read() -> None:
    columns = [(246, b"\4\2"), (245, b"\4"), (18, b"\3"), (19, b"\0"), (10, b""), (242, b"\4")]
    decoder = mysql()
    list(decoder.decode(table_map(columns)))
    document = b"\5\x2a\0"  # an INT16
    row = b"\0" + b"\x8c\x22" + (3).to_bytes(4, "little") + document
    row += ((2024 * 13 + 2 << 5 | 29) << 17 | 12 << 12 | 34 << 6 | 56 | 1 << 39).to_bytes(5, "big") + (7890).to_bytes(2, "big")
    row += (0x800000 - (1 << 12 | 2 << 6 | 3)).to_bytes(3, "big") + (2024 << 9 | 2 << 5 | 29).to_bytes(3, "little")
    row += (8).to_bytes(4, "little") + b"\0\0\x80?\0\0\0@"
    rows = one(decoder, rows_v2(types.WRITE_ROWS_V2, 6, row))
    assert isinstance(rows, Rows)
    assert rows.after == [
        (
            Decimal("12.34"),
            "42",
            datetime.fromisoformat("2024-02-29T12:34:56.789"),
            -timedelta(hours=1, minutes=2, seconds=3),
            date(2024, 2, 29),
            b"\0\0\x80?\0\0\0@",
        )
    ]
