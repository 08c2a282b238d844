"""A position names the transactions that are whole before it, and no other."""

import uuid

import pytest

from connectors.mysql_cdc_source.binlog import header as types
from connectors.mysql_cdc_source.binlog.events import Event, Heartbeat, Other, Query, Rotate, TransactionBegin, XaPrepare, Xid
from connectors.mysql_cdc_source.binlog.gtid import MariadbGtid, MariadbGtidSet, MysqlGtid, MysqlGtidSet
from connectors.mysql_cdc_source.binlog.header import Header
from connectors.mysql_cdc_source.binlog.progress import Progress
from connectors.mysql_cdc_source.binlog.server import Position

SOURCE = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")


def _header(end: int) -> Header:
    return Header(0, types.QUERY, 1, 100, end, 0)


def _gtid_sets(progress: Progress, events: list[Event]) -> list[str]:
    return [progress.after(_header(100 * number), event)[0].gtid_set for number, event in enumerate(events, 1)]


@pytest.mark.parametrize(
    ("begin", "events", "whole_after"),
    [
        ("mysql", [Query("", "BEGIN"), Query("", "SAVEPOINT x"), Other(19), Xid(1)], 5),
        ("mysql", [Query("", "CREATE TABLE t (id INT)")], 2),
        ("mysql", [Query("", "BEGIN"), Query("", "COMMIT")], 3),
        ("mysql", [Query("", "XA START X'61'"), Query("", "XA END X'61'"), XaPrepare(one_phase=False)], 4),
        ("mysql", [Query("", "XA COMMIT X'61'")], 2),
        ("mariadb", [Query("", "SAVEPOINT x"), Other(19), Xid(1)], 4),
        ("mariadb", [Other(19), Query("", "COMMIT")], 3),
        ("mariadb", [Query("", "XA COMMIT X'61'")], 2),
        ("standalone", [Query("", "DROP TABLE t")], 2),
    ],
)
def test_a_transaction_is_whole_with_its_last_event(begin: str, events: list[Event], whole_after: int) -> None:
    if begin == "mysql":
        progress = Progress(Position("f", 4), MysqlGtidSet.parse(f"{SOURCE}:1-4"))
        events = [TransactionBegin(MysqlGtid(SOURCE, 5)), *events, TransactionBegin(MysqlGtid(SOURCE, 6))]
        before, after = f"{SOURCE}:1-4", f"{SOURCE}:1-5"
    else:
        progress = Progress(Position("f", 4), MariadbGtidSet.parse("0-1-4"))
        events = [TransactionBegin(MariadbGtid(0, 1, 5), standalone=begin == "standalone"), *events]
        events.append(TransactionBegin(MariadbGtid(0, 1, 6)))
        before, after = "0-1-4", "0-1-5"
    wanted = [before] * (whole_after - 1) + [after] * (len(events) - whole_after + 1)
    assert _gtid_sets(progress, events) == wanted


def test_an_event_that_is_in_no_file_does_not_move_the_position() -> None:
    progress = Progress(Position("f.1", 500), MariadbGtidSet())
    assert progress.after(_header(0), Rotate("f.1", 500))[0] == Position("f.1", 500, "")
    assert progress.after(_header(0), Other(15))[0] == Position("f.1", 500, "")
    assert progress.after(_header(600), Other(19))[0] == Position("f.1", 600, "")
    assert progress.after(_header(900), Heartbeat("f.1", 900))[0] == Position("f.1", 900, "")


def test_offsets_beyond_the_32_bits_of_the_log_go_on() -> None:
    progress = Progress(Position("f.1", 2**32 - 50), MariadbGtidSet())
    assert progress.after(_header(50), Other(19))[0].offset == 2**32 + 50
    assert progress.after(_header(2**32 - 1), Other(19))[0].offset == 2**33 - 1
    assert progress.after(_header(7), Other(19))[0].offset == 2**33 + 7
    assert progress.after(_header(0), Rotate("f.2", 4))[0] == Position("f.2", 4, "")
