from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import (
    check_connector,
    parse_direct,
    parse_sink,
    sink_options,
    source_options,
)
from rocketconnect_sdk.converters import BUILT_IN, converter_class
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import Config, Kind
from rocketconnect_sdk.plugins.loader import PluginType, catalogue, find, plugins
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.targets.owned import Target

JAVA_JSON = "org.apache.rocketmq.connect.runtime.converter.record.json.JsonConverter"


def keys(config: dict[str, str]) -> set[str]:
    return {problem.key for problem in check_connector(config).problems}


def test_the_sample_configurations_of_rocketmq_connect_are_right_unchanged(tmp_path: Path) -> None:
    sample = "org.apache.rocketmq.connect.file"
    (tmp_path / "in").touch()
    source = {
        "connector.class": f"{sample}.FileSourceConnector",
        "filename": str(tmp_path / "in"),
        "connect.topicname": "t",
        "max.tasks": "1",
    }
    sink = {
        "connector.class": f"{sample}.FileSinkConnector",
        "filename": str(tmp_path / "out"),
        "connect.topicnames": "t;u",
        "max.tasks": "2",
    }
    checked = check_connector(source)
    assert (checked.plugin, checked.type, checked.problems) == ("file_source", PluginType.SOURCE, [])
    checked = check_connector(sink)
    assert (checked.plugin, checked.type, checked.problems) == ("file_sink", PluginType.SINK, [])
    connector = find(sink["connector.class"])
    assert isinstance(connector, Sink)
    assert parse_sink(connector, sink)["topics"] == ("t", "u")


def test_an_unknown_or_missing_class_is_named_with_those_there_are() -> None:
    for given in ({}, {"connector.class": ""}, {"connector.class": "no.such.Class"}):
        checked = check_connector(given)
        assert (checked.plugin, checked.type) == ("", None)
        assert [problem.key for problem in checked.problems] == ["connector.class"]
    assert "file_source" in check_connector({"connector.class": "x"}).problems[0].fix


def test_without_a_known_class_the_options_of_every_connector_are_checked_all_the_same() -> None:
    wrong = {"max.tasks": "x", "transforms": "a", "value.converter": "no", "anything": "else", "stall.timeout": "0s"}
    expected = {"connector.class", "max.tasks", "transforms.a.type", "value.converter", "stall.timeout"}
    for given in ({}, {"connector.class": " "}, {"connector.class": "no.such.Class"}):
        assert keys({**given, **wrong}) == expected


@pytest.mark.parametrize("name", ["json", JAVA_JSON, "FloatConverter"])
def test_a_converter_is_no_connector(name: str) -> None:
    checked = check_connector({"connector.class": name})
    (problem,) = checked.problems
    assert (checked.plugin, checked.type) == ("", None)
    assert (problem.key, problem.value, problem.reason) == ("connector.class", name, "is a converter, not a connector")
    assert "file_source" in problem.fix
    assert "value.converter" in problem.fix
    direct = {"connector.class": "direct", "source.connector.class": name, "sink.connector.class": name}
    found = {problem.key: problem for problem in check_connector(direct).problems}
    assert found["source.connector.class"].fix.startswith("Use one of amqp_source, clickhouse_source, dead_letter_source, ")
    wanted = (
        "Use one of amqp_sink, clickhouse_sink, doris_sink, elasticsearch_sink, eventbridge_sink, file_lines, hive_sink, "
        "http_sink, jms_sink, kafka_sink, mongodb_sink, mqtt_sink, object_store_sink, rabbitmq_sink, redis_sink, "
        "rocketmq_grpc_sink, rocketmq_sink, sftp_sink, solr_sink, stdout."
    )
    assert found["sink.connector.class"].fix == wanted


def test_all_problems_come_at_once() -> None:
    config = {
        "connector.class": "file_source",
        "max.tasks": "abc",
        "topic": "a/b",
        "buffer.bytes": "1",
        "fillname": "x",
        "transforms": "a",
        "value.converter": "json",
        "value.converter.schemas.enable": "perhaps",
        "key.converter": "no",
        "errors.tolerance": "some",
    }
    wrong = {"max.tasks", "topic", "buffer.bytes", "fillname", "filename", "errors.tolerance", "transforms.a.type"}
    assert keys(config) == wrong | {"value.converter.schemas.enable", "key.converter"}
    near = next(problem for problem in check_connector(config).problems if problem.key == "fillname")
    assert near.fix == "Did you mean filename?"


