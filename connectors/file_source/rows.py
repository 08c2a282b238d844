"""CSV into records. Pure."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import compress
from typing import Annotated, Any

import msgspec

from connectors.file_source.documents import MARK
from connectors.file_source.records import NOTHING, Cut, Format, Lines, rejected, whole_lines
from rocketconnect_sdk.columns.compact import Column, Numbers
from rocketconnect_sdk.columns.misfit import misfit_of_column
from rocketconnect_sdk.columns.texts import TEXTS, read_text
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.schema import WHOLE, Schema, Type, struct
from rocketconnect_sdk.wording.counts import counted

Convert = Callable[[Sequence[str | None]], list[Any]]
Row = list[str] | Rejected

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,3})?")
_BAD = (msgspec.ValidationError, ValueError)


class AbsentColumns(ValueError):
    """The header of a file lacks columns that an option names.

    Attributes:
        option: Which option.
        names: The columns.
    """

    def __init__(self, message: str, option: str, names: Sequence[str]) -> None:
        super().__init__(message)
        self.option = option
        self.names = tuple(names)


class Csv(Format):
    """A record is a row, which may go over several lines where fields are quoted. Blank lines are no records.

    Args:
        limit: See Format. Of a longer row over several lines, the first line is a Rejected, and reading goes on behind it: so a
            quote that is never closed does not swallow the file.
        replace: See Format.
        delimiter: Between fields.
        columns: The types of columns by name, or all columns when there is no header.
        header: The first line names the columns.
        null: This text stands for null in every column; None: only an empty field does, in columns that are no strings.
        key: The column that is the key; empty: no keys.
        columns_wanted: Values are best given as a Column. Otherwise blocks of `large` bytes are read as columns, which is quicker.
    """

    large = 1 << 16

    def __init__(
        self,
        limit: int,
        *,
        replace: bool,
        delimiter: str = ",",
        columns: Schema | None = None,
        header: bool = True,
        null: str | None = None,
        key: str = "",
        columns_wanted: bool = False,
    ) -> None:
        super().__init__(limit, replace=replace)
        self._delimiter = delimiter
        self._declared = columns
        self._header = header
        self._null = null
        self._key = key
        self._columns_wanted = columns_wanted
        self._names: list[str] = []
        self._types: list[Type] = []
        self._converters: list[Convert | None] = []
        # The module's own limit is 128 KiB for a field; a field here is never longer than a piece, which is bounded.
        csv.field_size_limit(1 << 30)
        if columns is not None and not header:
            self._set(columns)

    @property
    def needs_header(self) -> bool:
        """The file begins with a header that has not been seen yet."""
        return self._header and not self._names

    def header(self, line: bytes) -> None:
        """Takes the names of the columns.

        Raises:
            ValueError: the line names none, or not those of the option columns.
        """
        try:
            text = line.removeprefix(MARK).decode()
            names = next(csv.reader([text], delimiter=self._delimiter, strict=True), [])
        except UnicodeDecodeError as error:
            msg = f"the header is no row: byte {error.start} is not UTF-8"
            raise ValueError(msg) from None
        except csv.Error as error:
            msg = f"the header is no row: {error}"
            raise ValueError(msg) from None
        if not names:
            msg = "the file begins with an empty line, not with a header"
            raise ValueError(msg)
        # What a file holds is not repeated: whoever may check a configuration may not be who may read the file.
        again = next((number for number, name in enumerate(names) if name in names[:number]), None)
        if again is not None:
            msg = f"the header names a column twice: columns {names.index(names[again]) + 1} and {again + 1} have the same name"
            raise ValueError(msg)
        declared = {field.name: field.schema for field in self._declared.fields} if self._declared else {}
        for option, wanted in (("columns", declared), ("key.field", [self._key] if self._key else [])):
            if absent := [name for name in wanted if name not in names]:
                msg = f"the header has no column {', '.join(map(repr, absent))}; it has {len(names)} others"
                raise AbsentColumns(msg, option, absent)
        self._set(struct([(name, declared.get(name, Schema(Type.STRING, optional=True))) for name in names]))

    def _set(self, schema: Schema) -> None:
        self.schema = schema
        self._names = [field.name for field in schema.fields]
        self._types = [field.schema.type for field in schema.fields]
        self._converters = [_converter(field.schema) for field in schema.fields]
        self.key_schema = next((field.schema for field in schema.fields if field.name == self._key), None)

    def cut(self, data: bytes, at: int, *, last: bool) -> Cut:
        """See Format."""
        if (cut := self._cut_columns(data, at)) is not None:
            return cut
        lines = whole_lines(data, at, last=last)
        if lines is None or not lines.parts:
            return NOTHING if lines is None else Cut([], [], lines.used)
        try:
            text, valid = lines.block.decode("utf-8", "replace" if self.replace else "strict"), True
        except UnicodeDecodeError:
            text, valid = lines.block.decode("utf-8", "surrogateescape"), False
        rows: list[Row] = []
        ends: list[int] = []
        for row, end in self._rows(text.split("\n"), lines, len(data), last=last):
            rows.append(row)
            ends.append(end)
        if not ends:
            return NOTHING
        used = lines.used if ends[-1] == len(lines.parts) else lines.offsets[ends[-1] - 1][0] - at
        starts = [0, *ends[:-1]]
        kept = [row != [] for row in rows]
        if not all(kept):
            rows, starts, ends = list(compress(rows, kept)), list(compress(starts, kept)), list(compress(ends, kept))
        offsets = [lines.offsets[end - 1] for end in ends]

        def original(index: int) -> bytes:
            return b"\n".join(lines.parts[starts[index] : ends[index]])

        if not valid or len(data) > self.limit:
            rows = [self._checked(row, original(index)) for index, row in enumerate(rows)]
        values = self._values(rows, original)
        keys = [value[self._key] if isinstance(value, dict) else None for value in values] if self._key else None
        return Cut(values, offsets, used, keys)

    def _cut_columns(self, data: bytes, at: int) -> Cut | None:
        """The rows of all lines that end with a newline; None: they have to be read one by one."""
        used = data.rfind(b"\n") + 1
        if not used or len(data) > self.limit or self.schema is None or not self._is_for_columns(data):
            return None
        from connectors.file_source.table import table_of
        from rocketconnect_sdk.columns.text_columns import NotPlain

        try:
            values, ends = table_of(data[:used], self._delimiter, self.schema, self._null)
        except NotPlain:
            return None
        offsets = Numbers([at + end for end in ends])
        keys = Column(values.field(self._key)) if self._key else None
        return Cut(Column(values), offsets, used, keys)

    def _is_for_columns(self, data: bytes) -> bool:
        # Arrow takes memory: no source has it for a few rows that come now and then. It rounds floats, which JSON has as they are.
        return self._columns_wanted or (len(data) >= self.large and Type.FLOAT32 not in self._types)

    def _rows(self, texts: list[str], lines: Lines, length: int, *, last: bool) -> Iterator[tuple[Row, int]]:
        """Rows, each with the number of lines up to its end. A row that is not whole yet is left for later."""
        done = 0
        while done < len(texts):
            start = done
            reader = csv.reader((texts[i] + "\n" for i in range(start, len(texts))), delimiter=self._delimiter, strict=True)
            try:
                for row in reader:
                    end = start + reader.line_num
                    if end > done + 1 and self._exceeds(lines, done, end):
                        break
                    yield row, end
                    done = end
                else:
                    return
                end, reason = done + 1, f"a quoted field is not closed within {self.limit} bytes"
            except csv.Error as error:
                end, reason = start + reader.line_num, f"the row is not CSV: {error}"
                if "unexpected end" in str(error):
                    left = length - sum(map(len, lines.parts[:done])) - done
                    if not last and left <= self.limit:
                        return
                    end, reason = done + 1, "a quoted field is not closed"
                elif self._exceeds(lines, done, end):
                    end = done + 1
            yield rejected("InvalidCsv", reason, b"\n".join(lines.parts[done:end])), end
            done = end

    def _exceeds(self, lines: Lines, start: int, end: int) -> bool:
        return sum(map(len, lines.parts[start:end])) + end - start - 1 > self.limit

    def _checked(self, row: Row, original: bytes) -> Row:
        if len(original) > self.limit:
            return self.too_long(original)
        if isinstance(row, Rejected):
            return row
        text = self.decode(original)
        return text if isinstance(text, Rejected) else row

    def _values(self, rows: Sequence[Row], original: Callable[[int], bytes]) -> list[object]:
        good = [row for row in rows if not isinstance(row, Rejected) and len(row) == len(self._names)]
        if len(good) == len(rows):
            try:
                return list(self._typed(good))
            except _BAD:
                # At least one field is wrong: found below, row by row.
                pass
        return [row if isinstance(row, Rejected) else self._value(row, index, original) for index, row in enumerate(rows)]

    def _value(self, row: list[str], index: int, original: Callable[[int], bytes]) -> object:
        if len(row) != len(self._names):
            reason = f"the row has {counted(row, 'field')}, and {counted(self._names, 'column', 'is', 'are')} named"
            return rejected("InvalidCsv", reason, original(index))
        try:
            return next(self._typed([row]))
        except _BAD:
            return rejected("InvalidCsv", self._wrong(row), original(index))

    def _wrong(self, row: list[str]) -> str:
        fields = () if self.schema is None else self.schema.fields
        for field, convert, text in zip(fields, self._converters, row, strict=True):
            try:
                if convert is not None and text != self._null:
                    convert([text])
            except _BAD:
                return misfit_of_column(field.name, field.schema, meant(text))
        return "a field does not have the type of its column"

    def _typed(self, rows: Sequence[list[str]]) -> Iterator[dict[str, object]]:
        names = self._names
        if self._null is None and not any(self._converters):
            return (dict(zip(names, row, strict=True)) for row in rows)
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        if self._null is not None:
            columns = [[None if text == self._null else text for text in column] for column in columns]
        pairs = zip(columns, self._converters, strict=True)
        typed = [column if convert is None else convert(column) for column, convert in pairs]
        return (dict(zip(names, row, strict=True)) for row in zip(*typed, strict=True))


def meant(text: str) -> bool | int | Decimal | str:
    """What a field of CSV looks like."""
    if text in ("true", "false"):
        return text == "true"
    if not _NUMBER.fullmatch(text):
        return text
    return Decimal(text) if set(text) & set(".eE") else int(text)


def refused_by(schema: Schema, texts: Iterable[str]) -> Iterator[int]:
    """The places of the texts that are no values of a column of this type."""
    convert = _converter(schema)
    for place, text in enumerate(texts if convert else ()):
        try:
            convert([text])  # type: ignore[misc]  # there is one, or there are no texts
        except _BAD:
            yield place


def _converter(schema: Schema) -> Convert | None:
    """What turns a column of texts into values; None: nothing is to be done. Raises what is in _BAD."""
    kind = schema.type
    if kind is Type.STRING:
        return None
    if kind in TEXTS:
        return lambda column: [read_text(schema, text) if text else None for text in column]
    least, most = WHOLE.get(kind, (0, 0))
    if kind in WHOLE:
        # msgspec's own limits end at 64 bits with a sign.
        item: Any = int if kind is Type.UINT64 else Annotated[int, msgspec.Meta(ge=least, le=most)]
    else:
        item = bool if kind is Type.BOOLEAN else float
    column_type = list[item | None]

    def convert(column: Sequence[str | None]) -> list[Any]:
        values: list[Any] = msgspec.convert([text or None for text in column], column_type, strict=False)
        if kind is Type.UINT64 and any(value is not None and not least <= value <= most for value in values):
            msg = f"a number is not from {least} to {most}"
            raise ValueError(msg)
        return values

    return convert
