"""The columns of a CSV file whose types nobody has named: those of its first rows."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from connectors.file_source.content import is_gzip, open_content
from connectors.file_source.records import Format
from connectors.file_source.rows import meant, refused_by
from rocketconnect_sdk.columns.declared import INFER, parse_columns, type_name, write_columns
from rocketconnect_sdk.columns.floats import rounding_problem
from rocketconnect_sdk.columns.inference import inferred_columns, inferred_type, null_text
from rocketconnect_sdk.columns.misfit import misfit_of_column
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.schema import DIGITS, Schema, Type, decimal, struct
from rocketconnect_sdk.transforms.java_time import patterns_of
from rocketconnect_sdk.wording.counts import counted

ROWS = 1000
BYTES = 1 << 20
_SHOWN = 2000
_PASTED = 8000
_VALUE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """What the first rows of a file say.

    Attributes:
        path: The file.
        rows: How many rows were looked at.
        columns: Their types by name.
        null: The text that keeps `held` from having types, which csv.null could name; empty: none.
        held: Names of columns.
        dates: Columns that are strings, with the patterns of `timestamp_converter` under which their texts are dates.
        has_empty: Whether one of these has an empty field.
        transforms: What the configuration has of them.
    """

    path: Path
    rows: int
    columns: Schema
    null: str
    held: Sequence[str]
    dates: Mapping[str, Sequence[str]]
    has_empty: bool
    transforms: Sequence[str]

    @property
    def text(self) -> str:
        """As the option columns has it."""
        return write_columns(self.columns)

    def __str__(self) -> str:
        """For people: "year int64, title string (the first 1000 rows of /data/books.csv)"."""
        named = ", ".join(f"{field.name} {type_name(field.schema)}" for field in self.columns.fields)
        shown = named if len(named) <= _SHOWN else f"{named[:_SHOWN]}..."
        rows = "the only row" if self.rows == 1 else f"the first {counted(self.rows, 'row')}"
        return f"{shown} ({rows} of {self.path})"

    @property
    def is_whole(self) -> bool:
        """Whether nothing that the rows have is left without a column, or a type, for a reason that people can take away."""
        return bool(self.text) and not self.null

    @property
    def advice(self) -> str:
        """What people can do with it."""
        text = self.text
        if not text:
            return "None of the names can stand in columns; name the columns otherwise in the file to have them typed."
        kept = f"set columns={text}" if len(text) <= _PASTED else "name all columns with their types"
        said = f"They are kept while the configuration is as it is; to keep them for good, or to change one, {kept}."
        if self.null:
            names = ", ".join(self.held)[:_SHOWN]
            said += f" With csv.null={self.null} there would be types for {names}, which have that text where nothing is known."
        return f"{said} {self._advice_on_dates}".rstrip()

    @property
    def _advice_on_dates(self) -> str:
        """The transform that makes dates of what is written otherwise."""
        if not self.dates:
            return ""
        name, (pattern, *others) = next(iter(self.dates.items()))
        target = "Timestamp" if "mm" in pattern else "Date"
        either = f" (or {others[0]}, as it may be)" if others else ""
        begin, all_names = "transforms.date", ",".join([*self.transforms, "date"])
        said = (
            f"Dates are made of {name} by transforms={all_names}, {begin}.type=timestamp_converter, {begin}.field={name}, "
            f"{begin}.target.type={target} and {begin}.format={pattern}{either}"
        )
        if self.has_empty:
            said += ", and csv.null= (an empty text) for fields without one"
        rest = ", ".join(f"{each} ({' or '.join(patterns)})" for each, patterns in list(self.dates.items())[1:])
        return f"{said}; and so of {rest[:_SHOWN]}." if rest else f"{said}."


def found_in(paths: Iterable[Path], config: Config, make_format: Callable[[int], Format]) -> Found | None:
    """What the first of the files that has a row says; None: none has.

    Args:
        paths: Files that may be read.
        config: The configuration.
        make_format: Gives a format whose columns are all strings, with this limit.

    Raises:
        PermanentError, ValueError: a file is not what it should be.
        OSError: a file cannot be read.
    """
    for path in paths:
        form = make_format(BYTES)
        rows = [value for value in first_records(path, config, form) if isinstance(value, dict)]
        names = [field.name for field in form.schema.fields] if form.schema else ()
        if rows:
            texts = {name: {row[name] for row in rows if row[name]} for name in names}
            columns = inferred_columns(texts)
            made = {value for key, value in config.raw.items() if key.startswith("transforms.") and key.endswith(".field")}
            strings = [field.name for field in columns.fields if field.schema.type is Type.STRING and field.name not in made]
            dates = {name: patterns for name in strings if (patterns := patterns_of(texts[name]))}
            has_empty = any(not row[name] for name in dates for row in rows)
            return Found(path, len(rows), columns, *null_text(texts), dates, has_empty, _transforms(config))
    return None


def _transforms(config: Config) -> Sequence[str]:
    return [name.strip() for name in config.raw.get("transforms", "").split(",") if name.strip()]


def misfits_in(paths: Iterable[Path], config: Config, make_format: Callable[[int, str], Format]) -> Iterable[Problem]:
    """Warnings of rows that do not have the columns which the configuration names, from the first rows of the first file with some.

    Args:
        paths: Files that may be read.
        config: The configuration.
        make_format: Gives a format with this limit that has these columns.

    Raises as found_in does.
    """
    given: str = config["columns"]
    for path in paths:
        form = make_format(BYTES, given)
        records = first_records(path, config, form)
        bad = {number: record for number, record in enumerate(records, start=1) if isinstance(record, Rejected)}
        columns = parse_columns(given)
        named = ",".join(field.name for field in columns.fields) if not config["csv.header"] else ""
        texts = first_records(path, config, make_format(BYTES, named))
        if bad:
            found = list(_wrong_columns(form.schema, texts, config["csv.null"]))
            # Of rows that are none whatever their columns are, the first one of each kind.
            others = {number: record.reason for number, record in bad.items() if isinstance(texts[number - 1], Rejected)}
            told = {reason.partition(",")[0]: (number, reason) for number, reason in reversed(others.items())}
            said = [
                f"row {number}: {reason}" for number, reason in sorted([*told.values(), *((each.row, each.said) for each in found)])
            ]
            rows = "the only row" if len(records) == 1 else f"{len(bad)} of the first {counted(records, 'row')}"
            reason = f"does not fit {rows} of {path}: {'; '.join(said)[:_SHOWN]}"
            yield Problem("columns", given[:_VALUE], reason, _fix(given, found), is_warning=True)
        elif any(field.schema.type is Type.FLOAT32 for field in columns.fields):
            problem = _rounding(columns, texts, path)
            yield from () if problem is None else (problem,)
        if records:
            return


def _rounding(columns: Schema, texts: Sequence[object], path: Path) -> Problem | None:
    rows = [row for row in texts if isinstance(row, dict)]
    return rounding_problem(columns, lambda name: [row.get(name) for row in rows], f"the first {counted(texts, 'row')} of {path}")


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A column that is not of the type which it is given.

    Attributes:
        name: The column.
        row: The first row that shows it.
        said: For people.
        type: What takes all that was found.
    """

    name: str
    row: int
    said: str
    type: Schema


