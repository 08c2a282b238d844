"""The options that mask columns of tables whose changes are captured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rocketconnect_sdk.changes.masks import Fixed, Hashed, Mask, Starred, TableMasks, Truncated, Written
from rocketconnect_sdk.changes.unfit import TIMES, UNFIT_OPTIONS, Unfit, UnfitRules
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.configuration.patterns import compiled, patterns_problem, written
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Schema

if TYPE_CHECKING:
    import re

_FIX = r"Give regular expressions for whole names of columns, with their tables, separated by commas, such as shop\.person\.phone."
_SALT = "column.mask.salt"


def _columns(key: str, doc: str) -> Option:
    return Option(key, doc, Kind.LIST, "", check=patterns_problem, fix=_FIX)


MASK_OPTIONS: Sequence[Option] = (
    _columns("column.mask", "Columns of texts that are replaced by column.mask.text, named as in column.exclude."),
    Option("column.mask.text", "What stands in their place.", default="***"),
    _columns("column.mask.characters", "Columns of texts of which each character becomes *."),
    _columns(
        "column.mask.hash",
        "Columns of texts, bytes, whole numbers and UUIDs whose values become their HMAC-SHA-256 with column.mask.salt, in "
        "hexadecimal digits: equal values stay equal. Keys can be masked in no other way.",
    ),
    Option(_SALT, "The key of these.", secret=True),
    _columns("column.truncate", "Columns of texts that are cut off behind column.truncate.length characters."),
    Option("column.truncate.length", "How many characters of them are left.", Kind.INT, "20", minimum=0),
    *UNFIT_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class ColumnMasks:
    """What is configured.

    Attributes:
        rules: Each an option, a regular expression of it for whole names of columns, and what becomes of these.
        unfit: What becomes of values that no type here has: of columns that are written as texts all values become so.
    """

    rules: tuple[tuple[str, "re.Pattern[str]", Mask], ...] = ()
    unfit: UnfitRules = field(default_factory=UnfitRules)

    @classmethod
    def of(cls, config: Config) -> Self:
        """As configured by MASK_OPTIONS."""
        masks: Mapping[str, Mask] = {
            "column.mask.hash": Hashed((config[_SALT] or "").encode()),
            "column.mask": Fixed(config["column.mask.text"]),
            "column.mask.characters": Starred(),
            "column.truncate": Truncated(config["column.truncate.length"]),
        }
        rules = tuple((key, compiled(pattern), mask) for key, mask in masks.items() for pattern in config[key])
        unfit = UnfitRules.of(config)
        written = tuple((f"column.unfit.{action}", pattern, Written()) for action, pattern in unfit.rules if action is Unfit.TEXT)
        return cls((*rules, *written), unfit)

    def on(self, table: str, columns: Schema, key: Sequence[str]) -> TableMasks:
        """Those of a table.

        Args:
            table: Its name, as filters see it.
            columns: Its columns.
            key: The names of those that are the key of its records.

        Raises:
            PermanentError: one is for columns of other types, or not for keys; or there is no salt.
        """
        found: list[tuple[int, Mask]] = []
        wrong: list[str] = []
        for place, column in enumerate(columns.fields):
            rules = [(option, mask) for option, pattern, mask in self.rules if pattern.fullmatch(f"{table}.{column.name}")]
            if not rules:
                if column.schema.type in TIMES and self.unfit.of_column(f"{table}.{column.name}") == (Unfit.TEXT, False):
                    found.append((place, Written()))
                continue
            option, mask = rules[0]
            found.append((place, mask))
            if len({each for each, _ in rules}) > 1:
                wrong.append(f"{column.name} is taken by {' and '.join(dict.fromkeys(each for each, _ in rules))}: leave one")
            if column.schema.type not in mask.takes:
                kinds = ", ".join(sorted(kind.value for kind in mask.takes))
                wrong.append(f"{option} is for columns of {kinds}, and {column.name} is of {type_name(column.schema)}")
            if column.name in key and not mask.is_for_keys:
                wrong.append(f"{column.name} is part of the key, and {option} makes different keys the same: use column.mask.hash")
            if isinstance(mask, Hashed) and not mask.salt:
                wrong.append(f"{column.name} is to be hashed, and {_SALT} is not given")
        if wrong:
            msg = f"columns of {table} can't be masked: {'; '.join(wrong)}"
            raise PermanentError(msg)
        return TableMasks(found)

    def on_compared(self, table: str, columns: Schema, key: Sequence[str]) -> TableMasks:
        """The same, for rows that are looked for in a sink by this key.

        Raises:
            PermanentError: as `on`; or the key is masked, so that nobody can look for it.
        """
        masks = self.on(table, columns, key)
        if masks.of([place for place, column in enumerate(columns.fields) if column.name in key]):
            msg = f"the key of {table} is masked, so that its rows can't be found in a sink: leave the table out of the comparison"
            raise PermanentError(msg)
        return masks

    def problems(self, tables: Mapping[str, tuple[Schema, Sequence[str]]]) -> Iterator[Problem]:
        """What is wrong with it, for tables that are captured, with their columns and the keys of their records."""
        names = [f"{table}.{column.name}" for table, (columns, _) in tables.items() for column in columns.fields]
        masks = [(option, pattern) for option, pattern, _ in self.rules]
        unfit = [(f"column.unfit.{action}", pattern) for action, pattern in self.unfit.rules if action is not Unfit.TEXT]
        for option, pattern in (*masks, *unfit):
            if not any(map(pattern.fullmatch, names)):
                fix = "Correct the regular expression, which is for whole names of columns, with their tables."
                yield Problem(option, written(pattern), "matches no column that is captured", fix)
        for table, (columns, key) in tables.items():
            try:
                self.on(table, columns, key)
            except PermanentError as error:
                yield Problem("column.mask", table, str(error), "Correct these options, or leave the columns out: column.exclude.")
