"""The task: the rows that are there, then the log."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

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
from connectors.mysql_cdc_source.rows.current import current_values
from connectors.mysql_cdc_source.rows.incremental import Incremental, ask
from connectors.mysql_cdc_source.rows.snapshot import Snapshot, transaction
from connectors.mysql_cdc_source.rows.text_query import TableAltered
from connectors.mysql_cdc_source.server import Server, first_place, log_end, watermark_of
from connectors.mysql_cdc_source.settings import Settings
from connectors.mysql_cdc_source.streaming import LogReader
from connectors.mysql_cdc_source.tables import Name, Table, names, now
from connectors.mysql_cdc_source.watermark import PARTITION, Place, Watermark, behind
from rocketconnect_sdk.changes.snapshots.incremental import Requests
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.record import Position as SourcePosition
from rocketconnect_sdk.source import SourceTask

_MOST_OFFSET = 1 << 32
_IDLE_SECONDS = 0.005
_LOOK_SECONDS = 5.0


class MysqlCdcTask(SourceTask):
    """Copies the tables of a server, and then each change.

    Args:
        settings: As configured.
        context: Of the task.
    """

    remaining_unit = "bytes"

    def __init__(self, settings: Settings, context: TaskContext) -> None:
        self._settings = settings
        self._context = context
        self._snapshot: Snapshot | None = None
        self._stream: BinlogStream | None = None
        self._log: LogReader | None = None
        self._incremental: Incremental | None = None
        self._ready: deque[SourceBatch] = deque()
        self._mark: Watermark | None = None
        self._end = Place(0, 0, 0)
        """Where the log ended when it was opened."""
        self._is_open = False
        self._files: Sequence[LogFile] = ()
        """Of the log, when it was looked at."""
        self._looked_at = 0.0

    def start(self, positions: Mapping[str, SourcePosition]) -> None:
        """See SourceTask."""
        self.close()
        self._ready.clear()
        self._given: dict[str, Offset] = {}
        self._stored: dict[str, Offset] = {name: position.offset for name, position in positions.items()}
        self._reached: dict[str, Offset] = dict(self._stored)
        self._waiting: tuple[Watermark, dict[str, Offset]] | None = None
        self._beat = 0.0
        self._unstored: dict[str, Offset] = {}
        if self._context.columns:
            from rocketconnect_sdk.changes import arrays

            arrays.prepare()
        self._open()

    def _open(self) -> None:
        """All that is held, behind what was given."""
        positions = dict(self._reached)
        login = self._settings.login
        end = log_end(login, needed=self._settings.log)
        with connected(login) as connection:
            self._server = Server(connection)
            self._making = self._settings.making(self._context, positions, mariadb=self._server.mariadb)
            self._making.take(names(connection, self._settings.chosen))
        if PARTITION in positions:
            mark, position = self._resumed(watermark_of(positions[PARTITION]))
        else:
            mark, position = None, Position()
        self._requests = Requests(positions)
        if mark is None or not mark.snapshot_done:
            mark, position = self._begin(mark, position)
        self._mark, self._position, self._end = mark, position, self._server.place(end)
        if PARTITION not in positions:
            self._ready.append(SourceBatch(PARTITION, [], [], end=mark.offset))
        self._is_open = True

    def _begin(self, mark: Watermark | None, position: Position) -> tuple[Watermark, Position]:
        """The snapshot begins, or goes on in a new transaction; the log's place stays the first one."""
        settings = self._settings
        if not settings.snapshot:
            with connected(settings.login) as connection:
                position = first_place(connection) if settings.earliest else end_of_log(connection)
                tables = names(connection, settings.chosen) if settings.incremental else []
            if settings.incremental:
                self._ask_for(tables)
            return self._server.mark(position, snapshot_done=True), position
        end = log_end(settings.login, needed=settings.log)
        held, place = transaction(settings.login)
        if mark is None:
            position = place or end
            mark = self._server.mark(position, snapshot_done=False)
        with connected(settings.login) as connection:
            tables = names(connection, settings.chosen)
        if not tables:
            held.close()
            raise self._nothing()
        self._snapshot = Snapshot(held, settings.login, tables, settings.chosen, self._making, position, self._context)
        self.remaining_unit = "rows"
        return mark, position

    def _ask_for(self, tables: Sequence[Name]) -> None:
        """All of them are read in chunks."""
        if not tables:
            raise self._nothing()
        self._check_server()
        # One that the task had asked for before it had a place in the log is asked for.
        new = [str(name) for name in tables if not self._requests.place(str(name))]
        try:
            self._ready.extend(ask(self._settings, self._requests, new))
        except ValueError as error:
            raise PermanentError(str(error)) from error

    def _nothing(self) -> PermanentError:
        server = self._settings.login.server
        return PermanentError(f"no table of {server} is captured: change database.include, table.include or table.exclude")

    def _check_server(self) -> None:
        if not self._server.mariadb:
            with connected(self._settings.login) as connection:
                done_by(connection, self._settings.login)

    def signal(self, name: str, arguments: Mapping[str, str]) -> str:
        """See SourceTask. What is asked for is durable when the next positions are stored, which the log of the task says."""
        if not self._settings.log:
            msg = "snapshot.mode=only reads no log, which incremental snapshots need: take another one"
            raise ValueError(msg)
        if not self._is_open:
            self._open()
        made = self._requests.obey(name, arguments, self._asked)
        moved = {batch.partition: batch.end for batch in made}
        # Of a snapshot that is stopped nothing more is given.
        self._ready = deque(batch for batch in self._ready if batch.partition not in moved)
        self._ready.extend(made)
        self._unstored.update(moved)
        return self._requests.told

    def _asked(self, tables: Sequence[str], condition: str) -> list[SourceBatch]:
        self._check_server()
        return ask(self._settings, self._requests, tables, condition)

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
        self._context.log.warning("another server has the log now: going on behind the GTIDs %s", mark.gtid_set)
        self._server.era = place.era + 1
        return Watermark(Place(place.era + 1, 0, 0), mark.snapshot_done, self._server.identity, mark.gtid_set), Position(
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
                    self._context.log.warning(
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

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        if not self._ready:
            try:
                if not self._is_open:
                    self._open()
                self._read()
            except TableAltered as error:
                self._context.log.info("the snapshot goes on in a new transaction: %s", error)
                self.close()
                return None
            except (SystemAway, RetriableError):
                # It goes on behind what was given, when the server is there again.
                self.close()
                raise
        if not self._ready:
            return None
        batch = self._ready.popleft()
        self._reached[batch.partition] = end = batch.end or batch.offsets[-1]
        if batch.partition != PARTITION:
            self._given[batch.partition] = end
        return batch

    def _read(self) -> None:
        if not self._ready and self._snapshot is not None:
            batch = self._snapshot.poll()
            if batch is not None:
                self._ready.append(batch)
            elif self._snapshot.finished:
                self._snapshot.close()
                self._snapshot, self.remaining_unit = None, "bytes"
        if not self._ready and self._snapshot is None:
            self._read_log()

    def _read_log(self) -> None:
        # All that was read has been given by now, also where there is always more.
        self._move_watermark()
        self._look_at_lag()
        if self._ready:
            return
        if self._settings.log and self._log is None:
            self._open_log()
        if self._log is not None and self._incremental is not None:
            self._ready.extend(self._incremental.poll(self._log))
            if not self._ready:
                self._ready.extend(self._log.poll())

    def _look_at_lag(self) -> None:
        moment = time.monotonic()
        if not self._settings.log or moment - self._looked_at < _LOOK_SECONDS:
            return
        with connected(self._settings.login) as connection:
            self._files, self._looked_at = log_files(connection), moment

    def _open_log(self) -> None:
        settings = self._settings
        server_id, host = settings.server_id(self._context), name_of(self._context.connector_uid)
        self._check_replicas(server_id, host)
        self._stream = BinlogStream(
            settings.login,
            self._position,
            server_id=server_id,
            host=host,
            complete=self._complete,
            wanted=settings.chosen.takes,
            later=self._context.columns,
        )
        values = partial(current_values, settings.login, self._server.place)
        self._log = LogReader(
            self._stream,
            self._server.era,
            self._making,
            settings.chosen,
            self._now,
            values,
            self._context,
            folded=self._server.folds_names,
        )
        self._incremental = Incremental(settings, self._making, self._requests, self._server.place, self._context)

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

    def _move_watermark(self) -> None:
        """Everything read so far is behind it as soon as all that was given by now is stored."""
        held = self._mark
        if held is None:
            return
        if self._waiting is None:
            if time.monotonic() - self._beat < self._settings.heartbeat:
                return
            mark = replace(held, snapshot_done=True)
            if self._log is not None and self._log.place is not None and self._log.place > mark.place:
                mark = replace(mark, place=self._log.place, gtid_set=self._log.gtid_set)
            if mark.offset[:4] <= held.offset[:4]:
                return
            self._waiting = mark, dict(self._given)
        mark, given = self._waiting
        if all(self._stored.get(partition, ()) >= offset for partition, offset in given.items()):
            self._waiting, self._mark, self._beat = None, mark, time.monotonic()
            self._given = {name: offset for name, offset in self._given.items() if given.get(name) != offset}
            self._ready.append(SourceBatch(PARTITION, [], [], end=mark.offset))

    def committed(self, positions: Mapping[str, SourcePosition]) -> None:
        """See SourceTask."""
        self._stored.update({name: position.offset for name, position in positions.items()})
        for partition in [name for name, offset in self._unstored.items() if self._stored.get(name, ()) >= offset]:
            del self._unstored[partition]
            self._context.log.info("what was told of %s is stored", partition)

    def remaining(self) -> int | None:
        """Bytes of the log that are not read, as long as it was some seconds ago; of a snapshot about how many rows."""
        if self._snapshot is not None:
            return self._snapshot.left
        if self._mark is None:
            return None
        read = None if self._log is None else self._log.place
        return behind(self._files, read or self._mark.place)

    @property
    def idle_seconds(self) -> float:
        """A poll waits for the server itself."""
        return _IDLE_SECONDS

    @property
    def caught_up(self) -> bool:
        """See SourceTask. The server sends its log in its own time."""
        if self._snapshot is not None or self._mark is None or (self._requests.open and not self._requests.paused):
            return False
        read = None if self._log is None else self._log.place
        return not self._settings.log or (read or self._mark.place) >= self._end

    @property
    def finished(self) -> bool:
        """When only the rows that were there are wanted, and they are read."""
        return (
            not self._settings.log
            and self._snapshot is None
            and not self._ready
            and self._mark is not None
            and self._mark.snapshot_done
        )

    def close(self) -> None:
        """See SourceTask."""
        self._is_open = False
        if self._snapshot is not None:
            self._snapshot.close()
        if self._stream is not None:
            self._stream.close()
        if self._incremental is not None:
            self._incremental.close()
        self._snapshot = self._stream = self._log = self._incremental = None

    def _complete(self, table: TableMap) -> TableMap:
        """UUID and INET, which only definitions know; of what else is missing the reader of the log speaks."""
        if table.missing != ("extensions",):
            return table
        with connected(self._settings.login) as connection:
            return completed(connection, table)

    def _now(self, name: Name) -> Table | None:
        with connected(self._settings.login) as connection:
            return now(connection, name, self._settings.chosen)
