"""Changes of rows: Debezium's connectors, as RocketMQ Connect runs them."""

from urllib.parse import unquote, urlsplit

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE, TO_LOWER
from rocketconnect_sdk.translations.rocketmq_connect.jdbc import SSL_MODES
from rocketconnect_sdk.translations.tables import Named, Nothing, Rule, Table, Unable

_KAFKA = "kafka."
_TRANSFORMS = "transforms"


def _transforms(draft: Draft) -> None:
    """Transforms of Kafka Connect run first there."""
    names = [draft.take(_KAFKA + _TRANSFORMS), draft.take(_TRANSFORMS)]
    if any(names):
        draft.set(_TRANSFORMS, ",".join(filter(None, names)), _KAFKA + _TRANSFORMS)
    for key in list(draft.left):
        if key.startswith(f"{_KAFKA}{_TRANSFORMS}."):
            draft.set(key.removeprefix(_KAFKA), draft.take(key), key)


def _one_of(modes: dict[str, str]) -> Named:
    def read(text: str) -> str:
        found = modes.get(text.lower())
        if found is None:
            msg = f"must be one of {', '.join(modes)}"
            raise ValueError(msg)
        return found

    return Named("snapshot.mode", read)


def _ssl_mode(text: str) -> str:
    found = SSL_MODES.get(text.lower())
    if found is None:
        msg = f"must be one of {', '.join(SSL_MODES)}"
        raise ValueError(msg)
    return found


_QUEUES = Nothing("batch.records and buffer.bytes say how much is held")
_HISTORY = Nothing("the history of tables is kept in no topic: definitions come from the server")
_TIMEOUTS = Nothing("a server that is away is waited for")
_MASKS = Unable("masks columns by a pattern in the option's name", "Use column.mask, column.mask.hash or column.truncate.")
_SIGNALS = Nothing("signals are orders: rocketconnect connector signal")

_COMMON: dict[str, Rule] = {
    "database.hostname": Named("hostname"),
    "database.port": Named("port"),
    "database.user": Named("username"),
    "database.password": Named("password"),
    "database.server.name": Named("server.name"),
    "topic.prefix": Named("server.name"),
    "table.include.list": Named("table.include"),
    "table.whitelist": Named("table.include"),
    "table.exclude.list": Named("table.exclude"),
    "table.blacklist": Named("table.exclude"),
    "column.exclude.list": Named("column.exclude"),
    "column.blacklist": Named("column.exclude"),
    "column.include.list": Unable("only these columns are read there", "Name the others in column.exclude."),
    "column.whitelist": Unable("only these columns are read there", "Name the others in column.exclude."),
    "database.sslmode": Named("ssl.mode", _ssl_mode),
    "database.ssl.mode": Named("ssl.mode", _ssl_mode),
    "database.sslrootcert": Named("ssl.ca.location"),
    "tombstones.on.delete": Named("tombstones", TO_LOWER),
    "max.batch.size": _QUEUES,
    "max.queue.size": _QUEUES,
    "max.queue.size.in.bytes": _QUEUES,
    "poll.interval.ms": Nothing("changes are sent as they come"),
    "snapshot.fetch.size": _QUEUES,
    "snapshot.locking.mode": Nothing("a snapshot locks no table"),
    "snapshot.delay.ms": Nothing("a snapshot begins when the connector does"),
    "heartbeat.interval.ms": Nothing("positions move without messages"),
    "connect.timeout.ms": _TIMEOUTS,
    "connect.keep.alive": _TIMEOUTS,
    "retriable.restart.connector.wait.ms": _TIMEOUTS,
    "database.history": _HISTORY,
    "database.history.": _HISTORY,
    "schema.history.internal": _HISTORY,
    "schema.history.internal.": _HISTORY,
    "database.connectionTimeZone": Nothing("times are those of the log"),
    "database.serverTimezone": Nothing("times are those of the log"),
    "database.allowPublicKeyRetrieval": Nothing("the connection is made without it"),
    "include.schema.changes": Unable("sends messages about definitions of tables", "Set it to false.", ("false",)),
    "provide.transaction.metadata": Unable("sends messages about transactions", "Set it to false.", ("false",)),
    "decimal.handling.mode": Unable("decimals are exact", "Leave it out, and see decimal.format of value.converter.", ("precise",)),
    "time.precision.mode": Unable(
        "times have the precision of their columns", "Leave it out.", ("adaptive", "adaptive_time_microseconds")
    ),
    "binary.handling.mode": Unable("bytes are bytes", "Leave it out; value.converter says how they are written.", ("bytes",)),
    "skipped.operations": Unable("leaves changes out", "Use the transform filter with a predicate on op.", ("none", "t")),
    "event.processing.failure.handling.mode": Nothing("errors.tolerance says what a bad record does"),
    "column.mask.": _MASKS,
    "column.truncate.": _MASKS,
    "column.propagate.source.type": Nothing("schemas have the lengths of columns"),
    "datatype.propagate.source.type": Nothing("schemas have the lengths of columns"),
    "signal.": _SIGNALS,
    "read.only": _SIGNALS,
}