def test_options_that_end_in_an_unknown_key_are_suggested_first() -> None:
    config = {"connector.class": "file_source", "filename": "/a", "topic": "t", "schemas.enable": "false", "tolerance": "all"}
    fixes = {problem.key: problem.fix for problem in check_connector({**config, "value.converter": "json"}).problems}
    assert fixes["schemas.enable"] == "Did you mean value.converter.schemas.enable?"
    assert fixes["tolerance"] == "Did you mean errors.tolerance?"
    both = check_connector({**config, "value.converter": "json", "key.converter": "json"}).problems
    assert both[0].fix == "Did you mean value.converter.schemas.enable or key.converter.schemas.enable?"


def test_what_a_plugin_checks_is_told_beside_options_that_are_wrong(tmp_path: Path) -> None:
    source = {"connector.class": "file_source", "topic": "t", "filename": str(tmp_path)}
    assert keys({**source, "max.tasks": "x"}) == {"filename", "max.tasks"}
    assert keys({**source, "format": "x", "csv.header": "x", "compression": "x"}) == {
        "filename",
        "format",
        "csv.header",
        "compression",
    }
    assert keys({**source, "key.field": "x", "csv.null": "y", "follow": "x"}) == {"follow", "filename", "key.field", "csv.null"}
    gone = str(tmp_path / "no" / "x")
    sink = {"connector.class": "file_sink", "topics": "t", "filename": gone, "engine": "native", "transforms": "x"}
    assert keys({**sink, "format": "x", "max.tasks": "0"}) == {"filename", "format", "max.tasks", "engine", "transforms.x.type"}
    assert keys({**sink, "columns": "a:b", "batch.bytes": "x"}) == {
        "filename",
        "columns",
        "batch.bytes",
        "engine",
        "transforms.x.type",
    }


def test_everything_wrong_with_a_direct_connector_is_told_at_once(tmp_path: Path) -> None:
    config = {
        "connector.class": "direct",
        "max.tasks": "0",
        "transforms": "x",
        "source.connector.class": "file_source",
        "source.filename": str(tmp_path),
        "source.format": "x",
        "sink.connector.class": "file_lines",
        "sink.filename": str(tmp_path / "no" / "x"),
    }
    assert keys(config) == {"max.tasks", "transforms.x.type", "source.filename", "source.format", "sink.filename"}
    assert keys({**config, "sink.connector.class": "x"}) == {
        *("max.tasks", "transforms.x.type", "source.filename", "source.format", "sink.connector.class")
    }
    with pytest.raises(ConfigError, match=r"max\.tasks"):
        parse_direct(config)


def test_an_engine_that_a_sink_cannot_run_on_is_refused(tmp_path: Path) -> None:
    config = {"connector.class": "file_sink", "filename": str(tmp_path / "x"), "topics": "t", "engine": "native"}
    assert keys(config) == {"engine"}
    assert keys({**config, "connector.class": "file_lines"}) == set()


@pytest.mark.parametrize("engine", ["spark", "native"])
def test_a_sink_that_writes_tables_takes_each_engine_and_runs_natively_where_none_is_said(tmp_path: Path, engine: str) -> None:
    sink = find("jdbc_sink")
    assert isinstance(sink, Sink)
    config = {"connector.class": "jdbc_sink", "connection.url": f"sqlite:///{tmp_path}/x.db", "topics": "t", "auto.create": "true"}
    assert keys({**config, "engine": engine}) == set()
    assert parse_sink(sink, config)["engine"] == "native"


_HOIST = {"transforms": "row", "transforms.row.type": "hoist_field", "transforms.row.field": "value"}
_REGISTRY = {"value.converter.schema.registry.url": "http://localhost:1"}


@pytest.mark.parametrize("form", ["parquet", "orc", "csv"])
@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, True),
        ({"value.converter": "StringConverter"}, True),
        ({"value.converter": "bytes"}, True),
        ({"value.converter": "long"}, True),
        ({"value.converter": "json", "value.converter.schemas.enable": "false"}, True),
        ({"columns": "id:int64, name"}, False),
        ({"value.converter": "json"}, False),
        ({"value.converter": "arrow"}, False),
        ({"value.converter": "avro", **_REGISTRY}, False),
        (_HOIST, False),
    ],
)
def test_a_sink_of_tables_that_no_rows_would_reach_is_refused_with_the_ways_to_get_some(
    tmp_path: Path, form: str, given: dict[str, str], refused: bool
) -> None:
    config = {"connector.class": "file_sink", "format": form, "filename": str(tmp_path / "out"), "topics": "t", **given}
    found = check_connector(config).problems
    assert [problem.key for problem in found] == ["columns"] * refused
    if refused:
        assert all(way in str(found[0]) for way in ("columns=id:int64", "json, arrow", "avro", "hoist_field"))


