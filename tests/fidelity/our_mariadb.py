"""What our decoder says of MariaDB's log, in the same words."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from connectors.mysql_cdc_source.binlog import events as ev
from connectors.mysql_cdc_source.binlog.row_reading.parts import Geometry
from connectors.mysql_cdc_source.binlog.stream import Entry
from tests.fidelity.change import Change

SOURCE = ("file", "pos", "row", "gtid", "server_id", "db")
_TRUNCATE = re.compile(r"TRUNCATE TABLE (\w+)")
_OPS = {ev.Change.INSERT: "c", ev.Change.UPDATE: "u", ev.Change.DELETE: "d"}


def changes(entries: Sequence[Entry], database: str) -> Iterator[Change]:
    """The changes of rows of a database. A changed key is a delete and an insert."""
    counts: Counter[str] = Counter()
    for entry in entries:
        event = entry.event
        if isinstance(event, ev.TransactionBegin):
            counts.clear()
        if isinstance(event, ev.Query) and event.schema == database and (found := _TRUNCATE.fullmatch(event.text)):
            yield Change("t", found[1], None, None, None, _source(entry, 0, database), (str(entry.gtid), 1, 1))
        if not isinstance(event, ev.Rows) or event.table.schema != database:
            continue
        table = event.table.table
        for number in range(max(len(event.before), len(event.after))):
            before = _row(event, event.before_columns, event.before, number)
            after = _row(event, event.after_columns, event.after, number)
            for op, key, old, new in _records(event, before, after):
                counts.update([table, ""])
                yield Change(
                    op, table, key, old, new, _source(entry, number, database), (str(entry.gtid), counts[""], counts[table])
                )


def _source(entry: Entry, row: int, database: str) -> dict[str, object]:
    head = entry.header
    where = {"file": entry.position.file, "pos": head.end - head.size, "row": row, "gtid": str(entry.gtid)}
    return {**where, "server_id": head.server_id, "db": database}


def _records(
    event: ev.Rows, before: dict[str, object] | None, after: dict[str, object] | None
) -> Iterator[tuple[str, dict[str, object] | None, dict[str, object] | None, dict[str, object] | None]]:
    old, new = _key(event, before), _key(event, after)
    if before is not None and after is not None and old != new:
        yield "d", old, before, None
        yield "c", new, None, after
    else:
        yield _OPS[event.change], new or old, before, after


def _key(event: ev.Rows, row: Mapping[str, object] | None) -> dict[str, object] | None:
    names = [str(event.table.columns[part.column].name) for part in event.table.primary_key]
    return {name: row[name] for name in names} if names and row is not None else None


def _row(event: ev.Rows, columns: Sequence[int], rows: Sequence[tuple[object, ...]], number: int) -> dict[str, object] | None:
    if not rows:
        return None
    names = [str(event.table.columns[index].name) for index in columns]
    return dict(zip(names, (tuple(v) if isinstance(v, Geometry) else v for v in rows[number]), strict=True))
