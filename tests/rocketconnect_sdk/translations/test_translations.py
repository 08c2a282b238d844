import random

import pytest

from rocketconnect_sdk.translations import translated
from rocketconnect_sdk.translations.rocketmq_connect import SYSTEM
from rocketconnect_sdk.translations.tables import Table, Translated

JDBC_SOURCE = "org.apache.rocketmq.connect.jdbc.source.JdbcSourceConnector"
JDBC_SINK = "org.apache.rocketmq.connect.jdbc.sink.JdbcSinkConnector"
POSTGRES = "org.apache.rocketmq.connect.debezium.postgres.DebeziumPostgresConnector"
ELASTICSEARCH = "org.apache.rocketmq.connect.elasticsearch.connector.ElasticsearchSourceConnector"
MONGO = "org.apache.connect.mongo.connector.MongoSourceConnector"
REDIS = "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector"


def sink(**options: str) -> Translated:
    return translated({"connector.class": JDBC_SINK, "connect.topicnames": "t", **options})


def source(**options: str) -> Translated:
    given = {"connection.url": "jdbc:mysql://db/shop", **{key.replace("_", "."): text for key, text in options.items()}}
    return translated({"connector.class": JDBC_SOURCE, "connect.topicname": "t", **given})


def test_what_is_ours_or_nobody_s_stays_as_it_is() -> None:
    for config in ({}, {"connector.class": "file_source", "max-task": "1"}, {"connector.class": "no.such.Class"}):
        assert translated(config) == Translated(config)


def test_java_before_a_class_means_the_plugin_whatever_has_its_place_here() -> None:
    absent = "org.apache.rocketmq.connect.hbase.sink.HBaseSinkConnector"
    for name in (JDBC_SINK, absent):
        config = {"connector.class": f"java:{name}", "connect.topicnames": "t"}
        assert translated(config) == Translated(config)
    (problem,) = translated({"connector.class": absent}).problems
    assert problem.fix.endswith(f"Or install its plugin in Java, and write java:{absent}: see migrate.md.")


def test_what_no_table_knows_passes_and_what_is_ours_already_stays() -> None:
    found = sink(**{"flush.rows": "7", "nonsense": "x", "table.name.format": "orders"})
    assert (found.config["flush.rows"], found.config["nonsense"], found.config["table.name.format"]) == ("7", "x", "orders")
    assert "table.name.allowed" not in found.config


@pytest.mark.parametrize("bare", [{"value.converter.schemas.enable": "false"}, {"columns": "id:int64"}])
def test_values_without_a_schema_go_to_the_table_of_their_topic(bare: dict[str, str]) -> None:
    assert (sink(**bare).config["table.name.format"], sink().config["table.name.format"]) == ("${topic}", "${schema.name}")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("useSSL=false&characterEncoding=utf8", {"ssl.mode": "disable"}),
        ("useSSL=true&verifyServerCertificate=true", {"ssl.mode": "verify-ca"}),
        ("sslMode=VERIFY_IDENTITY", {"ssl.mode": "verify-full"}),
        ("sslmode=require&sslrootcert=/ca.pem", {"ssl.mode": "require", "ssl.ca.location": "/ca.pem"}),
        ("user=u&password=p", {"user": "u", "password": "p"}),
    ],
)
def test_parameters_of_a_jdbc_url_become_options(parameters: str, expected: dict[str, str]) -> None:
    found = sink(**{"connection.url": f"jdbc:mysql://db:3306/shop?{parameters}"})
    assert found.config["connection.url"] == "mysql://db:3306/shop"
    assert {key: found.config.get(key) for key in expected} == expected
    told = " ".join(problem.reason for problem in found.warnings)
    assert ("characterencoding" in told) == ("characterEncoding" in parameters)
    assert "password=p" not in told


def test_a_url_without_a_database_takes_it_from_the_tables_if_they_are_in_one() -> None:
    found = source(connection_url="jdbc:mysql://db:3306", table_whitelist="shop.orders,shop.lines")
    assert (found.config["connection.url"], found.problems) == ("mysql://db:3306/shop", ())
    for tables in ("shop.orders,other.lines", "orders", ""):
        (problem,) = source(connection_url="jdbc:mysql://db:3306", table_whitelist=tables).problems
        assert (problem.key, problem.reason) == ("connection.url", "names no database")


def test_names_of_tables_stay_names() -> None:
    assert source(table_whitelist="shop.a$b,c-d_e").config["table.whitelist"] == r"shop\.a\$b,c-d_e"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "bulk", "poll_interval_ms": "3000"}, {"poll.interval": "3000ms", "bulk.interval": "3000ms"}),
        ({"mode": "incrementing", "timestamp_initial": "-1"}, {"poll.interval": "5s", "timestamp.initial": None}),
        ({"mode": "timestamp", "timestamp_initial": "1767225600000"}, {"timestamp.initial": "2026-01-01T00:00:00+00:00"}),
    ],
)
def test_times_have_our_form(options: dict[str, str], expected: dict[str, str | None]) -> None:
    found = source(**options)
    assert {key: found.config.get(key) for key in expected} == expected
    assert not found.problems


