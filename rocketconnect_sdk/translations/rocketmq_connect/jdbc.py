"""Tables of databases: JdbcSourceConnector and JdbcSinkConnector."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from rocketconnect_sdk.configuration.option_texts import items
from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE, SINKS, TO_LOWER
from rocketconnect_sdk.translations.tables import Named, Nothing, Rule, Table, Unable

_URL = "connection.url"
SSL_MODES = {
    "disable": "disable",
    "disabled": "disable",
    "allow": "prefer",
    "prefer": "prefer",
    "preferred": "prefer",
    "require": "require",
    "required": "require",
    "verify-ca": "verify-ca",
    "verify_ca": "verify-ca",
    "verify-full": "verify-full",
    "verify_identity": "verify-full",
}
_SSL_FLAGS = ("usessl", "requiressl", "ssl", "verifyservercertificate")


def _connection(draft: Draft) -> None:
    """The URL without its parameters, which have options here, or mean nothing."""
    url = draft.peek(_URL)
    parts = urlsplit(url.removeprefix("jdbc:"))
    login, at, host = parts.netloc.rpartition("@")
    if not url or (not parts.query and not at and (parts.path.strip("/") or parts.scheme == "sqlite")):
        return
    draft.take(_URL)
    if parts.fragment:
        # It would cut a password in two.
        draft.refuse(_URL, "has a # in it", "Give the user and the password as options of their own.")
        return
    for key, text in zip(("user", "password"), login.split(":", 1) if at else (), strict=False):
        draft.set(key, unquote(text), _URL)
    database = parts.path.strip("/") or _database(draft)
    given = {key.lower(): text for key, text in parse_qsl(parts.query, keep_blank_values=True)}
    for key in ("user", "password"):
        if text := given.pop(key, ""):
            draft.set(key, text, _URL)
    mode = SSL_MODES.get(given.pop("sslmode", "").lower(), "")
    flags = {key: given.pop(key).lower() == "true" for key in _SSL_FLAGS if key in given}
    if not mode and flags:
        strict = flags.get("verifyservercertificate", False)
        wanted = any(flags.values())
        mode = "verify-ca" if strict else "require" if wanted else "disable"
    if mode:
        draft.set("ssl.mode", mode, _URL)
    if path := given.pop("sslrootcert", ""):
        draft.set("ssl.ca.location", path, _URL)
    if schema := given.pop("currentschema", ""):
        fix = "Name it before the table, as SCHEMA.TABLE, in table.whitelist of a source or table.name.format of a sink."
        draft.refuse(_URL, f"has currentSchema={schema}, and connections here have the schema that the server gives them", fix)
    if given:
        draft.warn(_URL, f"has parameters that mean nothing here: {', '.join(sorted(given))}", "Nothing is to be done.")
    draft.set(_URL, urlunsplit((parts.scheme, host, f"/{database}" if database else "", "", "")), _URL)


def _database(draft: Draft) -> str:
    """The one database that all tables of the list are in, for a URL that names none."""
    found = {name.partition(".")[0] for name in items(draft.peek("table.whitelist")) if "." in name}
    if len(found) != 1:
        draft.refuse(_URL, "names no database", "Write jdbc:mysql://HOST:3306/DATABASE, and one connector for each database.")
        return ""
    return found.pop()


def _patterns(text: str) -> str:
    """Names, as regular expressions that match them alone."""
    return ",".join(re.sub(r"([^\w-])", r"\\\1", name) for name in items(text))


def _milliseconds(text: str) -> str:
    return f"{int(text)}ms"


def _source(draft: Draft) -> None:
    _connection(draft)
    mode = draft.peek("mode").lower()
    interval = draft.read("poll.interval.ms", _milliseconds) if draft.peek("poll.interval.ms") else "5s"
    draft.default("poll.interval", interval)
    if mode == "bulk":
        draft.default("bulk.interval", draft.peek("poll.interval") or interval)
    initial = draft.take("timestamp.initial")
    if not initial or "timestamp" not in mode:
        pass
    elif _is_time(initial):
        draft.set("timestamp.initial", initial)
    elif not initial.isdecimal():
        reason = "is the time at which the connector begins, which is not known here"
        draft.refuse("timestamp.initial", reason, "Write that time, such as 2026-01-31T00:00:00Z.")
    else:
        draft.set("timestamp.initial", datetime.fromtimestamp(int(initial) / 1000, UTC).isoformat(), "timestamp.initial")
    if draft.peek("connect.topicname") or draft.peek("connect-topicname"):
        draft.drop("topic.prefix", "records go to the one topic, as there")


def _sink(draft: Draft) -> None:
    _connection(draft)
    named = draft.take("table.name.format")
    if draft.take("table.name.from.header").lower() == "true":
        draft.set("table.name.format", "${header.__source_table}", "table.name.from.header")
    else:
        # Values without a schema, which are refused there, have no other name to go by than that of their topic.
        bare = draft.peek("columns") or draft.peek("value.converter.schemas.enable").lower() == "false"
        draft.set("table.name.format", named or ("${topic}" if bare else "${schema.name}"), "table.name.format")
    form, allowed = draft.made["table.name.format"], draft.take("tables.whitelist", "table.whitelist")
    if "${schema.name}" in form or "${header" in form:
        draft.set("table.name.allowed", _patterns(allowed) or ".*", "tables.whitelist")
    elif allowed:
        _only_tables(draft, form, items(allowed))


def _only_tables(draft: Draft, form: str, allowed: Sequence[str]) -> None:
    """Records of other tables are left out there; here no topic may be of another one."""
    keys = ("topics", *(key for key, rule in SINKS.items() if isinstance(rule, Named) and rule.ours == "topics"))
    topics = [topic for key in keys for topic in items(draft.peek(key))]
    written = {form.replace("${topic}", topic) for topic in topics} if "${topic}" in form else {form}
    if others := sorted(written - {*allowed, *(name.rpartition(".")[2] for name in allowed)}):
        fix = "Leave its topic out, and then this option."
        draft.refuse("tables.whitelist", f"leaves records of {', '.join(others)} out there, and here they are written", fix)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    # In their form digits alone are milliseconds, and not a date without hyphens.
    return not text.lstrip("-").isdecimal()


def _evolution(text: str) -> str:
    return "evolve" if text.lower() == "true" else "fail"


_WAITS = Nothing("a database that is away is waited for, and errors.retry.timeout says how long a failed write is tried again")
_UTC = Unable("times are written as they are, without moving them", "Set it to UTC, or convert them with a transform.", ("utc",))
_BATCHES = Nothing("as many rows are written at once as there are")
_TYPES = Nothing("tables are chosen by their names")
_SCHEMA = Unable("tables are chosen by their whole names", "Name them in table.whitelist, as SCHEMA.TABLE.")
_NUMBERS = "changes the types of numbers"
_COMMON: dict[str, Rule] = {
    "connection.attempts": _WAITS,
    "connection.backoff.ms": _WAITS,
    "dialect.name": Nothing("the URL says which database it is"),
    "quote.sql.identifiers": Unable(
        "names are always quoted", "Give names as the database has them, and leave it out.", ("always",)
    ),
    "table.types": _TYPES,
}

TABLES = (
    Table(
        "jdbc_source",
        (
            f"{PACKAGE}jdbc.source.JdbcSourceConnector",
            f"{PACKAGE}jdbc.connector.JdbcSourceConnector",
            f"{PACKAGE}jdbc.mysql.source.JdbcSourceConnector",
            f"{PACKAGE}jdbc.mysql.source.MysqlJdbcSourceConnector",
        ),
        {
            **_COMMON,
            "mode": Named("mode", TO_LOWER),
            "table.whitelist": Named("table.whitelist", _patterns),
            "table.blacklist": Named("table.blacklist", _patterns),
            "timestamp.delay.interval.ms": Named("timestamp.delay.interval", _milliseconds),
            "numeric.mapping": Unable(_NUMBERS, "Leave it out, and use the transform cast.", ("none",)),
            "numeric.precision.mapping": Unable(_NUMBERS, "Leave it out, and use the transform cast.", ("false",)),
            "query.suffix": Unable("is appended to each statement", "Give a `query` with it."),
            "offset.suffix": Nothing("positions are known by the connector"),
            "schema.pattern": _SCHEMA,
            "catalog.pattern": _SCHEMA,
        },
        _source,
    ),
    Table(
        "jdbc_sink",
        (
            f"{PACKAGE}jdbc.sink.JdbcSinkConnector",
            f"{PACKAGE}jdbc.connector.JdbcSinkConnector",
            f"{PACKAGE}jdbc.mysql.sink.JdbcSinkConnector",
            f"{PACKAGE}jdbc.mysql.sink.MysqlJdbcSinkConnector",
        ),
        {
            **_COMMON,
            "insert.mode": Named("insert.mode", TO_LOWER),
            "pk.mode": Named("pk.mode", TO_LOWER),
            "auto.evolve": Named("schema.evolution", _evolution),
            "batch.size": _BATCHES,
            "max.retries": _WAITS,
            "retry.backoff.ms": _WAITS,
            "db.timezone": _UTC,
            "fields.whitelist": Unable("only these fields are written there", "Use the transform replace_field with include."),
        },
        _sink,
        {"pk.mode": "none"},
    ),
)
