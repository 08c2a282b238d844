"""The task: the rows that are there, then the log."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import ask, connect
from connectors.postgres_cdc_source.logical.continuity import breaks
from connectors.postgres_cdc_source.logical.slots import Server, Slot, identify, inspect_slot, new_slot
from connectors.postgres_cdc_source.logical.stream import Stream
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from connectors.postgres_cdc_source.ownership import Taken, take
from connectors.postgres_cdc_source.rows.current import current_values
from connectors.postgres_cdc_source.rows.incremental import Incremental, name_of
from connectors.postgres_cdc_source.rows.incremental import ask as ask_for
from connectors.postgres_cdc_source.rows.snapshot import Snapshot, TableAltered, transaction
from connectors.postgres_cdc_source.settings import Settings
from connectors.postgres_cdc_source.shapes import Shapes
from connectors.postgres_cdc_source.streaming import LogReader
from connectors.postgres_cdc_source.tables import Name, key_of, names
from connectors.postgres_cdc_source.watermark import Watermark
from connectors.postgres_cdc_source.writers import Writers
from rocketconnect_sdk.changes.snapshots.incremental import Requests, partition_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.task import LogTask
from rocketconnect_sdk.database_logs.watermarks import PARTITION, stored_watermark
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import Offset, Position, SourceBatch

_KEEP_ALIVE_SECONDS = 5.0


class PostgresCdcTask(LogTask[Watermark, LogReader]):
    """Copies the tables of a database, and then each change.

    Args:
        settings: As configured.
        context: Of the task.
    """

    altered = TableAltered
    keep_alive_seconds = _KEEP_ALIVE_SECONDS

    def __init__(self, settings: Settings, context: TaskContext) -> None:
        super().__init__(settings.capture, context)
        self._settings = settings
        self._control: psycopg.Connection[TupleRow] | None = None
        self._stream: Stream | None = None
        self._slot: Slot | None = None
        self._shapes = Shapes(context)
        self._end = 0
        """Where the log ended when it was opened."""
        self._later: list[Name] = []
        """Tables that came since, and are to be published when it is stored that their rows are to be read."""

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask. What is stored may be forgotten by the server."""
        super().committed(positions)
        if PARTITION in positions and self._stream is not None:
            self._stream.confirm(Watermark.of(positions[PARTITION].offset).lsn)

    def keep_alive(self) -> None:
        """See SourceTask: for what stands between us and the server. The stream has a thread for that."""
        if self._control is None:
            return
        try:
            ask(self._control, "SELECT 1")
        except (SystemAway, RetriableError):
            self.close()
            raise

    def left_of_log(self) -> int | None:
        """See LogTask: that are not stored."""
        return None if self._slot is None else self._slot.behind(self.stored.get(PARTITION, (0,))[0])

    def read_on(self, held: Watermark) -> Watermark | None:
        """See LogTask."""
        mark = replace(held, snapshot_done=True, lsn=self._read_to(held))
        return None if mark == held else mark

    def is_at_end(self, mark: Watermark) -> bool:
        """See LogTask."""
        return self._read_to(mark) >= self._end

    def _read_to(self, mark: Watermark) -> int:
        return mark.lsn if self.log is None else max(mark.lsn, self.log.place)

    def close_more(self) -> None:
        """See LogTask."""
        if self._stream is not None:
            self._stream.close()
        if self._control is not None:
            self._control.close()
        self._stream = self._control = None

    def open_at(self, positions: Mapping[str, Offset]) -> Watermark:
        """See LogTask."""
        settings = self._settings
        control = self._control = connect(settings.address)
        self._catalog = Catalog(control)
        self._making = settings.making(self.context, positions)
        self.requests = Requests(positions)
        self._writers = Writers(control)
        self._later = []
        tables = self._making.take(names(control, settings.chosen))
        if not tables:
            msg = f"no table of {settings.address.database} is captured: change table.include or table.exclude"
            raise PermanentError(msg)
        server = identify(settings.address)
        if PARTITION in positions:
            mark = stored_watermark(Watermark.of, positions[PARTITION])
            self._check_continuity(control, mark, server)
            captured: Sequence[Name] = tables
            if settings.capture.log:
                # It may be that one was published just before the task ended.
                begun = [name_of(table) for table in self.requests.open if len(self.requests.place(table)) == 1]
                captured = self._resume(control, tables, begun)
            if not mark.snapshot_done:
                self._begin_snapshot(transaction(settings.address, ""), control, captured, mark)
        else:
            mark = self._begin(control, tables, server)
        self._end, self._tables = server.wal_end, set(tables)
        if settings.capture.log:
            self._shapes.look(control, tables)
        self.looked_at = time.monotonic()
        return mark

    def _begin(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name], server: Server) -> Watermark:
        """For the first time: the slot first, so that nothing is missed."""
        settings = self._settings
        if not settings.capture.log:
            mark = Watermark.at(server, server.wal_end, snapshot_done=False)
            self._begin_snapshot(transaction(settings.address, ""), control, tables, mark)
        else:
            taken = self._take(control, tables)
            if taken.keyless:
                fix = "Give each a primary key, run ALTER TABLE ... REPLICA IDENTITY FULL, or leave them out with table.exclude"
                named = ", ".join(map(".".join, taken.keyless))
                msg = f"once they are published, the server refuses to update and delete rows of {named}. {fix}"
                raise PermanentError(msg)
            mark = self._begin_slot(control, tables, server)
        if settings.capture.incremental:
            self.ask_for_all(tables)
        return mark

    def ask(self, tables: Sequence[str], condition: str) -> list[SourceBatch]:
        """See LogTask."""
        return ask_for(self._settings, self.requests, tables, condition)

    def _begin_slot(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name], server: Server) -> Watermark:
        settings = self._settings
        slot = inspect_slot(control, settings.slot)
        if slot is not None:
            # One that was made before: whatever it has is older than the rows that are read now, and comes again behind them.
            mark = Watermark.at(server, slot.confirmed_lsn, snapshot_done=not settings.capture.snapshot)
            if settings.capture.snapshot:
                self._begin_snapshot(transaction(settings.address, ""), control, tables, mark)
        else:
            with new_slot(settings.address, settings.slot) as made:
                mark = Watermark.at(server, made.start, snapshot_done=not settings.capture.snapshot)
                if settings.capture.snapshot:
                    self._begin_snapshot(transaction(settings.address, made.snapshot), control, tables, mark)
        return mark

    def _begin_snapshot(
        self,
        connection: psycopg.Connection[TupleRow],
        control: psycopg.Connection[TupleRow],
        tables: Sequence[Name],
        mark: Watermark,
    ) -> None:
        wanted = control, self._catalog, tables, self._settings.chosen
        self.read_snapshot(Snapshot(connection, *wanted, self._making, mark.lsn, self.context))

    def _resume(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name], begun: Sequence[Name]) -> list[Name]:
        """Takes what is captured, and asks for the rows of what is so anew. Gives the tables whose changes come."""
        taken = self._take(control, tables)
        added = list(map(Name._make, taken.added))
        self._writers.published([*begun, *added])
        self._tell_of_unread(added, self._ask_for_later(added))
        return [name for name in tables if name not in taken.keyless]

    def _ask_for_later(self, tables: Sequence[Name]) -> list[Name]:
        """Rows of tables that are captured anew are read in chunks. Gives those that can be."""
        settings, control = self._settings, self._control
        if not (settings.capture.snapshot or settings.capture.incremental) or control is None:
            return []
        keyed = [name for name in tables if str(name) not in self.requests.open and key_of(control, name)]
        if not keyed:
            return []
        made = ask_for(settings, self.requests, list(map(str, keyed)))
        self.ready.extend(made)
        self.unstored.update({batch.partition: batch.end for batch in made})
        return keyed

    def _tell_of_unread(self, captured: Sequence[Name], read: Sequence[Name]) -> None:
        unread = [str(name) for name in captured if name not in read and str(name) not in self.requests.open]
        if unread and (self._settings.capture.snapshot or self._settings.capture.incremental):
            told = "%s: begins with its changes, as the rows of a table without a key can't be read later"
            self.context.log.warning(told, ", ".join(unread))

    def _take(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name]) -> Taken:
        settings, log = self._settings, self.context.log
        taken = take(control, settings.slot, settings.publication, tables, self.context.connector_uid)
        if taken.added:
            log.info("the publication %s has %s, too, from now on", settings.publication, ", ".join(map(".".join, taken.added)))
        if not taken.is_marked:
            told = "the role does not own the publication %s: when the connector is deleted, the slot %s has to be dropped by hand"
            log.warning(told, settings.publication, settings.slot)
        if taken.keyless:
            told = "%s: not captured, as the server would refuse to update and delete rows: give it a key or REPLICA IDENTITY FULL"
            log.warning(told, ", ".join(map(".".join, taken.keyless)))
        return taken

    def _check_continuity(self, control: psycopg.Connection[TupleRow], mark: Watermark, server: Server) -> None:
        settings = self._settings
        if not settings.capture.log:
            return
        slot = inspect_slot(control, settings.slot)
        found = breaks(mark.stored, server, slot, settings.slot, settings.address.database)
        if found:
            fix = "Remove the positions of this connector, so that it begins anew with a snapshot"
            msg = f"{settings.address}: changes are lost: {'; '.join(found)}. {fix}"
            raise PermanentError(msg)

    def open_log(self, mark: Watermark) -> None:
        """See LogTask."""
        settings, control = self._settings, self._control
        if control is None:
            return
        self._stream = Stream(settings.address, settings.slot, [settings.publication], mark.lsn)
        self.log = LogReader(
            self._stream,
            Decoder(self._catalog.resolve),
            self._making,
            settings.chosen,
            lambda name: key_of(control, name),
            partial(current_values, control),
            self.context,
        )
        self.chunks = Incremental(settings, self._catalog, control, self._making, self.requests, self._writers, self.context)

    def look_around(self) -> None:
        """See LogTask: at the lag, at tables that came since, and at what changed of tables without being in the log."""
        control, settings = self._control, self._settings
        if control is None:
            return
        self._slot = inspect_slot(control, settings.slot)
        self._shapes.look(control, self._tables, self.log)
        if new := [name for name in names(control, settings.chosen) if name not in self._tables]:
            self._tables.update(self._making.take(new))
            self._writers.hold(self._ask_for_later(new))
            self._later += new

    def before_log(self) -> None:
        """See LogTask: tables that came since are published, as soon as it is stored that their rows are to be read."""
        control = self._control
        # Not before: who goes on then could not know it.
        if not self._later or control is None or any(partition_of(str(name)) in self.unstored for name in self._later):
            return
        new, self._later = self._later, []
        try:
            taken = self._take(control, names(control, self._settings.chosen))
            self._tell_of_unread([name for name in new if name in taken.added], ())
        except PermanentError as error:
            self.context.log.warning("%s: not captured: %s", ", ".join(map(str, new)), error)
            self.ready.extend(self.requests.done(str(name)) for name in new if str(name) in self.requests.open)
        self._writers.published(new)
