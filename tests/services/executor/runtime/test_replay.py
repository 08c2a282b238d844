"""Dead letters come back to the sink that failed at them: real broker, real positions, processes that are killed."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest

from rocketconnect_sdk.letters.dead_letters import DeadLetter, Filter, format_spans, replay_topic
from rocketconnect_sdk.letters.replay_notes import Done, ReplayNote
from rocketconnect_sdk.topics import Message as Read
from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.model import Message, MessageQueue
from rocketmq_remoting.protocol.properties import encode_properties
from services.executor.contract.task import Kind, State
from services.executor.deadletters.box import Box
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from tests.services.executor.runtime.conftest import Running, Tasks, rows

pytestmark = pytest.mark.rocketmq


class Sink:
    """A sink that refuses values that begin with "?", and its dead letters."""

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks
        self.file = tasks.path / "t.db"
        self.dead = f"dead-{tasks.unique}"
        self.uid = f"sink-{tasks.unique}"
        tasks.create_topic(1)
        (self.queue,) = tasks.client.queues(tasks.topic)
        self.config = {
            "connector.class": "table",
            "file": str(self.file),
            "errors.tolerance": "all",
            "errors.log.enable": "false",
            "errors.deadletterqueue.topic.name": self.dead,
        }

    def send(self, messages: Sequence[Message]) -> None:
        for start in range(0, len(messages), 500):
            self.tasks.client.send_batch(self.queue, messages[start : start + 500], 10)

    def start(self, epoch: int = 1) -> Running:
        return self.tasks.start(Kind.SINK, self.config, epoch=epoch)

    def letters(self) -> list[DeadLetter]:
        return [letter for letter in map(DeadLetter.of, self.messages()) if not letter.is_other]

    def noted(self, replay: str) -> Done:
        done = Done()
        for message in self.messages():
            note = ReplayNote.of(message)
            if note is not None and note.replay == replay:
                done.add(note, message.stored_ms)
        return done

    def messages(self) -> list[Read]:
        """All that its dead-letter topic holds."""
        reader = RocketMQTopics(self.tasks.client)
        found: list[Read] = []
        for queue in reader.queues(self.dead):
            self.tasks.client.barrier(parse(queue).broker)
            position, until = reader.ends(queue)
            while position < until:
                messages, position = reader.read(queue, position, until)
                found += messages
        reader.close()
        return found

    def edit(self, letter: DeadLetter, body: bytes) -> None:
        properties = encode_properties(letter.edited(body))
        self.tasks.client.send_batch(parse(letter.message.queue), encode_batch([body], [properties]), 10)

    def replay(self, **more: str) -> Mapping[str, str]:
        """The configuration of a replay of all that is there now."""
        self.tasks.client.barrier(self.queue.broker)
        queues = self.tasks.client.queues(self.dead)
        spans = format_spans({text(queue): [(0, end)] for queue in queues if (end := self.tasks.client.max_offset(queue))})
        return {
            "connector.class": "dead_letter_source",
            "topic": replay_topic(self.uid),
            "key.converter": "bytes",
            "value.converter": "bytes",
            "replay.connector": "sink",
            "replay.topic": self.dead,
            "replay.letters": ",".join(spans),
            "replay.ends": ",".join(spans),
            **more,
        }

    def run_replay(self, name: str = "replay", **more: str) -> Running:
        running = self.tasks.start(Kind.SOURCE, self.replay(**more), name=name)
        running.reporter.wait_for_state(State.IDLE)
        running.reporter.wait_for(lambda: running.reporter.metrics.source_remaining == 0)
        assert running.stop().clean
        return running


@pytest.fixture
def sink(tasks: Tasks) -> Sink:
    return Sink(tasks)


def failed(sink: Sink, messages: Sequence[Message], bad: int) -> Running:
    """The running sink, when so many of the messages are dead letters."""
    sink.send(messages)
    running = sink.start()
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == bad)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == len(messages) - bad)
    return running


def bodies(letters: Sequence[DeadLetter]) -> list[bytes]:
    return [letter.message.body for letter in letters]


def test_an_edited_dead_letter_comes_back_through_the_replay_topic_with_its_key_tags_and_properties(sink: Sink) -> None:
    bad = Message(b"? who", keys="k", tags="t", properties={"own": "p"})
    running = failed(sink, [Message(b"good"), bad], 1)
    (letter,) = sink.letters()
    assert (letter.connector, letter.stage, letter.origin) == ("sink", "write", f"{text(sink.queue)}:1")
    sink.edit(letter, b"first correction")
    sink.edit(letter, b"second correction")
    sink.run_replay()
    running.reporter.wait_for(lambda: rows(sink.file) == ["good", "second correction"])
    ((_, _, said),) = sink.tasks.messages(replay_topic(sink.uid))
    assert (said["KEYS"], said["TAGS"], said["own"], said["connect-replay-count"]) == ("k", "t", "p", "1")
    assert said["connect-replay-origin"] == f"{text(sink.queue)}:1"
    assert not [name for name in said if name.startswith("__connect.errors.")]
    assert running.stop().clean


def test_a_replayed_record_that_fails_again_says_where_it_was_first_and_how_often_it_was_replayed(sink: Sink) -> None:
    running = failed(sink, [Message(b"? who")], 1)
    sink.run_replay()
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 2)
    first, second = sorted(sink.letters(), key=lambda letter: letter.replays)
    assert (first.replays, second.replays) == (0, 1)
    assert second.origin == first.origin == f"{text(sink.queue)}:0"
    assert second.notes["topic"] == replay_topic(sink.uid)
    assert running.stop().clean


def test_a_second_replay_of_the_same_dead_letters_on_purpose_arrives_a_second_time(sink: Sink) -> None:
    running = failed(sink, [Message(b"? who")], 1)
    sink.edit(sink.letters()[0], b"mended")
    sink.run_replay("replay-a")
    sink.run_replay("replay-b")
    running.reporter.wait_for(lambda: rows(sink.file) == ["mended", "mended"])
    assert running.stop().clean


def test_a_letter_that_is_in_the_topic_twice_is_replayed_once(sink: Sink) -> None:
    running = failed(sink, [Message(b"? who"), Message(b"? who")], 2)
    assert running.stop().clean
    first = sink.letters()[0].message
    again = encode_batch([first.body], [encode_properties(first.properties)])
    sink.tasks.client.send_batch(parse(first.queue), again, 10)
    sink.tasks.client.barrier(parse(first.queue).broker)
    with closing(RocketMQTopics(sink.tasks.client)) as reader:
        box = Box(reader, sink.dead, time.monotonic() + 60)
        choice = box.choose(box.ends(), Filter("sink"), replay_topic(sink.uid))
    assert (choice.letters, choice.copies) == (2, 1)
    assert sum(until - begin for each in choice.spans.values() for begin, until in each) == 2


def test_only_what_the_filters_take_is_replayed(sink: Sink) -> None:
    running = failed(sink, [Message(b"? who"), Message(b"\xff\xfe")], 2)
    sink.run_replay(**{"replay.stage": "convert"})
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 3)
    assert [message[1] for message in _raw(sink)] == [b"\xff\xfe"]
    sink.run_replay("other", **{"replay.connector": "another", "replay.stage": "write"})
    assert len(_raw(sink)) == 1
    assert running.stop().clean


def _raw(sink: Sink) -> list[tuple[int, bytes]]:
    (queue,) = sink.tasks.client.queues(replay_topic(sink.uid))
    sink.tasks.client.barrier(queue.broker)
    return [(message.queue_offset, message.body) for message in sink.tasks.client.pull(queue, 0).messages]


def test_a_replay_if_newer_leaves_out_what_a_newer_record_of_its_key_has_overtaken(sink: Sink) -> None:
    old, alone, keyless = Message(b"? old", keys="a"), Message(b"? alone", keys="b"), Message(b"? keyless")
    running = failed(sink, [old, alone, keyless, Message(b"new", keys="a")], 3)
    sink.run_replay(**{"replay.if.newer": "true"})
    assert [body for _, body in _raw(sink)] == [b"? alone", b"? keyless"]
    noted = sink.noted("replay")
    assert (noted.sent, noted.left_out) == (2, 1)
    assert running.stop().clean


def test_what_rocketmq_put_into_its_own_dead_letter_topic_is_replayed_too(sink: Sink) -> None:
    sink.dead = sink.config["errors.deadletterqueue.topic.name"] = f"%DLQ%{sink.tasks.unique}"
    running = sink.start()
    running.reporter.wait_for_state(State.IDLE)
    (queue,) = sink.tasks.client.queues(sink.dead)
    theirs = Message(b"given up", properties={"RECONSUME_TIME": "16", "DLQ_ORIGIN_TOPIC": "orders", "own": "p"})
    sink.tasks.client.send(queue, theirs)
    (letter,) = sink.letters()
    assert (letter.connector, letter.stage, letter.origin) == ("", None, "orders")
    assert f"group {sink.tasks.unique} gave up" in letter.text
    sink.run_replay()
    running.reporter.wait_for(lambda: rows(sink.file) == ["given up"])
    assert running.stop().clean


@pytest.mark.slow
def test_a_replay_that_is_killed_again_and_again_arrives_once_and_in_order(sink: Sink) -> None:
    count = 3_000
    messages = [Message(f"? {number}".encode()) for number in range(count)]
    running = failed(sink, messages, count)
    assert bodies(sink.letters()) == [message.body for message in messages]
    for letter in sink.letters()[:5]:
        sink.edit(letter, letter.message.body.replace(b"?", b"!"))
    config: dict[str, Any] = {**sink.replay(), "max.rate.records": "1500", "batch.records": "50"}
    (queue,) = sink.tasks.client.queues(replay_topic(sink.uid))
    killed = 0
    for epoch in range(1, 4):
        before = sink.tasks.client.max_offset(queue)
        process = sink.tasks.spawn(Kind.SOURCE, config, epoch=epoch)
        _until(lambda before=before: sink.tasks.client.max_offset(queue) >= before + 200)
        process.kill()
        process.wait()
        killed += sink.tasks.client.max_offset(queue) < count
    assert killed == 3, "all of them were killed in the middle"
    last = sink.tasks.start(Kind.SOURCE, config, epoch=4)
    last.reporter.wait_for_state(State.IDLE)
    last.reporter.wait_for(lambda: last.reporter.metrics.source_remaining == 0)
    assert last.stop().clean
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 2 * count - 5)
    assert rows(sink.file) == [f"! {number}" for number in range(5)]
    again = [letter for letter in sink.letters() if letter.replays]
    assert bodies(again) == [f"? {number}".encode() for number in range(5, count)]
    noted = sink.noted("source")
    assert (noted.sent, noted.left_out, noted.is_all) == (count, 0, True)
    assert running.stop().clean


def _until(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_replay_topics_have_one_queue_so_that_what_comes_back_keeps_its_order(sink: Sink) -> None:
    running = sink.start()
    running.reporter.wait_for_state(State.IDLE)
    queues: list[MessageQueue] = sink.tasks.client.queues(replay_topic(sink.uid))
    assert len(queues) == 1
    assert running.stop().clean
