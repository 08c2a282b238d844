"""The family of sources that acknowledge, over a broker that is a folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite, driving
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.rocketmq.properties import extras_of
from tests.rocketconnect_sdk.queues.broker import FolderBroker, FolderSource, Session

SCHEMAS = {"a": STRING, "b": OPTIONAL_STRING, "c": None}


class TestFolder(QueueSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> QueueCase:
        folder = tmp_path / "broker"
        folder.mkdir()
        broker = FolderBroker(folder)
        return QueueCase(FolderSource(), {"folder": str(folder)}, broker.publish, broker.cut, broker.left, every=3, seconds=10)

    def test_tasks_that_are_no_more_are_shared_out(self, case: QueueCase) -> None:
        positions: dict[str, Position] = {}
        for number in range(5):
            with driving(case, positions, number=number, tasks=5) as driver:
                driver.settle(0.05)
        case.publish([str(number) for number in range(20)])
        read = []
        for number in range(2):
            with driving(case, positions, epoch=2, number=number, tasks=2) as driver:
                read.append(driver.settle(0.2).values)
        assert (len(read[0]), len(read[1])) == (12, 8)
        assert case.left is not None
        assert case.left() == 2

    def test_a_preview_leaves_all_as_it_is(self, case: QueueCase, begun: dict[str, Position]) -> None:
        case.publish(["a", "b"])
        task = case.source.open(case.parsed, {"share": "0/1"}, TaskContext(epoch=0))
        task.start({})
        assert [value for batch in batches_of(task.poll()) for value in batch.values] == ["a", "b"]
        task.close()
        with driving(case, begun, epoch=2) as driver:
            assert driver.read(2).values == ["a", "b"]

    def test_what_is_large_is_taken_within_the_buffer(self, case: QueueCase, begun: dict[str, Position]) -> None:
        case.publish([str(number) * 100 for number in range(9)])
        context = TaskContext(epoch=2, buffer_bytes=250)
        task = case.source.open(case.parsed, {"share": "0/1"}, context)
        task.start(begun)
        given: list[Any] = []
        for _ in range(10):
            for batch in batches_of(task.poll()):
                given += batch.values
        assert len(given) == 3
        task.close()

    def test_records_of_one_schema_that_follow_each_other_are_a_batch(
        self, case: QueueCase, begun: dict[str, Position], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        receive = Session.receive

        def typed(session: Session, limit: int, size: int, seconds: float) -> list[Received]:
            return [replace(each, schema=SCHEMAS[str(each.value)]) for each in receive(session, limit, size, seconds)]

        monkeypatch.setattr(Session, "receive", typed)
        case.publish(["a", "a", "b", "a", "c"])
        task = case.source.open(case.parsed, {"share": "0/1"}, TaskContext(epoch=2))
        task.start(begun)
        batches = [batch for batch in batches_of(task.poll()) if batch.values]
        assert [(batch.schema, batch.values) for batch in batches] == [
            (STRING, ["a", "a"]),
            (OPTIONAL_STRING, ["b"]),
            (STRING, ["a"]),
            (None, ["c"]),
        ]
        task.committed({batches[-1].partition: Position(batches[-1].offsets[-1])})
        task.close()

    def test_a_header_of_a_sender_never_stands_in_the_place_of_the_key(
        self, case: QueueCase, begun: dict[str, Position], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        receive = Session.receive
        keys = {"a": "mine", "b": None, "c": "mine"}

        def sent(session: Session, limit: int, size: int, seconds: float) -> list[Received]:
            found = receive(session, limit, size, seconds)
            return [
                replace(each, key=keys[str(each.value)], headers={"KEYS": "other", "x": "y"}, redelivered=each.value == "c")
                for each in found
            ]

        monkeypatch.setattr(Session, "receive", sent)
        case.publish(["a", "b", "c"])
        task = case.source.open(case.parsed, {"share": "0/1"}, TaskContext(epoch=2))
        task.start(begun)
        (batch,) = [batch for batch in batches_of(task.poll()) if batch.values]
        assert batch.headers == [
            {"sender.KEYS": "other", "x": "y"},
            {"KEYS": "other", "x": "y"},
            {"sender.KEYS": "other", "x": "y", "redelivered": "true"},
        ]
        extras, bad = extras_of(batch, [None if key is None else str(key).encode() for key in batch.keys or ()])
        assert bad == {}
        assert [decode_properties(extra)["KEYS"] for extra in extras or ()] == ["mine", "other", "mine"]
        task.committed({batch.partition: Position(batch.offsets[-1])})
        task.close()

    def test_messages_that_go_on_as_they_are_have_their_properties_and_a_key_that_chooses_the_queue(
        self, case: QueueCase, begun: dict[str, Position], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        receive = Session.receive
        own = {"KEYS": "theirs", "x": "y"}

        def whole(session: Session, limit: int, size: int, seconds: float) -> list[Received]:
            return [replace(each, key="group", properties=own, redelivered=True) for each in receive(session, limit, size, seconds)]

        monkeypatch.setattr(Session, "receive", whole)
        case.publish(["a", "b"])
        task = case.source.open(case.parsed, {"share": "0/1"}, TaskContext(epoch=2))
        task.start(begun)
        (batch,) = [batch for batch in batches_of(task.poll()) if batch.values]
        assert (batch.keys, batch.headers, batch.properties) == (["group"] * 2, None, [own] * 2)
        extras, bad = extras_of(batch, [b"group"] * 2)
        assert bad == {}
        assert [decode_properties(extra) for extra in extras or ()] == [own, own]
        task.close()

    def test_an_error_gives_what_was_read_before_it_first(
        self, case: QueueCase, begun: dict[str, Position], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        del begun
        positions: dict[str, Position] = {}
        for number in range(2):
            with driving(case, positions, number=number, tasks=2) as driver:
                driver.settle(0.05)
        case.publish(["a", "b"])
        task = case.source.open(case.parsed, {"share": "0/1"}, TaskContext(epoch=2))
        task.start(positions)
        receive, calls = Session.receive, []

        def failing(session: Session, *limits: Any) -> Any:
            calls.append(session)
            if len(calls) == 2:
                msg = "gone"
                raise SystemAway(msg)
            return receive(session, *limits)

        monkeypatch.setattr(Session, "receive", failing)
        assert [value for batch in batches_of(task.poll()) for value in batch.values] == ["a"]
        with pytest.raises(SystemAway):
            task.poll()
        assert [value for batch in batches_of(task.poll()) for value in batch.values] == ["b"]
        task.close()


def test_more_tasks_than_there_may_be_are_not_planned() -> None:
    class Alone(FolderSource):
        def most_tasks(self, config: Any) -> int:
            del config
            return 1

    source = Alone()
    assert len(source.plan(parse(source.options, {"folder": "f"}), 5, {}).tasks) == 1


def test_a_package_that_is_missing_is_told_when_it_is_checked_and_when_it_is_opened(tmp_path: Path) -> None:
    class Lacking(FolderSource):
        extra = "folders"
        packages = ("pathlib", "no_such_package")

    source = Lacking()
    config = parse(source.options, {"folder": str(tmp_path)})
    (problem,) = source.check(config)
    assert problem.reason == "needs no_such_package, which this executor does not have"
    assert problem.fix == "Install it where the executors run: pip install 'rocketconnect[folders]'."
    with pytest.raises(PermanentError, match="needs no_such_package"):
        source.open(config, {"share": "0/1"}, TaskContext())


def test_a_plugin_of_another_package_has_no_extra_that_its_users_are_sent_to(tmp_path: Path) -> None:
    class Lacking(FolderSource):
        packages = ("no_such_package",)

    source = Lacking()
    (problem,) = source.check(parse(source.options, {"folder": str(tmp_path)}))
    assert problem.fix == "Install it where the executors run, into their environment."
