"""Tables that are there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.doris.endpoint import literal
from connectors.doris.session import Session
from connectors.doris.types import Column, column_of
from rocketconnect_sdk.tables import columns

UNIQUE = "UNIQUE"
DUPLICATE = "DUPLICATE"
_MODEL = re.compile(r"^\s*(UNIQUE|DUPLICATE|AGGREGATE) KEY\s*\(([^)]*)\)", re.MULTILINE | re.IGNORECASE)
_NAME = re.compile(r"`((?:[^`]|``)*)`")


@dataclass(frozen=True, slots=True)
class Table(columns.Table[Column]):
    """A table.

    Attributes:
        model: What becomes of rows of one key: UNIQUE (the newest stays), DUPLICATE (all stay) or AGGREGATE.
    """

    model: str


def table_of(session: Session, name: str) -> Table | None:
    """A table, or None where there is none that the user sees. Raises as Session.rows."""
    database, table = map(literal, session.place.parts(name))
    there = "COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA"
    where = f"TABLE_SCHEMA = {database} AND TABLE_NAME = {table}"
    rows = session.rows(f"SELECT {there} FROM information_schema.columns WHERE {where} ORDER BY ORDINAL_POSITION")  # noqa: S608  # literals
    if not rows:
        return None
    ((_, statement, *_),) = session.rows(f"SHOW CREATE TABLE {session.place.table(name)}")
    model, key = model_of(statement)
    found = [
        column_of(
            column,
            kind,
            optional=nullable == "YES",
            is_numbered="AUTO_INCREMENT" in (extra or "").upper(),
            in_key=column in key,
            default=default,
        )
        for column, kind, nullable, default, extra in rows
        if "GENERATED" not in (extra or "").upper()
    ]
    return Table(name, found, model)


def model_of(statement: str) -> tuple[str, Sequence[str]]:
    """What the statement that makes a table says of its model and the columns of its key."""
    found = _MODEL.search(statement)
    if found is None:
        return DUPLICATE, ()
    return found[1].upper(), [each.replace("``", "`") for each in _NAME.findall(found[2])]
