"""Rows of the tables of a database, or of a query, into topics: PostgreSQL, MySQL, MariaDB, SQLite."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from connectors.jdbc import parse_url
from connectors.jdbc.endpoint import place_of
from connectors.jdbc.options import CONNECTION, connection_problems, database_of
from connectors.jdbc_source.place import Mode
from rocketconnect_sdk.configuration import zones
from rocketconnect_sdk.configuration.patterns import patterns_problem
from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.origins.tables import tables_of
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Plan, Source, never

if TYPE_CHECKING:
    from connectors.jdbc.session import Session
    from connectors.jdbc_source.ranges import Share
    from connectors.jdbc_source.tables import TableSettings, Target
    from connectors.jdbc_source.task import JdbcSourceTask
    from connectors.jdbc_source.verification import JdbcTables

_REPLAN_SECONDS = 60.0


def _time_problem(text: str) -> str | None:
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        return str(error)
    return None


class JdbcSource(Source):
    """Reads the rows of tables, or of a query, and looks for new and changed ones again and again."""

    name = "jdbc_source"
    aliases = ("JdbcSourceConnector", "org.apache.rocketmq.connect.jdbc.source.JdbcSourceConnector")
    # Whole tables are read in no order that could be had again.
    replayable = never
    options = (
        *CONNECTION,
        Option(
            "mode",
            "How new rows are known. bulk: not at all, everything is read. incrementing: a column of numbers grows. timestamp: a "
            "column says when a row was changed. timestamp+incrementing: both; rows of the same time are told apart by the number.",
            default=Mode.BULK.value,
            choices=tuple(mode.value for mode in Mode),
        ),
        Option(
            "table.whitelist",
            "The tables: regular expressions that match the whole name, with its schema or without. Empty: all tables and views.",
            Kind.LIST,
            "",
            aliases=("table.include",),
            check=patterns_problem,
            fix="Write names, or regular expressions such as orders_.*.",
        ),
        Option(
            "table.blacklist",
            "Tables that are left out: regular expressions as in table.whitelist.",
            Kind.LIST,
            "",
            aliases=("table.exclude",),
            check=patterns_problem,
            fix="Write names, or regular expressions such as orders_.*.",
        ),
        Option("query", "A SELECT that is read in the place of tables. Its columns need names.", default=""),
        Option("incrementing.column.name", "The column of numbers that grow with each new row.", default=""),
        Option(
            "split.size",
            "With mode=incrementing: a table is read by all tasks at once, in ranges of so many numbers. Much smaller than the "
            "number of rows by task, so that all tasks have the same to do. 0: each table is read by one task.",
            Kind.INT,
            "0",
            minimum=0,
            maximum=10**18,
        ),
        Option("timestamp.column.name", "The column that says when a row was made or changed.", default=""),
        Option(
            "db.timezone",
            "The time zone of columns of times without a zone, such as Europe/Berlin. It decides which rows are old enough to be "
            "read; values stay as they are.",
            default="UTC",
            check=zones.zone_problem,
            fix=zones.FIX,
        ),
        Option(
            "timestamp.initial",
            "Where there is no position yet, rows are read from this time on, such as 2026-01-31T00:00:00; in db.timezone where it "
            "has no zone. Empty: all.",
            default="",
            check=lambda text: _time_problem(text) if text else None,
            fix="Write a time such as 2026-01-31T00:00:00.",
        ),
        Option(
            "timestamp.delay.interval",
            "Rows whose time is not so long ago are left for later. Longer than any transaction that writes: what is committed "
            "late with an earlier time than rows that were read is not seen.",
            Kind.DURATION,
            "5s",
            minimum=0,
        ),
        Option(
            "validate.non.null",
            "Columns that new rows are known by must not be null. false: rows with a null there are not read.",
            Kind.BOOL,
            "true",
        ),
        Option(
            "key.columns",
            "The columns of the keys of records. Default: those of the primary key; a query has none.",
            Kind.LIST,
            "",
        ),
        Option(
            "topic.prefix",
            "Each table has a topic of its own, of this and its name. Empty: all records go to the topic of the configuration.",
            default="",
        ),
        Option("poll.interval", "How often it looks for new rows.", Kind.DURATION, "5s", minimum=0.001, maximum=86400),
        Option("bulk.interval", "With mode=bulk: so often everything is read. 0: once.", Kind.DURATION, "0s", minimum=0),
        Option("batch.max.rows", "The most rows that it reads at once.", Kind.INT, "10000", minimum=1, maximum=1_000_000),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, connection_problems, _query_problems, _mode_problems, _database_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The tables, or the query. See Source."""
        place, prefix = place_of(config["connection.url"]), config["topic.prefix"]
        if query := " ".join(config["query"].split()).rstrip(" ;"):
            # At a place of its own: all tables are no query.
            return [Origin("query", f"{place}?query=", query)]
        into = f"{prefix}${{table}}" if prefix else ""
        return tables_of("table.whitelist", place, into, config["table.whitelist"], config["table.blacklist"])

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source. Each table is read by one task, or all by all of them in ranges; new ones are looked for."""
        from connectors.jdbc_source.tables import names, shared_by
        from rocketconnect_sdk.changes.topics import FIX

        del positions
        session, wanted = _session(config), _wanted(config)
        try:
            found = names(session, wanted)
        finally:
            session.close()
        if shared := shared_by(wanted, found):
            msg = f"{shared[0]} {shared[1]}. {FIX}"
            raise PermanentError(msg)
        if config["split.size"]:
            shares = [{"tables": "\n".join(found), "share": f"{number}/{max_tasks}"} for number in range(max_tasks)]
            return Plan(shares, None if wanted.query else _REPLAN_SECONDS)
        count = max(1, min(max_tasks, len(found)))
        tasks = [{"tables": "\n".join(found[number::count])} for number in range(count)]
        return Plan(tasks, None if wanted.query else _REPLAN_SECONDS)

    def tables(self, config: Config) -> "JdbcTables":
        """See Source."""
        from connectors.jdbc_source.verification import JdbcTables

        return JdbcTables(_session(config), _wanted(config), config["topic"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "JdbcSourceTask":
        """See Source."""
        from connectors.jdbc_source.task import JdbcSourceTask, PollSettings

        wanted = _wanted(config)
        tables = tuple(task["tables"].split("\n")) if task["tables"] or wanted.query else ()
        zone = ZoneInfo(config["db.timezone"])
        first = datetime.fromisoformat(config["timestamp.initial"]) if config["timestamp.initial"] else None
        rhythm = PollSettings(
            config["poll.interval"],
            config["bulk.interval"],
            config["batch.max.rows"],
            int(config["timestamp.delay.interval"] * 1_000_000),
            None if first is None else int((first if first.tzinfo else first.replace(tzinfo=zone)).timestamp() * 1_000_000),
            zone,
        )
        return JdbcSourceTask(_session(config), wanted, tables, _share(config, task), rhythm, context)


def _share(config: Config, task: Mapping[str, str]) -> "Share | None":
    from connectors.jdbc_source.ranges import Share

    if "share" not in task:
        return None
    number, count = task["share"].split("/")
    return Share(config["split.size"], int(number), int(count))


def _session(config: Config) -> "Session":
    from connectors.jdbc.session import Session

    return Session(database_of(config), config["user"], config["password"] or "")


def _wanted(config: Config) -> "TableSettings":
    from connectors.jdbc_source.queries import bare
    from connectors.jdbc_source.tables import TableSettings

    query = config["query"].strip()
    return TableSettings(
        Mode(config["mode"]),
        bare(query, parse_url(config["connection.url"]).written_as) if query else "",
        tuple(config["table.whitelist"]),
        tuple(config["table.blacklist"]),
        config["incrementing.column.name"],
        config["timestamp.column.name"],
        tuple(config["key.columns"]),
        config["validate.non.null"],
        config["topic.prefix"],
    )


def _query_problems(config: Config) -> Iterable[Problem]:
    for key in ("table.whitelist", "table.blacklist", "topic.prefix"):
        if config["query"] and config[key]:
            yield Problem(key, config.raw.get(key, "")[:200], "means nothing with a query", "Remove it, or the query.")


def _mode_problems(config: Config) -> Iterable[Problem]:
    mode = config["mode"]
    for key, modes in (
        ("incrementing.column.name", (Mode.INCREMENTING, Mode.BOTH)),
        ("timestamp.column.name", (Mode.TIMESTAMP, Mode.BOTH)),
    ):
        if mode in modes and not config[key]:
            yield Problem(key, "", f"is needed with mode={mode}", "Name the column, or choose another mode.")
        elif mode not in modes and config[key]:
            yield Problem(key, config[key], f"means nothing with mode={mode}", "Remove it, or choose another mode.")
    if config["split.size"] and mode != Mode.INCREMENTING:
        fix = "Remove it, or set mode=incrementing."
        yield Problem("split.size", str(config["split.size"]), f"means nothing with mode={mode}", fix)


def _database_problems(config: Config) -> Iterable[Problem]:
    from connectors.jdbc_source.tables import look, names, nothing_problem, shared_by
    from rocketconnect_sdk.changes.topics import FIX

    if not login_is_known(config):
        return
    session, wanted = _session(config), _wanted(config)
    try:
        found = names(session, wanted)
        if not found:
            yield nothing_problem(session, wanted)
        if shared := shared_by(wanted, found):
            yield Problem("topic.prefix", shared[0], shared[1], FIX)
        for name in found:
            try:
                target, problems = look(session, wanted, name)
                yield from problems
                if not problems and config["split.size"] and wanted.mode is Mode.INCREMENTING:
                    yield from _range_problems(session, target, config["split.size"], indexed=not wanted.query)
            except PermanentError as error:
                yield Problem("query" if wanted.query else "table.whitelist", name, str(error), "Correct it.")
    except PermanentError as error:
        key = error.option or "connection.url"
        yield Problem(key, config[key], str(error), "Correct it.")
    except (RetriableError, SystemAway) as error:
        yield Problem("connection.url", config["connection.url"], str(error), "Start the database, or correct the URL.")
    finally:
        session.close()


def _range_problems(session: "Session", target: "Target", size: int, *, indexed: bool) -> Iterable[Problem]:
    from connectors.jdbc_source.ranged import range_problem

    problem = range_problem(session, target, size, indexed=indexed)
    if problem is not None:
        yield problem
