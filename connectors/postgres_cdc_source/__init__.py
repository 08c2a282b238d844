"""PostgreSQL's changes into topics, by logical decoding: the rows that are there, then each change."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rocketconnect_sdk.changes import KEY_OPTION, MASK_OPTIONS, OPTIONS
from rocketconnect_sdk.changes.snapshots.incremental import INCREMENTAL_OPTIONS, SIGNALS
from rocketconnect_sdk.configuration.patterns import patterns_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.origins.tables import address, tables_of
from rocketconnect_sdk.permissions.hosts import of_host
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Plan, Source, SourceTask

if TYPE_CHECKING:
    from connectors.postgres_cdc_source.verification import PostgresTables

_NAME = re.compile(r"[a-z0-9_]{1,63}")
_NAME_FIX = "Use at most 63 lower-case letters, digits and _, such as rocketconnect_shop."


def _patterns(key: str, doc: str, example: str) -> Option:
    fix = f"Give regular expressions for the whole name, separated by commas, such as {example}."
    return Option(key, doc, Kind.LIST, "", check=patterns_problem, fix=fix)


def _name(key: str, doc: str) -> Option:
    return Option(
        key,
        doc,
        default="rocketconnect",
        check=lambda text: None if _NAME.fullmatch(text) else "is no name that a slot can have",
        fix=_NAME_FIX,
    )


class PostgresCdcSource(Source):
    """Copies tables of PostgreSQL, and then every change of their rows, read from its log by logical decoding."""

    name = "postgres_cdc_source"
    aliases = ("PostgresCdcSource",)
    options = (
        Option("hostname", "The name or address of the server.", required=True, reaches=of_host),
        Option("port", "Its port.", Kind.INT, "5432", minimum=1, maximum=65_535),
        Option("database", "The database: a slot has the changes of one.", required=True),
        Option("username", "The role that reads: with REPLICATION, and SELECT on the tables.", required=True, references=True),
        Option("password", "The role's password.", secret=True),
        Option(
            "sslmode",
            "Whether the connection is encrypted, as libpq has it.",
            default="prefer",
            choices=("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        ),
        Option(
            "sslrootcert",
            "A file of the certificates that sign the server's, for sslmode verify-ca and verify-full.",
            access=Access.READ,
        ),
        _name("slot.name", "The replication slot; it is made when it is not there. Each connector of a server needs its own."),
        _name("publication.name", "The publication; it is made when it is not there. Each connector of a database needs its own."),
        Option("server.name", "What the server is called in source.name; without it as the connector.", default=""),
        _patterns("table.include", "The tables that are captured, as schema.table; empty: all.", r"public\.order.*"),
        _patterns("table.exclude", "Tables that are not, as schema.table.", r"public\.audit_.*"),
        _patterns("column.exclude", "Columns that are left out, as schema.table.column.", r"public\.person\.password"),
        Option(
            "snapshot.mode",
            "initial: the rows that are there, then the log. incremental: both at a time, the rows in chunks without a long "
            "transaction. only: the rows that are there. never: the log from now on.",
            default="initial",
            choices=("initial", "incremental", "only", "never"),
        ),
        Option(
            "heartbeat.interval",
            "How often the position in the log is stored and confirmed, also when nothing is captured: the server keeps its log "
            "until then.",
            Kind.DURATION,
            "1s",
            minimum=0.05,
        ),
        Option(
            "table.topic",
            "The topic of a table; ${topic} is the topic of the configuration. Without ${table} all tables are in one.",
            default="${topic}-${schema}-${table}",
        ),
        KEY_OPTION,
        *MASK_OPTIONS,
        *INCREMENTAL_OPTIONS,
        *OPTIONS,
    )
    signals = SIGNALS

    def check(self, config: Config) -> Iterable[Problem]:
        """Looks at the server, its settings, what the role may do, and whether there is something to capture."""
        from connectors.postgres_cdc_source.checks import server_problems

        return run_checks(config, server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The tables. See Source."""
        place = f"postgres://{address(config['hostname'], config['port'])}/{config['database']}/"
        return tables_of("table.include", place, _into(config), config["table.include"], config["table.exclude"])

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """One task: a slot is read in order, by one."""
        del config, max_tasks, positions
        return Plan([{}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        from connectors.postgres_cdc_source.watermark import PARTITION, Watermark

        problems = list(super().check_position(config, partition, position))
        if not problems and partition == PARTITION:
            try:
                Watermark.of(position.offset)
            except ValueError as error:
                problems.append(Problem(partition, str(list(position.offset)), str(error), "Give one that it had."))
        return problems

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Drops the slot and the publication, as far as they are this connector's."""
        from connectors.postgres_cdc_source.logical.connection import connect
        from connectors.postgres_cdc_source.ownership import release
        from connectors.postgres_cdc_source.settings import Settings

        settings = Settings.of(config)
        if settings.log:
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


def _into(config: Config) -> str:
    return str(config["table.topic"]).replace("${topic}", config["topic"])