def _wrong_columns(schema: Schema | None, rows: Sequence[object], null: str | None) -> Iterator[_Wrong]:
    """All columns whose texts are not of their types, each with the type that takes all of its texts."""
    for field in schema.fields if schema else ():
        values = [(number, row[field.name]) for number, row in enumerate(rows, start=1) if isinstance(row, dict)]
        texts = [(number, text) for number, text in values if text not in ("", None, null)]
        refused = [texts[place] for place in refused_by(field.schema, [text for _, text in texts])]
        if refused:
            kind = _taking(field.schema, [text for _, text in texts])
            number, text = refused[0]
            advice = misfit_of_column(field.name, field.schema, meant(text), advise=False)
            yield _Wrong(field.name, number, f"{advice}; make it `{type_name(kind)}`{_as_date(kind, texts)}", kind)


def _as_date(kind: Schema, texts: Iterable[tuple[int, str]]) -> str:
    patterns = patterns_of({text for _, text in texts}) if kind.type is Type.STRING else ()
    return f", and a date of it with transforms ({' or '.join(patterns)}; columns={INFER} says how)" if patterns else ""


def _taking(schema: Schema, texts: Collection[str]) -> Schema:
    """The type that takes all texts; a column of decimals stays one where it can."""
    found = inferred_type(set(texts))
    if schema.type is not Type.DECIMAL or found.type not in (Type.INT64, Type.FLOAT64, Type.DECIMAL):
        return found
    parts = [Decimal(text).as_tuple() for text in texts]
    behind = max(schema.scale, *(-int(exponent) for _, _, exponent in parts))
    before = max(schema.precision - schema.scale, *(len(digits) + int(exponent) for _, digits, exponent in parts))
    return decimal(behind, precision=before + behind) if before + behind <= DIGITS else found


def _fix(given: str, found: Sequence[_Wrong]) -> str:
    types = {each.name: each.type for each in found}
    corrected = struct([(field.name, types.get(field.name, field.schema)) for field in parse_columns(given).fields])
    text = write_columns(struct([(field.name, replace(field.schema, optional=False)) for field in corrected.fields]))
    if not found or len(text) > _PASTED:
        return "Change the types, or leave columns out for strings; else errors.tolerance decides of such rows."
    return f"Set columns={text}, or correct the file; else errors.tolerance decides of such rows."


def first_records(path: Path, config: Config, form: Format) -> Sequence[object]:
    """The first whole records of a file, with a Rejected in the place of each bad one; none, where its header is not whole.

    Raises as found_in does.
    """
    data, is_all = _first_bytes(path, config)
    rest = data
    if form.needs_header:
        line, newline, rest = data.partition(b"\n")
        if not newline:
            return ()
        form.header(line)
    is_last = is_all and not config["follow"]
    found: list[object] = []
    while rest and len(found) < ROWS:
        cut = form.cut(rest, len(data) - len(rest), last=is_last)
        if not cut.used:
            break
        found += cut.values
        rest = rest[cut.used :]
    return found[:ROWS]


def _first_bytes(path: Path, config: Config) -> tuple[bytes, bool]:
    """The beginning of a file, and whether it is all of it."""
    content = open_content(path, gzip=is_gzip(path, config["compression"]))
    data = b""
    try:
        content.seek(0)
        while len(data) < BYTES:
            piece = content.read(BYTES - len(data))
            if not piece:
                return data, True
            data += piece
    finally:
        content.close()
    return data, False