@pytest.mark.parametrize("form", ["text", "jsonlines"])
def test_a_sink_of_lines_takes_values_of_every_converter(tmp_path: Path, form: str) -> None:
    assert keys({"connector.class": "file_sink", "format": form, "filename": str(tmp_path / "out"), "topics": "t"}) == set()


def test_what_is_wrong_with_the_converter_alone_is_told_where_it_is(tmp_path: Path) -> None:
    config = {"connector.class": "file_sink", "format": "parquet", "filename": str(tmp_path / "out"), "topics": "t"}
    assert keys({**config, "value.converter": "nothing"}) == {"value.converter"}
    assert keys({**config, "value.converter": "json", "value.converter.schemas.enable": "x"}) == {"value.converter.schemas.enable"}


def test_transforms_and_predicates_are_checked_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    config = {"connector.class": "file_source", "filename": str(tmp_path / "x"), "topic": "t", "transforms": "one"}
    assert keys(config) == {"transforms.one.type"}
    assert keys({**config, "transforms": ""}) == set()
    right = {**config, "transforms.one.type": "filter", "transforms.one.predicate": "p", "predicates": "p"}
    assert keys({**right, "predicates.p.type": "is_tombstone"}) == set()
    assert keys({**right, "predicates.p.type": "nothing", "transforms.one.x": "y"}) == {"predicates.p.type", "transforms.one.x"}


def test_whole_messages_have_no_transforms() -> None:
    replay = {
        "connector.class": "dead_letter_source",
        "topic": "t",
        "replay.connector": "c",
        "replay.topic": "d",
        "replay.letters": "b:0:1-2",
        "replay.ends": "b:0:0-2",
    }
    assert keys(replay) == set()
    mask = {"transforms": "mask", "transforms.mask.type": "drop_headers", "transforms.mask.headers": "h"}
    (problem,) = check_connector({**replay, **mask}).problems
    assert str(problem) == (
        "transforms: cannot change what dead_letter_source sends: whole messages, with the keys, times and headers that they have "
        "(given: 'mask'). Leave it out; transforms of a sink can change what it reads of the topic."
    )
    direct = {"connector.class": "direct", "sink.connector.class": "stdout"}
    direct |= {f"source.{key}": value for key, value in replay.items() if key != "topic"}
    assert keys({**direct, **mask}) == {"transforms"}


def test_a_direct_connector_is_checked_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    config = {
        "connector.class": "direct",
        "source.connector.class": "file_source",
        "source.filename": str(tmp_path / "in"),
        "sink.connector.class": "file_lines",
        "sink.filename": str(tmp_path / "out"),
        "max.rate.records": "10",
    }
    checked = check_connector(config)
    assert (checked.type, list(checked.problems)) == (PluginType.DIRECT, [])
    own, source, sink = parse_direct(config)
    assert (own["max.rate.records"], source["follow"], sink["format"]) == (10.0, True, "text")
    assert keys({**config, "sink.connector.class": "file_sink"}) == {"sink.connector.class"}
    assert keys({**config, "sink.connector.class": "file_source"}) == {"sink.connector.class"}
    assert keys({**config, "source.follow": "x", "sink.filename": "", "max.tasks": "0", "other": "1"}) == {
        "source.follow",
        "sink.filename",
        "max.tasks",
        "other",
    }
    assert keys({"connector.class": "direct"}) == {"source.connector.class", "sink.connector.class"}


def test_every_option_of_every_connector_is_documented_and_its_default_is_valid() -> None:
    for connector in catalogue().connectors.values():
        options = source_options(connector) if isinstance(connector, Source) else sink_options(connector)
        names = [name for option in options for name in (option.key, *option.aliases)]
        assert len(set(names)) == len(names)
        for option in options:
            assert option.doc.endswith((".", ")")), option.key
            if option.default is not None:
                option.parse(option.default)


def test_what_an_option_checks_it_also_says_how_to_write() -> None:
    options = [option for name in BUILT_IN for option in converter_class(name).options]
    for connector in catalogue().connectors.values():
        options += source_options(connector) if isinstance(connector, Source) else sink_options(connector)
    for option in options:
        assert option.check is None or option.fix, option.key
        assert option.how != option.doc or option.kind is Kind.STRING, option.key
        assert option.how.endswith("."), option.key


