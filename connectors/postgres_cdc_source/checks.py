"""What is wrong with a configuration, as far as the server tells."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import connect
from connectors.postgres_cdc_source.logical.requirements import keyless, problems
from connectors.postgres_cdc_source.making import named_of
from connectors.postgres_cdc_source.settings import address_of
from connectors.postgres_cdc_source.tables import Filter, Name, lacking_in_identity, names, now, told_of_old_rows
from rocketconnect_sdk.changes import ColumnMasks, MessageKeys
from rocketconnect_sdk.changes.message_keys import warnings_of_keyless
from rocketconnect_sdk.changes.topics import FIX, shared_topic
from rocketconnect_sdk.configuration.references import REFERENCE
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
        yield Problem(
            "username", address.user, str(error), "Correct the user, the password, the database, or what the server allows."
        )
    except ConnectorError as error:
        yield Problem("hostname", f"{address.host}:{address.port}", str(error), "Correct hostname and port, and see that it runs.")


def _table_problems(config: Config, connection: psycopg.Connection[TupleRow], tables: Sequence[Name]) -> Iterable[Problem]:
    chosen, catalog, keys = Filter.of(config), Catalog(connection), MessageKeys.of(config)
    refused = keyless(connection, tables)
    found: dict[str, tuple[Schema, Sequence[str]]] = {}
    for name in tables:
        try:
            if (table := now(connection, catalog, name, chosen)) is not None:
                found[str(name)] = table.schema, keys.columns(str(name)) or table.key
        except PermanentError as error:
            fix = "Change what the publication has of the table, or leave the table out with table.exclude."
            yield Problem("publication.name", chosen.publication, str(error), fix)
    template, database = config["table.topic"], address_of(config).database
    topic = config["topic"] if "topic" in config else ""  # noqa: SIM401 - Config has no default of its own
    if shared := shared_topic(named_of(template, topic, database, name) for name in tables):
        yield Problem("table.topic", shared[0], shared[1], FIX)
    yield from keys.problems({table: [field.name for field in columns.fields] for table, (columns, _) in found.items()})
    yield from ColumnMasks.of(config).problems(found)
    yield from warnings_of_keyless(
        {str(name): found[str(name)][1] for name in tables if str(name) in found and name not in refused}
    )
    if config["snapshot.mode"] == "only":
        return
    for name in tables:
        if lacking := lacking_in_identity(connection, name, keys.columns(str(name))):
            fix = "Run that, or take columns of the primary key."
            yield Problem("message.key.columns", ",".join(lacking), told_of_old_rows(name, lacking), fix)
