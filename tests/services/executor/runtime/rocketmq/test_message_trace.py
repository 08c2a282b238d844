"""What sinks and sources write into RocketMQ's message trace: real broker, real positions, real tasks."""

import time

import pytest

from rocketmq_remoting import Client, Message, MessageQueue
from rocketmq_remoting.batch import DecodedBatch, encode_batch
from services.executor.contract.task import Kind
from services.executor.runtime.rocketmq import message_trace
from services.executor.runtime.rocketmq.message_trace import MessageTrace, Noted, TraceWriter
from services.executor.topics.steps import Step
from services.executor.topics.traces import Asked, TraceReader, id_of
from tests.processes import wait_until
from tests.services.executor.runtime.conftest import Tasks, notes, produce, values
from tests.shared_rocketmq import RocketMQ

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]
_TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"


def steps(client: Client, topic: str, key: str = "", message_id: str = "") -> list[Step]:
    """What the trace tells of the message of a topic with this key, or this id."""
    asked = Asked(topic, key, message_id, 0)
    return [step for trace in TraceReader(client, asked, time.monotonic() + 60).traces() for step in trace.steps]


def queue_of(tasks: Tasks) -> MessageQueue:
    tasks.create_topic(1)
    return tasks.client.queues(tasks.topic)[0]


def test_the_trace_tells_which_messages_a_sink_has_written_and_which_it_could_not(tasks: Tasks) -> None:
    queue = queue_of(tasks)
    good, bad = f"good-{tasks.unique}", f"bad-{tasks.unique}"
    tasks.client.send(queue, Message(b'"good"', keys=f"{good} other"))
    tasks.client.send(queue, Message(b"no json", keys=bad))
    config = {"connector.class": "log", "file": str(tasks.path / "log"), "value.converter": "json", "errors.tolerance": "all"}
    config["value.converter.schemas.enable"] = "false"
    began = time.time() * 1000
    running = tasks.start(Kind.SINK, {**config, "message.trace": "true"})
    running.reporter.wait_for_out(1)
    wait_until(lambda: len(steps(tasks.client, tasks.topic, good)) + len(steps(tasks.client, tasks.topic, bad)) == 2, 60)
    assert running.stop().clean
    (written,), (refused,) = steps(tasks.client, tasks.topic, good), steps(tasks.client, tasks.topic, bad)
    assert (written.kind, written.group, written.result) == ("CONSUMED", "connect-sink", "success")
    assert (refused.kind, refused.group, refused.result) == ("CONSUMED", "connect-sink", "failed")
    assert written.took_ms is not None
    assert began - 1000 < written.time_ms <= written.time_ms + written.took_ms < time.time() * 1000 + 1000


def test_of_a_buffered_sink_the_trace_tells_what_is_durable(tasks: Tasks) -> None:
    queue = queue_of(tasks)
    key = f"key-{tasks.unique}"
    tasks.client.send(queue, Message(b"x", keys=key))
    file = tasks.path / "heap.txt"
    running = tasks.start(Kind.SINK, {"connector.class": "heap", "file": str(file), "message.trace": "true"})
    running.reporter.wait_for(lambda: sum(map(int, notes(file, "puts"))) == 1)
    puts = len(notes(file, "puts"))
    running.reporter.wait_for(lambda: len(notes(file, "puts")) > puts + 2)
    assert steps(tasks.client, tasks.topic, key) == []
    stopped_ms = time.time() * 1000
    assert running.stop().clean
    wait_until(lambda: [step.result for step in steps(tasks.client, tasks.topic, key)] == ["success"], 60)
    (step,) = steps(tasks.client, tasks.topic, key)
    assert step.took_ms is not None
    assert step.time_ms + step.took_ms > stopped_ms - 100


@pytest.mark.parametrize("tasks", ["batch"], indirect=True)
def test_of_a_batch_topic_the_trace_tells_each_unit_once(tasks: Tasks) -> None:
    queue = queue_of(tasks)
    tasks.client.send_batch(queue, encode_batch([b"x"] * 50))
    file = tasks.path / "log"
    running = tasks.start(Kind.SINK, {"connector.class": "log", "file": str(file), "message.trace": "true"})
    running.reporter.wait_for_out(50)
    ids = {message.message_id for message in tasks.client.pull(queue, 0, suspend=5).messages}
    assert len(ids) == 1
    wait_until(lambda: len(steps(tasks.client, tasks.topic, message_id=min(ids))) == 1, 60)
    assert running.stop().clean


