"""What Kafka Connect promises to connectors, by a sink and a source in Java that use it and write down what they are told."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
TEXT = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
_SINK = {"connector.class": "strict.Strict$StrictSinkConnector", "topics": "lines", "errors.tolerance": "all", **TEXT}
NOTHING = ["", 0, []]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "events"


def test_what_a_sink_reports_is_refused_alone_and_only_what_it_says_is_durable(do: Any, events: Path) -> None:
    batches = [["lines/broker/0", 5, ["a", "bad", "b"]], ["lines/broker/3", 0, ["c", "d"]]]
    said, _, after = do(do="sink", config={**_SINK, "events": str(events)}, batches=batches)
    assert list(said[0]) == ["1"]
    assert "is bad" in said[0]["1"]
    assert said[1] == ""
    assert after == {"lines/broker/0": 7, "lines/broker/3": 1}
    told = events.read_text().splitlines()
    assert told[0] == "open [lines-0]"
    assert told[-1] == "stop"
    assert [line for line in told if line.startswith("open")] == ["open [lines-0]", "open [lines-3]"]
    assert told[-2] in ("close [lines-0, lines-3]", "close [lines-3, lines-0]")


def test_a_sink_that_can_not_take_records_now_gets_them_again(do: Any, events: Path) -> None:
    batch = ["lines/broker/0", 0, ["bad", "again"]]
    said, *_ = do(do="sink", config={**_SINK, "events": str(events)}, batches=[batch, batch])
    assert said[0].startswith("RetriableError: org.apache.kafka.connect.errors.RetriableException: not now")
    # What it has reported before it asked for them again is reported once more, and refused once.
    assert list(said[1]) == ["0"]
    assert events.read_text().count("put again") == 1


def test_a_queue_that_a_sink_pauses_is_not_given_to_it_before_it_goes_on(do: Any, events: Path) -> None:
    batches = [["lines/broker/0", 0, ["pause"]], ["lines/broker/0", 1, ["a"]]]
    said, *_ = do(do="sink", config={**_SINK, "events": str(events)}, batches=batches)
    # It resumes when it is given time.
    assert said == ["", ""]
    assert events.read_text().splitlines()[1:3] == ["put pause", "put a"]


def test_what_java_logs_is_in_the_log_of_its_task_with_its_level_and_causes(do: Any, events: Path) -> None:
    config = {"connector.class": "strict.Strict$StrictSourceConnector", "topic": "t", "events": str(events), **TEXT}
    lines = do(do="logged", config=config)
    said = [[level, message] for level, message in lines if level != "DEBUG"]
    assert said[-7:] == [
        ["WARNING", "WARN some.Reader - Grüße, 😀"],
        ["ERROR", "ERROR some.Reader - it fails"],
        ["ERROR", "java.lang.IllegalStateException: the reason"],
        ["ERROR", "Caused by: java.lang.IllegalStateException: of it"],
        ["ERROR", "x" * 10_000],
        ["ERROR", "x" * 5_000],
        ["ERROR", "the end"],
    ]


def test_a_sink_whose_converter_cannot_be_made_says_that_and_ends(do: Any, events: Path) -> None:
    config = {**_SINK, "events": str(events), "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    with pytest.raises(AssertionError, match=r"PermanentError.*schemas.cache.size") as said:
        do(do="sink", config={**config, "value.converter.schemas.cache.size": "many"}, batches=[])
    assert "AttributeError" not in str(said.value)


def test_java_leaves_no_socket_of_a_process_that_is_killed(do: Any, events: Path) -> None:
    assert do(do="left", config={**_SINK, "events": str(events)}) is False


def test_a_connector_that_cannot_plan_is_stopped_and_why_it_cannot_is_told(do: Any, events: Path) -> None:
    with pytest.raises(AssertionError, match="DataException: no plan"):
        do(do="sink", config={**_SINK, "events": str(events), "plans": "false"}, batches=[])
    assert events.read_text().splitlines() == ["connector stops"]


@pytest.mark.parametrize(
    ("value", "why"), [("late", "refuses a record that it has taken before"), ("rewind", "wants to read from")]
)
def test_what_is_not_supported_stops_the_task_in_words(do: Any, events: Path, value: str, why: str) -> None:
    config = {**_SINK, "events": str(events)}
    said, _, after = do(do="sink", config=config, batches=[["lines/broker/0", 0, [value]], NOTHING, ["lines/broker/0", 1, ["a"]]])
    assert any(str(each).startswith("PermanentError") and why in str(each) for each in said)
    if value == "late":
        # Nothing moves beyond it.
        assert str(after).startswith("PermanentError")


def test_a_source_hears_of_each_record_that_is_stored_and_of_all(do: Any, events: Path) -> None:
    config = {"connector.class": "strict.Strict$StrictSourceConnector", "topic": "t", "events": str(events), **TEXT}
    batches = {batch["partition"]: batch for batch in do(do="source", config=config, records=4)}
    assert {name: batch["values"] for name, batch in batches.items()} == {"{}": ["v0", "v2"], '{"of":"two"}': [None, "v3"]}
    assert {name: set(batch["topics"]) for name, batch in batches.items()} == {"{}": {"t_0"}, '{"of":"two"}': {"t_1"}}
    assert batches['{"of":"two"}']["resume"] == {"offset": {"at": 3}}
    told = events.read_text().splitlines()
    assert sorted(line for line in told if line.startswith("committed")) == [
        "committed null true",
        "committed v0 true",
        "committed v2 true",
        "committed v3 true",
    ]
    assert told[-2:] == ["commit", "stop"]
    assert "stored null" in told
    position = {'{"of":"two"}': (batches['{"of":"two"}']["end"], {"offset": {"at": 3}})}
    do(do="source", config=config, records=4, positions=position)
    assert "stored {at=3}" in events.read_text()
