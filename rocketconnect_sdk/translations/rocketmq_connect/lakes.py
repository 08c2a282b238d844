"""Tables of lakes and of Hive."""

import json

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE
from rocketconnect_sdk.translations.tables import Named, Nothing, Rule, Table, Unable


def _milliseconds(text: str) -> str:
    return f"{int(text)}ms"


def _path(text: str) -> str:
    return text.removeprefix("file://") if text.startswith("file:///") else text


def _refresh(draft: Draft) -> None:
    if text := draft.take("refresh-interval", "refresh.interval"):
        draft.set("flush.interval", _milliseconds(text) if text.isdecimal() else text, "refresh.interval")


def _hive(draft: Draft) -> None:
    fix = "Give `metastore`, as thrift://HOST:9083, instead."
    for key in ("host", "port"):
        if key in draft:
            draft.refuse(key, "is HiveServer2, and tables are read from their files here", fix)
    for key in ("username", "password"):
        draft.drop(key, "a metastore asks for no user")
    database, text = draft.take("database", default="default"), draft.take("tables")
    if not text:
        return
    try:
        (table,) = json.loads(text)
    except (ValueError, TypeError):
        draft.refuse("tables", "names no table, or several", 'Write {"TABLE": {}}, and a connector for each table.')
        return
    draft.set("table", f"{database}.{table}", "tables")


_SCHEMA = Nothing("messages have their schema by value.converter, or `columns` says it")
_SPARK = Nothing("Spark decides how many run at once")
_COMMON: dict[str, Rule] = {
    "tablePath": Named("path", _path),
    "tableName": Nothing("the folder of the table is its name"),
    "schemaPath": _SCHEMA,
    "whiteDataBase": Nothing("the topics say what is written"),
    "topicQueues": Nothing("the topics say what is written"),
}

TABLES = (
    Table(
        "hudi_sink",
        (f"{PACKAGE}hudi.connector.HudiSinkConnector",),
        {
            **_COMMON,
            "insertShuffleParallelism": _SPARK,
            "upsertShuffleParallelism": _SPARK,
            "deleteParallelism": _SPARK,
            "indexType": Nothing("rows are found by their keys"),
            "tableType": Unable("tables are made as COPY_ON_WRITE", "Leave it out.", ("copy_on_write",)),
        },
        _refresh,
    ),
    Table(
        "delta_sink",
        (f"{PACKAGE}deltalake.connector.DeltalakeSinkConnector",),
        {
            **_COMMON,
            "engineType": Unable("the table is on a file system", "Give its folder as `path`.", ("local",)),
            "engineEndpoint": Unable("the table is on a file system", "Give its folder as `path`."),
            "additionalPartitionColumns": Named("partition.by"),
            "compressType": Nothing("files are compressed by Spark's own default"),
            "maxFileSize": Nothing("a batch is a file; compact.interval makes larger ones"),
        },
        _refresh,
    ),
    Table(
        "hive_source",
        (f"{PACKAGE}hive.connector.HiveSourceConnector",),
        {},
        _hive,
        told=("New rows are known by their files, and by no field that grows.",),
    ),
)