def test_what_would_change_what_is_written_is_a_problem_and_the_rest_is_told() -> None:
    found = sink(**{"fields.whitelist": "a", "db.timezone": "Asia/Shanghai", "max.retries": "3", "connection.attempts": ""})
    assert {problem.key for problem in found.problems} == {"fields.whitelist", "db.timezone"}
    assert [problem.key for problem in found.warnings] == ["connector.class", "max.retries"]
    assert all(problem.is_warning for problem in found.warnings)


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"table.name.format": "${topic}", "connect.topicnames": "a,b", "tables.whitelist": "shop.a"}, ["tables.whitelist"]),
        ({"table.name.format": "${topic}", "connect.topicnames": "a,b", "tables.whitelist": "shop.a,b"}, []),
        ({"columns": "id:int64", "connect.topicnames": "a", "table.whitelist": "b"}, ["tables.whitelist"]),
        ({"table.name.format": "a", "tables.whitelist": "b"}, ["tables.whitelist"]),
        ({"table.name.format": "a", "tables.whitelist": "a"}, []),
    ],
)
def test_topics_of_tables_that_are_left_out_there_are_not_written_here(options: dict[str, str], keys: list[str]) -> None:
    assert [problem.key for problem in sink(**options).problems] == keys


@pytest.mark.parametrize("text", ["2026-01-31T00:00:00Z", "2026-01-31"])
def test_our_own_options_are_taken_where_a_problem_names_them(text: str) -> None:
    found = source(mode="timestamp", timestamp_initial=text, poll_interval="3s")
    assert (found.config["timestamp.initial"], found.config["poll.interval"], found.problems) == (text, "3s", ())


@pytest.mark.parametrize(
    ("url", "expected", "told"),
    [
        ("tcp://a:61616", "amqp://a:5672", False),
        ("failover:tcp://a:61616", "amqp://a:5672", False),
        ("failover:(ssl://a:61617,ssl://b:61617)?randomize=false", "amqps://a:5671", True),
        ("tcp://[::1]:61616", "amqp://[::1]:5672", False),
    ],
)
def test_of_several_brokers_the_one_that_is_read_is_told(url: str, expected: str, told: bool) -> None:
    name = "org.apache.rocketmq.connect.activemq.connector.ActivemqSourceConnector"
    found = translated({"connector.class": name, "activemqUrl": url})
    assert (found.config["url"], "names several brokers" in repr(found.warnings)) == (expected, told)


@pytest.mark.parametrize("url", ["ws://h:8083", "wss://h:8084/mqtt"])
def test_mqtt_through_web_sockets_is_a_problem(url: str) -> None:
    found = translated({"connector.class": "org.apache.rocketmq.connect.mqtt.connector.MqttSinkConnector", "mqttBrokerUrl": url})
    assert [problem.key for problem in found.problems] == ["mqttBrokerUrl"]


def test_two_options_that_say_the_same_thing_otherwise_are_a_problem() -> None:
    both = {"connector.class": POSTGRES, "connect.topicname": "t", "table.whitelist": "a.b"}
    assert not translated({**both, "table.include.list": "a.b"}).problems
    (problem,) = translated({**both, "table.include.list": "a.c"}).problems
    assert (problem.key, problem.reason) == (
        "table.include",
        "is said twice, and otherwise, by table.include.list and table.whitelist",
    )


def test_transforms_of_kafka_run_before_the_others() -> None:
    given = {"kafka.transforms": "Unwrap", "kafka.transforms.Unwrap.type": "x", "transforms": "b", "transforms.b.class": "y"}
    found = translated({"connector.class": POSTGRES, **given}).config
    assert (found["transforms"], found["transforms.Unwrap.type"], found["transforms.b.class"]) == ("Unwrap,b", "x", "y")


def test_no_secret_is_shown() -> None:
    found = translated({"connector.class": REDIS, "redisAddr": "::1", "redisPort": "6379", "redisPassword": "hunter2"})
    assert (found.config["password"], found.config["url"]) == ("hunter2", "redis://[::1]:6379")
    assert "hunter2" not in repr(found.warnings)


