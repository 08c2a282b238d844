"""Rows by their keys: the conditions of statements. Pure."""

from collections.abc import Sequence

from connectors.jdbc.reading.dialect import Reading
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.verification import Key


def in_order(reading: Reading, columns: Sequence[str], schemas: Sequence[Schema], key: Key | None) -> str:
    """What stands behind FROM for rows behind a key, in the order of keys.

    Args:
        reading: Of the database.
        columns: The quoted names of the key's columns.
        schemas: Of these columns.
        key: Where to begin; None: at the beginning.
    """
    ordered = [reading.ordered(column, schema) for column, schema in zip(columns, schemas, strict=True)]
    conditions = [f"{column} IS NOT NULL" for column in columns]
    if key is not None:
        conditions.append(_behind(ordered, [f"({value})" if isinstance(value, int) else reading.text(value) for value in key]))
    return f"WHERE {' AND '.join(conditions)} ORDER BY {', '.join(ordered)}"


def among(reading: Reading, columns: Sequence[str], keys: Sequence[Key]) -> str:
    """What stands behind FROM for the rows of some keys. Texts are compared as the columns do, so that an index is used."""
    return f"WHERE {any_of(reading, columns, keys)}" if keys else "WHERE 1 = 0"


def any_of(reading: Reading, columns: Sequence[str], keys: Sequence[Key]) -> str:
    """The condition for the rows of some keys, of which there is one at least; see `among`."""
    return " OR ".join(f"({same(reading, columns, key)})" for key in keys)


def same(reading: Reading, columns: Sequence[str], key: Key) -> str:
    """The condition for the row of a key; see `among`."""
    literals = [f"({value})" if isinstance(value, int) else reading.literal(value) for value in key]
    return " AND ".join(f"{column} = {literal}" for column, literal in zip(columns, literals, strict=True))


def _behind(columns: Sequence[str], literals: Sequence[str]) -> str:
    column, literal = columns[0], literals[0]
    if len(columns) == 1:
        return f"{column} > {literal}"
    return f"{column} >= {literal} AND ({column} > {literal} OR ({_behind(columns[1:], literals[1:])}))"
