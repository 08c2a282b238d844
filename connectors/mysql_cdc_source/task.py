"""The task: the rows that are there, then the log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from connectors.mysql_cdc_source.binlog.definitions import completed
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from connectors.mysql_cdc_source.binlog.server import (
    LogFile,
    Position,
    connected,
    end_of_log,
    gtids_at,
    is_place,
    log_files,
)
from connectors.mysql_cdc_source.binlog.stream import BinlogStream
from connectors.mysql_cdc_source.replicas import name_of, replicas
from connectors.mysql_cdc_source.rows.beginning import done_by
from connectors.mysql_cdc_source.rows.current import CurrentValues
from connectors.mysql_cdc_source.rows.incremental import Incremental, ask
from connectors.mysql_cdc_source.rows.snapshot import Snapshot, transaction
from connectors.mysql_cdc_source.rows.text_query import TableAltered
from connectors.mysql_cdc_source.server import Server, first_place, log_end
from connectors.mysql_cdc_source.settings import Settings
from connectors.mysql_cdc_source.streaming import LogReader
from connectors.mysql_cdc_source.tables import Name, Table, names, now
from connectors.mysql_cdc_source.watermark import BinlogCoordinate, Watermark, behind
from rocketconnect_sdk.changes.snapshots.incremental import Requests
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.task import LogTask
from rocketconnect_sdk.database_logs.watermarks import PARTITION, stored_watermark
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch

_MOST_OFFSET = 1 << 32


class MysqlCdcTask(LogTask[Watermark, LogReader]):
    """Copies the tables of a server, and then each change.

    Args:
        settings: As configured.
        context: Of the task.
    """

    altered = TableAltered

    def __init__(self, settings: Settings, context: TaskContext) -> None:
        super().__init__(settings.capture, context)
        self._settings = settings
        self._stream: BinlogStream | None = None
        self._current: CurrentValues | None = None
        self._end = BinlogCoordinate(0, 0, 0)
        """Where the log ended when it was opened."""
        self._files: Sequence[LogFile] = ()
        """Of the log, when it was looked at."""

    def open_at(self, positions: Mapping[str, Offset]) -> Watermark:
        """See LogTask."""
        settings, login = self._settings, self._settings.login
        end = log_end(login, needed=settings.capture.log)
        with connected(login) as connection:
            self._server = Server(connection)
            self._making = settings.making(self.context, positions, mariadb=self._server.mariadb)
            self._making.take(names(connection, settings.chosen))
        mark, position = None, Position()
        if PARTITION in positions:
            mark, position = self._resumed(stored_watermark(Watermark.of, positions[PARTITION]))
        self.requests = Requests(positions)
        if mark is None or not mark.snapshot_done:
            mark, position = self._begin(mark, position)
        self._position, self._end = position, self._server.place(end)
        return mark

    def _begin(self, mark: Watermark | None, position: Position) -> tuple[Watermark, Position]:
        """The snapshot begins, or goes on in a new transaction; the log's place stays the first one."""
        settings, capture = self._settings, self._settings.capture
        if not capture.snapshot:
            with connected(settings.login) as connection:
                position = first_place(connection) if settings.earliest else end_of_log(connection)
                tables = names(connection, settings.chosen) if capture.incremental else []
            if capture.incremental:
                if not tables:
                    raise self._nothing()
                self.ask_for_all(tables)
            return self._server.mark(position, snapshot_done=True), position
        end = log_end(settings.login, needed=capture.log)
        held, place = transaction(settings.login)
        if mark is None:
            position = place or end
            mark = self._server.mark(position, snapshot_done=False)
        with connected(settings.login) as connection:
            tables = names(connection, settings.chosen)
        if not tables:
            held.close()
            raise self._nothing()
        self.read_snapshot(Snapshot(held, settings.login, tables, settings.chosen, self._making, position, self.context))
        return mark, position

    def _nothing(self) -> PermanentError:
        server = self._settings.login.server
        return PermanentError(f"no table of {server} is captured: change database.include, table.include or table.exclude")

    def ask(self, tables: Sequence[str], condition: str) -> list[SourceBatch]:
        """See LogTask."""
        if not self._server.mariadb:
            with connected(self._settings.login) as connection:
                done_by(connection, self._settings.login)
        return ask(self._settings, self.requests, tables, condition)

    def _resumed(self, mark: Watermark) -> tuple[Watermark, Position]:
        """Where the log goes on, also when another server has it now."""
        place = mark.place
        if mark.server == self._server.identity:
            self._server.era = place.era
            return mark, self._same(Position(self._server.file(place.file), place.offset, mark.gtid_set))
        if not mark.gtid_set:
            msg = (
                f"{self._settings.login.server} is another server than the one that was read last, and that one had no GTIDs, so "
                "that the place in the log cannot be found: connect to the old one, or remove the positions for a new snapshot"
            )
            raise PermanentError(msg)
        self.context.log.warning("another server has the log now: going on behind the GTIDs %s", mark.gtid_set)
        self._server.era = place.era + 1
        return Watermark(BinlogCoordinate(place.era + 1, 0, 0), mark.snapshot_done, self._server.identity, mark.gtid_set), Position(
            gtid_set=mark.gtid_set
        )

    def _same(self, position: Position) -> Position:
        """A place of before in the log of the same server, if that is the log of before."""
        login = self._settings.login
        with connected(login) as connection:
            size = next((file.size for file in log_files(connection) if file.name == position.file), None)
            # Without the file the stream says what is left. Only MariaDB can tell the GTIDs of a place.
            told: str | None = position.gtid_set
            if self._server.mariadb and size is not None:
                told = gtids_at(connection, position.file, position.offset)
                if told is None and is_place(connection, position.file, position.offset):
                    self.context.log.warning(
                        "whether the log at %s is that of before cannot be known: an event there is larger than max_allowed_packet",
                        position,
                    )
                    told = position.gtid_set
        # None were known when an event was too large at that time.
        if position.gtid_set and told != position.gtid_set:
            msg = (
                f"the log of {login.server} is another one than before: at {position} (of {size}) it has the GTIDs "
                f"{told or '(none)'}, and there were {position.gtid_set}. It was reset, or the server restored: remove the "
                "positions for a new snapshot"
            )
            raise PermanentError(msg)
        # The protocol has no offsets beyond, which a large transaction comes to.
        return Position(gtid_set=position.gtid_set) if position.offset >= _MOST_OFFSET and position.gtid_set else position

    def look_around(self) -> None:
        """See LogTask: at what is left of the log."""
        with connected(self._settings.login) as connection:
            self._files = log_files(connection)

    def open_log(self, mark: Watermark) -> None:
        """See LogTask."""
        del mark  # the position tells more
        settings = self._settings
        server_id, host = settings.server_id(self.context), name_of(self.context.connector_uid)
        self._check_replicas(server_id, host)
        self._stream = BinlogStream(
            settings.login,
            self._position,
            server_id=server_id,
            host=host,
            complete=self._complete,
            wanted=settings.chosen.takes,
            later=self.context.columns,
        )
        self._current = CurrentValues(settings.login, self._server.place)
        self.log = LogReader(
            self._stream,
            self._server.era,
            self._making,
            settings.chosen,
            self._now,
            self._current,
            self.context,
            folded=self._server.folds_names,
        )
        self.chunks = Incremental(settings, self._making, self.requests, self._server.place, self.context)

    def _check_replicas(self, server_id: int, host: str) -> None:
        """No other one has the id. One of this connector's own may, which the server ends now."""
        with connected(self._settings.login) as connection:
            others = [each for each in replicas(connection) if each.server_id == server_id and each.host != host]
        if others:
            msg = (
                f"{others[0]} reads the log of {self._settings.login.server} as the server.id {server_id}: the server would end "
                "its stream, and then this one, in turns. Give each replica and each connector a server.id of its own"
            )
            raise PermanentError(msg)

    def read_on(self, held: Watermark) -> Watermark | None:
        """See LogTask."""
        mark = replace(held, snapshot_done=True)
        if self.log is not None and self.log.place is not None and self.log.place > mark.place:
            mark = replace(mark, place=self.log.place, gtid_set=self.log.gtid_set)
        return mark if (mark.place, mark.snapshot_done) > (held.place, held.snapshot_done) else None

    def left_of_log(self) -> int | None:
        """See LogTask: that are not read."""
        return None if self.mark is None else behind(self._files, self._read_to(self.mark))

    def is_at_end(self, mark: Watermark) -> bool:
        """See LogTask."""
        return self._read_to(mark) >= self._end

    def _read_to(self, mark: Watermark) -> BinlogCoordinate:
        return (None if self.log is None else self.log.place) or mark.place

    def close_more(self) -> None:
        """See LogTask."""
        if self._stream is not None:
            self._stream.close()
        if self._current is not None:
            self._current.close()
        self._stream = self._current = None

    def _complete(self, table: TableMap) -> TableMap:
        """UUID and INET, which only definitions know; of what else is missing the reader of the log speaks."""
        if table.missing != ("extensions",):
            return table
        with connected(self._settings.login) as connection:
            return completed(connection, table)

    def _now(self, name: Name) -> Table | None:
        with connected(self._settings.login) as connection:
            return now(connection, name, self._settings.chosen)
