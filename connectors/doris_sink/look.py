"""What is wrong with a cluster for a sink, as far as it can be seen before the sink runs. Nothing is changed."""

from collections.abc import Iterator, Mapping
from contextlib import closing

from connectors.doris.session import Session
from connectors.doris.tables import Table, table_of
from connectors.doris_sink.shape import TAKES, met
from connectors.doris_sink.writing import Writing, login_of, table_problem, writing_of
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

_SECONDS = 3.0
"""A check waits no longer for a server."""


@preflight(
    away=("url", "Start the server, or correct url and query.port."),
    refused=("url", "Name a frontend of Doris, and its query_port in query.port."),
)
def server_problems(config: Config) -> Iterator[Problem]:
    """Connects, and looks at the tables."""
    writing = writing_of(config)
    with closing(Session(writing.place, login_of(config, seconds=_SECONDS))) as session:
        session.rows("SELECT 1")
        for name in _names(config, writing):
            if (table := table_of(session, name)) is not None:
                yield from _table_problems(config, writing, table)
            elif not writing.create:
                fix = "Make it, let the user read it, or set table.create=true."
                yield Problem("table", name, f"is no table of {writing.place} that the user sees", fix)


def rows_problems(config: Config, rows: Mapping[str, Schema]) -> Iterator[Problem]:
    """What is wrong with rows of topics for the tables that are there; see Sink.check_rows."""
    if config["columns"] or not login_is_known(config):
        return
    writing = writing_of(config)
    session = Session(writing.place, login_of(config, seconds=_SECONDS))
    try:
        for topic, schema in rows.items():
            name, records = writing.name(topic), row_schema(schema)
            if records is not None and (table := table_of(session, name)) is not None:
                yield from held(
                    ("table", name),
                    f"the rows of `{topic}`",
                    met(table.columns, records),
                    keyed(records, [each.name for each in table.columns if not each.schema.optional]),
                    Policy(config[POLICY.key]),
                    TAKES,
                    is_tolerant=config["errors.tolerance"] == "all",
                )
    except (SystemAway, PermanentError):
        return  # told where the server is looked at otherwise
    finally:
        session.close()


def _names(config: Config, writing: Writing) -> list[str]:
    """The tables that are known before there are records."""
    if "${topic}" not in writing.table:
        return [writing.table]
    return [writing.name(topic.strip()) for topic in config.raw.get("topics", "").split(",") if topic.strip()]


def _table_problems(config: Config, writing: Writing, table: Table) -> Iterator[Problem]:
    if problem := table_problem(writing, table):
        yield Problem("table", table.name, problem[0], f"{problem[1]}.")
    if config["columns"]:
        columns = parse_columns(config["columns"])
        found = columns_problem(f"the table {table.name}", met(table.columns, columns), columns)
        yield from () if found is None else (found,)
