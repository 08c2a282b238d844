"""The partitions of a table: which one a record belongs to, and how its folder is called. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from connectors.hive.tables import escaped
from connectors.hive.types import hive_type, partitions_by
from connectors.object_store_sink.layout import NOTHING, Layout, layout_problem
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema

DOC = "NAME={field:FIELD}, or NAME= and times such as {yyyy}-{MM}-{dd}, one folder for each partition column"
_LEVEL = re.compile(r"([a-z0-9_]+)=(.+)")
_FIELD = re.compile(r"\{field:([^{}]+)\}")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_MOST = 200
"""Characters of a value in the name of a folder."""


@dataclass(frozen=True, slots=True)
class Level:
    """One partition column.

    Attributes:
        name: Of the column.
        field: The field that its values are of; empty: they are of the template.
        template: With placeholders, see Layout.
    """

    name: str
    field: str
    template: str

    @property
    def moves(self) -> bool:
        """Whether the field becomes the partition column, and is no other column beside it."""
        return self.field == self.name


@dataclass(frozen=True, slots=True)
class Levels:
    """The partition columns of a table, in order. Picklable.

    Attributes:
        all: The columns; none: the table has no partitions.
        time: The field that times are of; empty: the time of the record.
        zone: The time zone of what is shown of them.
    """

    all: Sequence[Level]
    time: str
    zone: str

    @property
    def moved(self) -> list[str]:
        """The fields that become partition columns."""
        return [each.name for each in self.all if each.moves]

    def columns(self, records: Schema) -> list[tuple[str, str]]:
        """The partition columns of a table that is made for records: names and types of Hive.

        Raises:
            RecordError: they have no such field, or of no such type.
        """
        fields = {each.name: each.schema for each in records.fields}
        found = []
        for level in self.all:
            if level.field and level.field not in fields:
                raise _no_field(level.field, list(fields))
            kind = hive_type(fields[level.field]) if level.field else "string"
            if not partitions_by(kind):
                msg = f"the field {level.field} is {kind}, and a table cannot be partitioned by it"
                raise RecordError(msg)
            found.append((level.name, kind))
        return found

    def folders(self, topic: str, rows: pa.Table, times: Sequence[int | None] | None) -> pa.Array:
        """The folder of each row.

        Args:
            topic: Of all.
            rows: With all the fields that the levels name.
            times: Of the records, milliseconds since 1970.

        Raises:
            RecordError: there is no such field, or a value is too long.
        """
        if not self.all:
            return pa.array([""] * len(rows), pa.string())
        parts: list[pa.Array | pa.Scalar] = []
        for number, level in enumerate(self.all):
            values = self._values(level, topic, rows, times)
            parts += [pa.scalar(f"{'/' if number else ''}{level.name}="), values]
        return pc.binary_join_element_wise(*parts, "")

    def values(self, folder: str) -> list[str] | None:
        """The values of a partition, as a metastore has them, by its folder; None: it is no folder of one. Without levels none."""
        parts = folder.split("/") if folder else []
        if len(parts) != len(self.all):
            return None
        found = []
        for level, part in zip(self.all, parts, strict=True):
            name, _, value = part.partition("=")
            if name != level.name or not value:
                return None
            found.append(_ESCAPE.sub(lambda sign: chr(int(sign[1], 16)), value))
        return found

    def _values(self, level: Level, topic: str, rows: pa.Table, times: Sequence[int | None] | None) -> pa.Array:
        if not level.field:
            shown = Layout(level.template, self.time, self.zone).folders(topic, rows, times)
            return pc.if_else(pc.match_substring(shown, NOTHING), NOTHING, shown)
        if level.field not in rows.column_names:
            raise _no_field(level.field, rows.column_names)
        found = rows.column(level.field).combine_chunks().dictionary_encode()
        texts = [_escaped(level.field, text) for text in found.dictionary.cast(pa.string()).to_pylist()]
        return pc.fill_null(pa.array(texts, pa.string()).take(found.indices), NOTHING)


def parse_levels(path: str, time: str, zone: str) -> Levels:
    """The partition columns that a path says.

    Raises:
        ValueError: it says none.
    """
    if (reason := layout_problem(path)) is not None:
        raise ValueError(reason)
    found: list[Level] = []
    for part in path.split("/") if path else []:
        parts = _LEVEL.fullmatch(part)
        if parts is None:
            msg = f"has the folder {part}, which is no {DOC}"
            raise ValueError(msg)
        name, template = parts.groups()
        of_field = _FIELD.fullmatch(template)
        if of_field is None and "{field:" in template:
            msg = f"has the folder {part}: a field stands alone behind the ="
            raise ValueError(msg)
        if any(each.name == name for each in found):
            msg = f"has the partition column {name} twice"
            raise ValueError(msg)
        found.append(Level(name, of_field[1].lower() if of_field else "", template))
    return Levels(tuple(found), time.lower(), zone)


def path_problem(path: str) -> str | None:
    """What is wrong with such a path."""
    try:
        parse_levels(path, "", "UTC")
    except ValueError as error:
        return str(error)
    return None


def _no_field(name: str, names: Sequence[str]) -> RecordError:
    return RecordError(f"there is no field {name}, by which the table is partitioned: there are {', '.join(names)}")


def _escaped(field: str, text: str | None) -> str:
    """As Hive writes it."""
    if text is None:
        return NOTHING
    if text in ("", NOTHING):
        fix = "Make it another value, or null, with a transform, or leave the field out of partition.path"
        msg = f"the field {field} is {text!r}, which is null where Hive has it as a partition. {fix}"
        raise RecordError(msg)
    if len(text) > _MOST:
        msg = f"a value of more than {_MOST} characters can be no partition: {text[:50]!r}..."
        raise RecordError(msg)
    return escaped(text)
