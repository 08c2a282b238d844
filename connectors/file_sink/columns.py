"""The columns of a table in files: rocketconnect_sdk.evolution for a directory and for a CSV file."""

from collections.abc import Iterable, Sequence
from logging import Logger
from pathlib import Path

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.declared import given_columns
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.evolution import OtherColumns, Policy, Settled, Takes, as_table, nullable, same_but_for_case, settle
from rocketconnect_sdk.evolution.tables import told_changes, told_old_rows
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import OPTIONAL_STRING, Field, Schema, Type
from rocketconnect_sdk.spark.types import stored_type


def _stored(schema: Schema) -> pa.DataType:
    return stored_type(to_arrow_type(schema))


DIRECTORY = Takes(columns=True, nulls=True, type=lambda column, wider: _stored(column) == _stored(wider))
"""Readers take a column that only some files have. One of two types they refuse: Spark's CANNOT_MERGE_SCHEMAS."""
ONE_FILE = Takes(columns=False, nulls=False, type=lambda *_: False)
"""The first line stays."""


def named(names: Sequence[str], records: Schema) -> Schema:
    """The columns of a CSV file for records of a schema: names are all that it has, so the types are theirs."""
    types = {field.name: field.schema for field in as_table(records).fields}
    return nullable(Schema(Type.STRUCT, fields=tuple(Field(name, types.get(name, OPTIONAL_STRING)) for name in names)))


FOLDED_FIX = "Rename one: transforms=other, transforms.other.type=replace_field, transforms.other.renames=OLD:NEW"


def folded(names: str) -> str:
    """Why such columns cannot be; see same_but_for_case."""
    return f"the columns {names} differ by the case of their letters alone, and Spark and other readers take them for one"


def case_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the option columns where what is written is read by Spark."""
    columns = given_columns(config["columns"])
    if columns is not None and (told := same_but_for_case(columns)):
        yield Problem("columns", config["columns"][:200], f"makes no table: {folded(told)}", "Call one of them otherwise.")


class Columns:
    """Decides what the columns are, batch by batch.

    Args:
        place: The file or directory, for people.
        policy: See rocketconnect_sdk.evolution.
        takes: DIRECTORY or ONE_FILE.
        log: For people.
    """

    def __init__(self, place: Path, policy: Policy, takes: Takes, log: Logger) -> None:
        self._place = place
        self._policy = policy
        self._takes = takes
        self._log = log
        self._told: Schema | None = None

    def settle(self, table: Schema | None, schema: Schema, *, keyed: bool = False) -> Settled:
        """The columns for records of a schema.

        Args:
            table: The columns until now; None: there are none yet.
            schema: Of the records.
            keyed: A row that comes again replaces the one that is there.

        Raises:
            OtherColumns, RecordError: see rocketconnect_sdk.evolution.settle.
        """
        records = nullable(as_table(schema))
        try:
            settled = Settled(records) if table is None else settle(table, records, self._policy, self._takes)
        except OtherColumns as error:
            fix = "Give these records another file or directory, or choose another policy"
            msg = f"{self._place}: {error}. {fix}"
            raise OtherColumns(msg) from None
        except RecordError as error:
            msg = f"{self._place}: {error}"
            raise RecordError(msg) from None
        if self._takes.columns and (told := same_but_for_case(settled.table)):
            # A CSV file, which gets no columns, may have both.
            msg = f"{self._place}: {folded(told)}. {FOLDED_FIX}"
            raise RecordError(msg)
        if schema != self._told:
            self._told = schema
            self._tell(settled)
            if keyed and table is not None and (told := told_old_rows(settled.changes, table, records)):
                self._log.warning("%s: %s", self._place, told)
        return settled

    def _tell(self, settled: Settled) -> None:
        if settled.changes:
            self._log.info("%s: the table follows the records: %s", self._place, told_changes(settled.changes))
        if settled.left_out:
            self._log.warning("%s: fields that are no columns are left out: %s", self._place, ", ".join(settled.left_out))