def test_a_trace_topic_that_is_not_there_is_told_once_and_holds_nothing_up(tasks: Tasks) -> None:
    produce(tasks, values(20))
    config = {"connector.class": "log", "file": str(tasks.path / "log"), "message.trace": "true", "message.trace.topic": "nobodys"}
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for_out(20)
    running.reporter.wait_for(lambda: any("there is no topic nobodys" in message for _, message in running.reporter.logs))
    produce(tasks, values(20, 20))
    running.reporter.wait_for_out(40)
    assert running.stop().clean
    told = [message for _, message in running.reporter.logs if "message trace" in message]
    assert len(told) == 1
    assert "traceTopicEnable=true" in told[0]


def test_what_does_not_fit_is_left_out_and_told(rocketmq: RocketMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_trace, "_MOST_HELD", 3)
    logs: list[str] = []
    with Client(rocketmq.name_server) as client:
        trace = MessageTrace(TraceWriter(client, _TRACE_TOPIC, lambda _, message: logs.append(message)), "group")
        for until in (2, 4):
            trace.written("q", until, time.monotonic(), Noted("", [(until - 2, f"id-{until}", ""), (until - 1, f"id-{until}", "")]))
        trace.durable({"q": 4})
        wait_until(lambda: bool(logs), 60)
        assert "2 messages left out" in logs[0]
        trace.close()


def test_many_messages_become_few_of_the_trace_and_all_of_them_are_found(rocketmq: RocketMQ, tasks: Tasks) -> None:
    topic = queue_of(tasks).topic
    with Client(rocketmq.name_server) as client:
        (trace_queue,) = client.queues(_TRACE_TOPIC)
        before = client.max_offset(trace_queue)
        trace = MessageTrace(TraceWriter(client, _TRACE_TOPIC, lambda *_: None), "group")
        ids = [f"{topic}-{number}" for number in range(2000)]
        trace.written("q", 2000, time.monotonic(), Noted("r", [(number, one, "") for number, one in enumerate(ids)]))
        trace.durable({"q": 2000})
        trace.close()
        wait_until(lambda: len(steps(client, topic, message_id=ids[-1])) == 1, 60)
        for one in (ids[0], ids[777]):
            assert len(steps(client, topic, message_id=one)) == 1
        assert client.max_offset(trace_queue) - before < 20


@pytest.mark.parametrize("tasks", ["normal", "batch"], indirect=True)
def test_what_a_source_has_sent_is_told_under_the_ids_that_its_consumers_see(tasks: Tasks) -> None:
    file = tasks.path / "lines.txt"
    key = f"key-{tasks.unique}"
    file.write_text(f"{key} one\nother two\n")
    tasks.create_topic(1)
    config = {"connector.class": "lines", "files": str(file), "keyed": "true", "message.trace": "true"}
    running = tasks.start(Kind.SOURCE, config)
    running.reporter.wait_for_out(2)
    (queue,) = tasks.client.queues(tasks.topic)
    messages = tasks.client.pull(queue, 0, suspend=5).messages
    for message in messages:
        wait_until(lambda message=message: len(steps(tasks.client, tasks.topic, message_id=id_of(message))) == 1, 60)  # type: ignore[misc]
        (step,) = steps(tasks.client, tasks.topic, message_id=id_of(message))
        assert (step.kind, step.group, step.result) == ("SENT", "connect-source", "success")
        assert step.store_host == message.store_host
        assert step.took_ms is not None
        assert abs(step.time_ms - message.store_timestamp_ms) < 60_000
    if tasks.topic_type == "normal":
        assert len(steps(tasks.client, tasks.topic, key)) == 1
    assert running.stop().clean


def test_only_messages_whose_trace_is_on_are_noted_and_none_of_the_trace_itself(rocketmq: RocketMQ) -> None:
    def noted(topic: str, properties: bytes) -> list[tuple[int, str, str]]:
        with Client(rocketmq.name_server) as client:
            trace = MessageTrace(TraceWriter(client, _TRACE_TOPIC, lambda *_: None), "group")
            batch = DecodedBatch.unsent(MessageQueue(topic, "b", 0), 7, b"x", properties)
            return list(trace.note(batch, None).messages)

    properties = b"KEYS\x01a b\x02UNIQ_KEY\x01ID1\x02MSG_REGION\x01r\x02"
    assert noted("orders", properties + b"TRACE_ON\x01true\x02") == [(7, "ID1", "a b")]
    assert noted("orders", properties + b"TRACE_ON\x01false\x02") == []
    assert noted(_TRACE_TOPIC, properties) == []
    assert [keys for _, _, keys in noted("orders", b"MY_KEYS\x01c\x02")] == [""]
