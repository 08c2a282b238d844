"""Rows by their keys: the conditions of statements. Pure."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal

from connectors.jdbc.reading.dialect import Reading
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.tables.reader import beyond, micros_of
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
        literals = [_literal(reading, value, schema, reading.text) for value, schema in zip(key, schemas, strict=True)]
        conditions.append(beyond(ordered, literals))
    return f"WHERE {' AND '.join(conditions)} ORDER BY {', '.join(ordered)}"


def among(reading: Reading, columns: Sequence[str], keys: Sequence[Key], schemas: Sequence[Schema] = ()) -> str:
    """What stands behind FROM for the rows of some keys. Texts are compared as the columns do, so that an index is used.

    Args:
        reading: Of the database.
        columns: The quoted names of the key's columns.
        keys: Of the rows.
        schemas: Of the columns; none: they are numbers and what is compared as a text.
    """
    return f"WHERE {any_of(reading, columns, keys, schemas)}" if keys else "WHERE 1 = 0"


def any_of(reading: Reading, columns: Sequence[str], keys: Sequence[Key], schemas: Sequence[Schema] = ()) -> str:
    """The condition for the rows of some keys, of which there is one at least; see `among`."""
    return " OR ".join(f"({same(reading, columns, key, schemas)})" for key in keys)


def same(reading: Reading, columns: Sequence[str], key: Key, schemas: Sequence[Schema] = ()) -> str:
    """The condition for the row of a key; see `among`."""
    given: Sequence[Schema | None] = schemas or [None] * len(columns)
    literals = [_literal(reading, value, schema, reading.literal) for value, schema in zip(key, given, strict=True)]
    return " AND ".join(f"{column} = {literal}" for column, literal in zip(columns, literals, strict=True))


def _literal(reading: Reading, value: int | str | Decimal, schema: Schema | None, text: Callable[[str], str]) -> str:
    if not isinstance(value, str):
        return f"({value:f})" if isinstance(value, Decimal) else f"({value})"
    match None if schema is None else schema.type:
        case Type.BYTES:
            return reading.octets(bytes.fromhex(value))
        case Type.DATE:
            return f"DATE '{date.fromisoformat(value).isoformat()}'"
        case Type.TIMESTAMP:
            return reading.moment(micros_of(value))
    return text(value)
