"""The transaction of a chunk on MySQL: what is asked, in which order, of a script in the place of the server, which is not here."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from connectors.mysql_cdc_source.binlog.errors import NotReady
from connectors.mysql_cdc_source.binlog.gtid import MysqlGtid
from connectors.mysql_cdc_source.binlog.row_reading.column import Column, Type
from connectors.mysql_cdc_source.binlog.server import Login, Position
from connectors.mysql_cdc_source.rows import beginning, snapshot
from connectors.mysql_cdc_source.rows.beginning import begin
from connectors.mysql_cdc_source.rows.current import CurrentValues
from connectors.mysql_cdc_source.rows.window import Seen
from connectors.mysql_cdc_source.tables import Name, Table
from connectors.mysql_cdc_source.watermark import BinlogCoordinate

LOGIN = Login("db", 3306, "reader", "")
SOURCE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class ScriptedMysql:
    """A connection that answers what MySQL's manual says, and commits a transaction after each statement."""

    def __init__(self, mode: str = "ON", done: str = f"{SOURCE}:1-%d") -> None:
        self.statements: list[str] = []
        self.closed = False
        self._mode = mode
        self._done = done
        self._number = 4
        self._rows: list[tuple[Any, ...]] = []

    def get_server_info(self) -> str:
        return "8.4.3"

    def cursor(self) -> "ScriptedMysql":
        return self

    def __enter__(self) -> "ScriptedMysql":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, query: str, values: Sequence[object] | None = None) -> None:
        assert values is None
        self.statements.append(query)
        done = self._done % self._number if "%" in self._done else self._done
        if "gtid_executed" in query:
            self._rows = [(self._mode, done)]
        elif query == "SHOW MASTER STATUS":
            self._rows = [("log.000007", 100 * self._number, "", "", done)]
        else:
            self._rows = []
        self._number += 1

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def close(self) -> None:
        self.closed = True


def _place(position: Position) -> BinlogCoordinate:
    return BinlogCoordinate(0, int(position.file.rpartition(".")[2]), position.offset)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ScriptedMysql:
    connection = ScriptedMysql(*getattr(request, "param", ()))
    monkeypatch.setattr(snapshot, "connect", lambda _: connection)
    return connection


def test_what_is_done_is_asked_before_the_transaction_begins_and_the_end_of_the_log_behind_it(scripted: ScriptedMysql) -> None:
    begun = begin(LOGIN, _place)
    assert [statement.split(" ")[0:2] for statement in scripted.statements[-3:]] == [
        ["SELECT", "@@GLOBAL.gtid_mode,"],
        ["START", "TRANSACTION"],
        ["SHOW", "MASTER"],
    ]
    # The script had done 6 when it was asked, and 7 and 8 by the time that the end was.
    shown = [begun.shown(Seen(BinlogCoordinate(0, 7, 4), MysqlGtid(UUID(SOURCE), number))) for number in (1, 6, 7, 8)]
    assert shown == [True, True, False, False]
    assert _place(begun.position) == BinlogCoordinate(0, 7, 800)
    assert not scripted.closed


@pytest.mark.parametrize("scripted", [("OFF",), ("ON_PERMISSIVE",)], indirect=True)
def test_a_server_without_gtids_is_refused_with_the_settings_to_change(scripted: ScriptedMysql) -> None:
    with pytest.raises(NotReady, match=r"db:3306: gtid_mode is O\w+: .*enforce_gtid_consistency = 'ON'.*'ON_PERMISSIVE'"):
        begin(LOGIN, _place)
    assert scripted.closed


@pytest.mark.parametrize("scripted", [("ON", f"{SOURCE}:tag:1-7")], indirect=True)
def test_gtids_that_are_not_known_are_told_and_not_left_out(scripted: ScriptedMysql) -> None:
    with pytest.raises(NotReady, match=r"tag:1-7.*UUID:FROM-TO"):
        begin(LOGIN, _place)
    assert scripted.closed


@pytest.mark.parametrize("scripted", [("ON_PERMISSIVE",)], indirect=True)
def test_what_the_log_leaves_out_is_not_read_from_a_server_that_does_not_tell_who_sees_a_change(
    scripted: ScriptedMysql,
) -> None:
    table = Table(Name("shop", "orders"), (Column(Type.LONG, name="id"), Column(Type.LONG, name="size")), ("id",))
    for gtid in (MysqlGtid(UUID(SOURCE), 1), None):
        assert CurrentValues(LOGIN, _place)(table, [(1,)], ["size"], Seen(BinlogCoordinate(0, 7, 4), gtid)) == {}
    assert scripted.closed


def test_there_is_no_problem_with_gtids_and_one_without_them() -> None:
    assert beginning.gtid_problem("ON") is None
    assert "not known" in str(beginning.gtid_problem(""))
