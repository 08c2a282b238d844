"""Topics into the tables of a database: PostgreSQL, MySQL, MariaDB, SQLite."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from connectors.jdbc import dialect_of
from connectors.jdbc.options import CONNECTION, connection_problems, database_of
from connectors.jdbc_sink.naming import ALLOWED, naming_problems
from rocketconnect_sdk.columns.declared import columns_option, given_columns, parse_columns
from rocketconnect_sdk.columns.sinks import ArrowSink
from rocketconnect_sdk.configuration.change_options import DELETE_ENABLED, TRUNCATE_ENABLED
from rocketconnect_sdk.configuration.flush_options import FLUSH_ROWS, flush_interval
from rocketconnect_sdk.configuration.linear_patterns import Allowed, allowed_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, Guarantee
from rocketconnect_sdk.tables import EVOLUTION, POSITIONS_TABLE

if TYPE_CHECKING:
    from connectors.jdbc_sink.task import JdbcTask
    from connectors.jdbc_sink.verification import JdbcTables

_VALUE = "record_value"
_KEY = "record_key"
_NONE = "none"
_INSERT = "insert"
_UPDATE = "update"


class JdbcSink(ArrowSink):
    """Writes rows and changes of rows to the tables of a database, exactly once."""

    name = "jdbc_sink"
    aliases = ("JdbcSinkConnector", "org.apache.rocketmq.connect.jdbc.sink.JdbcSinkConnector")
    guarantee = Guarantee.EXACTLY_ONCE
    columns = ("value", "topic", "key", "header:unchanged")
    options = (
        *CONNECTION,
        Option(
            "table.name.format",
            "The table. ${topic} stands for the topic; ${database}, ${schema} and ${table} for what the source of a change "
            "envelope says; ${schema.name} for the name of the record's schema, ${header.NAME} for a header. A point divides "
            "the schema (MySQL: the database) from the table.",
            default="${topic}",
        ),
        Option(
            ALLOWED,
            "The tables that records may name: regular expressions, of which one matches the whole name that table.name.format "
            "makes of what a record says. Needed where it has anything but ${topic}. Tables of positions are never written.",
            Kind.LIST,
            "",
            check=allowed_problem,
            fix="Write regular expressions with commas between them, such as orders.*,customers.",
        ),
        Option(
            "insert.mode",
            "insert: each record is a new row. upsert: it replaces the row of its key, or is a new one. update: it changes the row "
            "of its key; where there is none, it is left out, with a warning in the log.",
            default="insert",
            choices=(_INSERT, "upsert", _UPDATE),
        ),
        Option(
            "pk.mode",
            "Where the key of a row is. record_value: in the value. record_key: in the key of the record, a JSON object "
            "or, where the key has one column, a plain value; a record without a value then deletes the row of its "
            "key. none: rows have none.",
            default=_VALUE,
            choices=(_VALUE, _KEY, _NONE),
        ),
        Option("pk.fields", "The columns of the key. Default: those of the table's primary key.", Kind.LIST, ""),
        DELETE_ENABLED,
        TRUNCATE_ENABLED,
        Option(
            "auto.create",
            "A table that is not there is made of the columns of the first record.",
            Kind.BOOL,
            "false",
        ),
        EVOLUTION,
        columns_option(
            "Makes rows of JSON objects that have no schema; fields that are no columns are left out, and an object that has "
            "none of the columns is a bad record. Values with a schema need no columns."
        ),
        Option(
            "key.width",
            "How many characters a text has in the key of a table that it makes in MySQL, which requires a width there. "
            "Where the source says the length of a text, it is that.",
            Kind.INT,
            "191",
            minimum=1,
            maximum=768,
        ),
        POSITIONS_TABLE,
        Option(
            "positions.delete",
            "When the connector is deleted, its rows of positions.table are, too. Who adopts its uid then begins where the "
            "position service says: a last batch that was not reported there comes again, with insert.mode=insert twice.",
            Kind.BOOL,
            "true",
        ),
        FLUSH_ROWS,
        flush_interval("0s"),
    )

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], 0, config["flush.interval"])

    def takes_column(self, schema: Schema) -> bool:
        """What Spark has as it is. See Sink."""
        return _is_of_spark(schema)

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(
            config, connection_problems, naming_problems, _mode_problems, _columns_problems, _evolution_problems, _database_problems
        )

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """Against the tables that are there. See Sink."""
        from connectors.jdbc_sink.there import rows_problems

        return rows_problems(config, rows)

    def tables(self, config: Config) -> "JdbcTables":
        """See Sink."""
        from connectors.jdbc.session import Session
        from connectors.jdbc_sink.verification import JdbcTables

        session = Session(database_of(config, writes=True), config["user"], config["password"] or "")
        return JdbcTables(session, config["table.name.format"])

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes the positions, where that is wanted. See Sink."""
        if config["positions.delete"]:
            from connectors.jdbc.session import Session
            from connectors.jdbc_sink.store import forget

            place = database_of(config, writes=True)
            forget(Session(place, config["user"], config["password"] or ""), config["positions.table"], connector_uid)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "JdbcTask":
        """See ArrowSink."""
        from connectors.jdbc_sink.merging import SinkSettings
        from connectors.jdbc_sink.store import Store
        from connectors.jdbc_sink.task import JdbcTask

        del task
        place = database_of(config, writes=True)
        dialect = dialect_of(place)
        owner = (context.generation, context.epoch)
        writing = SinkSettings(
            config["table.name.format"],
            Allowed(config[ALLOWED]) if config[ALLOWED] else None,
            config["insert.mode"] != _INSERT,
            config["insert.mode"] == _UPDATE,
            () if config["pk.mode"] == _NONE else tuple(config["pk.fields"]),
            config["pk.mode"] == _KEY,
            config["delete.enabled"],
            config["truncate.enabled"],
            config["auto.create"],
            Policy(config[POLICY.key]),
            config["key.width"],
            given_columns(config["columns"]),
        )
        return JdbcTask(
            place,
            dialect,
            (config["user"], config["password"] or ""),
            Store(dialect, config["positions.table"], context.connector_uid, context.task, owner),
            writing,
            self.flush_policy(config),
            context.log,
        )


def _mode_problems(config: Config) -> Iterable[Problem]:
    mode = config["insert.mode"]
    if mode == _INSERT and config["delete.enabled"]:
        yield Problem("delete.enabled", "true", "needs the key of each row", "Set insert.mode=upsert, or remove it.")
    if mode != _INSERT and config["pk.mode"] == _NONE:
        yield Problem("pk.mode", _NONE, f"leaves out the key, which {mode} needs", f"Set pk.mode={_VALUE} or {_KEY}.")


def _is_of_spark(schema: Schema) -> bool:
    from rocketconnect_sdk.columns.arrow_types import to_arrow_type
    from rocketconnect_sdk.spark.types import stored_type

    kind = to_arrow_type(schema)
    return bool(stored_type(kind) == kind)


def _columns_problems(config: Config) -> Iterable[Problem]:
    if not config["columns"]:
        return
    for field in parse_columns(config["columns"]).fields:
        if not _is_of_spark(field.schema):
            fix = "Give it another type, or give the records a schema."
            yield Problem("columns", field.name, "has a type that Spark keeps in another form", fix)


def _database_problems(config: Config) -> Iterable[Problem]:
    from connectors.jdbc_sink.preflight import database_problems
    from connectors.jdbc_sink.there import there_problems

    return database_problems(config, there_problems)


def _evolution_problems(config: Config) -> Iterable[Problem]:
    return policy_problems(config, tuple(Policy), "")
