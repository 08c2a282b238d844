"""Apache Doris, by the names of its connector's first version and of its last one."""

from urllib.parse import urlsplit

from rocketconnect_sdk.configuration.option_texts import items
from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE, TO_LOWER
from rocketconnect_sdk.translations.tables import Named, Nothing, Table, Unable

_MAP = "doris.topic2table.map"


def _cluster(draft: Draft) -> None:
    draft.address("http", "host", "port")
    urls, port = items(draft.take("doris.urls")), draft.take("doris.http.port")
    if urls:
        # The first frontend; it names the others, and the backends.
        given = urls[0] if "//" in urls[0] else f"http://{urls[0]}"
        draft.set("url", given if urlsplit(given).port or not port else f"{given.rstrip('/')}:{port}", "doris.urls")
    if draft.take("converter.mode").lower() == "debezium_ingestion":
        draft.set("insert.mode", "upsert", "converter.mode")
    if pairs := [each.partition(":") for each in items(draft.take(_MAP))]:
        tables = {table.strip() for _, _, table in pairs}
        if all(topic.strip() == table.strip() for topic, _, table in pairs):
            draft.set("table", "${topic}", _MAP)
        elif len(tables) == 1:
            draft.set("table", tables.pop(), _MAP)
        else:
            draft.refuse(_MAP, "has tables with names that are not those of the topics", "Make a connector for each table.")


def _evolution(text: str) -> str:
    return "evolve" if text.lower() == "basic" else "fail"


def _seconds(text: str) -> str:
    return f"{int(text)}s"


_PROXY = Unable("connections are direct ones", "Leave it out, and let the executor reach the cluster.")
_ALWAYS = Nothing("loads are exactly once in any case")
_TIMEOUT = Nothing("request.timeout says how long an answer may take")

TABLES = (
    Table(
        "doris_sink",
        (f"{PACKAGE}doris.DorisSinkConnector", f"{PACKAGE}doris.connector.DorisSinkConnector"),
        {
            "passwd": Named("password"),
            "insert.mode": Named("insert.mode", TO_LOWER),
            "auto.create": Named("table.create", TO_LOWER),
            "table.whitelist": Nothing("the table is the one that `table` names"),
            "table.types": Nothing("the table is the one that `table` names"),
            "db.timezone": Unable("times are written as they are, without moving them", "Set it to UTC.", ("utc",)),
            "database.time_zone": Unable("times are written as they are, without moving them", "Set it to UTC.", ("utc",)),
            "doris.user": Named("user"),
            "doris.password": Named("password"),
            "doris.database": Named("database"),
            "doris.query.port": Named("query.port"),
            "buffer.count.records": Named("flush.rows"),
            "buffer.size.bytes": Named("flush.bytes"),
            "buffer.flush.time": Named("flush.interval", _seconds),
            "enable.delete": Named("delete.enabled", TO_LOWER),
            "enable.2pc": _ALWAYS,
            "delivery.guarantee": _ALWAYS,
            "label.prefix": _ALWAYS,
            "load.model": Unable("rows are loaded by Stream Load", "Leave it out.", ("stream_load",)),
            "debezium.schema.evolution": Named("schema.evolution", _evolution),
            "sink.properties.": Unable("is a property of a load", "Leave it out, or see the options of doris_sink."),
            "auto.redirect": Nothing("redirects to backends are followed"),
            "doris.custom.cluster": Nothing("each cluster is asked in the same way"),
            "jmx": Nothing("metrics are Prometheus's"),
            "request.read.timeout.ms": _TIMEOUT,
            "request.connect.timeout.ms": _TIMEOUT,
            "socks5Endpoint": _PROXY,
            "socks5UserName": _PROXY,
            "socks5Password": _PROXY,
        },
        _cluster,
    ),
)
