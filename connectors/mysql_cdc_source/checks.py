"""What is wrong with a configuration, as far as the server can tell: everything at once."""

from collections.abc import Iterable, Iterator, Sequence

from connectors.databases.tls import FIX
from connectors.mysql_cdc_source.binlog.errors import NotAllowed, NotReady
from connectors.mysql_cdc_source.binlog.server import (
    Connection,
    connected,
    is_mariadb,
    missing_privileges,
    rows_of,
    setting_problems,
    variables_of,
)
from connectors.mysql_cdc_source.replicas import replicas
from connectors.mysql_cdc_source.rows.beginning import GTID_FIX, gtid_problem
from connectors.mysql_cdc_source.rows.incremental import key_problem
from connectors.mysql_cdc_source.settings import Settings, login_of, path_of
from connectors.mysql_cdc_source.tables import Filter, Name, names, now
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.database_logs.checks import table_problems
from rocketconnect_sdk.database_logs.making import named_of
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema

_SHOWN = 5
_CASCADES = """
SELECT CONSTRAINT_SCHEMA, TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS
WHERE DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION')
"""
_FULL = {
    "binlog_row_image": "without it rows in the log lack columns",
    "binlog_row_metadata": "without it the log does not say what its columns are called and what their types are",
}


def server_problems(config: Config) -> Iterator[Problem]:
    """The server is reached and writes the log that is needed, and the user may read it."""
    if REFERENCE.search(config["password"] or ""):
        return  # what it stands for is known to other executors
    login = login_of(config)
    try:
        with connected(login) as connection:
            found = variables_of(connection, "log_bin", "binlog_format", "gtid_mode", *_FULL)
            if config["snapshot.mode"] != "only":
                for text in setting_problems(found):
                    yield Problem("hostname", login.server, text, "Change the server's setting.")
                for name, why in _FULL.items():
                    if found.get(name, "").upper() != "FULL":
                        fix = f"SET GLOBAL {name} = 'FULL', and in the server's configuration; then sessions that write begin anew."
                        yield Problem("hostname", login.server, f"{name} is {found.get(name) or 'not known to it'}: {why}", fix)
                if config["snapshot.mode"] == "incremental" and not is_mariadb(connection):
                    yield from _gtid_problems(found.get("gtid_mode", ""))
                missing = missing_privileges(login, connection) if found.get("log_bin") == "ON" else []
                for privilege in missing:
                    fix = f"GRANT {privilege} ON *.* TO '{login.user}'@'%'"
                    yield Problem("username", login.user, f"lacks {privilege}", fix)
            yield from _replica_problems(config, connection)
            yield from _table_problems(config, connection)
    except (NotAllowed, NotReady) as error:
        key = error.option or "username"
        fix = "Correct username and password, or what the server allows the user."
        yield Problem(key, config[key], str(error), f"{FIX}." if error.option else fix)
    except ConnectorError as error:
        yield Problem("hostname", login.server, str(error), "Correct hostname and port, and see that the server runs.")


def _gtid_problems(mode: str) -> Iterator[Problem]:
    if problem := gtid_problem(mode):
        yield Problem("snapshot.mode", "incremental", problem, GTID_FIX)


def _replica_problems(config: Config, connection: Connection) -> Iterator[Problem]:
    """A connector with the id may be the one that this is for: its task looks at that."""
    for each in replicas(connection) if config["snapshot.mode"] != "only" else ():
        if each.server_id == config["server.id"] and not each.is_connector:
            fix = "Give a number that no replica has, or leave it out."
            yield Problem("server.id", str(each.server_id), f"{each} has it already: they would end each other's streams", fix)


def _table_problems(config: Config, connection: Connection) -> Iterable[Problem]:
    settings = Settings.of(config)
    capture = settings.capture
    found = names(connection, settings.chosen)
    user = config["username"]
    grant = f"GRANT SELECT ON *.* TO '{user}'@'%', or on the databases that are captured."
    if not found:
        wanted = ", ".join(config["table.include"] or config["database.include"])
        reason = "there is no table that is captured and that the user may see"
        yield Problem("table.include", wanted, reason, f"Correct the filters, or {grant}")
        return
    for key, patterns, matches in _unused(config, connection):
        if not matches:
            yield Problem(key, patterns, "matches nothing", "Correct the regular expression, which is for whole names.")
    columns: dict[str, tuple[Schema, Sequence[str]]] = {}
    for name in found:
        try:
            table = now(connection, name, settings.chosen)
            if table is not None:
                columns[str(name)] = table.schema, capture.keys.columns(str(name)) or table.key
            if capture.incremental and table is not None and (problem := key_problem(table)):
                yield Problem("snapshot.mode", "incremental", problem, "Leave the table out, or take another mode.")
        except PermanentError as error:
            yield Problem("column.exclude", str(name), str(error), "Leave the column out.")
    tables = [named_of(capture.template, capture.topic, name, path_of(name)) for name in found]
    yield from table_problems(capture, tables, columns)
    if capture.log:
        yield from _cascade_warnings(connection, found)
    yield from _not_readable(connection, [f"`{name.database}`.`{name.table}`" for name in found], grant)


def _cascade_warnings(connection: Connection, captured: Sequence[Name]) -> Iterator[Problem]:
    """Tables whose rows change with those that they refer to, all in one."""
    if children := sorted({name for row in rows_of(connection, _CASCADES) if (name := Name(*row)) in captured}):
        shown = ", ".join(map(str, children[:_SHOWN])) + (f" and {len(children) - _SHOWN} more" if len(children) > _SHOWN else "")
        reason = "have foreign keys with ON DELETE or ON UPDATE CASCADE or SET NULL: what these change is not in the server's log"
        fix = (
            "Change such rows by statements or triggers of yours, or send what differs now and then: rocketconnect verify --repair."
        )
        yield Problem("table.include", shown, reason, fix, is_warning=True)


def _unused(config: Config, connection: Connection) -> Iterator[tuple[str, str, bool]]:
    """Each pattern of the filters, and whether there is a table that it takes."""
    for pattern in config["database.include"]:
        yield "database.include", pattern, bool(names(connection, Filter((pattern,))))
    for key in ("table.include", "table.exclude"):
        for pattern in config[key]:
            yield key, pattern, bool(names(connection, Filter(include=(pattern,))))


def _not_readable(connection: Connection, tables: Iterable[str], grant: str) -> Iterator[Problem]:
    import pymysql

    refused = []
    for table in tables:
        with connection.cursor() as cursor:
            try:
                cursor.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 - quoted
            except pymysql.MySQLError:
                refused.append(table)
    if refused:
        shown = ", ".join(refused[:_SHOWN]) + (f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else "")
        yield Problem("username", "", f"may not read {shown}", grant)
