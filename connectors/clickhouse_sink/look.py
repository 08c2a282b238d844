"""What is wrong with a server for a sink, as far as it can be seen before the sink runs. Nothing is changed."""

from collections.abc import Iterator, Mapping
from contextlib import closing

from connectors.clickhouse.options import CHECK_SECONDS, client_of
from connectors.clickhouse.tables import Table, table_of
from connectors.clickhouse_sink.shape import met, never_null, takes
from connectors.clickhouse_sink.writer import own, places_fix
from connectors.clickhouse_sink.writing import ENGINE_FIX, PLACE, Writing, engine_problem, writing_of
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.evolution import POLICY, Policy
from rocketconnect_sdk.evolution.held import columns_problem
from rocketconnect_sdk.evolution.held import rows_problems as held
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import keyed

_POLICY = POLICY.key


@preflight(refused=("url", "Name a server of ClickHouse, from 18.16 on."))
def server_problems(config: Config) -> Iterator[Problem]:
    """Connects, and looks at the tables."""
    writing = writing_of(config)
    with closing(client_of(config, seconds=CHECK_SECONDS)) as client:
        client.rows("SELECT 1")
        for name in _names(config, writing):
            if (table := table_of(client, name)) is not None:
                yield from _table_problems(config, writing, table)
            elif not writing.create:
                fix = "Make it, let the user read it, or set table.create=true."
                yield Problem("table", name, f"is no table of {writing.place} that the user sees", fix)


def rows_problems(config: Config, rows: Mapping[str, Schema]) -> Iterator[Problem]:
    """What is wrong with rows of topics for the tables that are there; see Sink.check_rows."""
    if config["columns"] or not login_is_known(config):
        return
    writing = writing_of(config)
    try:
        with closing(client_of(config, seconds=CHECK_SECONDS)) as client:
            for topic, schema in rows.items():
                name, records = writing.name(topic), row_schema(schema)
                if records is not None and (table := table_of(client, name)) is not None:
                    columns = own(table)
                    yield from held(
                        ("table", name),
                        f"the rows of `{topic}`",
                        met(columns, records),
                        keyed(records, never_null(columns)),
                        Policy(config[_POLICY]),
                        takes(client.version),
                        is_tolerant=config["errors.tolerance"] == "all",
                    )
    except (SystemAway, PermanentError):
        return  # told where the server is looked at otherwise


def _names(config: Config, writing: Writing) -> list[str]:
    """The tables that are known before there are records."""
    if "${topic}" not in writing.table:
        return [writing.table]
    return [writing.name(topic.strip()) for topic in config.raw.get("topics", "").split(",") if topic.strip()]


def _table_problems(config: Config, writing: Writing, table: Table) -> Iterator[Problem]:
    name = writing.place.table(table.name)
    if writing.exact and (reason := engine_problem(table.engine)):
        yield Problem("table", table.name, reason, f"{ENGINE_FIX}.")
    elif writing.exact and (missing := [each for each in PLACE if each not in table.names]):
        reason = f"lacks the columns {', '.join(missing)}, which delivery=exactly_once needs"
        yield Problem("table", table.name, reason, f"{places_fix(name, missing)}.")
    if config["columns"]:
        columns = parse_columns(config["columns"])
        found = columns_problem(f"the table {table.name}", met(own(table), columns), columns)
        yield from () if found is None else (found,)
