"""TABLE_MAP: the table that the rows after it are of.

https://mariadb.com/kb/en/table_map_event/ and
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from connectors.mysql_cdc_source.binlog.cursor import Cursor
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.column import CHARACTER, NUMERIC, Column, Type, read_column
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY, charset_of, text_of
from rocketconnect_sdk.wording.counts import counted

_MOST_COLUMNS = 4096
_SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _NAMES, _SET_LABELS, _ENUM_LABELS, _GEOMETRY = range(1, 8)
_PRIMARY_KEY, _PRIMARY_KEY_WITH_PREFIX, _LABELS_DEFAULT_CHARSET, _LABELS_CHARSET, _VISIBILITY = range(8, 13)


class KeyColumn(NamedTuple):
    """A column of a primary key.

    Attributes:
        column: Its index into the columns.
        prefix: How many characters (of binary columns bytes) of it the key has; 0: all.
    """

    column: int
    prefix: int = 0


class ColumnFacts(NamedTuple):
    """What the table's definition says of a column, for what the log leaves out. None: it does not apply."""

    name: str
    unsigned: bool | None = None
    charset: str | None = None
    labels: tuple[str, ...] | None = None
    extension: str | None = None


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table as it was when the rows were written.

    Attributes:
        schema: The database.
        table: Its name.
        columns: In their order.
        primary_key: Empty when there is none, or the log does not say it.
        missing: What the log does not say of it, and the table's definition does: some of `names`, `signs`, `charsets`, `labels`
            and `extensions` (a BINARY(16) or BINARY(4) of MariaDB may be a UUID, INET6 or INET4).
    """

    schema: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[KeyColumn, ...]
    missing: tuple[str, ...]

    def completed(self, facts: Sequence[ColumnFacts]) -> Self:
        """This, with what the table's definition says where the log says nothing.

        Raises:
            MalformedEvent: the log has no names, and the definition another number of columns, so it is not that of the rows.
        """
        if "names" in self.missing:
            if len(facts) != len(self.columns):
                msg = (
                    f"{self.schema}.{self.table} has {counted(facts, 'column')} now, and {len(self.columns)} in the log, which "
                    "leaves out their names; set binlog_row_metadata=FULL on the server, so that the log says them itself"
                )
                raise MalformedEvent(msg)
            columns = tuple(map(_completed, self.columns, facts))
        else:
            named = {fact.name: fact for fact in facts}
            columns = tuple(
                _completed(column, fact) if (fact := named.get(column.name or "")) else column for column in self.columns
            )
        return replace(self, columns=columns, missing=())


def _completed(column: Column, fact: ColumnFacts) -> Column:
    return replace(
        column,
        name=fact.name if column.name is None else column.name,
        unsigned=fact.unsigned if column.unsigned is None else column.unsigned,
        charset=fact.charset if column.charset is None else column.charset,
        labels=fact.labels if column.labels is None else column.labels,
        extension=fact.extension if fact.extension in column.extension_candidates else None,
    )


def read_table_map(body: bytes, *, mariadb: bool) -> TableMap:
    """The table of a TABLE_MAP's bytes after the id and the flags.

    Raises:
        MalformedEvent: it is none.
    """
    cursor = Cursor(body)
    schema = cursor.text(cursor.uint(1))
    cursor.take(1)
    table = cursor.text(cursor.uint(1))
    cursor.take(1)
    count = cursor.packed()
    if count > _MOST_COLUMNS:
        msg = f"a table says that it has {counted(count, 'column')}; {_MOST_COLUMNS} are the most"
        raise MalformedEvent(msg)
    types = cursor.take(count)
    metadata = Cursor(cursor.take(cursor.packed()))
    nulls = cursor.take((count + 7) // 8)
    columns = [read_column(code, metadata, nullable=bool(nulls[index >> 3] >> (index & 7) & 1)) for index, code in enumerate(types)]
    fields: dict[int, bytes] = {}
    while cursor.left:
        kind = cursor.uint(1)
        fields[kind] = cursor.take(cursor.packed())
    columns = _Extra(columns, fields, mariadb=mariadb).columns()
    return TableMap(schema, table, tuple(columns), _primary_key(fields, count), _missing(columns, fields, mariadb=mariadb))


def _missing(columns: Sequence[Column], fields: Mapping[int, bytes], *, mariadb: bool) -> tuple[str, ...]:
    missing = {
        "names": bool(columns) and _NAMES not in fields,
        "signs": any(column.type in NUMERIC and column.unsigned is None for column in columns),
        "charsets": any(column.type in CHARACTER and column.charset is None for column in columns),
        "labels": any(column.type in {Type.ENUM, Type.SET} and column.labels is None for column in columns),
        "extensions": mariadb and any(column.extension_candidates for column in columns),
    }
    return tuple(name for name, is_missing in missing.items() if is_missing)


def _primary_key(fields: Mapping[int, bytes], count: int) -> tuple[KeyColumn, ...]:
    if raw := fields.get(_PRIMARY_KEY_WITH_PREFIX):
        numbers = _packed_numbers(raw)
        if len(numbers) % 2:
            msg = "a primary key names a column without the length of its prefix"
            raise MalformedEvent(msg)
        key = tuple(KeyColumn(column, prefix) for column, prefix in zip(numbers[::2], numbers[1::2], strict=True))
    else:
        key = tuple(KeyColumn(column) for column in _packed_numbers(fields.get(_PRIMARY_KEY, b"")))
    if any(part.column >= count for part in key):
        msg = f"a primary key has the columns {[part.column for part in key]}, and the table has {count}"
        raise MalformedEvent(msg)
    return key


class _Extra:
    """The optional metadata: each field is of the columns of some types, in their order."""

    def __init__(self, columns: list[Column], fields: Mapping[int, bytes], *, mariadb: bool) -> None:
        self._columns = columns
        self._fields = fields
        self._character = CHARACTER | {Type.GEOMETRY} if mariadb else CHARACTER

    def columns(self) -> list[Column]:
        """The columns with all that the fields say."""
        for number, apply in _APPLIED.items():
            if (raw := self._fields.get(number)) is not None:
                apply(self, raw)
        return self._columns

    def _set(self, index: int, **values: object) -> None:
        self._columns[index] = replace(self._columns[index], **values)  # type: ignore[arg-type]

    def _of(self, *types: Type) -> list[int]:
        return [index for index, column in enumerate(self._columns) if column.type in types]

    def _signs(self, raw: bytes) -> None:
        for place, index in enumerate(self._of(*NUMERIC)):
            self._set(index, unsigned=_bit(raw, place))

    def _visibility(self, raw: bytes) -> None:
        for index in range(len(self._columns)):
            self._set(index, visible=_bit(raw, index))

    def _names(self, raw: bytes) -> None:
        cursor = Cursor(raw)
        for index in range(len(self._columns)):
            self._set(index, name=cursor.text(cursor.packed()))

    def _geometry(self, raw: bytes) -> None:
        for index, kind in zip(self._of(Type.GEOMETRY), _packed_numbers(raw), strict=False):
            self._set(index, geometry=kind)

    def _default_charset(self, raw: bytes) -> None:
        self._charsets(self._of(*self._character), _with_default(raw, len(self._of(*self._character))))

    def _column_charset(self, raw: bytes) -> None:
        self._charsets(self._of(*self._character), _packed_numbers(raw))

    def _labels_default_charset(self, raw: bytes) -> None:
        labelled = self._of(Type.ENUM, Type.SET)
        self._charsets(labelled, _with_default(raw, len(labelled)))

    def _labels_charset(self, raw: bytes) -> None:
        self._charsets(self._of(Type.ENUM, Type.SET), _packed_numbers(raw))

    def _charsets(self, indexes: list[int], collations: list[int]) -> None:
        if len(indexes) != len(collations):
            msg = f"a table has {counted(indexes, 'column')} with a character set, and {len(collations)} character sets"
            raise MalformedEvent(msg)
        for index, collation in zip(indexes, collations, strict=True):
            charset = charset_of(collation)
            # A geometry is bytes.
            if self._columns[index].type is not Type.GEOMETRY:
                self._set(index, charset=charset)

    def _enum_labels(self, raw: bytes) -> None:
        self._labels(raw, Type.ENUM)

    def _set_labels(self, raw: bytes) -> None:
        self._labels(raw, Type.SET)

    def _labels(self, raw: bytes, kind: Type) -> None:
        cursor = Cursor(raw)
        for index in self._of(kind):
            charset = self._columns[index].charset or "utf8mb4"
            read = text_of("latin1" if charset == BINARY else charset)
            labels = []
            for _ in range(cursor.packed()):
                label = cursor.take(cursor.packed())
                try:
                    labels.append(read(label))
                except UnicodeDecodeError as error:
                    msg = f"a label of an ENUM or SET is no {charset}: {label!r}"
                    raise MalformedEvent(msg) from error
            self._set(index, labels=tuple(labels))


# The character sets of labels stand before the labels.
_APPLIED: dict[int, Callable[[_Extra, bytes], None]] = {
    _SIGNEDNESS: _Extra._signs,  # noqa: SLF001
    _DEFAULT_CHARSET: _Extra._default_charset,  # noqa: SLF001
    _COLUMN_CHARSET: _Extra._column_charset,  # noqa: SLF001
    _LABELS_DEFAULT_CHARSET: _Extra._labels_default_charset,  # noqa: SLF001
    _LABELS_CHARSET: _Extra._labels_charset,  # noqa: SLF001
    _NAMES: _Extra._names,  # noqa: SLF001
    _SET_LABELS: _Extra._set_labels,  # noqa: SLF001
    _ENUM_LABELS: _Extra._enum_labels,  # noqa: SLF001
    _GEOMETRY: _Extra._geometry,  # noqa: SLF001
    _VISIBILITY: _Extra._visibility,  # noqa: SLF001
}


def _bit(raw: bytes, place: int) -> bool:
    """These bits go from the highest of a byte to its lowest."""
    if place >= len(raw) * 8:
        msg = f"a table map has {len(raw) * 8} bits for more columns than that"
        raise MalformedEvent(msg)
    return bool(raw[place >> 3] & 0x80 >> (place & 7))


def _packed_numbers(raw: bytes) -> list[int]:
    cursor, numbers = Cursor(raw), []
    while cursor.left:
        numbers.append(cursor.packed())
    return numbers


def _with_default(raw: bytes, count: int) -> list[int]:
    numbers = _packed_numbers(raw)
    if len(numbers) % 2 == 0:
        msg = "the character sets of a table map are no default and pairs of a column and its own"
        raise MalformedEvent(msg)
    collations = numbers[:1] * count
    for place, collation in zip(numbers[1::2], numbers[2::2], strict=True):
        if place >= count:
            msg = f"the character set {collation} is of the column {place} of {count}"
            raise MalformedEvent(msg)
        collations[place] = collation
    return collations
