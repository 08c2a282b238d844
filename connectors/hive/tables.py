"""What a metastore says of a table, as those who write and read its files need it. Pure."""

import os
import re
from collections.abc import Sequence

from connectors.hive.metastore import HiveTable
from connectors.hive.types import schema_of
from connectors.objects.location import FOLDER, S3, Location, parse_url
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Field, Schema, Type

_SCHEMES = {"s3a": S3, "s3n": S3, "s3": S3, "file": FOLDER}
_UNSAFE = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""What Hive escapes in the names of folders, and no more: who looks for partitions there finds the same values."""


def columns_of(table: HiveTable) -> Schema:
    """The columns of a table, with those that it is partitioned by behind them. Raises PermanentError: it has others."""
    fields = []
    for name, kind in (*table.columns, *table.partitions):
        try:
            fields.append(Field(name, schema_of(kind)))
        except ValueError as error:
            msg = f"the column {name} has {error}"
            raise PermanentError(msg) from None
    return Schema(Type.STRUCT, fields=tuple(fields))


def location_of(place: Location) -> str:
    """A place as Hive names it."""
    if place.kind == FOLDER:
        return f"file:{place.prefix}"
    return "/".join(filter(None, (f"s3a://{place.bucket}", place.prefix)))


def same_place(location: str) -> Location | None:
    """The place that Hive names so; None: it is none that is known here."""
    scheme, _, path = location.partition(":") if ":" in location.partition("/")[0] else ("file", "", location)
    kind = _SCHEMES.get(scheme.lower())
    if kind == FOLDER:
        return Location(FOLDER, "", os.path.normpath(f"/{path.lstrip('/')}"))
    try:
        return None if kind is None else parse_url(f"{S3}:{path}")
    except ValueError:
        return None


def escaped(value: str) -> str:
    """A value of a partition as Hive writes it in the name of a folder."""
    return _UNSAFE.sub(lambda sign: f"%{ord(sign[0]):02X}", value)


def partition_name(names: Sequence[str], values: Sequence[str]) -> str:
    """What a metastore calls a partition: day=2026-07-01/country=ch.

    Args:
        names: The columns that the table is partitioned by.
        values: Of the partition, as a metastore has them.
    """
    return "/".join(f"{name}={escaped(value)}" for name, value in zip(names, values, strict=True))