def test_plugins_say_what_they_are() -> None:
    infos = {info.name: info for info in plugins()}
    assert infos["file_source"].guarantee == infos["file_sink"].guarantee == "EXACTLY_ONCE"
    assert (list(infos["file_sink"].engines), list(infos["file_lines"].engines)) == (["spark"], ["spark", "native"])
    assert all(info.summary.endswith(".") for info in infos.values())
    assert (infos["json"].type, infos["json"].aliases) == (
        PluginType.CONVERTER,
        (JAVA_JSON, "org.apache.kafka.connect.json.JsonConverter", "JsonConverter"),
    )
    assert {option.key for option in infos["json"].options} >= {"schemas.enable"}
    assert {info.name for info in infos.values() if info.type is PluginType.CONVERTER} == set(BUILT_IN)


@pytest.mark.parametrize(
    ("key", "value", "reason", "fix"),
    [
        ("topic", "a b", "has ' ', and only letters, digits, %, |, - and _ are allowed", "Use 1 to 127 letters"),
        ("topic", "x" * 128, "is 128 characters long, and 127 are allowed", "Use 1 to 127 letters"),
        ("topic", "", "is required and is empty", "Use 1 to 127 letters"),
        (
            "topics",
            "ok,a b,ü",
            "'a b' has ' ', and only letters, digits, %, |, - and _ are allowed; 'ü' has 'ü'",
            "orders,payments",
        ),
        ("topics", ";", "names no topic", "orders,payments"),
        ("errors.deadletterqueue.topic.name", "bad topic!", "has ' ' '!', and only", "or leave it empty"),
        ("errors.deadletterqueue.topic.name", "%DLQ%", "names no consumer group", "or leave it empty"),
        ("task.group.id", "bad group!/x", "has ' ' '!' '/', and only", "Use up to 120 letters"),
        ("task.group.id", "x" * 121, "is 121 characters long, and 120 are allowed", "or leave it empty"),
        ("max.rate.records", "nan", "is not a finite number", "Give a number from 0.001 to 1000000000."),
        ("max.rate.records", "inf", "is not a finite number", "Give a number"),
        ("max.rate.records", "-1e999", "is not a finite number", "Give a number"),
        ("max.rate.bytes", "2TiB", "must be at most 1TiB", "Give a size from 1 to 1TiB."),
        ("buffer.bytes", "99999TB", "must be at most 64GiB", "Give a size from 64KiB to 64GiB, for instance 32MiB."),
        ("buffer.bytes", "9" * 50 + "TB", "is not a size such as", "Give a size from 64KiB to 64GiB"),
        ("batch.bytes", "1TB", "must be at most", "Give a size from 1 to"),
        ("batch.records", "99999999", "must be at most 10", "Give a whole number from 1 to 10"),
        ("errors.retry.timeout", str(2**63), "must be at most 9223372036854775807", "Give a whole number of at least -1"),
        ("errors.retry.delay.max.ms", "99999999999", "must be at most 86400000", "Give a whole number from 1 to 86400000"),
        ("stall.timeout", "9999999999999999d", "must be at most 36500d", "Give a duration of at least 1s, for instance 60s."),
        ("worker.labels", "zone=a,disk,=b", "has 'disk', '=b' instead of name=value", "Write name=value"),
        ("max.tasks", "x", "is not a whole number", "Give a whole number from 1 to 1000, for instance 1."),
        ("errors.tolerance", "some", "must be one of none, all", "Give one of none, all."),
    ],
)
def test_a_problem_says_what_is_wrong_and_how_to_write_it_right(
    key: str, value: str, reason: str, fix: str, tmp_path: Path
) -> None:
    filename = str(tmp_path / "x")
    Path(filename).touch()
    found = []
    if key not in {"topics", "task.group.id"}:
        found.append({"connector.class": "file_source", "filename": filename, "topic": "t", key: value})
    if key != "topic":
        found.append({"connector.class": "file_lines", "filename": filename, "topics": "t", key: value})
    for config in found:
        (problem,) = check_connector(config).problems
        assert (problem.key, problem.value) == (key, value)
        assert problem.reason.startswith(reason)
        assert fix in problem.fix


