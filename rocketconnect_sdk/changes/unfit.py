"""Values that a database has and types here do not: zero dates, infinity, years after 9999, NaN. Pure.

The row before a change is for the key that it had: of it such a value is null, unless it is one of the key. Of the row after the
change people say what becomes of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from rocketconnect_sdk.configuration.patterns import compiled, patterns_problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Schema, Type

if TYPE_CHECKING:
    import re

Row = Sequence[Any]


class Unfit(StrEnum):
    """What becomes of a value that its column's type does not have."""

    REJECT = "reject"
    NULL = "null"
    EPOCH = "epoch"
    TEXT = "text"


_OPTION = "column.unfit"
_FIX = r"Give regular expressions for whole names of columns, with their tables, separated by commas, such as shop\.person\.born."
_CLASSES: dict[Type, type] = {
    Type.DATE: date,
    Type.TIME: time,
    Type.TIMESTAMP: datetime,
    Type.DECIMAL: Decimal,
    Type.STRUCT: dict,
    Type.MAP: dict,
    Type.ARRAY: list,
}
TIMES = frozenset({Type.DATE, Type.TIME, Type.TIMESTAMP})
"""The types that have an epoch."""


def _columns(action: Unfit, doc: str) -> Option:
    return Option(f"{_OPTION}.{action}", doc, Kind.LIST, "", check=patterns_problem, fix=_FIX)


UNFIT_OPTIONS: Sequence[Option] = (
    Option(
        _OPTION,
        "What becomes of a value that no type here has, such as 0000-00-00, infinity or NaN, of a row after a change. reject: its "
        "record goes by errors.tolerance. null: null, and where the column takes no null 1970-01-01 or 00:00:00, as Debezium "
        "has it. epoch: 1970-01-01 or 00:00:00. text: all values of dates, times and timestamps become texts, these "
        "as the server writes them.",
        default=Unfit.REJECT.value,
        choices=tuple(action.value for action in Unfit),
    ),
    _columns(Unfit.REJECT, "Columns for which it is reject, named as in column.exclude."),
    _columns(Unfit.NULL, "Columns for which it is null."),
    _columns(Unfit.EPOCH, "Columns for which it is epoch."),
    _columns(Unfit.TEXT, "Columns of dates, times, timestamps and decimals for which it is text."),
)


@dataclass(frozen=True, slots=True)
class UnfitRules:
    """What is configured.

    Attributes:
        default: For columns that no rule takes.
        rules: Each what becomes of columns, and a regular expression for their whole names.
    """

    default: Unfit = Unfit.REJECT
    rules: tuple[tuple[Unfit, "re.Pattern[str]"], ...] = ()

    @classmethod
    def of(cls, config: Config) -> Self:
        """As configured by UNFIT_OPTIONS."""
        rules = ((action, compiled(pattern)) for action in Unfit for pattern in config[f"{_OPTION}.{action}"])
        return cls(Unfit(config[_OPTION]), tuple(rules))

    def of_column(self, name: str) -> tuple[Unfit, bool]:
        """What becomes of values of a column, named with its table, and whether a rule says so."""
        found = next((action for action, pattern in self.rules if pattern.fullmatch(name)), None)
        return (self.default, False) if found is None else (found, True)

    def on(self, table: str, columns: Schema) -> tuple[Unfit, ...]:
        """Those of the columns of a table."""
        return tuple(self.of_column(f"{table}.{column.name}")[0] for column in columns.fields)

    def fitting(self, table: str, columns: Schema, key: Sequence[str]) -> "Fitting":
        """What makes rows of a table fit.

        Args:
            table: Its name, as filters see it.
            columns: Its columns.
            key: The names of those of its key.
        """
        places = [place for place, column in enumerate(columns.fields) if column.name in key]
        return Fitting(columns, places, self.on(table, columns))


class Fitting:
    """Makes rows of a table fit its types.

    Args:
        columns: Of the table, a struct.
        key: The places of the columns of its key, which are left as they are: a null would make keys of other rows of them.
        actions: By column what becomes of its values in rows after a change; empty: they are left as they are.
    """

    def __init__(self, columns: Schema, key: Sequence[int], actions: Sequence[Unfit] = ()) -> None:
        of_others = [(place, column.schema) for place, column in enumerate(columns.fields) if place not in key]
        checked = [(place, schema) for place, schema in of_others if schema.type in _CLASSES]
        self._before: dict[int, tuple[Schema, Any]] = {place: (schema, None) for place, schema in checked}
        self._after: dict[int, tuple[Schema, Any]] = {}
        for place, schema in checked if actions else ():
            action = actions[place]
            if action is Unfit.NULL and schema.optional:
                self._after[place] = schema, None
            elif action in {Unfit.NULL, Unfit.EPOCH} and schema.type in TIMES:
                self._after[place] = schema, _epoch(schema)

    def before(self, rows: Sequence[Row | None]) -> Sequence[Row | None]:
        """Rows before a change."""
        return _fitted(rows, self._before)

    def after(self, rows: Sequence[Row | None]) -> Sequence[Row | None]:
        """Rows after it."""
        return _fitted(rows, self._after)


def _fitted(rows: Sequence[Row | None], wanted: dict[int, tuple[Schema, Any]]) -> Sequence[Row | None]:
    made: list[Row | None] = []
    for row in rows:
        unfit = () if row is None else [place for place, (schema, _) in wanted.items() if not fits(schema, row[place])]
        if row is not None and unfit:
            held = list(row)
            for place in unfit:
                held[place] = wanted[place][1]
            made.append(tuple(held))
        else:
            made.append(row)
    return made


def fits(schema: Schema, value: object) -> bool:
    """Whether a value is one of its type, as far as databases have others. Parts of structs and maps are not looked at."""
    kind = _CLASSES.get(schema.type)
    if value is None or kind is None:
        return True
    if not isinstance(value, kind):
        return False
    if isinstance(value, Decimal):
        return value.is_finite()
    if isinstance(value, list) and schema.items is not None:
        return all(fits(schema.items, each) for each in value)
    return True


def _epoch(schema: Schema) -> date | time:
    if schema.type is Type.TIME:
        return time()
    day = datetime(1970, 1, 1, tzinfo=UTC)
    return day.date() if schema.type is Type.DATE else day if schema.zone else day.replace(tzinfo=None)
