"""Rows, and the option `columns`, held against the tables that are there before the sink runs."""

from collections.abc import Iterator, Mapping
from contextlib import closing

from connectors.jdbc import Dialect, Table, dialect_of
from connectors.jdbc.options import database_of
from connectors.jdbc_sink.preflight import SECONDS
from connectors.jdbc_sink.shape import computed, met, numbered_problem, widens, without
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, Takes
from rocketconnect_sdk.evolution.held import columns_problem
from rocketconnect_sdk.evolution.held import rows_problems as held
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import keyed


def there_problems(config: Config, dialect: Dialect, name: str, table: Table) -> Iterator[Problem]:
    """What is wrong with the option `columns` for a table that is there."""
    if config["columns"]:
        columns = parse_columns(config["columns"])
        yield from _unwritable(config, dialect, name, table, columns)
        columns = without(columns, table.computed)
        found = columns_problem(f"the table {name}", met(table, columns, (), dialect), columns)
        yield from () if found is None else (found,)


def _unwritable(config: Config, dialect: Dialect, name: str, table: Table, records: Schema) -> Iterator[Problem]:
    """Columns of a table that records have values for, and that take none."""
    if told := computed(table, records):
        policy = Policy(config[POLICY.key])
        is_warning = policy in (Policy.IGNORE, Policy.EVOLVE)
        then = "it is left out" if is_warning else "such records are not written"
        reason = f"takes no value for some of the fields: {told}; {then}"
        fix = "Leave them out (transform replace_field), or set schema.evolution=ignore."
        yield Problem("table.name.format", name, reason, fix, is_warning=is_warning)
    if config["insert.mode"] != "insert" and (
        problem := numbered_problem(dialect, name, table, records, config["pk.fields"] or table.key)
    ):
        yield Problem("table.name.format", name, *problem)


def rows_problems(config: Config, rows: Mapping[str, Schema]) -> Iterator[Problem]:
    """What is wrong with rows of topics for the tables that are there; see Sink.check_rows.

    That a database lets nobody in is told where it is looked at otherwise.
    """
    form = config["table.name.format"]
    named = {topic: form.replace("${topic}", topic) for topic in rows}
    named = {topic: name for topic, name in named.items() if "${" not in name}
    if config["columns"] or not named or not login_is_known(config):
        return
    place = database_of(config, writes=True)
    dialect = dialect_of(place)
    try:
        with closing(dialect.connect(place, config["user"], config["password"] or "", SECONDS)) as connection:
            for topic, name in named.items():
                if (table := dialect.table(connection, name)) is not None:
                    yield from _row_problems(config, dialect, (topic, name), rows[topic], table)
    except Exception as error:
        if dialect.fault(error) is None:
            raise


def _row_problems(
    config: Config, dialect: Dialect, topic_and_name: tuple[str, str], schema: Schema, table: Table
) -> Iterator[Problem]:
    topic, name = topic_and_name
    if (records := row_schema(schema)) is None:
        return
    yield from _unwritable(config, dialect, name, table, records)
    records = without(records, table.computed)
    key = config["pk.fields"] or table.key
    takes = Takes(columns=True, nulls=True, type=lambda column, wider: widens(dialect, name, column, wider))
    yield from held(
        ("table.name.format", name),
        f"the rows of `{topic}`",
        met(table, records, key, dialect),
        keyed(records, key),
        Policy(config[POLICY.key]),
        takes,
        is_tolerant=config["errors.tolerance"] == "all",
        key=() if config["insert.mode"] == "insert" else key,
    )
