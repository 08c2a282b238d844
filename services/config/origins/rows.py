"""What sources read in SQL: found by the topic, the place and the name, however many connectors there are."""

from collections.abc import Iterator

import sqlalchemy as sa

from services.config import tables
from services.config.origins.reads import ANY, Former, Reader, Reads, ReadTwice, compared, load, name_key, place_key
from services.config.rows import LIVING, connector_of, deleted_of, find_row

_FORMER = 10
"""So many deleted connectors are looked at, those that were deleted last."""
_LIVING = 100


def keep(connection: sa.Connection, uid: str, reads: Reads | None) -> None:
    """Make what a connector reads findable, in place of what it read before."""
    connection.execute(tables.origins.delete().where(tables.origins.c.connector_uid == uid))
    keys = {(place_key(each), name_key(each)) for each in reads.origins} if reads else ()
    if keys:
        values = [{"connector_uid": uid, "place": place, "name": name} for place, name in sorted(keys)]
        connection.execute(tables.origins.insert().values(values))


def read_twice(connection: sa.Connection, reads: Reads | None, name: str) -> ReadTwice:
    """Return what is to be said of a connector of this name that reads so, as living ones read the same into the same topic."""
    others = _readers(connection, reads, name)
    if reads is None or not others:
        return ReadTwice()
    row = find_row(connection, name)
    return compared(reads, others, None if row is None else load(row["origins"]), is_new=row is None)


def former_readers(connection: sa.Connection, reads: Reads, name: str) -> list[Former]:
    """Return deleted connectors that read some of it, the last first; none where the connector of this name read it already."""
    row = find_row(connection, name)
    before = None if row is None else load(row["origins"])
    if row is not None and before is None:
        return []
    return [each for each in _former(connection, reads) if before is None or not before.in_common(Reads([each.common]))]


def _readers(connection: sa.Connection, reads: Reads | None, name: str) -> list[Reader]:
    """Return living connectors of other names that read some of it, by name; of very many the first ones."""
    found = []
    if reads is not None and reads.origins:
        query = _with(reads).where(LIVING, tables.connectors.c.name != name).order_by(tables.connectors.c.name)
        for row in connection.execute(query).mappings():
            other = load(row["origins"])
            if other is not None and reads.in_common(other):
                found.append(Reader(connector_of(row), other))
            if len(found) == _LIVING:
                break
    return found


def _former(connection: sa.Connection, reads: Reads) -> Iterator[Former]:
    """Give deleted connectors that read some of it, the one that was deleted last first."""
    if not reads.origins:
        return
    query = _with(reads).where(~LIVING).order_by(tables.connectors.c.delete_time.desc()).limit(_FORMER)
    for row in connection.execute(query).mappings():
        other = load(row["origins"])
        if other is not None and (common := reads.in_common(other)):
            yield Former(deleted_of(row), common)


def _with(reads: Reads) -> sa.Select[tuple[object, ...]]:
    """All that may read some of it: a pattern is compared with all names of its place, a name with patterns and itself."""
    origins = tables.origins.c
    same = [
        (origins.place == place_key(each))
        if each.is_pattern
        else (origins.place == place_key(each)) & origins.name.in_((ANY, name_key(each)))
        for each in reads.origins
    ]
    uids = sa.select(origins.connector_uid).where(sa.or_(*same))
    return sa.select(tables.connectors).where(tables.connectors.c.uid.in_(uids))
