"""A record is traced on its way from a source through a topic to a sink."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocketmq_remoting.model import Message, MessageQueue
from services.executor.contract.spans import PROPERTY, Context, Span, read
from services.executor.contract.task import Kind, TaskSpec
from services.executor.runtime.sink.traces import SinkTraces
from services.executor.runtime.source.pieces import Piece, ReadBatch
from services.executor.runtime.source.traces import SourceTraces
from tests.services.executor.runtime.conftest import Running, Tasks

SPEC = TaskSpec(Kind.SOURCE, "c", "uid", 1, 1, 0, 3, 1, {})


def _copy(tasks: Tasks, path: Path, a_second: float) -> tuple[Running, Running]:
    (path / "in.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    tasks.create_topic(2)
    target = {"connector.class": "file_lines", "filename": str(path / "out.txt")}
    sink = tasks.start(Kind.SINK, target, trace_records=a_second)
    origin = {"connector.class": "file_source", "filename": str(path / "in.txt")}
    source = tasks.start(Kind.SOURCE, origin, trace_records=a_second, task_config={"share": "0/1", "tasks": "1"})
    source.reporter.wait_for_out(500)
    sink.reporter.wait_for_out(500)
    return source, sink


@pytest.mark.rocketmq
def test_a_record_is_traced_through_poll_send_topic_pull_and_write(tasks: Tasks, tmp_path: Path) -> None:
    source, sink = _copy(tasks, tmp_path, 0.01)
    sink.reporter.wait_for(lambda: len(sink.reporter.spans) == 3)
    of_source = {span.name: span for span in source.reporter.spans}
    of_sink = {span.name: span for span in sink.reporter.spans}
    send, deliver = of_source[f"send {tasks.topic}"], of_sink["deliver sink"]
    root = of_source["read source"]
    assert list(of_source) == ["read source", "poll", "convert", f"send {tasks.topic}"]
    assert list(of_sink) == ["deliver sink", "convert", "write"]
    assert {span.context.trace_id for span in (*source.reporter.spans, *sink.reporter.spans)} == {root.context.trace_id}
    assert {span.parent for name, span in of_source.items() if span is not root} == {root.context.span_id}
    assert (root.parent, deliver.parent) == ("", send.context.span_id)
    assert {of_sink[name].parent for name in ("convert", "write")} == {deliver.context.span_id}
    assert send.attributes["rocketconnect.queue.offset"] == deliver.attributes["rocketconnect.queue.offset"]
    assert send.attributes["messaging.destination.partition.id"] == deliver.attributes["messaging.destination.partition.id"]
    steps = [*of_source.values(), *of_sink.values()]
    assert all(span.start <= span.end for span in steps)
    assert root.start <= of_source["convert"].start <= send.start <= deliver.start <= of_sink["write"].start
    # Files give their records no time, so nothing was measured that it could be an example of.
    assert source.reporter.metrics.latency_exemplars == sink.reporter.metrics.latency_exemplars == ()
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 500
    # The message says it to whoever else reads it, and no other one does.
    said = [properties[PROPERTY] for _, _, properties in tasks.messages() if PROPERTY in properties]
    assert [read(text) for text in said] == [send.context]


@pytest.mark.rocketmq
def test_a_record_of_a_direct_connector_is_traced_from_poll_to_write(tasks: Tasks) -> None:
    file, rows = tasks.file("a", ["first", "second"]), tasks.path / "t.db"
    config = {"connector.class": "direct", "source.connector.class": "lines", "source.files": str(file)}
    running = tasks.start(
        Kind.DIRECT, {**config, "sink.connector.class": "table", "sink.file": str(rows)}, name="copier", trace_records=0.01
    )
    running.reporter.wait_for_out(2)
    assert running.stop().clean
    root, *steps = running.reporter.spans
    assert [span.name for span in running.reporter.spans] == ["copy copier", "poll", "transform", "write"]
    assert {(span.context.trace_id, span.parent) for span in steps} == {(root.context.trace_id, root.context.span_id)}
    poll, transform, write = steps
    assert root.start == poll.start <= poll.end == transform.start <= transform.end == write.start <= write.end == root.end
    assert root.attributes["rocketconnect.source.partition"] == str(file)


@pytest.mark.rocketmq
def test_a_traced_record_is_an_example_of_how_long_its_batch_took(tasks: Tasks, tmp_path: Path) -> None:
    tasks.create_topic(1)
    context = Context.begin()
    # A producer that is no connector gives its records a time.
    (queue,) = tasks.client.queues(tasks.topic)
    tasks.client.send_batch(queue, [Message(b"x", properties={PROPERTY: f"00-{context.trace_id}-{context.span_id}-01"})], 10)
    target = {"connector.class": "file_lines", "filename": str(tmp_path / "out.txt")}
    sink = tasks.start(Kind.SINK, target, trace_records=1)
    sink.reporter.wait_for_out(1)
    assert sink.stop().clean
    assert [each.trace_id for each in sink.reporter.metrics.latency_exemplars] == [context.trace_id]


@pytest.mark.rocketmq
def test_without_a_wish_no_message_says_anything_of_traces(tasks: Tasks, tmp_path: Path) -> None:
    source, sink = _copy(tasks, tmp_path, 0.0)
    assert source.reporter.spans == sink.reporter.spans == []
    assert not [message for message in tasks.messages() if PROPERTY in message[2]]


def test_a_write_that_fails_is_told_as_such_and_of_what_other_producers_trace_there_is_a_limit() -> None:
    now, told = [1 << 40], list[Span]()
    traces = SinkTraces(SPEC, told.append, lambda: now[0])
    contexts = [Context.begin() for _ in range(300)]
    raws = [context.encoded for context in contexts]
    raws[1] = raws[1].replace(b"-01\x02", b"-00\x02")
    raws[2] = b"RCPOS\x01x\x02"
    batch: Any = SimpleNamespace(bodies=[b""] * 300, offsets=range(1000, 1300), raw_properties=raws)
    assert [one.offset for one in traces.pulled(batch, [0, 1, 2, 4])] == [1000, 1004]
    assert len(traces.pulled(batch, None)) == 98
    now[0] += 1_000_000_000
    pulled = traces.pulled(batch, None)
    assert len(pulled) == 100
    parts: list[Any] = [SimpleNamespace(queue="t/b/0", start=start, until=start + 50, traced=()) for start in (1000, 1050)]
    traces.converted(pulled, parts)
    now[0] += 5
    traces.written(parts[:1], now[0] - 2, "the disk is full")
    deliver, convert, write = told[:3]
    assert len(told) == 3 * len(parts[0].traced) == 3 * 48
    assert deliver.parent == contexts[0].span_id
    assert [span.error for span in (deliver, convert, write)] == ["the disk is full", "", "the disk is full"]
    assert (deliver.end - deliver.start, write.end - write.start) == (5, 2)


def test_one_message_of_a_batch_is_traced_and_the_next_when_it_is_time() -> None:
    now, told = [1 << 40], list[Span]()
    traces = SourceTraces(SPEC, 2, told.append, lambda: now[0])

    def pieces(extra: bytes = b"", *, dead: bool = False) -> list[Piece]:
        batch, offsets = ReadBatch("/a", "k", (9,), 0.0), [(number,) for number in range(10)]
        return [Piece(batch, MessageQueue("t", "b", 0), "k", 0, offsets, [b"x"] * 10, [b"RCPOS\x01x\x02" + extra] * 10, dead=dead)]

    def marked(taken: list[Piece]) -> int:
        before = [(piece.size, list(piece.properties)) for piece in taken]
        traces.take(taken)
        changed = 0
        for piece, (size, properties) in zip(taken, before, strict=True):
            count = sum(old != new for old, new in zip(properties, piece.properties, strict=True))
            assert piece.size - size == count * len(Context.begin().encoded)
            changed += count
        return changed

    assert marked(pieces(dead=True)) == 0
    assert marked(pieces(Context.begin().encoded)) == 0, "another one's trace stays as it is"
    assert marked(pieces(b"k\x01" + b"v" * 32_700 + b"\x02")) == 0, "no property makes a message too large"
    first = pieces()
    assert (marked(first), marked(pieces())) == (1, 0)
    now[0] += 500_000_000
    assert marked(pieces()) == 1
    # It was cut before it was sent.
    for start, stop in ((0, 3), (3, 10)):
        traces.confirmed(first[0].part(start, stop), 100 + stop)
    root, _, _, send = told
    assert len(told) == 4
    assert send.attributes["rocketconnect.queue.offset"] == 100 + int(str(root.attributes["rocketconnect.source.offset"]))


_IDS = f"{'a' * 32}-{'b' * 16}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"00-{_IDS}-01", True),
        (f"00-{_IDS}-ff", True),
        (f"cc-{_IDS}-01-what-will-be", True),
        (f"00-{_IDS}-00", False),
        (f"00-{_IDS}-01-more", False),
        (f"ff-{_IDS}-01", False),
        (f"00-{'0' * 32}-{'b' * 16}-01", False),
        (f"00-{'a' * 32}-{'0' * 16}-01", False),
        (f"00-{_IDS.upper()}-01", False),
        (f"00-{_IDS}-01\n", False),
        ("", False),
        ('"><script>', False),
    ],
)
def test_a_context_is_read_as_w3c_says_and_only_of_a_trace_that_is_recorded(text: str, found: bool) -> None:
    assert read(text) == (Context("a" * 32, "b" * 16) if found else None)
