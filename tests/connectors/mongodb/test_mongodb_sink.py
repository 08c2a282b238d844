"""The sink against FerretDB; no MongoDB was there."""

import json
from collections.abc import Sequence
from typing import Any, Self

import pytest

from connectors.mongodb.sink import MongodbSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.write import WriteSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit
from tests.servers.mongodb.ferretdb import FerretDb

QUEUE = "orders/b/0"


class Run:
    """A task that writes one queue into a database of its own."""

    def __init__(self, server: FerretDb, database: Any = None, **options: str) -> None:
        self.database = server.new_database() if database is None else database
        given = {
            "url": server.url,
            "database": self.database.name,
            **{key.replace("_", "."): each for key, each in options.items()},
        }
        sink = MongodbSink()
        config = parse(sink.options, given)
        assert list(sink.check(config)) == []
        self.task: RecordSinkTask = sink.open(config, {}, TaskContext())
        self.task.start()
        self.at = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.task.close()

    def write(self, values: Sequence[object], keys: Sequence[object]) -> dict[int, str]:
        """Writes a batch as the runtime does; returns what was refused."""
        return self.write_batch(SinkBatch(QUEUE, "orders", values, range(self.at, self.at + len(values)), keys, None, None))

    def write_batch(self, batch: SinkBatch) -> dict[int, str]:
        """The same, of a batch that begins where the last one has ended."""
        values = batch.values
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = error.refused, [error.receipt]
        end = QueuePosition(self.at + len(values))
        commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(self.at)}, {QUEUE: end}, len(values), f"t{self.at}")
        try:
            self.task.commit(receipts, commit)
        except RecordRefused as error:
            refused |= error.refused
        self.at += len(values)
        return refused

    def documents(self, collection: str = "orders") -> list[Any]:
        return list(self.database[collection].find(sort=[("_id", 1)]))


def change(op: str, before: object, after: object, **more: object) -> str:
    return json.dumps({"op": op, "before": before, "after": after, **more})


@pytest.mark.slow
def test_documents_have_their_newest_value_and_go_with_their_key(ferretdb: FerretDb) -> None:
    with Run(ferretdb, delete_enabled="true") as run:
        assert run.write([{"a": 1}, {"b": [1.5, None]}, {"a": 2}, None], ['{"id":7}', "k", '{"id":7}', "gone"]) == {}
        assert run.documents() == [{"_id": 7, "a": 2}, {"_id": "k", "b": [1.5, None]}]
        assert run.write([None], ['{"id":7}']) == {}
        assert run.documents() == [{"_id": "k", "b": [1.5, None]}]


@pytest.mark.slow
def test_updates_keep_the_fields_that_a_record_does_not_have(ferretdb: FerretDb) -> None:
    with Run(ferretdb, write_method="update") as run:
        run.write([{"a": 1, "b": 2}, {"a": 3}, {}], ["k", "k", "empty"])
        assert run.documents() == [{"_id": "empty"}, {"_id": "k", "a": 3, "b": 2}]


@pytest.mark.slow
def test_changes_of_rows_are_what_they_say(ferretdb: FerretDb) -> None:
    with Run(ferretdb, delete_enabled="true", collection="c_${topic}", id="${value.id}") as run:
        run.write([change("c", None, {"id": 1, "a": "x", "big": "y"})], ['{"id":1}'])
        run.write([change("u", None, {"id": 1, "a": "z", "big": None}, unchanged=["big"])], ['{"id":1}'])
        assert run.documents("c_orders") == [{"_id": 1, "id": 1, "a": "z", "big": "y"}]
        run.write([change("u", {"id": 1}, {"id": 2, "a": "moved"})], ['{"id":2}'])
        assert run.documents("c_orders") == [{"_id": 2, "id": 2, "a": "moved"}]
        run.write([change("d", {"id": 2}, None)], ['{"id":2}'])
        assert run.documents("c_orders") == []


@pytest.mark.slow
@pytest.mark.parametrize("keys", [list(range(30)), [number % 3 for number in range(30)]], ids=["each-its-key", "some-keys"])
def test_one_document_that_is_refused_hides_none_of_the_others(ferretdb: FerretDb, keys: list[int]) -> None:
    with Run(ferretdb, id="${value.k}") as run:
        rows: list[object] = [{"k": key, "n": number} for number, key in enumerate(keys)]
        rows[15] = {"k": keys[15], "$n": 1}
        assert list(run.write(rows, [None] * len(rows))) == [15]
        left = {key: number for number, key in enumerate(keys) if number != 15}
        assert {each["_id"]: each["n"] for each in run.documents()} == left


@pytest.mark.slow
def test_names_that_no_collection_has_refuse_their_records(ferretdb: FerretDb) -> None:
    with Run(ferretdb, collection="${value.c}") as run:
        refused = run.write([{"c": "a$b"}, {"c": "ok"}], ["1", "2"])
        assert list(refused) == [0]
        assert len(run.documents("ok")) == 1


@pytest.mark.slow
def test_a_server_that_dies_is_waited_for_and_all_is_there_when_it_is_back() -> None:
    with FerretDb().running() as server, Run(server, request_timeout="1s") as run:
        run.write([{"a": 1}], ["1"])
        server.kill()
        with pytest.raises(SystemAway, match="no server answers"):
            run.write([{"a": 2}], ["2"])
        server.start()
        assert run.write([{"a": 2}], ["2"]) == {}
        assert [each["_id"] for each in run.documents()] == ["1", "2"]


def test_a_server_that_is_away_is_waited_for() -> None:
    sink = MongodbSink()
    config = parse(sink.options, {"url": "mongodb://127.0.0.1:1", "database": "shop", "request.timeout": "0.2s"})
    (problem,) = sink.check(config)
    assert problem.is_warning
    task = sink.open(config, {}, TaskContext())
    with pytest.raises(SystemAway, match="no server answers"):
        task.start()


def numbered(queue: int, offset: int) -> object:
    return {"text": f"{queue}:{offset:06d} ünï"}


@pytest.mark.slow
class TestConformance(SinkSuite, WriteSuite):
    @pytest.fixture
    def case(self, ferretdb: FerretDb) -> SinkCase:
        database = ferretdb.new_database()
        config = {"url": ferretdb.url, "database": database.name, "collection": "all", "id": "${queue}@${offset}"}

        def read() -> list[object]:
            return [{"text": text} for text in sorted(each["text"] for each in database["all"].find())]

        keyed, calls = {"id": "${key}", "delete.enabled": "true"}, ("connectors.mongodb.connection:sent",)
        return SinkCase(MongodbSink(), config, read, numbered, None, calls=calls, keyed=keyed)

    def test_a_large_batch_is_there_and_in_order(self, case: SinkCase) -> None:
        del case
        pytest.skip("FerretDB takes minutes for the 30,000 documents of it")
