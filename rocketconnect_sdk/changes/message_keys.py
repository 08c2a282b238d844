"""Keys that the records of tables have in the place of the primary keys of these. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rocketconnect_sdk.configuration.patterns import compiled, patterns_problem, written
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Option

if TYPE_CHECKING:
    import re

_NAME = "message.key.columns"
_NAMED = 5
"""So many tables are named in one warning."""
_FORM = r"Write it as table:column,column;table:column, such as shop\.orders:region,number."


def _rules(text: str) -> tuple[tuple["re.Pattern[str]", tuple[str, ...]], ...]:
    """Each table, a regular expression, and its columns.

    Raises:
        ValueError: what is wrong with which part.
    """
    made = []
    for rule in filter(None, map(str.strip, text.split(";"))):
        # A regular expression may have colons of its own.
        table, _, names = rule.rpartition(":")
        columns = tuple(name.strip() for name in names.split(","))
        if not table.strip() or not all(columns):
            msg = f"{rule!r} names no table, or a column is missing"
            raise ValueError(msg)
        if len(set(columns)) < len(columns):
            msg = f"{rule!r} names a column twice"
            raise ValueError(msg)
        if problem := patterns_problem([table.strip()]):
            raise ValueError(problem)
        made.append((compiled(table.strip()), columns))
    return tuple(made)


def _problem(text: str) -> str | None:
    try:
        _rules(text)
    except ValueError as error:
        return str(error)
    return None


KEY_OPTION = Option(
    _NAME,
    "The columns of the keys that records have, as table:column,column;...: for tables without a primary key, or in its place. "
    "Tables are regular expressions for whole names, as in table.include; the first that takes a table counts.",
    default="",
    check=_problem,
    fix=_FORM,
)


@dataclass(frozen=True, slots=True)
class MessageKeys:
    """What is configured.

    Attributes:
        rules: Each a regular expression for whole names of tables, and the columns of their keys.
    """

    rules: tuple[tuple["re.Pattern[str]", tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, config: Config) -> Self:
        """As configured by KEY_OPTION."""
        return cls(_rules(config[_NAME]))

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of the keys of a table's records; none: they have its primary key."""
        return next((columns for pattern, columns in self.rules if pattern.fullmatch(table)), ())

    def checked(self, table: str, captured: Collection[str]) -> tuple[str, ...]:
        """The same, of a table with these columns.

        Raises:
            PermanentError: it lacks one.
        """
        columns = self.columns(table)
        if lacking := [name for name in columns if name not in captured]:
            msg = f"{_NAME}: {table} has no column {', '.join(lacking)} that is captured: it has {', '.join(captured)}. Correct it"
            raise PermanentError(msg)
        return columns

    def problems(self, tables: Mapping[str, Collection[str]]) -> Iterator[Problem]:
        """What is wrong with it, for tables with these columns that are captured."""
        for pattern, _ in self.rules:
            if not any(map(pattern.fullmatch, tables)):
                fix = "Correct the regular expression, which is for whole names."
                yield Problem(_NAME, written(pattern), "matches no table that is captured", fix)
        for table, captured in tables.items():
            try:
                self.checked(table, captured)
            except PermanentError as error:
                yield Problem(_NAME, ",".join(self.columns(table)), str(error), "Name columns that are there.")


def warnings_of_keyless(keys: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """What is told of tables whose records have no keys, all in one; such tables are captured.

    Args:
        keys: By the name of each table the columns of the keys of its records.
    """
    if keyless := sorted(table for table, columns in keys.items() if not columns):
        reason = "have no primary key: their records have no keys, so that sinks can't update or delete their rows"
        fix = f"Give each a primary key, or name columns that identify its rows in {_NAME}."
        named = ", ".join(keyless[:_NAMED]) + (f" and {len(keyless) - _NAMED} more" if len(keyless) > _NAMED else "")
        yield Problem("table.include", named, reason, fix, is_warning=True)
