"""Transforms in tasks: of sources, of sinks, of direct tasks, of packed messages; and systems that they wait for."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from rocketconnect_sdk.columns.compact import Column, Numbers, Texts
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Rejected, SourceBatch
from rocketconnect_sdk.routes.allowed import Routes
from rocketconnect_sdk.schema import BYTES, STRING
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.chain import Chain, Step, make
from services.executor.contract.metrics import SourcePosition
from services.executor.contract.task import Kind, State
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.transforms import of_source, of_topics
from tests.services.executor.runtime.conftest import TOPIC_TYPES, Tasks, rows
from tests.services.executor.runtime.plugins.gated import Loud

LOUD = {"transforms": "loud", "transforms.loud.type": "loud"}
TOLERANT = {"errors.tolerance": "all", "errors.retry.delay.max.ms": "100"}


CHAIN = Chain([Step("up", Loud(parse(Loud.options, {})))])


def batch(values: Sequence[object], **columns: object) -> SourceBatch:
    offsets = Numbers(list(range(10, 10 * len(values) + 1, 10)))
    return SourceBatch("p", values, offsets, schema=STRING, size=100, **columns)  # type: ignore[arg-type]


class TestBatchesOfASource:
    def test_without_transforms_it_is_the_same_batch(self) -> None:
        given = batch(["a"])
        assert of_source(Chain([]), given, "t")[0] is given

    def test_each_schema_is_a_batch_and_together_they_end_where_the_batch_ended(self) -> None:
        found = of_source(CHAIN, batch(["a", "drop", "bytes", "drop", "b", "drop"], keys=list("uvwxyz")), "t")
        assert [(list(each.values), list(each.offsets), each.end, each.schema, each.keys) for each in found] == [
            (["A"], [(10,)], (20,), STRING, ["u"]),
            ([b"bytes"], [(30,)], (40,), BYTES, ["w"]),
            (["B"], [(50,)], (60,), STRING, ["y"]),
        ]
        assert [each.topics for each in found] == [["t"]] * 3

    def test_of_a_batch_that_is_dropped_the_end_is_left(self) -> None:
        (found,) = of_source(CHAIN, batch(["drop", "drop"]), "t")
        assert (len(found), found.end) == (0, (20,))
        (found,) = of_source(CHAIN, replace(batch(["drop"]), end=(99,)), "t")
        assert found.end == (99,)

    def test_a_batch_that_only_moves_a_position_passes_as_it_is(self) -> None:
        given = SourceBatch("p", [], [], end=(7,))
        assert of_source(CHAIN, given, "t")[0] is given

    def test_whole_messages_are_not_changed_in_part(self) -> None:
        given = batch(["a"], properties=[{"KEYS": "k"}])
        with pytest.raises(PermanentError, match="transforms=up cannot change whole messages"):
            of_source(CHAIN, given, "t")
        assert of_source(Chain([]), given, "t")[0] is given

    def test_what_could_not_be_read_or_changed_stands_in_its_place(self) -> None:
        rejected = Rejected("Bad", "it is bad", b"original", 8, "00")
        (found,) = of_source(CHAIN, batch(["a", rejected, "bad", "b"], headers=[{"h": str(n)} for n in range(4)]), "t")
        first, second, third, fourth = found.values
        assert (first, second, fourth) == ("A", rejected, "B")
        assert isinstance(third, Failure)
        assert (third.stage, third.error, third.original) == (Stage.TRANSFORM, "ValueError", b"bad")
        assert third.message == "transform up: bad"
        assert [headers["h"] for headers in found.headers or ()] == ["0", "1", "2", "3"]

    def test_columns_stay_columns(self) -> None:
        import pyarrow as pa

        keep = make({"transforms": "k", "transforms.k.type": "replace_field", "transforms.k.include": "a"})
        from rocketconnect_sdk.schema import Schema, Type, struct

        schema = struct([("a", Schema(Type.INT64, optional=True)), ("b", Schema(Type.INT64, optional=True))])
        values = Column(pa.array([{"a": 1, "b": 2}, {"a": 3, "b": 4}]))
        (found,) = of_source(keep, replace(batch(["x", "y"]), values=values, schema=schema), "t")
        assert isinstance(found.values, Column)
        assert list(found.values) == [{"a": 1}, {"a": 3}]
        route = make(
            {
                "transforms": "r",
                "transforms.r.type": "regex_router",
                "transforms.r.regex": "t",
                "transforms.r.replacement": "u",
            }
        )
        given = batch(Texts([b"x", b"y"]))
        (found,) = of_source(route, given, "t")
        assert found.values is given.values
        assert found.topics == ["u", "u"]

    def test_a_record_that_names_a_topic_that_is_not_allowed_fails_alone_and_its_letter_leads_to_the_topic_of_the_source(
        self,
    ) -> None:
        rejected = Rejected("Bad", "it is bad", b"original", 8, "00")
        named = ["plant-a", "RCREPLAY_uid", "", "other", "t"]
        given = batch(["a", "b", "c", rejected, "e"], topics=named)
        (found,) = of_topics(Chain([]), given, Routes("t", ["plant-.*"]))
        assert (found.topics, list(found.values)[0::2], found.values[3]) == (
            ["plant-a", "", "", "", "t"],
            ["a", "c", "e"],
            rejected,
        )
        failure = found.values[1]
        assert isinstance(failure, Failure)
        assert (failure.stage, failure.error, failure.original) == (Stage.TRANSFORM, "TopicRefused", b"b")
        assert "RCREPLAY_uid, which is for RocketMQ or RocketConnect itself" in failure.message
        (untouched,) = of_topics(Chain([]), batch(["a"], topics=["plant-a"]), Routes("t"))
        assert untouched.topics == ["plant-a"]

    def test_columns_whose_records_may_not_go_there_fail_one_by_one(self) -> None:
        (found,) = of_topics(Chain([]), batch(Texts([b"x", b"y"]), topics=["%DLQ%g", "u"]), Routes("t"))
        assert isinstance(found.values[0], Failure)
        assert (found.values[1], found.topics) == ("y", ["", "u"])


@pytest.mark.rocketmq
class TestSources:
    @TOPIC_TYPES
    def test_what_a_record_may_not_name_is_a_dead_letter_and_no_such_topic_is_made(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        dead, other = f"dead-{tasks.unique}", f"other-{tasks.unique}"
        path = tasks.file("a", ["a", "b"])
        route = {
            "transforms": "r",
            "transforms.r.type": "regex_router",
            "transforms.r.regex": ".*",
            "transforms.r.replacement": other,
        }
        config = {"connector.class": "lines", "files": str(path), **route, **TOLERANT, "topic.allowed": "plant-.*"}
        source = tasks.start(Kind.SOURCE, {**config, "errors.deadletterqueue.topic.name": dead})
        source.reporter.wait_for(lambda: source.reporter.metrics.dead_letters == 2)
        assert source.stop().clean
        letters = tasks.messages(dead)
        assert [body for _, body, _ in letters] == ["a", "b"]
        assert {properties["__connect.errors.stage"] for _, _, properties in letters} == {"TRANSFORMATION"}
        assert f"the topic {other}, which topic.allowed does not allow" in letters[0][2]["__connect.errors.exception.message"]
        assert not tasks.client.topic_exists(other)

    @TOPIC_TYPES
    def test_what_is_changed_arrives_in_order_and_what_is_dropped_counts_as_read(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        lines = ["a", "drop 1", "b", "drop 2", "drop 3"]
        path = tasks.file("a", lines)
        config = {"connector.class": "lines", "files": str(path), **LOUD}
        first = tasks.start(Kind.SOURCE, config)
        end = (SourcePosition(str(path), 5),)
        first.reporter.wait_for(lambda: first.reporter.metrics.source_positions == end)
        assert first.stop().clean
        assert (first.reporter.metrics.records_in, first.reporter.metrics.records_out) == (5, 2)
        tasks.file("a", [*lines, "drop 4", "c"])
        second = tasks.start(Kind.SOURCE, config, epoch=2)
        second.reporter.wait_for_out(1)
        assert second.stop().clean
        assert tasks.bodies() == ["A", "B", "C"]

    def test_a_bad_record_becomes_a_dead_letter_of_its_stage_and_the_others_go_on(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        dead = f"dead-{tasks.unique}"
        path = tasks.file("a", ["a", "bad one", "b"])
        config = {"connector.class": "lines", "files": str(path), **LOUD, **TOLERANT}
        source = tasks.start(Kind.SOURCE, {**config, "errors.deadletterqueue.topic.name": dead})
        source.reporter.wait_for(lambda: source.reporter.metrics.dead_letters == 1)
        source.reporter.wait_for_out(2)
        assert source.stop().clean
        assert tasks.bodies() == ["A", "B"]
        ((_, body, properties),) = tasks.messages(dead)
        assert body == "bad one"
        assert properties["__connect.errors.stage"] == "TRANSFORMATION"
        assert properties["__connect.errors.exception.message"] == "transform loud: bad one"
        assert properties["__connect.errors.class.name"] == "gated.Loud"

    def test_without_tolerance_the_task_ends_at_the_bad_record_and_nothing_behind_it_moves(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        path = tasks.file("a", ["a", "drop", "bad one", "b"])
        source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(path), **LOUD})
        outcome = source.end()
        assert outcome.failed
        assert "transform: ValueError: transform loud: bad one" in outcome.error
        assert tasks.bodies() == ["A"]

    @pytest.mark.parametrize("what", ["transform", pytest.param("converter", marks=pytest.mark.slow)])
    def test_while_a_system_is_away_that_one_needs_the_task_waits_and_loses_nothing(self, tasks: Tasks, what: str) -> None:
        tasks.create_topic(1)
        away = tasks.path / "away"
        away.touch()
        lines = [f"line {number}" for number in range(100)]
        path = tasks.file("a", lines)
        config = {"connector.class": "lines", "files": str(path), **LOUD, "value.converter": "gated"}
        config |= {"transforms.loud.away" if what == "transform" else "value.converter.away": str(away)}
        source = tasks.start(Kind.SOURCE, config)
        told = source.reporter.wait_for_state(State.WAITING)
        assert f"converting what was read: {away} is there" in told
        time.sleep(0.5)
        assert source.reporter.metrics.errors == 1
        assert tasks.bodies() == []
        away.unlink()
        source.reporter.wait_for_out(100)
        assert source.stop().clean
        assert tasks.bodies() == [line.upper() for line in lines]

    def test_one_that_is_busy_for_too_long_ends_the_task(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        busy = tasks.path / "busy"
        busy.write_text("busy")
        config = {"connector.class": "lines", "files": str(tasks.file("a", ["a"])), **LOUD, "errors.retry.timeout": "1000"}
        outcome = tasks.start(Kind.SOURCE, {**config, "transforms.loud.away": str(busy)}).end()
        assert outcome.failed
        assert "converting what was read" in outcome.error
        assert "(tried again for 1 s, errors.retry.timeout)" in outcome.error

    def test_one_that_waits_can_be_stopped_and_its_successor_sends_everything_once(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        away = tasks.path / "away"
        path = tasks.file("a", ["a", "b"])
        config = {"connector.class": "lines", "files": str(path), **LOUD, "transforms.loud.away": str(away)}
        first = tasks.start(Kind.SOURCE, config)
        first.reporter.wait_for_out(2)
        away.touch()
        tasks.file("a", ["a", "b", "c"])
        first.reporter.wait_for_state(State.WAITING)
        first.stop(20)
        away.unlink()
        second = tasks.start(Kind.SOURCE, config, epoch=2)
        second.reporter.wait_for_out(1)
        assert second.stop().clean
        assert tasks.bodies() == ["A", "B", "C"]

    def test_records_go_to_the_topics_that_a_transform_names(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        other = f"other-{tasks.unique}"
        path = tasks.file("a", ["a", f"to {other}", "b"])
        source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(path), **LOUD})
        source.reporter.wait_for_out(3)
        assert source.stop().clean
        assert (tasks.bodies(), tasks.bodies(other)) == (["A", "B"], [f"TO {other.upper()}"])


def fill(tasks: Tasks, lines: Sequence[str], more: Mapping[str, str] = MappingProxyType({}), *, fresh: int = 0) -> None:
    path = tasks.file("filled", lines)
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(path), **more}, name="filler")
    source.reporter.wait_for_out(fresh or len(lines))
    assert source.stop().clean


@pytest.mark.rocketmq
class TestSinks:
    @TOPIC_TYPES
    @pytest.mark.parametrize("packed", [False, True], ids=["messages", "packed"])
    def test_a_sink_gets_what_its_transforms_make(self, tasks: Tasks, packed: bool) -> None:
        tasks.create_topic(1)
        converter = {"value.converter": "arrow"} if packed else {}
        fill(tasks, ["a", "drop 1", "bad one", "b", "drop 2"], converter)
        dead = f"dead-{tasks.unique}"
        file = tasks.path / "t.db"
        config = {"connector.class": "table", "file": str(file), **converter, **LOUD, **TOLERANT}
        config["errors.deadletterqueue.topic.name"] = dead
        sink = tasks.start(Kind.SINK, config)
        sink.reporter.wait_for(lambda: rows(file) == ["A", "B"])
        sink.reporter.wait_for(lambda: sink.reporter.metrics.dead_letters == 1)
        assert sink.stop().clean
        ((_, body, properties),) = tasks.messages(dead) if not packed else [(0, "bad one", _properties(tasks, dead))]
        assert body == "bad one"
        assert properties["__connect.errors.stage"] == "TRANSFORMATION"
        assert properties["__connect.errors.exception.message"] == "transform loud: bad one"
        # What was dropped is not read again.
        again = tasks.start(Kind.SINK, config, epoch=2)
        fill(tasks, ["a", "drop 1", "bad one", "b", "drop 2", "c"], converter, fresh=1)
        again.reporter.wait_for(lambda: rows(file) == ["A", "B", "C"])
        assert again.stop().clean
        assert again.reporter.metrics.records_in == 1

    @TOPIC_TYPES
    def test_while_a_system_is_away_the_sink_waits_and_loses_and_doubles_nothing(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        lines = [f"line {number}" for number in range(500)]
        fill(tasks, lines)
        away, file = tasks.path / "away", tasks.path / "t.db"
        away.touch()
        config = {"connector.class": "table", "file": str(file), **LOUD, "value.converter": "gated"}
        sink = tasks.start(Kind.SINK, {**config, "value.converter.away": str(away)})
        assert f"{away} is there" in sink.reporter.wait_for_state(State.WAITING)
        assert rows(file) == []
        away.unlink()
        sink.reporter.wait_for(lambda: len(rows(file)) >= 500)
        assert sink.stop().clean
        assert rows(file) == [line.upper() for line in lines]

    def test_one_that_is_busy_for_too_long_ends_the_task_and_a_restart_goes_on_there(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        fill(tasks, ["a", "b"])
        busy, file = tasks.path / "busy", tasks.path / "t.db"
        busy.write_text("busy")
        config = {"connector.class": "table", "file": str(file), **LOUD, "transforms.loud.away": str(busy)}
        outcome = tasks.start(Kind.SINK, {**config, "errors.retry.timeout": "1000"}).end()
        assert outcome.failed
        assert "(tried again for 1 s, errors.retry.timeout)" in outcome.error
        busy.unlink()
        again = tasks.start(Kind.SINK, config, epoch=2)
        again.reporter.wait_for(lambda: rows(file) == ["A", "B"])
        assert again.stop().clean

    def test_without_tolerance_what_is_before_the_bad_record_is_written_and_nothing_behind_it(self, tasks: Tasks) -> None:
        tasks.create_topic(1)
        fill(tasks, ["a", "drop", "bad one", "b"])
        file = tasks.path / "t.db"
        outcome = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file), **LOUD}).end()
        assert outcome.failed
        assert "transform loud: bad one" in outcome.error
        assert rows(file) == ["A"]


@pytest.mark.rocketmq
class TestDirect:
    def test_a_direct_task_transforms_and_what_is_dropped_counts_as_done(self, tasks: Tasks) -> None:
        file, source = tasks.path / "t.db", tasks.file("a", ["a", "drop 1", "bad one", "b", "drop 2"])
        config = {
            "connector.class": "direct",
            "source.connector.class": "lines",
            "source.files": str(source),
            "sink.connector.class": "table",
            "sink.file": str(file),
            **LOUD,
            **TOLERANT,
        }
        first = tasks.start(Kind.DIRECT, config)
        end = (SourcePosition(str(source), 5),)
        first.reporter.wait_for(lambda: first.reporter.metrics.source_positions == end)
        assert first.stop().clean
        assert rows(Path(file)) == ["A", "B"]
        tasks.file("a", ["a", "drop 1", "bad one", "b", "drop 2", "drop 3", "c"])
        second = tasks.start(Kind.DIRECT, config, epoch=2)
        second.reporter.wait_for(lambda: len(rows(file)) == 3)
        assert second.stop().clean
        assert second.reporter.metrics.records_in == 2


def _properties(tasks: Tasks, topic: str) -> dict[str, str]:
    ((_, _, properties),) = _raw(tasks, topic)
    return properties


def _raw(tasks: Tasks, topic: str) -> list[tuple[int, bytes, dict[str, str]]]:
    from rocketmq_remoting.pulls.stream import PullStream

    (queue,) = [queue for queue in tasks.client.queues(topic) if tasks.client.max_offset(queue)]
    with PullStream(tasks.client, queue, 0) as stream:
        return [(0, message.body, dict(message.properties)) for message in stream.next(5) or ()]
