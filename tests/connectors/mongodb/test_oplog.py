"""The oplog of FerretDB, and its documents in another database; no MongoDB was there."""

import json
import random
from typing import Any
from uuid import UUID

import bson
import pytest
from bson.binary import Binary
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp

from connectors.mongodb.source import MongodbSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import SinkBatch
from tests.connectors.mongodb.running import Reading, applied, shaken
from tests.connectors.mongodb.test_mongodb_sink import Run
from tests.servers.mongodb.ferretdb import FerretDb

pytestmark = pytest.mark.slow
ROWS = [{"_id": number - 3, "name": None if number % 3 else f"é{number}"} for number in range(18)]


def options(database: Any, server: FerretDb, **more: str) -> dict[str, str]:
    given = {"url": server.url, "capture.mode": "oplog", "database.include": database.name, "change.form": "row"}
    return {**given, "document.form": "relaxed", **{key.replace("_", "."): each for key, each in more.items()}}


def texts(rows: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]


class TestDocumentsThatAreThere(SourceSuite):
    @pytest.fixture
    def case(self, replica_set: FerretDb) -> SourceCase:
        database = replica_set.new_database()
        database["t"].insert_many(ROWS)
        return SourceCase(MongodbSource(), options(database, replica_set, snapshot_chunk_size="4"), texts(ROWS))


class TestTwoCollections(SourceSuite):
    @pytest.fixture
    def case(self, replica_set: FerretDb) -> SourceCase:
        database = replica_set.new_database()
        database["t"].insert_many(ROWS)
        keys = [ObjectId(), "a", "b" * 300, {"a": 1}, True, 1.5, Int64(2**60), b"\x01"]
        database["u"].insert_many([{"_id": key, "n": number} for number, key in enumerate(keys)])
        return SourceCase(MongodbSource(), options(database, replica_set))


class TestLog(SourceSuite):
    @pytest.fixture
    def case(self, replica_set: FerretDb) -> SourceCase:
        database = replica_set.new_database()
        replica_set.begin_oplog()
        database["t"].insert_many(ROWS)
        for row in ROWS[5:9]:
            database["t"].delete_one({"_id": row["_id"]})
        database["t"].insert_one({"_id": 99})
        database["t"].update_one({"_id": 99}, {"$set": {"x": 1}})
        expected = [*texts(ROWS), *[None] * 4, '{"_id":99}', '{"_id":99,"x":1}']
        return SourceCase(MongodbSource(), options(database, replica_set, snapshot_mode="earliest"), expected)


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_step_it_gives_each_change_once_and_every_document(replica_set: FerretDb, seed: int) -> None:
    chance, database = random.Random(seed), replica_set.new_database()
    collection = database["a"]
    collection.insert_many([{"_id": number, "x": 0} for number in range(20)])
    reading = Reading(replica_set.url, 4, capture_mode="oplog", database_include=database.name)
    happened: list[tuple[str, int]] = []
    for step in range(60):
        identity = chance.randrange(26)
        if chance.random() < 0.5:
            collection.update_one({"_id": identity}, {"$set": {"x": step}})
        elif collection.delete_one({"_id": identity}).deleted_count:
            happened += [("d", identity)] if "oplog" in reading.positions else []
        else:
            collection.insert_one({"_id": identity, "x": step})
            happened += [("c", identity)] if "oplog" in reading.positions else []
        shaken(reading, chance)
    reading.kill()
    reading.all()
    assert applied(reading.sent)[f"-{database.name}-a"] == {str(each["_id"]): each for each in collection.find()}
    offsets = [each.offset for each in reading.sent if each.partition == "oplog"]
    assert offsets == sorted(set(offsets))
    given = [(each.op, each.key["_id"]) for each in reading.sent if each.partition == "oplog" and each.op in ("c", "d")]
    assert given[len(given) - len(happened) :] == happened


def test_a_server_that_dies_is_waited_for_and_read_on_behind_what_was_given() -> None:
    with FerretDb(oplog=True).running() as server:
        collection = server.new_database()["a"]
        collection.insert_many([{"_id": number} for number in range(5)])
        reading = Reading(server.url, 2, capture_mode="oplog", request_timeout="1s")
        reading.poll()
        server.kill()
        with pytest.raises(SystemAway, match="no server answers"):
            reading.poll()
        server.start()
        collection.insert_one({"_id": 7})
        reading.all()
        assert {each.key["_id"] for each in reading.sent} == {0, 1, 2, 3, 4, 7}
        assert [each.op for each in reading.sent if each.key["_id"] == 7][-1] == "c"


