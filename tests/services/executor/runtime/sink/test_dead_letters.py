"""What a sink task can't convert or write, against a real broker: what it ends at, and what becomes a dead letter."""

import pytest

from rocketmq_remoting.model import Message
from services.executor.contract.task import Kind
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.rocketmq.source_marks import Stamper
from tests.services.executor.runtime.conftest import TOPIC_TYPES, Tasks, produce, rows, values

pytestmark = pytest.mark.rocketmq


def test_messages_that_cannot_be_converted_end_the_task_at_that_message(tasks: Tasks) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    tasks.client.send_batch(queue, [Message(body) for body in (b"good", b"\xff\xfe", b"behind")], 10)
    file = tasks.path / "t.db"
    outcome = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)}).end()
    assert outcome.permanent
    assert "offset 1" in outcome.error
    assert rows(file) == ["good"]
    again = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)}, epoch=2).end()
    assert again.permanent
    assert rows(file) == ["good"]


@TOPIC_TYPES
def test_bad_messages_and_refused_records_become_dead_letters(tasks: Tasks) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    tasks.client.send_batch(queue, [Message(body) for body in (b"good", b"\xff\xfe", b"? who", b"behind")], 10)
    file, dead = tasks.path / "t.db", f"dead-{tasks.unique}"
    config = {
        "connector.class": "table",
        "file": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.write.queue.nums": "2",
        "errors.deadletterqueue.read.queue.nums": "3",
    }
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 2)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2)
    assert running.stop().clean
    assert rows(file) == ["good", "behind"]
    # Each of the three that were converted has its share of their 15 bytes.
    assert running.reporter.metrics.bytes_out == 2 * 15 // 3
    letters = {properties["__connect.errors.stage"]: properties for _, _, properties in _raw(tasks, dead)}
    for stage, offset, by in (("CONVERTER", "1", ".StringConverter"), ("TASK_PUT", "2", ".TableWriter")):
        said = {name.removeprefix("__connect.errors."): value for name, value in letters[stage].items()}
        assert (said["topic"], said["broker"], said["partition"], said["offset"]) == (tasks.topic, queue.broker, "0", offset)
        assert said["queue"] == said["partition"]
        assert (said["connector.name"], said["task.id"], said["cluster.id"]) == ("sink", "0", "rocketconnect")
        assert said["class.name"].endswith(by)
        assert said["exception.class.name"] in said["exception.stacktrace"].splitlines()[0]
        assert f"{by[1:]}." in said["exception.stacktrace"]
    assert "it asks" in letters["TASK_PUT"]["__connect.errors.exception.message"]
    made = tasks.client.topic_config(dead)
    assert (made.write_queues, made.read_queues) == (2, 3)


def _raw(tasks: Tasks, topic: str) -> list[tuple[int, bytes, dict[str, str]]]:
    found = []
    for queue in tasks.client.queues(topic):
        tasks.client.barrier(queue.broker)
        for message in tasks.client.pull(queue, 0).messages:
            found.append((queue.queue_id, message.body, dict(message.properties)))
    return found


def test_a_refused_record_ends_the_task_behind_all_that_is_before_it(tasks: Tasks) -> None:
    produce(tasks, values(5), queue=1)
    queue = produce(tasks, ["good", "? who", "behind"])
    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file)}
    for epoch in (1, 2):
        outcome = tasks.start(Kind.SINK, config, epoch=epoch).end()
        assert outcome.permanent
        assert f"queue {text(queue)}, offset 1" in outcome.error
        assert "it asks" in outcome.error
        assert "errors.tolerance=all" in outcome.error
        assert [value for value in rows(file) if value not in values(5)] == ["good"]
    third = tasks.start(Kind.SINK, {**config, "errors.tolerance": "all"}, epoch=3)
    third.reporter.wait_for(lambda: len(rows(file)) == 7)
    assert third.stop().clean
    assert sorted(rows(file)) == sorted(["good", "behind", *values(5)])