def test_names_may_be_as_long_as_rocketmq_allows_and_empty_where_they_are_optional(tmp_path: Path) -> None:
    config = {"connector.class": "file_lines", "filename": str(tmp_path / "x"), "topics": "%-|_aZ9" + "x" * 120}
    assert keys({**config, "task.group.id": "x" * 120, "errors.deadletterqueue.topic.name": "x" * 127}) == set()
    assert keys({**config, "task.group.id": "", "errors.deadletterqueue.topic.name": ""}) == set()


def test_a_reference_into_the_keystore_stands_where_others_stand(tmp_path: Path) -> None:
    config = {"connector.class": "file_lines", "filename": str(tmp_path / "${keystore:db}"), "topics": "t"}
    (problem,) = check_connector(config).problems
    assert (problem.key, problem.value) == ("filename", "${keystore:db}")
    assert "is no place for one" in problem.reason


@pytest.mark.parametrize(
    ("connector", "key"),
    [("jdbc_sink", "user"), ("jdbc_source", "user"), ("mysql_cdc_source", "username"), ("postgres_cdc_source", "username")],
)
def test_the_name_of_a_user_may_stand_beside_the_password_and_be_a_reference_as_well(connector: str, key: str) -> None:
    config = {"connector.class": connector, key: "${file:/run/secrets/db:user}", "password": "${file:/run/secrets/db:password}"}
    assert keys(config) & {key, "password"} == set()
    assert "topic" in keys({**config, "topic": "${file:/run/secrets/db:password}"})


def test_options_of_a_converter_that_is_not_named_are_those_of_the_default_one(tmp_path: Path) -> None:
    config = {"connector.class": "file_lines", "filename": str(tmp_path / "x"), "topics": "t"}
    assert keys({**config, "value.converter.schemas.enable": "false"}) == {"value.converter.schemas.enable"}
    assert keys({**config, "value.converter.deserializer.encoding": "utf-8"}) == set()


def test_what_spark_is_told_in_secret_is_a_secret_and_so_is_whatever_a_connector_may_not_tell_it(tmp_path: Path) -> None:
    config = {
        "connector.class": "file_sink",
        "filename": str(tmp_path / "out"),
        "topics": "t",
        "spark.hadoop.fs.s3a.secret.key": "${env:KEY}",
        "spark.sql.shuffle.partitions": "4",
    }
    assert check_connector(config).problems == []
    checked = check_connector({**config, "spark.hadoop.fs.s3a.aws.credentials.provider": "org.example.Provider"})
    (problem,) = checked.problems
    assert "org.example" not in repr(problem)
    assert sorted(checked.secret_keys) == ["spark.hadoop.fs.s3a.aws.credentials.provider", "spark.hadoop.fs.s3a.secret.key"]


def test_an_option_that_nothing_resembles_comes_with_the_command_that_shows_those_there_are() -> None:
    problems = check_connector({"connector.class": "file_sink", "zzzzzz": "1"}).problems
    (problem,) = [each for each in problems if each.key == "zzzzzz"]
    assert "`rocketconnect plugins show file_sink`" in problem.fix


def test_keys_cannot_be_packed() -> None:
    config = {
        "connector.class": "file_source",
        "filename": "/a",
        "topic": "t",
        "format": "csv",
        "value.converter": "arrow",
        "key.converter": "arrow",
    }
    (problem,) = [problem for problem in check_connector(config).problems if problem.key.endswith("converter")]
    assert (problem.key, problem.value) == ("key.converter", "arrow")


def test_a_plugin_checks_with_the_secrets_that_are_known_and_options_without_them() -> None:
    given: list[Config] = []

    def resolve(config: Config) -> Config:
        given.append(config)
        return config.replaced(lambda text: text.replace("${env:PLACE}", "at-all"))

    checked = check_connector({"connector.class": "file_sink", "topics": "t", "filename": "/nowhere/${env:PLACE}"}, resolve)
    assert given[0]["filename"] == "/nowhere/${env:PLACE}"
    assert any("/nowhere/at-all" in f"{problem}" for problem in checked.problems)