def test_entries_that_were_removed_are_told(replica_set: FerretDb) -> None:
    database = replica_set.new_database()
    reading = Reading(replica_set.url, capture_mode="oplog", database_include=database.name, snapshot_mode="never")
    database["a"].insert_one({"_id": 1})
    reading.all()
    database["a"].insert_one({"_id": 2})
    assert [each.key["_id"] for each in reading.all()] == [2]
    reading.kill()
    database["a"].insert_many([{"_id": 3}, {"_id": 4}])
    replica_set.oplog.delete_many({"ts": {"$lt": replica_set.oplog.find().sort("$natural", -1).limit(1)[0]["ts"]}})
    with pytest.raises(PermanentError, match="were removed, and never read"):
        reading.start()


KINDS = {
    "int32": 7,
    "int64": Int64(7),
    "double": 7.0,
    "oid": ObjectId(),
    "date": bson.DatetimeMS(1_709_168_523_004),
    "timestamp": Timestamp(1, 2),
    "binary": Binary(b"\x00\xff", 5),
    "uuid": Binary.from_uuid(UUID(int=5)),
    "regex": Regex("^a", "i"),
    "list": [1, Int64(2), "x", {"y": None}],
    "text": "é",
}


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_what_the_source_gives_the_sink_writes_into_another_database_as_it_was(replica_set: FerretDb, schemas: str) -> None:
    database = replica_set.new_database()
    collection = database["orders"]
    for identity in (1, Int64(2), "a", ObjectId(), {"a": 1, "b": "x"}, Binary.from_uuid(UUID(int=9))):
        collection.insert_one({"_id": identity, **KINDS})
    source = MongodbSource()
    config = parse(source.options, {**options(database, replica_set), "change.form": "envelope", "document.form": "extended"})
    task = source.open(config, {}, TaskContext())
    write = converter("json", {"schemas.enable": schemas}, is_key=False)
    more = {"id": "${key}", "extended_json": "true", "delete_enabled": "true"}
    try:
        task.start({})
        with Run(replica_set, replica_set.new_database(), **more) as run:
            for round_ in range(3):
                for _ in range(6):
                    for batch in batches_of(task.poll()):
                        if len(batch):
                            values = [write.encode(value, batch.schema) for value in batch.values]
                            keys = [write.encode(key, batch.key_schema) for key in batch.keys or ()]
                            decoded = [write.decode(each) for each in values]
                            found = SinkBatch(
                                "orders/b/0",
                                "orders",
                                [value for value, _ in decoded],
                                range(run.at, run.at + len(batch)),
                                [write.decode(key)[0] for key in keys],
                                schema=decoded[0][1],
                            )
                            assert run.write_batch(found) == {}
                there, here = (
                    sorted(bson.encode(each) for each in each_of["orders"].find()) for each_of in (database, run.database)
                )
                assert here == there, round_
                collection.update_one({"_id": "a"}, {"$set": {"int32": 8}, "$unset": {"text": 1}})
                collection.replace_one({"_id": 1}, {"new": Decimal128("1.5") if round_ > 5 else 1.5})
                collection.delete_one({"_id": Int64(2)})
                collection.insert_one({"_id": f"more{round_}", "x": round_})
    finally:
        task.close()


def test_another_server_than_a_mongodb_is_told(replica_set: FerretDb, ferretdb: FerretDb) -> None:
    source = MongodbSource()

    def told(**given: str) -> list[str]:
        config = parse(source.options, {key.replace("_", "."): each for key, each in given.items()})
        return [f"{each.key}: {each.reason}" for each in source.check(config)]

    database = replica_set.new_database()
    database["a"].insert_one({"_id": 1})
    chosen = {"url": replica_set.url, "database_include": database.name}
    (problem,) = told(**chosen)
    assert "gives no time of the cluster" in problem
    assert told(**chosen, capture_mode="oplog") == []
    problem, *_ = told(url=ferretdb.url, capture_mode="oplog")
    assert "needs a replica set" in problem