@TOPIC_TYPES
@pytest.mark.parametrize("bad", [b"? who", pytest.param(b"\xff\xfe", marks=pytest.mark.slow)])
def test_doubles_behind_a_record_that_ended_the_task_are_still_known_as_doubles(tasks: Tasks, bad: bytes) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    stamps = Stamper("c", 1, "p", 0).stamp([(number,) for number in range(3)])
    places = [stamp.decode().removeprefix("RCPOS\x01").removesuffix("\x02") for stamp in stamps]
    stamped = [Message(str(number).encode(), properties={"RCPOS": places[number]}) for number in range(3)]
    tasks.client.send_batch(queue, [*stamped, Message(bad), *stamped, Message(b"last")], 10)
    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file)}
    outcome = tasks.start(Kind.SINK, config).end()
    assert outcome.permanent
    assert "offset 3" in outcome.error
    assert rows(file) == ["0", "1", "2"]
    second = tasks.start(Kind.SINK, {**config, "errors.tolerance": "all"}, epoch=2)
    second.reporter.wait_for(lambda: second.reporter.metrics.duplicates_skipped == 3)
    second.reporter.wait_for_out(1)
    assert second.stop().clean
    assert rows(file) == ["0", "1", "2", "last"]


def test_dead_letters_are_there_before_the_sink_is_past_their_records_and_once_however_often_it_tries(tasks: Tasks) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    tasks.client.send_batch(queue, [Message(body) for body in (b"good", b"\xff\xfe", b"? who")], 10)
    file, dead = tasks.path / "t.db", f"dead-{tasks.unique}"
    config = {
        "connector.class": "table",
        "file": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.retry.delay.max.ms": "50",
    }
    file.with_suffix(".retry").touch()
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.retries > 3)
    assert rows(file) == []
    assert sorted(body for _, body, _ in _raw(tasks, dead)) == [b"? who", b"\xff\xfe"]
    file.with_suffix(".retry").unlink()
    running.reporter.wait_for_out(1)
    assert running.stop().clean
    assert (running.reporter.metrics.dead_letters, rows(file)) == (2, ["good"])
    assert len(_raw(tasks, dead)) == 2


@TOPIC_TYPES
def test_the_dead_letter_of_a_refused_record_has_the_bytes_of_its_message(tasks: Tasks) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    schema = '{"type": "string", "optional": false}'
    bodies = [f'{{"schema": {schema},  "payload": "{text}"}}'.encode() for text in ("good", "? one", "? two")]
    tasks.client.send_batch(queue, [Message(body, tags="t", keys="k", properties={"own": "p"}) for body in bodies], 10)
    file, dead = tasks.path / "t.db", f"dead-{tasks.unique}"
    config = {
        "connector.class": "table",
        "file": str(file),
        "value.converter": "json",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
    }
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 2)
    running.reporter.wait_for_out(1)
    assert running.stop().clean
    letters = _raw(tasks, dead)
    assert sorted(body for _, body, _ in letters) == bodies[1:]
    assert [(said["TAGS"], said["KEYS"], said["own"]) for _, _, said in letters] == [("t", "k", "p")] * 2


def test_the_dead_letter_of_a_message_that_can_not_be_converted_keeps_its_properties_and_its_body_though_its_key_is_bad(
    tasks: Tasks,
) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    tasks.client.send_batch(queue, [Message(b"value", keys="no number", properties={"own": "p"})], 10)
    file, dead = tasks.path / "t.db", f"dead-{tasks.unique}"
    config = {
        "connector.class": "table",
        "file": str(file),
        "key.converter": "integer",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
    }
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 1)
    assert running.stop().clean
    ((_, body, said),) = _raw(tasks, dead)
    assert (body, said["KEYS"], said["own"]) == (b"value", "no number", "p")


def test_what_was_left_out_is_not_read_again_after_a_restart(tasks: Tasks) -> None:
    """Its dead letters would be doubled, and once retention has taken it, it would look like a gap."""
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    tasks.client.send_batch(queue, [Message(b"good")], 10)
    file, dead = tasks.path / "t.db", f"dead-{tasks.unique}"
    config = {
        "connector.class": "table",
        "file": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
    }
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for_out(1)
    tasks.client.send_batch(queue, [Message(b"\xff\xfe")], 10)
    first.reporter.wait_for(lambda: first.reporter.metrics.dead_letters == 1)
    assert first.stop().clean
    tasks.client.send_batch(queue, [Message(b"last")], 10)
    second = tasks.start(Kind.SINK, config, epoch=2)
    second.reporter.wait_for_out(1)
    assert second.stop().clean
    assert rows(file) == ["good", "last"]
    assert second.reporter.metrics.dead_letters == 0