@pytest.mark.parametrize(
    "config",
    [{"connector.class": "file_lines"}, {"connector.class": "file_sink"}, {"connector.class": "file_sink", "format": "csv"}],
)
def test_a_file_is_the_target_of_its_sink_by_whatever_name(tmp_path: Path, config: dict[str, str]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (target,) = check_connector({**config, "topics": "t", "filename": str(tmp_path / "link" / ".." / "link" / "out")}).targets or ()
    assert target == Target("filename", f"file://{tmp_path.resolve()}/real/out")


def test_the_target_of_a_direct_connector_is_that_of_its_sink(tmp_path: Path) -> None:
    config = {
        "connector.class": "direct",
        "source.connector.class": "file_source",
        "source.filename": str(tmp_path / "in"),
        "sink.connector.class": "file_lines",
        "sink.filename": str(tmp_path / "out"),
    }
    assert check_connector(config).targets == [Target("sink.filename", f"file://{tmp_path.resolve()}/out")]


@pytest.mark.parametrize(
    ("key", "config"),
    [
        ("filename", {"connector.class": "file_sink", "format": "parquet"}),
        ("filename", {"connector.class": "file_sink", "format": "orc"}),
        ("path", {"connector.class": "delta_sink"}),
        ("path", {"connector.class": "hudi_sink"}),
    ],
)
def test_each_topic_in_a_directory_is_a_target(tmp_path: Path, key: str, config: dict[str, str]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    targets = check_connector({**config, "topics": "a,b", key: str(tmp_path / "link" / "out")}).targets
    assert targets == tuple(Target(key, f"topic {topic} in file://{tmp_path.resolve()}/real/out") for topic in "ab")
    assert check_connector({**config, key: str(tmp_path / "out")}).targets is None


def test_sources_have_no_target_of_their_own(tmp_path: Path) -> None:
    assert check_connector({"connector.class": "file_source", "filename": str(tmp_path / "in"), "topic": "t"}).targets == ()


@pytest.mark.parametrize("given", [{}, {"filename": "/tmp/\0"}])
def test_a_wrong_filename_is_told_as_that(given: dict[str, str]) -> None:
    found = check_connector({"connector.class": "file_lines", "topics": "t", **given})
    assert [problem.key for problem in found.problems] == ["filename"]
    assert not found.targets


@pytest.mark.parametrize("given", ["rocketmq.access.key", "rocketmq.secret.key"])
@pytest.mark.parametrize("prefix", ["", "source."])
def test_a_user_of_rocketmq_has_a_name_and_a_secret_that_only_a_reference_may_name(given: str, prefix: str) -> None:
    files = {"source.connector.class": "file_source", "sink.connector.class": "file_lines", "sink.filename": "/o"}
    config = {"connector.class": "direct", **files} if prefix else {"connector.class": "file_source", "topic": "t"}
    config[f"{prefix}filename"] = __file__
    user = {"rocketmq.access.key": "team", "rocketmq.secret.key": "${env:TEAM_SECRET}"}
    assert not check_connector({**config, **user}).problems
    assert "rocketmq.secret.key" in check_connector({**config, **user}).secret_keys
    (missing,) = check_connector({**config, given: user[given]}).problems
    assert {missing.key, given} == set(user)
    (literal,) = check_connector({**config, **user, "rocketmq.secret.key": "hunter2"}).problems
    assert (literal.key, literal.value) == ("rocketmq.secret.key", "")


def test_a_sink_may_have_a_default_of_its_own_for_an_option_that_all_have(tmp_path: Path) -> None:
    sink, raw = find("delta_sink"), {"connector.class": "delta_sink", "path": str(tmp_path / "t"), "topics": "t"}
    assert isinstance(sink, Sink)
    config = parse_sink(sink, raw)
    assert (config["batch.bytes"], config["engine"]) == (64 << 20, "spark")
    assert parse_sink(sink, {**raw, "batch.bytes": "1MiB"})["batch.bytes"] == 1 << 20


@pytest.mark.parametrize(
    "config",
    [
        {"connector.class": "stdout", "topics": "t"},
        {"connector.class": "file_source", "filename": "/a", "topic": "t"},
        {"connector.class": "direct", "source.connector.class": "file_source", "sink.connector.class": "stdout"},
    ],
)
def test_records_that_will_be_dropped_are_warned_of_where_they_are_kept_nowhere(config: dict[str, str]) -> None:
    def told(**more: str) -> list[str]:
        given = {**config, **{key.replace("_", "."): value for key, value in more.items()}}
        return [each.reason for each in check_connector(given).problems if each.is_warning and each.key == "errors.tolerance"]

    assert told() == told(errors_tolerance="none") == []
    (reason,) = told(errors_tolerance="all")
    assert reason.startswith("drops every record that cannot be read")
    assert told(errors_tolerance="all", errors_deadletterqueue_topic_name="t-dlq") == []
