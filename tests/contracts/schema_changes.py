"""What a migration does to tables that are there, seen from a service that does not know of it."""

from collections.abc import Iterator

import sqlalchemy as sa


def hurts(before: sa.MetaData, after: sa.MetaData) -> Iterator[str]:
    """What a service that reads and writes the tables of `before` meets in those of `after` that it can't go on with."""
    for name, old in before.tables.items():
        new = after.tables.get(name)
        if new is None:
            yield f"table {name} is gone"
            continue
        yield from _columns(old, new)
        yield from (f"{name}: {rule} was added" for rule in sorted(_rules(new) - _rules(old)))


def _columns(old: sa.Table, new: sa.Table) -> Iterator[str]:
    for column in old.columns:
        now = new.columns.get(column.name)
        if now is None:
            yield f"column {column} is gone"
        elif str(now.type) != str(column.type):
            yield f"column {column} was {column.type} and is {now.type}"
        elif column.nullable and not now.nullable:
            yield f"column {column} takes no NULL any more"
    for column in new.columns:
        if column.name not in old.columns and not column.nullable and column.server_default is None:
            yield f"column {column} must be written, and has no default of the server"


def _rules(table: sa.Table) -> set[str]:
    """What it refuses."""
    unique = {f"unique {sorted(column.name for column in index.columns)}" for index in table.indexes if index.unique}
    kinds = (sa.UniqueConstraint, sa.CheckConstraint, sa.ForeignKeyConstraint, sa.PrimaryKeyConstraint)
    constraints = {
        f"{type(each).__name__} {sorted(column.name for column in each.columns)} {getattr(each, 'sqltext', '')}".rstrip()
        for each in table.constraints
        if isinstance(each, kinds)
    }
    return unique | constraints
