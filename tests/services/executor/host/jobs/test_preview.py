"""Previews: each step of a few live records, of files and of a real broker; nothing is written."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import Response

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.rows import Rows, offsets_of
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketmq_remoting import Client, Message, encode_batch
from services.executor.contract.answers import Previewed
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import PreviewConnector
from services.executor.host.jobs.preview import preview
from tests.registry.server import TestRegistry, running
from tests.registry.store import Held
from tests.services.executor.configured import CAST, PLAIN, SKIP
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq


@pytest.fixture(scope="module")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    with Client(rocketmq.name_server) as made:
        yield made


def shown(rocketmq: RocketMQ, config: dict[str, str], records: int = 10, seconds: float = 3.0) -> Previewed:
    return preview(PreviewConnector("orders", config, records, seconds, Endpoints(rocketmq.name_server, "")))


def steps(answer: Previewed) -> list[list[tuple[str, str | None]]]:
    return [
        [(step.name, step.problem or (None if step.record is None else step.record.value)) for step in record.steps]
        for record in answer.records
    ]


def csv(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "in.csv"
    path.write_text(text)
    made = {"connector.class": "file_source", "filename": str(path), "format": "csv", "topic": "never-made"}
    return {**made, **PLAIN, **CAST, **SKIP, "transforms": "types,skip"}


def test_of_a_source_each_step_is_shown_and_nothing_is_written(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    answer = shown(rocketmq, csv(tmp_path, "id,name\n1,a\n2,b\nx,c\n"))
    assert (answer.plugin, answer.problems, answer.trouble) == ("file_source", [], "")
    assert steps(answer) == [
        [("read", '{"id": "1", "name": "a"}'), ("types", '{"id": 1, "name": "a"}'), ("skip", None)],
        [
            ("read", '{"id": "2", "name": "b"}'),
            ("types", '{"id": 2, "name": "b"}'),
            ("skip", '{"id": 2, "name": "b"}'),
            ("message", '{"id":2,"name":"b"}'),
        ],
        [("read", '{"id": "x", "name": "c"}'), ("types", steps(answer)[2][1][1])],
    ]
    assert "'x' is no whole number" in str(steps(answer)[2][1][1])
    read = answer.records[1].steps[0].record
    assert read is not None
    assert [field["field"] for field in json.loads(read.schema)["fields"]] == ["id", "name"]
    assert read.topic == "never-made"
    assert "never-made" not in client.topics()


def test_no_more_records_are_shown_than_were_asked_for(rocketmq: RocketMQ, tmp_path: Path) -> None:
    config = csv(tmp_path, "id,name\n" + "".join(f"{number},n\n" for number in range(500)))
    answer = shown(rocketmq, config, records=3)
    assert [record.steps[0].record.value for record in answer.records if record.steps[0].record] == [
        f'{{"id": "{number}", "name": "n"}}' for number in range(3)
    ]


def test_what_a_source_can_not_read_is_shown_with_its_reason(rocketmq: RocketMQ, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"good\n\xff\xfe\n")
    config = {"connector.class": "file_source", "filename": str(path), "topic": "never-made"}
    first, second = steps(shown(rocketmq, config))
    assert first == [("read", "good"), ("message", "good")]
    assert second[0][0] == "read"
    assert "UTF-8" in str(second[0][1])


def test_of_a_sink_the_last_messages_are_shown_and_its_target_is_not_touched(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    client.create_topic("previewed", queues=1)
    (queue,) = client.queues("previewed")
    client.send_batch(queue, encode_batch([f'{{"id": "{number}"}}'.encode() for number in range(20)]))
    client.send(queue, Message(b"no json", properties={"KEYS": "k", "connect-ext-h": "1"}))
    client.barrier(queue.broker)
    out = tmp_path / "out.txt"
    config = {"connector.class": "file_lines", "engine": "native", "topics": "previewed", "filename": str(out)}
    answer = shown(rocketmq, {**config, **PLAIN, **CAST}, records=3)
    assert [record.position.rpartition(": ")[2] for record in answer.records] == ["18", "19", "20"]
    assert steps(answer)[0] == [
        ("message", '{"id": "18"}'),
        ("read", '{"id": "18"}'),
        ("types", '{"id": 18}'),
        ("write", '{"id": 18}'),
    ]
    message, read = answer.records[2].steps
    assert message.record is not None
    assert (message.record.value, message.record.key, message.record.headers["connect-ext-h"]) == ("no json", "k", "1")
    assert read.record is None
    assert "JSON" in read.problem
    assert steps(answer)[2] == [("message", "no json"), ("read", read.problem)]
    assert not out.exists()


def test_of_a_sink_with_a_query_its_result_is_shown_behind_the_records(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    client.create_topic("previewed-query", queues=1)
    (queue,) = client.queues("previewed-query")
    bodies = [f'{{"id": "{number}", "n": "{number if number != 8 else "x"}", "at": {number * 1000}}}' for number in range(10)]
    client.send_batch(queue, encode_batch([body.encode() for body in bodies]))
    client.barrier(queue.broker)
    out = tmp_path / "out.txt"
    config = {"connector.class": "file_lines", "engine": "native", "topics": "previewed-query", "filename": str(out)}
    by_row = {**config, **PLAIN, **CAST, "query": "SELECT id + n::INT AS sum FROM records WHERE id <> 7"}
    answer = shown(rocketmq, by_row, records=4)
    assert (answer.problems, answer.trouble) == ([], "")
    assert [record.position.rpartition(": ")[2] for record in answer.records] == ["6", "7", "8", "9", "6", "9", "8"]
    assert [step for step, _ in steps(answer)[0]] == ["message", "read", "types"]
    first, second, bad = steps(answer)[4:]
    assert (first, second) == ([("write", '{"sum": 12}')], [("write", '{"sum": 18}')])
    assert "Could not convert string 'x'" in str(bad[0][1])
    windowed = {
        **config,
        **PLAIN,
        "query": "SELECT count(*) AS n FROM records",
        "query.time": "at",
        "query.window": "5s",
        "query.state": str(tmp_path / "state"),
    }
    answer = shown(rocketmq, windowed, records=7)
    assert [record.position for record in answer.records[7:]] == [f"result of the query, row {row}" for row in (1, 2)]
    assert steps(answer)[7:] == [[("write", '{"n": 2}')], [("write", '{"n": 5}')]]
    wrong = shown(rocketmq, {**config, **PLAIN, "query": "SELECT sum(id) OVER () AS n FROM records"}, records=2)
    assert [problem.key for problem in wrong.problems] == ["query"]
    assert not out.exists()
    assert not (tmp_path / "state").exists()


def test_rows_of_packed_messages_are_shown_by_themselves(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    client.create_topic("packed-previewed", queues=1)
    (queue,) = client.queues("packed-previewed")
    schema = struct([("id", Schema(Type.INT64)), ("name", STRING)])
    values = [{"id": number, "name": "n"} for number in range(5)]
    body = Rows(to_array(values, schema), schema, offsets_of([(number,) for number in range(5)])).pack()
    client.send_batch(queue, encode_batch([body]))
    client.barrier(queue.broker)
    config = {"connector.class": "file_lines", "engine": "native", "topics": "packed-previewed", "filename": str(tmp_path / "o")}
    answer = shown(rocketmq, {**config, "value.converter": "arrow"}, records=2)
    assert [(found[1], found[2]) for found in steps(answer)] == [
        (("read", f'{{"id": {number}, "name": "n"}}'), ("write", f'{{"id": {number}, "name": "n"}}')) for number in range(2)
    ]


def test_a_row_that_a_source_would_pack_is_shown_as_a_row_and_a_packed_message_by_its_size(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,name\n1,a\n")
    config = {"connector.class": "file_source", "filename": str(path), "format": "csv", "topic": "packed-shown"}
    (row,) = steps(shown(rocketmq, {**config, "columns": "id:int64,name", "value.converter": "arrow"}))
    assert row == [("read", '{"id": 1, "name": "a"}'), ("message", '{"id": 1, "name": "a"}')]
    client.create_topic("packed-shown", queues=1)
    (queue,) = client.queues("packed-shown")
    body = ArrowConverter(parse((), {}), is_key=False).encode({"id": 1}, struct([("id", Schema(Type.INT64))]))
    client.send(queue, Message(body))
    config = {"connector.class": "file_lines", "engine": "native", "topics": "packed-shown", "filename": str(tmp_path / "o")}
    (read,) = steps(shown(rocketmq, {**config, "value.converter": "arrow"}))
    assert read[0] == ("message", f"{len(body)} bytes of packed rows")
    assert read[1] == ("read", '{"id": 1}')


def test_of_a_direct_connector_its_source_and_transforms_are_shown(rocketmq: RocketMQ, tmp_path: Path) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.txt"
    path.write_text("id\n7\n")
    config = {
        "connector.class": "direct",
        "source.connector.class": "file_source",
        "source.filename": str(path),
        "source.format": "csv",
        "sink.connector.class": "file_lines",
        "sink.filename": str(out),
        **CAST,
    }
    assert steps(shown(rocketmq, config)) == [[("read", '{"id": "7"}'), ("types", '{"id": 7}')]]
    assert not out.exists()


def test_a_wrong_configuration_is_told_and_nothing_is_shown(rocketmq: RocketMQ, tmp_path: Path) -> None:
    answer = shown(rocketmq, {**csv(tmp_path, "id\n1\n"), "transforms.types.spec": "id:nothing", "format": "x"})
    assert sorted(problem.key for problem in answer.problems) == ["format", "transforms.types.spec"]
    assert answer.records == []


def test_where_there_is_nothing_nothing_is_shown_and_nobody_waits_for_ever(rocketmq: RocketMQ, tmp_path: Path) -> None:
    config = {"connector.class": "file_lines", "engine": "native", "topics": "no-such-topic", "filename": str(tmp_path / "o")}
    assert shown(rocketmq, config) == Previewed("file_lines", [], [], "")
    path = tmp_path / "empty.txt"
    path.touch()
    source = {"connector.class": "file_source", "filename": str(path), "topic": "t"}
    assert shown(rocketmq, source, seconds=0.5) == Previewed("file_source", [], [], "")


def test_a_broker_that_is_away_is_told(tmp_path: Path) -> None:
    config = {"connector.class": "file_lines", "engine": "native", "topics": "t", "filename": str(tmp_path / "o")}
    answer = preview(PreviewConnector("orders", config, 5, 2.0, Endpoints("127.0.0.1:1", "")))
    assert answer.records == []
    assert "127.0.0.1:1" in answer.trouble


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    with running() as found:
        yield found


def registered(tmp_path: Path, registry: TestRegistry) -> dict[str, str]:
    path = tmp_path / "in.csv"
    path.write_text("id\n1\n2\n")
    made = {"connector.class": "file_source", "filename": str(path), "format": "csv", "topic": "never-made"}
    return {**made, **CAST, "value.converter": "avro", "value.converter.schema.registry.url": registry.url}


def test_a_message_with_a_registered_schema_is_shown_and_its_schema_is_not_registered(
    rocketmq: RocketMQ, registry: TestRegistry, tmp_path: Path
) -> None:
    config = registered(tmp_path, registry)
    first, second = steps(shown(rocketmq, config))
    # The id is not known yet; then which branch of a union, and the number.
    assert first[1:] == [("types", '{"id": 1}'), ("message", "7 bytes, base64:AAAAAAACAg==")]
    assert second[-1] == ("message", "7 bytes, base64:AAAAAAACBA==")
    assert registry.store.schemas == []
    assert not [request for request in registry.requests if request.startswith("PUT") or request.endswith("/versions")]


def test_what_the_registry_would_not_take_is_shown_with_its_reason(
    rocketmq: RocketMQ, registry: TestRegistry, tmp_path: Path
) -> None:
    registry.store.register("never-made-value", Held("AVRO", '"string"'))
    told = steps(shown(rocketmq, registered(tmp_path, registry)))
    assert [[name for name, _ in of] for of in told] == [["read", "types", "message"]] * 2
    assert all("not compatible with what is there" in str(of[-1][1]) for of in told)


def test_a_registry_that_is_away_is_told_and_asked_once(rocketmq: RocketMQ, registry: TestRegistry, tmp_path: Path) -> None:
    registry.fault = Response("", 503)
    told = steps(shown(rocketmq, registered(tmp_path, registry)))
    assert [of[1] for of in told] == [("types", '{"id": 1}'), ("types", '{"id": 2}')]
    assert all(f"{registry.url} answers 503" in str(of[-1][1]) for of in told)
    assert len(registry.requests) == 1


def test_of_a_sink_whose_topics_have_nothing_yet_what_its_source_would_send_is_shown_as_the_sink_gets_it(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    rows = csv(tmp_path, "id,name\n1,a\n2,b\nx,c\n3,d\n")
    del rows["value.converter.schemas.enable"]
    source = {**rows, "topic": "preview-of-nothing", "value.converter": "arrow"}
    sink = {"connector.class": "stdout", "topics": "preview-of-nothing", "value.converter": "arrow"}

    def follow(given: dict[str, str], records: int = 10) -> Previewed:
        order = PreviewConnector("out", sink, records, 10.0, Endpoints(rocketmq.name_server, ""), given)
        return preview(order)

    answer = follow(source)
    assert (answer.problems, answer.trouble) == ([], "")
    # The transforms drop the first row, and the third cannot be changed.
    assert [each[1:] for each in steps(answer)] == [
        [("read", '{"id": 2, "name": "b"}'), ("write", '{"id": 2, "name": "b"}')],
        [("read", '{"id": 3, "name": "d"}'), ("write", '{"id": 3, "name": "d"}')],
    ]
    assert [each.position.partition(": ")[0] for each in answer.records] == ["not in the topic yet"] * 2
    assert len(follow(source, records=1).records) == 1
    assert follow({**source, "topic": "another"}).records == []
    wrong = follow({**source, "filename": str(tmp_path / "nowhere"), "follow": "maybe"})
    assert wrong.trouble.startswith("the configuration of the source is wrong: ")
    assert follow({}).records == []
    assert not {"preview-of-nothing", "another"} & set(client.topics())


def test_what_is_in_the_topics_of_a_sink_is_shown_before_what_a_source_would_send(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    topic = "preview-of-something"
    client.create_topic(topic, queues=1)
    client.send(client.queues(topic)[0], Message(b"there"), 10)
    sink = {"connector.class": "stdout", "topics": topic, "value.converter": "string"}
    source = {**csv(tmp_path, "id,name\n2,b\n"), "topic": topic}
    answer = preview(PreviewConnector("out", sink, 10, 10.0, Endpoints(rocketmq.name_server, ""), source))
    assert [each[0] for each in steps(answer)] == [("message", "there")]


def test_no_schema_is_registered_for_a_preview_of_a_sink(rocketmq: RocketMQ, tmp_path: Path) -> None:
    registry = {"value.converter": "avro", "value.converter.schema.registry.url": "http://127.0.0.1:1"}
    rows = csv(tmp_path, "id,name\n2,b\n")
    del rows["value.converter.schemas.enable"]
    source = {**rows, "topic": "preview-of-avro", **registry}
    sink = {"connector.class": "stdout", "topics": "preview-of-avro", "value.converter": "string"}
    answer = preview(PreviewConnector("out", sink, 10, 10.0, Endpoints(rocketmq.name_server, ""), source))
    assert answer.records == []
    assert "converter avro would register the schemas of its messages" in answer.trouble


def test_of_a_sink_with_a_filter_the_messages_that_brokers_leave_to_it_are_shown(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    client.create_topic("preview-tagged", queues=1)
    (queue,) = client.queues("preview-tagged")
    client.send_batch(queue, [Message(b"%d" % n, tags="new" if n == 1 else "old") for n in range(100)])
    client.barrier(queue.broker)
    sink = {"connector.class": "file_lines", "filename": str(tmp_path / "out"), "topics": "preview-tagged", "consume.tags": "new"}
    (record,) = shown(rocketmq, sink, records=5).records
    assert record.position.endswith(": 1")
    client.create_topic("preview-units", topic_type="batch", queues=1)
    answer = shown(rocketmq, {**sink, "topics": "preview-units"})
    assert "is a batch topic" in answer.trouble
