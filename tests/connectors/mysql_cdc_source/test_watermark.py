import pytest

from connectors.mysql_cdc_source.binlog.server import LogFile
from connectors.mysql_cdc_source.watermark import BinlogCoordinate, Watermark, behind, file_number, server_of
from rocketconnect_sdk.errors import PermanentError

MYSQL = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:11,4e11fa47-71ca-11e1-9e33-c80aa9429562:7"


@pytest.mark.parametrize("gtids", ["", "0-1-100", "0-1-100,7-2-18446744073709551", MYSQL])
def test_a_watermark_is_the_same_after_it_was_stored(gtids: str) -> None:
    mark = Watermark(BinlogCoordinate(2, 17, 5_000_000_000), snapshot_done=True, server=server_of("a server"), gtid_set=gtids)
    assert Watermark.of(mark.offset) == mark
    assert all(0 <= number < 10**19 for number in mark.offset)


def test_later_places_are_larger_whatever_is_carried_along() -> None:
    server = server_of("a server")
    marks = [
        Watermark(BinlogCoordinate(0, 1, 4), False, server, MYSQL),
        Watermark(BinlogCoordinate(0, 1, 4), True, server, ""),
        Watermark(BinlogCoordinate(0, 1, 500), True, server, "0-1-1"),
        Watermark(BinlogCoordinate(0, 2, 4), True, server, ""),
        Watermark(BinlogCoordinate(1, 1, 4), True, server_of("another"), ""),
    ]
    assert sorted(mark.offset for mark in marks) == [mark.offset for mark in marks]


@pytest.mark.parametrize("offset", [(1,), (0, 1, 4, 2, 1, 1, 1, 1, 0), (0, 1, 4, 1, 1, 1, 1, 1, 1, 5)])
def test_other_integers_are_no_watermark(offset: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="has "):
        Watermark.of(offset)


def test_a_file_of_the_log_has_a_number() -> None:
    assert file_number("mysql-bin.log.001234") == 1234
    with pytest.raises(PermanentError, match="no number"):
        file_number("mysql-bin")


@pytest.mark.parametrize(
    ("place", "left"),
    [
        (BinlogCoordinate(0, 9, 100), 1020),
        (BinlogCoordinate(0, 10, 4), 996),
        (BinlogCoordinate(3, 11, 20), 0),
        (BinlogCoordinate(0, 8, 4), None),
    ],
)
def test_what_comes_behind_a_place_is_counted_over_files(place: BinlogCoordinate, left: int | None) -> None:
    files = [LogFile("log.000009", 120), LogFile("log.000010", 980), LogFile("log.000011", 20)]
    assert behind(files, place) == left
