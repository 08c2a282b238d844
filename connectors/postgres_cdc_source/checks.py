"""What is wrong with a configuration, as far as the server tells."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import psycopg
from psycopg.rows import TupleRow

from connectors.databases.tls import FIX
from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import connect
from connectors.postgres_cdc_source.logical.requirements import keyless, problems
from connectors.postgres_cdc_source.settings import Settings, address_of
from connectors.postgres_cdc_source.tables import Filter, Name, lacking_in_identity, names, now, told_of_old_rows
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.database_logs.checks import table_problems
from rocketconnect_sdk.database_logs.making import named_of
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema

_OPTIONS = {"user": "username", "slot": "slot.name", "publication": "publication.name", "tables": "table.include"}


def server_problems(config: Config) -> Iterable[Problem]:
    """All that the server, the role and the tables lack.

    A table without a key and without another replica identity is among it: once it is published, the server refuses to update and
    delete its rows, and a publication of its inserts alone would leave copies of it wrong in silence. One with REPLICA IDENTITY
    FULL is captured, and that its records have no keys is a warning.
    """
    if REFERENCE.search(config["password"] or ""):
        return  # what it stands for is known to other executors
    address = address_of(config)
    try:
        with connect(address) as connection:
            tables = names(connection, Filter.of(config))
            if not tables:
                fix = "Correct table.include and table.exclude: each is matched with the whole name schema.table."
                given = ", ".join(config["table.include"]) or "all tables"
                yield Problem("table.include", given, f"no table of the database {address.database} is captured", fix)
            # Our own slot may be in use by the task that this configuration is for.
            for problem in problems(connection, config["slot.name"], config["publication.name"], tables, in_use=True):
                yield replace(problem, key=_OPTIONS.get(problem.key, "hostname"))
            yield from _table_problems(config, connection, tables)
    except PermanentError as error:
        key = error.option or "username"
        fix = "Correct the user, the password, the database, or what the server allows."
        yield Problem(key, config[key], str(error), f"{FIX}." if error.option else fix)
    except ConnectorError as error:
        yield Problem("hostname", f"{address.host}:{address.port}", str(error), "Correct hostname and port, and see that it runs.")


def _table_problems(config: Config, connection: psycopg.Connection[TupleRow], tables: Sequence[Name]) -> Iterable[Problem]:
    settings = Settings.of(config)
    chosen, capture, catalog = settings.chosen, settings.capture, Catalog(connection)
    refused = {".".join(name) for name in keyless(connection, tables)}
    found: dict[str, tuple[Schema, Sequence[str]]] = {}
    for name in tables:
        try:
            if (table := now(connection, catalog, name, chosen)) is not None:
                found[str(name)] = table.schema, capture.keys.columns(str(name)) or table.key
        except PermanentError as error:
            fix = "Change what the publication has of the table, or leave the table out with table.exclude."
            yield Problem("publication.name", chosen.publication, str(error), fix)
    named = [named_of(capture.template, capture.topic, name, settings.path_of(name)) for name in tables]
    yield from table_problems(capture, named, found, refused)
    if not capture.log:
        return
    for name in tables:
        if lacking := lacking_in_identity(connection, name, capture.keys.columns(str(name))):
            fix = "Run that, or take columns of the primary key."
            yield Problem("message.key.columns", ",".join(lacking), told_of_old_rows(name, lacking), fix)
