"""Kafka's own connectors for files, in Java: what they are told, what they give, and what they take."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.kafka_connect.installed import SINK, SOURCE

pytestmark = pytest.mark.slow
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms."


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("a\nb\nc\n")
    return path


def test_a_connector_is_offered_under_its_class_and_its_short_name_with_the_options_of_its_definition(do: Any) -> None:
    name, kind, version, guarantee, options = do(do="offered", name="FileStreamSourceConnector")
    assert (name, kind, guarantee) == (SOURCE, "SOURCE", "AT_LEAST_ONCE")
    assert version
    assert {"file", "batch.size", "jvm.heap"} <= set(options)


def test_all_that_is_wrong_with_a_configuration_is_told_at_once(do: Any, lines: Path) -> None:
    config = {
        "connector.class": SOURCE,
        "topic": "lines",
        "batch.size": "many",
        "exactly.once.support": "required",
        "producer.override.acks": "all",
        "value.converter": "org.example.Nothing",
        "transforms": "one,two,three",
        "transforms.one.type": f"{TRANSFORMS}RegexRouter",
        "transforms.two.type": STRINGS,
        "transforms.four.type": "x",
        "transforms.three.type": f"{TRANSFORMS}Filter",
        "transforms.three.predicate": "nobody",
        "api.password": "hidden",
    }
    problems, secrets = do(do="check", config=config)
    assert {problem["key"] for problem in problems} == {
        "batch.size",
        "exactly.once.support",
        "producer.override.acks",
        "value.converter",
        "transforms.one.type",
        "transforms.two.type",
        "transforms.three.predicate",
        "transforms.four.type",
        "api.password",
    }
    assert secrets == ["api.password"]
    assert "hidden" not in json.dumps(problems)


def test_lines_come_as_json_and_reading_goes_on_at_the_stored_offset(do: Any, lines: Path) -> None:
    config = {"connector.class": SOURCE, "file": str(lines), "topic": "lines.of.files", "tasks.max": "2"}
    assert do(do="check", config={**config, "topic": "lines"}) == [[], []]
    config["topic"] = "lines"
    batches = do(do="source", config=config, records=3, epoch=3)
    assert [value for batch in batches for value in batch["values"]] == ['"a"', '"b"', '"c"']
    assert batches[0]["topics"] == ["lines"] * len(batches[0]["values"])
    assert batches[-1]["resume"] == {"offset": {"position": 6}}
    with lines.open("a") as file:
        file.write("d\n")
    position = {batches[-1]["partition"]: (batches[-1]["end"], batches[-1]["resume"])}
    again = do(do="source", config=config, records=1, epoch=3, positions=position)
    assert [value for batch in again for value in batch["values"]] == ['"d"']
    # Also under the same epoch, as where only its process was killed.
    assert again[0]["offsets"][0] > batches[-1]["end"]


def test_converters_transformations_and_predicates_of_kafka_do_what_they_do_there(do: Any, lines: Path) -> None:
    with lines.open("a") as file:
        file.write("e\n")
    config = {
        "connector.class": SOURCE,
        "file": str(lines),
        "topic": "lines",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "hoist,route,header,gone",
        "transforms.hoist.type": f"{TRANSFORMS}HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.route.type": f"{TRANSFORMS}RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "all.$1",
        "transforms.header.type": f"{TRANSFORMS}InsertHeader",
        "transforms.header.header": "from",
        "transforms.header.value.literal": "kafka",
        "transforms.gone.type": f"{TRANSFORMS}Filter",
        "transforms.gone.predicate": "deleted",
        "predicates": "deleted",
        "predicates.deleted.type": f"{TRANSFORMS}predicates.RecordIsTombstone",
    }
    assert do(do="check", config=config) == [[], []]
    batches = do(do="source", config=config, records=4)
    assert [value for batch in batches for value in batch["values"]] == [f'{{"line":"{each}"}}' for each in "abce"]
    assert {topic for batch in batches for topic in batch["topics"]} == {"all_lines"}
    assert {header["from"] for batch in batches for header in batch["headers"]} == {"kafka"}


def test_short_names_are_taken_as_kafka_connect_takes_them(do: Any, lines: Path) -> None:
    config = {
        "connector.class": SOURCE,
        "file": str(lines),
        "topic": "lines",
        "value.converter": "String",
        "header.converter": "SimpleHeaderConverter",
        "transforms": "route,hoist",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "all.$1",
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.hoist.predicate": "gone",
        "predicates": "gone",
        "predicates.gone.type": "RecordIsTombstone",
    }
    assert do(do="check", config=config) == [[], []]
    batches = do(do="source", config=config, records=3)
    assert [value for batch in batches for value in batch["values"]] == ["a", "b", "c"]
    assert {topic for batch in batches for topic in batch["topics"]} == {"all_lines"}
    ((problem,), _) = do(do="check", config={**config, "transforms.hoist.type": "Value"})
    assert problem["key"] == "transforms.hoist.type"
    assert "is short for org.apache.kafka.connect.transforms.Cast$Value and for " in problem["reason"]


def test_a_record_that_a_transformation_fails_for_is_one_bad_record(do: Any, lines: Path) -> None:
    lines.write_text("1\nx\n3\n")
    config = {
        "connector.class": SOURCE,
        "file": str(lines),
        "topic": "lines",
        "transforms": "number",
        "transforms.number.type": f"{TRANSFORMS}Cast$Value",
        "transforms.number.spec": "int32",
    }
    batches = do(do="source", config=config, records=3)
    assert [value for batch in batches for value in batch["values"]] == ["1", "Rejected DataException", "3"]


def test_a_sink_takes_records_and_what_it_cannot_read_is_refused_alone(do: Any, tmp_path: Path) -> None:
    config = {"connector.class": SINK, "file": str(tmp_path / "out.txt"), "topics": "lines"}
    assert do(do="check", config=config) == [[], []]
    batches = [["lines/broker/0", 5, ['"a"', "{bad", '{"n": 1}']], ["lines/broker/1", 0, ['"z"']], ["", 0, []]]
    said, before, after = do(do="sink", config=config, batches=batches)
    assert list(said[0]) == ["1"]
    assert "JsonParseException" in said[0]["1"]
    assert said[1:] == ["", ""]
    assert (before, after) == ({}, {"lines/broker/0": 8, "lines/broker/1": 1})
    assert (tmp_path / "out.txt").read_text() == "a\n{n=1}\nz\n"


def test_a_record_of_a_sink_that_a_transformation_fails_for_is_refused_alone(do: Any, tmp_path: Path) -> None:
    config = {
        "connector.class": SINK,
        "file": str(tmp_path / "out.txt"),
        "topics": "lines",
        "value.converter": STRINGS,
        "transforms": "number",
        "transforms.number.type": f"{TRANSFORMS}Cast$Value",
        "transforms.number.spec": "int32",
    }
    said, _, after = do(do="sink", config=config, batches=[["lines/broker/0", 0, ["1", "x", "3"]]])
    assert list(said[0]) == ["1"]
    assert after == {"lines/broker/0": 3}
    assert (tmp_path / "out.txt").read_text() == "1\n3\n"


def test_two_queues_that_would_be_one_partition_are_refused(do: Any, tmp_path: Path) -> None:
    config = {"connector.class": SINK, "file": str(tmp_path / "out.txt"), "topics": "lines"}
    said, *_ = do(do="sink", config=config, batches=[["lines/a/0", 0, ['"a"']], ["lines/b/0", 0, ['"b"']]])
    assert said[0] == ""
    assert said[1].startswith("PermanentError: the queues lines/a/0 and lines/b/0 of two brokers")
