"""The task: the rows that are there, then the log."""

import time
from collections import deque
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
from connectors.postgres_cdc_source.watermark import PARTITION, Watermark, watermark_of
from connectors.postgres_cdc_source.writers import Writers
from rocketconnect_sdk.changes.snapshots.incremental import Requests, partition_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_IDLE_SECONDS = 0.005
_LOOK_SECONDS = 5.0


class PostgresCdcTask(SourceTask):
    """Copies the tables of a database, and then each change.

    Args:
        settings: As configured.
        context: Of the task.
    """

    remaining_unit = "bytes"
    keep_alive_seconds = _LOOK_SECONDS

    def __init__(self, settings: Settings, context: TaskContext) -> None:
        self._settings = settings
        self._context = context
        self._control: psycopg.Connection[TupleRow] | None = None
        self._snapshot: Snapshot | None = None
        self._stream: Stream | None = None
        self._log: LogReader | None = None
        self._incremental: Incremental | None = None
        self._mark: Watermark | None = None
        self._ready: deque[SourceBatch] = deque()
        self._is_open = False
        self._end = 0  # Where the log ended when it was opened.
        self._slot: Slot | None = None
        self._looked_at = 0.0
        self._shapes = Shapes(context)

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self._ready.clear()
        self._stored: dict[str, Offset] = {name: position.offset for name, position in positions.items()}
        self._given: dict[str, Offset] = dict(self._stored)
        self._waiting: tuple[Watermark, dict[str, Offset]] | None = None
        self._beat = 0.0
        self._unstored: dict[str, Offset] = {}
        self._later: list[Name] = []
        """Tables that came since, and are to be published when it is stored that their rows are to be read."""
        if self._context.columns:
            from rocketconnect_sdk.changes import arrays

            arrays.prepare()
        self._open()

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
                # What was given is remembered: it goes on behind that when the server is there again.
                self.close()
                raise
        if not self._ready:
            return None
        batch = self._ready.popleft()
        self._given[batch.partition] = batch.end or batch.offsets[-1]
        return batch

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask. What is stored may be forgotten by the server."""
        self._stored.update({name: position.offset for name, position in positions.items()})
        for partition in [name for name, offset in self._unstored.items() if self._stored.get(name, ()) >= offset]:
            del self._unstored[partition]
            self._context.log.info("what was told of %s is stored", partition)
        if PARTITION in positions and self._stream is not None:
            self._stream.confirm(Watermark.of(positions[PARTITION].offset).lsn)

    def keep_alive(self) -> None:
        """See SourceTask: for what stands between us and the server. The stream has a thread for that."""
        if not self._is_open or self._control is None:
            return
        try:
            ask(self._control, "SELECT 1")
        except (SystemAway, RetriableError):
            self.close()
            raise

    def remaining(self) -> int | None:
        """Bytes of the log that are not stored, as long as it was some seconds ago; of a snapshot about how many rows."""
        if self._snapshot is not None:
            return self._snapshot.left
        return None if self._slot is None else self._slot.behind(self._stored.get(PARTITION, (0,))[0])

    @property
    def idle_seconds(self) -> float:
        """A poll waits for the server itself."""
        return _IDLE_SECONDS

    @property
    def caught_up(self) -> bool:
        """See SourceTask. The server sends its log in its own time."""
        if self._snapshot is not None or self._mark is None or (self._requests.open and not self._requests.paused):
            return False
        read = 0 if self._log is None else self._log.place
        return not self._settings.log or max(self._mark.lsn, read) >= self._end

    @property
    def finished(self) -> bool:
        """When only the rows that were there are wanted, and they are read."""
        done = self._mark is not None and self._mark.snapshot_done
        return done and not self._settings.log and self._snapshot is None and not self._ready

    def close(self) -> None:
        """See SourceTask."""
        self._is_open = False
        if self._snapshot is not None:
            self._snapshot.close()
        if self._incremental is not None:
            self._incremental.close()
        if self._stream is not None:
            self._stream.close()
        if self._control is not None:
            self._control.close()
        self._snapshot = self._stream = self._log = self._incremental = self._control = None

    def _open(self) -> None:
        """Everything that is held, behind what was given."""
        settings = self._settings
        control = self._control = connect(settings.address)
        self._catalog = Catalog(control)
        self._making = settings.making(self._context, dict(self._given))
        self._requests = Requests(self._given)
        self._writers = Writers(control)
        self._later = []
        tables = self._making.take(names(control, settings.chosen))
        if not tables:
            msg = f"no table of {settings.address.database} is captured: change table.include or table.exclude"
            raise PermanentError(msg)
        server = identify(settings.address)
        if PARTITION in self._given:
            mark = watermark_of(self._given[PARTITION])
            self._check_continuity(control, mark, server)
            captured: Sequence[Name] = tables
            if settings.log:
                # It may be that one was published just before the task ended.
                begun = [name_of(table) for table in self._requests.open if len(self._requests.place(table)) == 1]
                captured = self._resume(control, tables, begun)
            if not mark.snapshot_done:
                self._begin_snapshot(transaction(settings.address, ""), control, captured, mark)
        else:
            mark = self._begin(control, tables, server)
        self._mark, self._end = mark, server.wal_end
        self._tables = set(tables)
        if settings.log:
            self._shapes.look(control, tables)
        self._looked_at = time.monotonic()
        self._is_open = True

    def _begin(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name], server: Server) -> Watermark:
        """For the first time: the slot first, so that nothing is missed."""
        settings = self._settings
        if not settings.log:
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
        self._ready.append(SourceBatch(PARTITION, [], [], end=mark.offset))
        if settings.incremental:
            self._ask_for(tables)
        return mark

    def _ask_for(self, tables: Sequence[Name]) -> None:
        """All of them are read in chunks."""
        # One that the task had asked for before it had a place in the log is asked for.
        new = [str(name) for name in tables if not self._requests.place(str(name))]
        try:
            self._ready.extend(ask_for(self._settings, self._requests, new))
        except ValueError as error:
            raise PermanentError(str(error)) from error

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
        return ask_for(self._settings, self._requests, tables, condition)

    def _begin_slot(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name], server: Server) -> Watermark:
        settings = self._settings
        slot = inspect_slot(control, settings.slot)
        if slot is not None:
            # One that was made before: whatever it has is older than the rows that are read now, and comes again behind them.
            mark = Watermark.at(server, slot.confirmed_lsn, snapshot_done=not settings.snapshot)
            if settings.snapshot:
                self._begin_snapshot(transaction(settings.address, ""), control, tables, mark)
        else:
            with new_slot(settings.address, settings.slot) as made:
                mark = Watermark.at(server, made.start, snapshot_done=not settings.snapshot)
                if settings.snapshot:
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
        self._snapshot = Snapshot(connection, *wanted, self._making, mark.lsn, self._context)
        self.remaining_unit = "rows"

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
        if not (settings.snapshot or settings.incremental) or control is None:
            return []
        keyed = [name for name in tables if str(name) not in self._requests.open and key_of(control, name)]
        if not keyed:
            return []
        made = ask_for(settings, self._requests, list(map(str, keyed)))
        self._ready.extend(made)
        self._unstored.update({batch.partition: batch.end for batch in made})
        return keyed

    def _tell_of_unread(self, captured: Sequence[Name], read: Sequence[Name]) -> None:
        unread = [str(name) for name in captured if name not in read and str(name) not in self._requests.open]
        if unread and (self._settings.snapshot or self._settings.incremental):
            told = "%s: begins with its changes, as the rows of a table without a key can't be read later"
            self._context.log.warning(told, ", ".join(unread))

    def _take(self, control: psycopg.Connection[TupleRow], tables: Sequence[Name]) -> Taken:
        settings, log = self._settings, self._context.log
        taken = take(control, settings.slot, settings.publication, tables, self._context.connector_uid)
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
        if not settings.log:
            return
        slot = inspect_slot(control, settings.slot)
        found = breaks(mark.stored, server, slot, settings.slot, settings.address.database)
        if found:
            fix = "Remove the positions of this connector, so that it begins anew with a snapshot"
            msg = f"{settings.address}: changes are lost: {'; '.join(found)}. {fix}"
            raise PermanentError(msg)

    def _read(self) -> None:
        if self._snapshot is not None:
            batch = self._snapshot.poll()
            if batch is not None:
                self._ready.append(batch)
                return
            self._snapshot.close()
            self._snapshot, self.remaining_unit = None, "bytes"
        # All that was read has been given by now.
        self._move_watermark()
        self._look_around()
        self._publish_later()
        if not self._ready and self._settings.log:
            if self._log is None:
                self._open_log()
            if self._log is not None and self._incremental is not None:
                self._ready.extend(self._incremental.poll(self._log))
                if not self._ready:
                    self._ready.extend(self._log.poll())

    def _open_log(self) -> None:
        settings, mark, control = self._settings, self._mark, self._control
        if mark is None or control is None:
            return
        self._stream = Stream(settings.address, settings.slot, [settings.publication], mark.lsn)
        decoder = Decoder(self._catalog.resolve)
        self._log = LogReader(
            self._stream,
            decoder,
            self._making,
            settings.chosen,
            lambda name: key_of(control, name),
            partial(current_values, control),
            self._context,
        )
        self._incremental = Incremental(
            settings, self._catalog, control, self._making, self._requests, self._writers, self._context
        )

    def _move_watermark(self) -> None:
        """Everything read so far is behind it as soon as all that was given by now is stored."""
        held = self._mark
        if held is None:
            return
        if self._waiting is None:
            if time.monotonic() - self._beat < self._settings.heartbeat and held.snapshot_done:
                return
            read = 0 if self._log is None else self._log.place
            mark = replace(held, snapshot_done=True, lsn=max(held.lsn, read))
            if mark == held:
                return
            self._waiting = mark, {name: offset for name, offset in self._given.items() if name != PARTITION}
        mark, given = self._waiting
        if all(self._stored.get(partition, ()) >= offset for partition, offset in given.items()):
            self._waiting, self._mark, self._beat = None, mark, time.monotonic()
            self._ready.append(SourceBatch(PARTITION, [], [], end=mark.offset))

    def _look_around(self) -> None:
        """At the lag, at tables that came since, and at what changed of tables without being in the log."""
        moment = time.monotonic()
        control, settings = self._control, self._settings
        if control is None or not settings.log or moment - self._looked_at < _LOOK_SECONDS:
            return
        self._slot, self._looked_at = inspect_slot(control, settings.slot), moment
        self._shapes.look(control, self._tables, self._log)
        if new := [name for name in names(control, settings.chosen) if name not in self._tables]:
            self._tables.update(self._making.take(new))
            self._writers.hold(self._ask_for_later(new))
            self._later += new

    def _publish_later(self) -> None:
        """Not before it is stored that rows are to be read: who goes on then could not know it."""
        control = self._control
        if not self._later or control is None or any(partition_of(str(name)) in self._unstored for name in self._later):
            return
        new, self._later = self._later, []
        try:
            taken = self._take(control, names(control, self._settings.chosen))
            self._tell_of_unread([name for name in new if name in taken.added], ())
        except PermanentError as error:
            self._context.log.warning("%s: not captured: %s", ", ".join(map(str, new)), error)
            self._ready.extend(self._requests.done(str(name)) for name in new if str(name) in self._requests.open)
        self._writers.published(new)
