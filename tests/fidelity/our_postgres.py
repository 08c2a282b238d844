"""What our decoder says of PostgreSQL's log, in the same words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import time, timedelta

from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.values import Beyond, Missing
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.fidelity.change import Change

_OPERATIONS = {ev.Insert: Operation.CREATE, ev.Update: Operation.UPDATE, ev.Delete: Operation.DELETE}
_SOURCE_SCHEMA = struct([("txId", Schema(Type.INT64)), ("lsn", Schema(Type.INT64))])
SOURCE = ("schema", "txId", "lsn")


def changes(events: Sequence[ev.Event], keys: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """The changes of rows. A changed key is a delete and an insert.

    Args:
        events: Of the stream.
        keys: The columns of each table's primary key, by its name.
    """
    counts: Counter[str] = Counter()
    begin: ev.Begin | None = None
    for event in events:
        if isinstance(event, ev.Begin):
            begin = event
            counts.clear()
        elif isinstance(event, ev.Insert | ev.Update | ev.Delete | ev.Truncate) and begin is not None:
            for op, relation, before, after in _records(event, keys):
                counts.update([relation.name, ""])
                source = {"schema": relation.namespace, "txId": begin.xid, "lsn": event.lsn}
                order = str(begin.xid), counts[""], counts[relation.name]
                key = _key(after or before, keys[relation.name])
                yield Change(op, relation.name, key, before, after, source, order)


def _records(
    event: ev.Change, keys: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, ev.Relation, dict[str, object] | None, dict[str, object] | None]]:
    if isinstance(event, ev.Truncate):
        yield from (("t", relation, None, None) for relation in event.relations)
        return
    relation = event.relation
    before = None if isinstance(event, ev.Insert) else _row(relation, event.old)
    after = None if isinstance(event, ev.Delete) else _row(relation, event.new)
    key = keys[relation.name]
    if before is None:
        yield "c" if isinstance(event, ev.Insert) else "u", relation, None, after
    elif after is None:
        yield "d", relation, before, None
    elif _key(before, key) != _key(after, key):
        yield "d", relation, before, None
        yield "c", relation, None, after
    else:
        yield "u", relation, before, after


def _key(row: Mapping[str, object] | None, names: Sequence[str]) -> dict[str, object] | None:
    return {name: row[name] for name in names} if names and row is not None else None


def _row(relation: ev.Relation, values: Sequence[object] | None) -> dict[str, object] | None:
    if values is None:
        return None
    return {column.name: _said(value) for column, value in zip(relation.columns, values, strict=True)}


def _said(value: object) -> object:
    if isinstance(value, time):
        return timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    if value is Missing.ABSENT:
        # What a delete does not tell of the row is null in an envelope.
        return None
    return value.text if isinstance(value, Beyond) else value
