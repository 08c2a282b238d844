"""Which object a record belongs to: the folders of its partition, and the names of objects. Pure."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from connectors.object_store_sink.store import plain
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.sink import QueuePosition

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What Hive, Spark and Athena call the partition of those that have no value."""
TIMES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M"}
"""By placeholder what it shows of the time, as strftime has it."""
_PLACE = re.compile(r"\{([^{}]*)\}")
_FIELD = "field:"
_TOPIC = "topic"
_PLAIN = re.compile(r"[A-Za-z0-9_.= {}:-]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_. -]")
_MOST = 200
"""Characters of a value in a path."""
_LONGEST = 180


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of records below the prefix. Picklable.

    Attributes:
        path: With placeholders; see `layout_problem`.
        time: The column that times are of; empty: the time of the record.
        zone: The time zone of what is shown of them.
    """

    path: str
    time: str
    zone: str

    @property
    def placeholders(self) -> list[str]:
        """Those of the path."""
        return _PLACE.findall(self.path)

    @property
    def columns(self) -> list[str]:
        """The columns that it looks at."""
        fields = [each.removeprefix(_FIELD) for each in self.placeholders if each.startswith(_FIELD)]
        return fields + ([self.time] if self.time and any(each in TIMES for each in self.placeholders) else [])

    def folders(self, topic: str, rows: pa.Table, times: Sequence[int | None] | None) -> pa.Array:
        """The folder of each row: text.

        Args:
            topic: Of all.
            rows: The rows.
            times: Those of the records, milliseconds since 1970.

        Raises:
            RecordError: the rows have no such column, or none that can be a part of a path.
        """
        parts: list[pa.Array | pa.Scalar] = []
        for index, piece in enumerate(_PLACE.split(self.path)):
            if not index % 2:
                parts.append(pa.scalar(piece))
            elif piece == _TOPIC:
                parts.append(pa.scalar(_escaped(topic)))
            elif piece in TIMES:
                parts.append(self._shown(rows, times, TIMES[piece]))
            else:
                parts.append(_values(_column(rows, piece.removeprefix(_FIELD))))
        joined = pc.binary_join_element_wise(*parts, "")
        return joined if isinstance(joined, pa.Array) else pa.array([joined.as_py()] * len(rows), pa.string())

    def _shown(self, rows: pa.Table, times: Sequence[int | None] | None, form: str) -> pa.Array:
        if self.time:
            column = _column(rows, self.time)
            if pa.types.is_date(column.type):
                # A date is a day, whatever the time zone.
                column = column.cast(pa.timestamp("s"))
            elif not pa.types.is_timestamp(column.type):
                msg = f"the column {self.time} is {column.type}, and partition.time.field takes a date or a timestamp"
                raise RecordError(msg)
        else:
            column = pa.array([None] * len(rows) if times is None else times, pa.timestamp("ms", "UTC"))
        if column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit, self.zone))
        return pc.fill_null(pc.strftime(column, form), NOTHING)


def layout_problem(path: str) -> str | None:
    """What is wrong with a path of partitions."""
    places = _PLACE.findall(path)
    unknown = [each for each in places if each not in (_TOPIC, *TIMES) and not (each.startswith(_FIELD) and each != _FIELD)]
    if unknown:
        return f"has {{{unknown[0]}}}, and there are {{topic}}, {{{'}, {'.join(TIMES)}}} and {{field:NAME}}"
    pieces = _PLACE.sub("x", path)
    if "{" in pieces or "}" in pieces:
        return "has a brace without the other one"
    folders = pieces.split("/") if path else []
    if not _PLAIN.fullmatch(pieces.replace("/", "")) or any(each.strip() in ("", ".", "..") for each in folders):
        return "is no path of folders: names of letters, digits, points, hyphens, underscores and =, between single slashes"
    if any(each.startswith(("_", ".")) for each in path.split("/")):
        return "has a folder that begins with _ or a point, which readers leave out"
    return None


@dataclass(frozen=True, slots=True)
class Staged:
    """One object that is staged: what its name is made of.

    Attributes:
        staged: Where it is.
        folder: The folder that it goes to.
        queue: "topic/broker/queue".
        first: The offset of its first record.
        ending: Of its name.
    """

    staged: str
    folder: str
    queue: str
    first: int
    ending: str

    def name(self, connector_uid: str, before: QueuePosition, until: int) -> str:
        """The name that it gets: the same for the same records, another one for any others, sorted by offset.

        Args:
            connector_uid: Whose it is: connectors that follow each other at a place replace nothing of each other.
            before: Where the queue was: when offsets come again, the names do not.
            until: Behind the batch.
        """
        whose = f"{connector_uid}\n{self.queue}\n{before.incarnation}\n{before.era}\n{before.until}\n{until}"
        tag = hashlib.sha256(whose.encode()).hexdigest()[:8]
        home = visible(self.queue.replace("/", "-"))
        if len(home) > _LONGEST:
            home = f"{home[:100]}-{hashlib.sha256(home.encode()).hexdigest()[:16]}"
        name = f"{home}-{self.first:020d}-{tag}{self.ending}"
        return f"{self.folder}/{name}" if self.folder else name


def visible(text: str) -> str:
    """A text as a name that no reader leaves out."""
    return re.sub(r"^[_.]", r"x\g<0>", plain(text))


def _column(rows: pa.Table, name: str) -> pa.Array:
    if name not in rows.column_names:
        msg = f"there is no column {name}, by which objects are partitioned: there are {', '.join(rows.column_names)}"
        raise RecordError(msg)
    return rows.column(name).combine_chunks()


def _values(column: pa.Array) -> pa.Array:
    """Values as Hive writes them in paths."""
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        msg = f"a column of the type {column.type} can be no part of a path"
        raise RecordError(msg)
    found = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    texts = [_escaped(text) for text in found.dictionary.cast(pa.string()).to_pylist()]
    return pc.fill_null(pa.array(texts, pa.string()).take(found.indices), NOTHING)


def _escaped(text: str | None) -> str:
    """Hive's %XX for what may not stand in a path. An empty value is none, as it is to Hive."""
    if not text:
        return NOTHING
    if len(text) > _MOST:
        msg = f"a value of more than {_MOST} characters can be no part of a path: {text[:50]!r}..."
        raise RecordError(msg)
    made = _UNSAFE.sub(lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode()), text)
    return re.sub(r"^[_.]", lambda sign: f"%{ord(sign[0]):02X}", made)
