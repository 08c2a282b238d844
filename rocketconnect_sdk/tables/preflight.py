"""What is wrong with tables for a sink, as far as it can be seen before the sink runs. Nothing is changed."""

from collections.abc import Iterator, Mapping
from typing import Any

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution.held import columns_problem
from rocketconnect_sdk.evolution.held import rows_problems as held
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.tables.columns import AnyTable, met, never_null
from rocketconnect_sdk.tables.dialect import Dialect
from rocketconnect_sdk.tables.settings import settings_of
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import keyed


def server_problems(config: Config, dialect: Dialect[Any, Any]) -> Iterator[Problem]:
    """Connects, and looks at the tables. Raises as Dialect."""
    dialect.ping()
    settings = settings_of(config)
    for name in settings.names(config.raw.get("topics", "")):
        if (table := dialect.table(name)) is not None:
            yield from _table_problems(config, dialect, table)
        elif not settings.create:
            fix = "Make it, let the user read it, or set table.create=true."
            yield Problem("table", name, f"is no table of {dialect.place} that the user sees", fix)


def rows_problems(config: Config, dialect: Dialect[Any, Any], rows: Mapping[str, Schema]) -> Iterator[Problem]:
    """What is wrong with rows of topics for the tables that are there; see Sink.check_rows. Raises as Dialect."""
    settings = settings_of(config)
    for topic, schema in rows.items():
        name, records = settings.name(topic), row_schema(schema)
        if records is not None and (table := dialect.table(name)) is not None:
            yield from held(
                ("table", name),
                f"the rows of `{topic}`",
                met(table.columns, records),
                keyed(records, never_null(table.columns, dialect.takes)),
                settings.policy,
                dialect.takes,
                is_tolerant=config["errors.tolerance"] == "all",
            )


def _table_problems(config: Config, dialect: Dialect[Any, Any], table: AnyTable) -> Iterator[Problem]:
    if problem := dialect.problem(table):
        yield Problem("table", table.name, problem[0], f"{problem[1]}.")
    if config["columns"]:
        columns = parse_columns(config["columns"])
        found = columns_problem(f"the table {table.name}", met(table.columns, columns), columns)
        yield from () if found is None else (found,)
