"""PostgreSQL's changes into topics, by logical decoding: the rows that are there, then each change."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from connectors.databases.tls import TLS, tls_problems
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.source import (
    CHANGE_OPTIONS,
    SERVER_NAME,
    LogSource,
    heartbeat,
    name_patterns,
    table_topic,
    topics_of,
)
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.origins.tables import address, tables_of
from rocketconnect_sdk.permissions.hosts import of_host
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.source import SourceTask

if TYPE_CHECKING:
    from connectors.postgres_cdc_source.verification import PostgresTables

_NAME = re.compile(r"[a-z0-9_]{1,63}")
_NAME_FIX = "Use at most 63 lower-case letters, digits and _, such as rocketconnect_shop."


def _name(key: str, doc: str) -> Option:
    return Option(
        key,
        doc,
        default="rocketconnect",
        check=lambda text: None if _NAME.fullmatch(text) else "is no name that a slot can have",
        fix=_NAME_FIX,
    )


class PostgresCdcSource(LogSource):
    """Copies tables of PostgreSQL, and then every change of their rows, read from its log by logical decoding."""

    name = "postgres_cdc_source"
    aliases = ("PostgresCdcSource",)
    options = (
        Option("hostname", "The name or address of the server.", required=True, reaches=of_host, example="127.0.0.1"),
        Option("port", "Its port.", Kind.INT, "5432", minimum=1, maximum=65_535),
        Option("database", "The database: a slot has the changes of one.", required=True, example="shop"),
        Option(
            "username",
            "The role that reads: with REPLICATION, and SELECT on the tables.",
            required=True,
            references=True,
            example="rocketconnect",
        ),
        Option("password", "The role's password.", secret=True, example="${env:POSTGRES_PASSWORD}"),
        *TLS,
        _name("slot.name", "The replication slot; it is made when it is not there. Each connector of a server needs its own."),
        _name("publication.name", "The publication; it is made when it is not there. Each connector of a database needs its own."),
        SERVER_NAME,
        name_patterns("table.include", "The tables that are captured, as schema.table; empty: all.", r"public\.order.*"),
        name_patterns("table.exclude", "Tables that are not, as schema.table.", r"public\.audit_.*"),
        name_patterns("column.exclude", "Columns that are left out, as schema.table.column.", r"public\.person\.password"),
        Option(
            "snapshot.mode",
            "initial: the rows that are there, then the log. incremental: both at a time, the rows in chunks without a long "
            "transaction. only: the rows that are there. never: the log from now on.",
            default="initial",
            choices=("initial", "incremental", "only", "never"),
        ),
        heartbeat(
            "How often the position in the log is stored and confirmed, also when nothing is captured: the server keeps its log "
            "until then."
        ),
        table_topic("${topic}-${schema}-${table}"),
        *CHANGE_OPTIONS,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """Looks at the server, its settings, what the role may do, and whether there is something to capture."""
        from connectors.postgres_cdc_source.checks import server_problems

        return run_checks(config, lambda config: tls_problems(config, config["hostname"]), server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The tables. See Source."""
        place = f"postgres://{address(config['hostname'], config['port'])}/{config['database']}/"
        return tables_of("table.include", place, topics_of(config), config["table.include"], config["table.exclude"])

    def check_watermark(self, offset: Offset) -> None:
        """See LogSource."""
        from connectors.postgres_cdc_source.watermark import Watermark

        Watermark.of(offset)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Drops the slot and the publication, as far as they are this connector's."""
        from connectors.postgres_cdc_source.logical.connection import connect
        from connectors.postgres_cdc_source.ownership import release
        from connectors.postgres_cdc_source.settings import Settings

        settings = Settings.of(config)
        if settings.capture.log:
            with connect(settings.address) as connection:
                release(connection, settings.slot, settings.publication, connector_uid)

    def tables(self, config: Config) -> "PostgresTables":
        """See Source."""
        from connectors.postgres_cdc_source.settings import Settings
        from connectors.postgres_cdc_source.verification import PostgresTables

        return PostgresTables(Settings.of(config))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> SourceTask:
        """See Source."""
        from connectors.postgres_cdc_source.settings import Settings
        from connectors.postgres_cdc_source.task import PostgresCdcTask

        del task
        return PostgresCdcTask(Settings.of(config), context)
