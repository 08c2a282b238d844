"""Changes of MySQL and MariaDB: the rows that are there, then each change, out of the server's binary log."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
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
    from connectors.mysql_cdc_source.verification import MysqlTables

_MOST_ID = (1 << 32) - 2


class MysqlCdcSource(LogSource):
    """Copies tables of MySQL and MariaDB, and then every change of their rows, read from the binary log."""

    name = "mysql_cdc_source"
    aliases = ("MySqlCdcSource",)
    options = (
        Option("hostname", "The name or address of the server.", required=True, reaches=of_host, example="127.0.0.1"),
        Option("port", "Its port.", Kind.INT, "3306", minimum=1, maximum=65_535),
        Option(
            "username",
            "Who reads: with REPLICATION SLAVE, REPLICATION CLIENT (MariaDB: BINLOG MONITOR) and SELECT.",
            required=True,
            references=True,
            example="rocketconnect",
        ),
        Option("password", "The user's password.", secret=True, example="${env:MYSQL_PASSWORD}"),
        *(replace(each, aliases=(*each.aliases, "tls.ca")) if each.key == "ssl.ca.location" else each for each in TLS),
        Option(
            "tls",
            "An older way to say ssl.mode. true: verify-full with ssl.ca.location, require without it. false: disable.",
            Kind.BOOL,
        ),
        Option(
            "server.id",
            "A number that no other replica of the server has; without it one is made of the connector.",
            Kind.INT,
            minimum=1,
            maximum=_MOST_ID,
        ),
        SERVER_NAME,
        name_patterns("database.include", "The databases that are captured; empty: all but the server's own.", "shop, crm_.*"),
        name_patterns("table.include", "The tables of these that are captured, as database.table; empty: all.", r"shop\.order.*"),
        name_patterns("table.exclude", "Tables that are not, as database.table.", r"shop\.audit_.*"),
        name_patterns("column.exclude", "Columns that are left out, as database.table.column.", r"crm\.person\.password"),
        Option(
            "snapshot.mode",
            "initial: the rows that are there, then the log. incremental: both at a time, the rows in chunks without a long "
            "transaction (MySQL: with gtid_mode=ON). only: the rows that are there. never: the log from now on. earliest: the log "
            "from its first file that the server still has.",
            default="initial",
            choices=("initial", "incremental", "only", "never", "earliest"),
        ),
        heartbeat("How often the position in the log is stored, also when nothing is captured."),
        table_topic("${topic}-${database}-${table}"),
        *CHANGE_OPTIONS,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """Looks at the server, its settings, what the user may do, and whether there is something to capture."""
        from connectors.mysql_cdc_source.checks import server_problems

        return run_checks(config, _tls_problems, server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The tables. See Source."""
        place = f"mysql://{address(config['hostname'], config['port'])}/"
        include, exclude, databases = (config[key] for key in ("table.include", "table.exclude", "database.include"))
        return tables_of("table.include", place, topics_of(config), include, exclude, databases)

    def check_watermark(self, offset: Offset) -> None:
        """See LogSource."""
        from connectors.mysql_cdc_source.watermark import Watermark

        Watermark.of(offset)

    def tables(self, config: Config) -> "MysqlTables":
        """See Source."""
        from connectors.mysql_cdc_source.settings import Settings
        from connectors.mysql_cdc_source.verification import MysqlTables

        return MysqlTables(Settings.of(config))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> SourceTask:
        """See Source."""
        from connectors.mysql_cdc_source.settings import Settings
        from connectors.mysql_cdc_source.task import MysqlCdcTask

        del task
        return MysqlCdcTask(Settings.of(config), context)


def _tls_problems(config: Config) -> Iterable[Problem]:
    from connectors.mysql_cdc_source.settings import encryption_of

    if config["tls"] is not None and not {"ssl.mode", "sslmode"}.isdisjoint(config.raw):
        yield Problem("tls", config.raw["tls"], "is an older way to say ssl.mode, which is there, too", "Remove it.")
    yield from tls_problems(config, config["hostname"], encryption_of(config))
