"""Connectors of RocketMQ Connect, in Java: what they are told, what they give, and what they take."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.rocketmq_connect.installed import LINES, SINK, TYPED

pytestmark = pytest.mark.slow
QUEUE = "lines/broker-a/0"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("a\nGrüße\nto other\n")
    return path


def test_a_plugin_is_meant_by_java_before_its_class_and_by_the_class_alone_where_none_of_ours_has_its_place(do: Any) -> None:
    name, kind, version, guarantee, options = do(do="offered", name=LINES)
    assert (name, kind, version, guarantee, options) == (f"java:{LINES}", "SOURCE", "1.0", "AT_LEAST_ONCE", ["jvm.heap"])
    assert do(do="found", name=f"java:{LINES}") == do(do="found", name=LINES) == f"java:{LINES}"
    assert do(do="found", name="org.apache.rocketmq.connect.file.FileSourceConnector") == "file_source"


def test_options_that_nobody_knows_pass_and_what_the_plugin_refuses_is_told_with_what_the_runtime_refuses(
    do: Any, lines: Path
) -> None:
    right = {"connector.class": LINES, "topic": "lines", "filename": str(lines), "no.such.thing": "x"}
    assert do(do="check", config=right) == [[], []]
    wrong = {"connector.class": LINES, "topic": "lines", "value.converter": "nothing", "transforms": "t", "db.password": "hidden"}
    problems, secrets = do(do="check", config=wrong)
    told = {problem["key"]: problem["reason"] for problem in problems}
    assert set(told) == {"", "value.converter", "transforms.t.type", "db.password"}
    assert "Request config key: filename" in told[""]
    assert secrets == ["db.password"]
    assert "hidden" not in json.dumps(problems)


def test_a_plan_holds_no_secret_and_its_task_and_connector_are_told_it(do: Any, lines: Path, tmp_path: Path) -> None:
    events = tmp_path / "events"
    config = {"connector.class": LINES, "topic": "lines", "filename": str(lines), "file.password": "${env:SHOP_PASSWORD}"}
    (task,) = do(do="plan", config={**config, "events": str(events)})
    assert task == {"java.task.class": "plain.Plain$LinesSourceTask", "java.task.told": "{}"}
    assert events.read_text().splitlines() == ["connector starts with the password s3cret", "connector stops"]
    assert do(do="plan", config={**config, "plans.nothing": "x"}).endswith("sees nothing to do: it planned no task")
    assert "no plan" in do(do="plan", config={**config, "plans.badly": "x"})


def test_records_come_with_key_time_topic_and_extensions_and_reading_goes_on_at_the_offset_of_the_last(
    do: Any, lines: Path, tmp_path: Path
) -> None:
    config = {"connector.class": f"java:{LINES}", "topic": "lines", "filename": str(lines), "events": str(tmp_path / "events")}
    (batch,) = do(do="source", config=config, records=3, epoch=3)
    assert batch["values"] == ["'a'", "'Grüße'", "'to other'"]
    assert (batch["topics"], batch["times"]) == (["", "", "other"], [7, 7, 7])
    assert batch["headers"] == [{"at": "2"}, {"at": "10"}, {"at": "19", "topic": "other"}]
    assert batch["resume"] == {"offset": {"nextPosition": "19"}}
    assert batch["partition"] == json.dumps({"filename": str(lines)}, separators=(",", ":"))
    told = (tmp_path / "events").read_text().splitlines()
    assert [line for line in told if line.startswith("committed")] == [
        "committed a SEND_OK",
        "committed Grüße SEND_OK",
        "committed to other SEND_OK",
    ]
    assert "stored null" in told
    assert "commit" in told
    with lines.open("a") as file:
        file.write("d\n")
    position = {batch["partition"]: (batch["end"], batch["resume"])}
    (again,) = do(do="source", config=config, records=1, epoch=3, positions=position)
    assert again["values"] == ["'d'"]
    assert again["offsets"][0] > batch["end"]
    assert "stored {nextPosition=19}" in (tmp_path / "events").read_text()


def test_values_of_all_types_are_ours_exactly_and_one_that_has_no_counterpart_names_its_field(do: Any) -> None:
    rows, plain, number, gone = do(do="source", config={"connector.class": TYPED, "topic": "t"}, records=8)
    row = (
        "{'i8': -8, 'i16': -16, 'i32': -32, 'i64': 9223372036854775807, 'f32': 0.5, 'f64': 0.1, 'flag': True, 'text': 'Grüße 😀', "
        "'raw': b'\\x00\\xff', 'buffer': b'\\x01\\x02', 'price': Decimal('-1.10'), 'day': datetime.date(2024, 1, 1), "
        "'clock': datetime.time(0, 0, 0, 1000), "
        "'moment': datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=datetime.timezone.utc), "
        "'tags': ['a', 'b'], 'counts': {'n': 1}, 'place': {'zip': '1010'}, 'nothing': None}"
    )
    assert rows["values"] == [row, "Rejected the field place.zip is null, and its schema does not allow that", row]
    assert rows["keys"] == [0, None, 2]
    assert (rows["schema"]["name"], rows["schema"]["version"]) == ("orders", 3)
    types = {field["field"]: (field["type"], field.get("name", ""), field["optional"]) for field in rows["schema"]["fields"]}
    logical = "io.openmessaging.connector.api.data.logical."
    assert types["price"] == ("bytes", f"{logical}Decimal", True)
    assert types["moment"] == ("int64", f"{logical}Timestamp", True)
    assert types["i64"] == ("int64", "", False)
    assert types["place"] == ("struct", "place", True)
    assert rows["partition"] == '{"shard":1,"table":"t"}'
    assert plain["values"] == [
        "{'a': [1, 2, 0.5, True, None, Decimal('1.10')]}",
        "Rejected the record is a java.lang.Thread, which has no counterpart here: give it a schema, or another type",
        "Rejected the record is a java.lang.Integer, and its schema says int64",
    ]
    assert plain["schema"] is None
    assert (number["values"], number["schema"]) == (["-9223372036854775808"], {"type": "int64", "optional": True})
    assert (gone["values"], gone["keys"], gone["schema"]["name"]) == (["None"], [7], "orders")
    assert gone["resume"] == {"offset": {"at": 7}}


def test_what_a_task_throws_is_told(do: Any, lines: Path) -> None:
    lines.write_text("throw\n")
    with pytest.raises(AssertionError, match=r"PermanentError.*ConnectException.*a line says so"):
        do(do="source", config={"connector.class": LINES, "topic": "lines", "filename": str(lines)}, records=1)


def test_a_sink_gets_values_with_schemas_and_positions_move_when_it_has_flushed(do: Any, tmp_path: Path) -> None:
    out, events = tmp_path / "out.txt", tmp_path / "events"
    config = {"connector.class": SINK, "topics": "lines", "filename": str(out), "events": str(events), "errors.tolerance": "all"}
    assert [problem for problem in do(do="check", config=config)[0] if not problem["is_warning"]] == []
    batches = [[QUEUE, 5, ["a", "bad", "b"]], ["lines/broker-b/0", 0, [{"n": 1}]], ["", 0, []]]
    said, _, after = do(do="sink", config=config, batches=batches)
    assert list(said[0]) == ["1"]
    assert "is bad" in said[0]["1"]
    assert said[1:] == ["", ""]
    assert after == {QUEUE: 8, "lines/broker-b/0": 1}
    assert out.read_text().splitlines() == ["STRING a k x 7", "STRING b k x 7", "- {n=1} k x 7"]
    assert events.read_text().splitlines()[-1] == "stop"
    assert "queueOffset=8" in events.read_text()


def test_a_sink_gets_structs_with_logical_types_and_a_value_that_its_schema_does_not_allow_is_refused_alone(
    do: Any, tmp_path: Path
) -> None:
    fields = [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "name", "type": "string", "optional": True},
        {"field": "tags", "type": "array", "items": {"type": "int16"}, "optional": True},
    ]
    schema = {"type": "struct", "name": "orders", "fields": fields, "optional": False}
    config = {"connector.class": SINK, "topics": "lines", "filename": str(tmp_path / "out.txt")}
    values = [{"id": 1, "name": "a", "tags": [1]}, {"id": None}, {"id": 3, "tags": [1, 70000]}, {"id": 4, "name": None}]
    said, _, after = do(do="sink", config=config, schema=schema, batches=[[QUEUE, 0, values]])
    assert said[0]["1"] == "the field id is null, and its schema does not allow that"
    assert said[0]["2"].startswith("the field tags.[1] can't be given to Java: ")
    assert after == {QUEUE: 4}
    assert (tmp_path / "out.txt").read_text().splitlines() == [
        "STRUCT Struct{id=1,name=a,tags=[1]} k x 7",
        "STRUCT Struct{id=4} k x 7",
    ]


def test_a_sink_that_can_not_take_records_now_gets_them_again_and_a_queue_that_it_pauses_waits(do: Any, tmp_path: Path) -> None:
    config = {"connector.class": SINK, "topics": "lines", "filename": str(tmp_path / "out.txt")}
    batch = [QUEUE, 0, ["bad", "again"]]
    said, _, after = do(do="sink", config=config, batches=[batch, batch, [QUEUE, 2, ["pause"]], [QUEUE, 3, ["a"]]])
    assert said[0].startswith("RetriableError: io.openmessaging.connector.api.errors.RetriableException")
    assert list(said[1]) == ["0"]
    # It resumes when it is given time.
    assert said[2:] == ["", ""]
    assert after == {QUEUE: 4}
    assert (tmp_path / "out.txt").read_text().count("again") == 1


@pytest.mark.parametrize(
    ("value", "why"),
    [("late", "refuses a record that it has taken before"), ("rewind", "wants to read from"), ("throw", "is full")],
)
def test_what_is_not_supported_and_what_a_task_throws_stops_it_in_words(do: Any, tmp_path: Path, value: str, why: str) -> None:
    config = {"connector.class": SINK, "topics": "lines", "filename": str(tmp_path / "out.txt")}
    said, *_ = do(do="sink", config=config, batches=[[QUEUE, 0, [value]], ["", 0, []], [QUEUE, 1, ["a"]]])
    assert any(str(each).startswith("PermanentError") and why in str(each) for each in said)