_DEFAULTS = {"table.topic": "${topic}", "tombstones": "true"}
_MYSQL_SNAPSHOTS = {
    "initial": "initial",
    "when_needed": "initial",
    "initial_only": "only",
    "schema_only": "never",
    "no_data": "never",
    "never": "earliest",
}
_POSTGRES_SNAPSHOTS = {"initial": "initial", "exported": "initial", "initial_only": "only", "never": "never", "no_data": "never"}
_MONGO_SNAPSHOTS = {"initial": "initial", "initial_only": "only", "never": "never", "no_data": "never"}


def _mongo(draft: Draft) -> None:
    """The URL of the servers, which older versions give as RS/HOST:PORT."""
    _transforms(draft)
    hosts = draft.take("mongodb.hosts")
    url = draft.take("mongodb.connection.string")
    if not url and hosts:
        name, slash, servers = hosts.rpartition("/")
        url = f"mongodb://{servers}/{f'?replicaSet={name}' if slash else ''}"
    if draft.take("mongodb.ssl.enabled").lower() == "true":
        url += ("&" if "?" in url else "?") + "tls=true"
    login, at, _ = urlsplit(url).netloc.rpartition("@")
    if at:
        url = url.replace(f"{login}@", "", 1)
        for key, text in zip(("user", "password"), login.split(":", 1), strict=False):
            draft.set(key, unquote(text), "mongodb.connection.string")
    if url:
        draft.set("url", url, "mongodb.connection.string")


TABLES = (
    Table(
        "mysql_cdc_source",
        ("DebeziumMysqlConnector", f"{PACKAGE}debezium.mysql.DebeziumMysqlConnector"),
        {
            **_COMMON,
            "snapshot.mode": _one_of(_MYSQL_SNAPSHOTS),
            "database.server.id": Named("server.id"),
            "database.include.list": Named("database.include"),
            "database.whitelist": Named("database.include"),
            "database.exclude.list": Unable("these databases are left out", "Name the others in database.include."),
            "database.blacklist": Unable("these databases are left out", "Name the others in database.include."),
            "gtid.": Unable("chooses servers of the log", "Leave it out."),
            "database.ssl.": Unable("names a keystore of Java", "Use ssl.ca.location and ssl.certificate.location, with PEM."),
        },
        _transforms,
        _DEFAULTS,
    ),
    Table(
        "postgres_cdc_source",
        ("DebeziumPostgresConnector", f"{PACKAGE}debezium.postgres.DebeziumPostgresConnector"),
        {
            **_COMMON,
            "snapshot.mode": _one_of(_POSTGRES_SNAPSHOTS),
            "database.dbname": Named("database"),
            "plugin.name": Nothing("the plugin is pgoutput, which every server has"),
            "publication.autocreate.mode": Nothing("the publication is made of the tables that are captured"),
            "slot.drop.on.stop": Nothing("the slot goes when the connector is deleted"),
            "slot.max.retries": _TIMEOUTS,
            "slot.retry.delay.ms": _TIMEOUTS,
            "status.update.interval.ms": _TIMEOUTS,
            "schema.include.list": Unable("only these schemas are read there", "Name their tables in table.include: sales\\..*"),
            "schema.whitelist": Unable("only these schemas are read there", "Name their tables in table.include: sales\\..*"),
            "schema.exclude.list": Unable("these schemas are left out", "Name their tables in table.exclude: sales\\..*"),
            "hstore.handling.mode": Unable("hstore is a map", "Leave it out.", ("map",)),
            "interval.handling.mode": Unable("intervals are months, days and microseconds", "Leave it out."),
        },
        _transforms,
        _DEFAULTS,
        ("The slot and the publication are new ones: remove those of Debezium, which keep the server's log.",),
    ),
    Table(
        "mongodb_source",
        ("DebeziumMongoDBConnector", f"{PACKAGE}debezium.mongodb.DebeziumMongoDBConnector"),
        {
            **{key: rule for key, rule in _COMMON.items() if not key.startswith(("table.", "column.", "database."))},
            "snapshot.mode": _one_of(_MONGO_SNAPSHOTS),
            "mongodb.name": Named("server.name"),
            "mongodb.user": Named("user"),
            "mongodb.password": Named("password"),
            "mongodb.authsource": Named("auth.source"),
            "collection.include.list": Named("collection.include"),
            "collection.whitelist": Named("collection.include"),
            "collection.exclude.list": Named("collection.exclude"),
            "database.include.list": Named("database.include"),
            "capture.mode": Unable("updates have the document and what changed", "Leave it out.", ("change_streams_update_full",)),
        },
        _mongo,
        {"collection.topic": "${topic}", "tombstones": "true"},
    ),
)
