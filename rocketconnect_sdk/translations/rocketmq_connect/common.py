"""What all connectors of RocketMQ Connect have, with the names of its first versions; and those that have no counterpart."""

from collections.abc import Mapping

from rocketconnect_sdk.translations.tables import Named, Nothing, Rule, Unable

PACKAGE = "org.apache.rocketmq.connect."

TO_LOWER = str.lower

_FIRST = Nothing("it is an option of RocketMQ Connect's first versions")
_CLUSTER = Nothing("the cluster is that of the executors")
_DIRECT = Unable(
    "moves records without a topic", "Use the connector direct, whose options are those of the source and the sink behind a prefix."
)

_BOTH: Mapping[str, Rule] = {
    "max-tasks": Named("max.tasks"),
    "max-task": Named("max.tasks"),
    "max.task": Named("max.tasks"),
    "tasks.num": Named("max.tasks"),
    "task-parallelism": Named("max.tasks"),
    "key-converter": Named("key.converter"),
    "value-converter": Named("value.converter"),
    "errors.tolerance": Named("errors.tolerance", TO_LOWER),
    "source-record-converter": Nothing("value.converter says how values are written"),
    "sink-record-converter": Nothing("value.converter says how values are read"),
    "task-class": _FIRST,
    "task.class": _FIRST,
    "task-divide-strategy": _FIRST,
    "refresh-interval": _FIRST,
    "oms-driver-url": _CLUSTER,
    "source-rocketmq": _CLUSTER,
    "source-cluster": _CLUSTER,
    "src-cluster": _CLUSTER,
    "namesrvAddr": _CLUSTER,
    "connector.direct.enable": Unable(_DIRECT.reason, _DIRECT.fix, ("false",)),
    "source.task.class": _DIRECT,
    "sink.task.class": _DIRECT,
}

SOURCES: Mapping[str, Rule] = {**_BOTH, "connect-topicname": Named("topic"), "connect.topicname": Named("topic")}

SINKS: Mapping[str, Rule] = {
    **_BOTH,
    "topicNames": Named("topics"),
    "connect.topicnames": Named("topics"),
    "connect-topicnames": Named("topics"),
    # Examples of sinks have this one, alone or beside the other with the same topic.
    "connect-topicname": Named("topics"),
    "connect.topicname": Named("topics"),
    "ordering.msg.enable": Nothing("order is always kept"),
}

_KAFKA = "Run Debezium's own connector as a plugin of Kafka Connect: see kafka-connect.md."
_HTTP = "Use http_sink with the URL and the headers that the service wants."

ABSENT: Mapping[str, str] = {
    f"{PACKAGE}debezium.oracle.DebeziumOracleConnector": _KAFKA,
    f"{PACKAGE}debezium.sqlserver.DebeziumSqlServerConnector": _KAFKA,
    f"{PACKAGE}cassandra.connector.CassandraSourceConnector": "Run a plugin of Kafka Connect for Cassandra: see kafka-connect.md.",
    f"{PACKAGE}cassandra.connector.CassandraSinkConnector": "Run a plugin of Kafka Connect for Cassandra: see kafka-connect.md.",
    f"{PACKAGE}hbase.sink.HBaseSinkConnector": "Run a plugin of Kafka Connect for HBase: see kafka-connect.md.",
    f"{PACKAGE}iotdb.connector.IotdbSourceConnector": "Write a connector: see write-a-connector.md.",
    f"{PACKAGE}mns.source.MNSSourceConnector": "Write a connector: see write-a-connector.md.",
    f"{PACKAGE}dingtalk.sink.DingTalkSinkConnector": _HTTP,
    f"{PACKAGE}eventbridge.sink.EventBridgeSinkConnector": "Use eventbridge_sink for the rules, and http_sink for the service.",
    f"{PACKAGE}fc.sink.FcSinkConnector": _HTTP,
    f"{PACKAGE}oss.sink.OssSinkConnector": "Use object_store_sink, by the endpoint of OSS that speaks S3.",
    f"{PACKAGE}rocketmq.RocketMQSourceConnector": "Use rocketmq_source.",
    f"{PACKAGE}rocketmq.RocketMQSinkConnector": "Use rocketmq_sink.",
    "org.apache.rocketmq.replicator.ReplicatorHeartbeatConnector": "Leave it out: status and metrics tell whether copies are made.",
}