_ADAPTER = "org.apache.rocketmq.connect.kafka.connector.KafkaRocketmqSinkConnector"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("org.apache.rocketmq.connect.http.HttpSinkConnector", {"url": "h", "headerParameters": '{"X-Id": "hunter2"}'}),
        ("org.apache.rocketmq.connect.http.HttpSinkConnector", {"url": "h", "fixedQueryParameters": '{"sig": "hunter2"}'}),
        ("org.apache.rocketmq.connect.mqtt.connector.MqttSinkConnector", {"mqttBrokerUrl": "tcp://u:hunter2@h:1883"}),
        (_ADAPTER, {"kafka.connector.configs": '{"connector.class": "x.Y", "sasl.jaas.config": "hunter2"}'}),
        (_ADAPTER, {"kafka.connector.configs": '{"connector.class": "x.Y", "url": "jdbc:x://h/d?password=hunter2"}'}),
        (JDBC_SINK, {"connection.url": "jdbc:mysql://u:hunter2@db/shop?a=1"}),
        (JDBC_SINK, {"connection.url": "jdbc:mysql://u:hunter2#x@db/shop?a=1"}),
        (JDBC_SINK, {"connection.url": "jdbc:mysql://u:hunter2[x@db/shop?a=1"}),
        ("DebeziumMongoDBConnector", {"mongodb.connection.string": "mongodb://u:hunter2@h/"}),
        ("DebeziumMongoDBConnector", {"mongodb.connection.string": "mongodb://u:hunter2\u2100@h/"}),
    ],
)
def test_no_part_of_a_secret_is_shown_wherever_it_stands(name: str, options: dict[str, str]) -> None:
    found = translated({"connector.class": name, **options})
    assert "hunter2" not in repr((found.warnings, found.problems))


@pytest.mark.parametrize(
    ("name", "key", "url", "expected"),
    [
        (JDBC_SINK, "connection.url", "jdbc:mysql://u:a%40b@db/shop", {"connection.url": "mysql://db/shop"}),
        ("DebeziumMongoDBConnector", "mongodb.connection.string", "mongodb://u:a%40b@h/", {"url": "mongodb://h/"}),
    ],
)
def test_a_user_and_a_password_in_a_url_become_options(name: str, key: str, url: str, expected: dict[str, str]) -> None:
    found = translated({"connector.class": name, key: url})
    expected = {**expected, "user": "u", "password": "a@b"}
    assert ({each: found.config.get(each) for each in expected}, found.problems) == (expected, ())


@pytest.mark.parametrize(
    ("name", "key"), [(_ADAPTER, "kafka.connector.configs"), (ELASTICSEARCH, "index"), (MONGO, "interestDbAndCollection")]
)
def test_json_that_is_too_deep_is_a_problem(name: str, key: str) -> None:
    assert translated({"connector.class": name, key: '{"a":' * 100_000}).problems


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"snapshot.mode": "always"}, "snapshot.mode"),
        ({"column.mask.with.5.chars": "a"}, "column.mask.with.5.chars"),
        ({"database.sslmode": "what"}, "database.sslmode"),
        ({"include.schema.changes": "true"}, "include.schema.changes"),
    ],
)
def test_what_debezium_alone_does_is_a_problem(options: dict[str, str], key: str) -> None:
    assert [problem.key for problem in translated({"connector.class": POSTGRES, **options}).problems] == [key]


ODD = (
    "",
    " ",
    "-1",
    "99999999999999999999999",
    "[",
    "http://[",
    "tcp://h:port",
    "{",
    "[1]",
    "null",
    '{"a": 1}',
    '{"a": {"b": [1]}}',
    "a:b,c",
    ";",
    "\\",
    "é",
)
MORE = (
    "connection.url",
    "timestamp.initial",
    "mode",
    "poll.interval.ms",
    "index",
    "elasticsearchHost",
    "elasticsearchPort",
    "syncMod",
    "offset",
    "mongoAddr",
    "interestDbAndCollection",
    "mongodb.hosts",
    "doris.urls",
    "doris.http.port",
    "doris.topic2table.map",
    "host",
    "port",
    "tables",
    "refresh-interval",
    "kafka.topics",
    "kafka.connector.configs",
    "activemqUrl",
    "mqttBrokerUrl",
    "destinationName",
    "destinationType",
    "url",
    "headerParameters",
    "queryParameters",
    "authType",
    "filePath",
    "fieldSchema",
    "fieldSeparator",
    "table.whitelist",
)


@pytest.mark.parametrize("table", SYSTEM.tables, ids=[table.classes[-1] for table in SYSTEM.tables])
def test_whatever_options_say_the_translation_says_what_is_wrong_and_never_fails(table: Table) -> None:
    dice = random.Random(7)
    keys = [*MORE, *(f"{key}x" if key.endswith(".") else key for key in (*table.options, *SYSTEM.sinks, *SYSTEM.sources))]
    for _ in range(20):
        given = {key: dice.choice(ODD) for key in dice.sample(keys, dice.randint(1, len(keys)))}
        found = translated({**given, "connector.class": table.classes[0]})
        assert found.problems or all(isinstance(text, str) for text in found.config.values())
