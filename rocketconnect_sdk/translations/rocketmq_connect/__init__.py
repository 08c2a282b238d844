"""What RocketMQ Connect's connectors are here.

Facts are those of apache/rocketmq-connect, commit 85da68c: classes, options, defaults, published examples.
Connectors whose classes and options ours take as they are have no table: the sample's files, and RocketMQ's replicator.
"""

from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.translations.rocketmq_connect import (
    brokers,
    debezium,
    documents,
    doris,
    files,
    http,
    jdbc,
    kafka,
    lakes,
    mongodb,
    redis,
)
from rocketconnect_sdk.translations.rocketmq_connect.common import ABSENT, SINKS, SOURCES
from rocketconnect_sdk.translations.tables import System

SYSTEM = System(
    "RocketMQ Connect",
    tuple(
        table
        for room in (jdbc, debezium, documents, redis, mongodb, doris, lakes, kafka, brokers, http, files)
        for table in room.TABLES
    ),
    ABSENT,
    SOURCES,
    SINKS,
    (CLASS.key, "connector-class"),
)
