"""Entries of an oplog as MongoDB writes them, given by a stand-in: FerretDB has neither transactions nor drops in its own."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from bson.binary import Binary
from bson.int64 import Int64
from bson.timestamp import Timestamp

from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.record import Position
from tests.connectors.mongodb.running import Reading
from tests.servers.mongodb.stand_in import StandIn

NOWHERE = {"ts": Timestamp(0, 0), "t": Int64(-1)}
SESSION = {"lsid": {"id": Binary(b"s" * 16, 4)}, "txnNumber": Int64(7), "ns": "admin.$cmd"}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn().running() as stand_in:
        yield stand_in


def entry(number: int, op: str, body: Any, **more: Any) -> dict[str, Any]:
    return {"ts": Timestamp(100, number), "t": Int64(1), "op": op, "ns": "shop.a", "o": body} | more


def inserts(*identities: int) -> list[dict[str, Any]]:
    return [{"op": "i", "ns": "shop.a", "o": {"_id": each}} for each in identities]


def reading(server: StandIn, **more: str) -> Reading:
    return Reading(server.url, capture_mode="oplog", **{"snapshot_mode": "earliest", **more})


def test_transactions_of_several_entries_are_given_where_they_are_committed(server: StandIn) -> None:
    server.oplog = [
        entry(1, "n", {"msg": "initiating set"}),
        entry(2, "c", {"applyOps": inserts(1, 2), "partialTxn": True}, **SESSION | {"prevOpTime": NOWHERE}),
        entry(3, "i", {"_id": 50}),
        entry(4, "c", {"applyOps": inserts(3), "partialTxn": True}, **SESSION | {"prevOpTime": {"ts": Timestamp(100, 2)}}),
        entry(5, "c", {"applyOps": inserts(4), "count": 4}, **SESSION | {"prevOpTime": {"ts": Timestamp(100, 4)}}),
        entry(6, "d", {"_id": 50}),
    ]
    run = reading(server)
    given = run.all()
    assert [(each.op, each.key["_id"]) for each in given] == [("c", 50), ("c", 1), ("c", 2), ("c", 3), ("c", 4), ("d", 50)]
    assert [each.offset for each in given[1:5]] == [(100, 5, number) for number in range(1, 5)]
    assert [each.value["transaction"]["total_order"] for each in given[1:5]] == [1, 2, 3, 4]
    for place in [each.offset for each in given]:
        again = reading(server)
        again.positions["oplog"] = Position(place)
        assert [each.offset for each in again.all()] == [each.offset for each in given if each.offset > place]
    del server.oplog[:2]
    lost = reading(server)
    lost.positions["oplog"] = Position((100, 3, 1))
    with pytest.raises(RetriableError, match="a part of a transaction, the entry of the oplog at 100-2, was removed"):
        lost.poll()
    with pytest.raises(PermanentError, match=r"100-2, was removed, and never read\. Set on\.gap=skip"):
        lost.poll()


def test_entries_that_were_removed_are_told_and_passed_only_where_that_is_said(server: StandIn) -> None:
    server.oplog = [entry(number, "i", {"_id": number}) for number in range(1, 9)]
    run = reading(server)
    run.all()
    run.kill()
    run.positions["oplog"] = Position((100, 2, 1))
    del server.oplog[:4]
    with pytest.raises(PermanentError, match=r"from 100-2 up to 100-5 were removed, and never read.*oplogMinRetentionHours"):
        run.start()


def test_what_was_removed_is_passed_with_on_gap_skip_and_read_anew_with_when_needed(
    server: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    server.documents["shop.a"] |= {number: {"_id": number} for number in range(1, 9)}
    server.oplog = [entry(number, "i", {"_id": number}) for number in range(5, 9)]
    run = reading(server, on_gap="skip")
    run.positions["oplog"] = Position((100, 2, 1))
    assert [each.key["_id"] for each in run.all()] == [5, 6, 7, 8]
    assert "from 100-2 up to 100-5 were removed, and never read; skipped" in caplog.text
    run = reading(server, snapshot_mode="when_needed")
    run.positions |= {"oplog": Position((100, 2, 1)), "snapshot": Position((3, 2)), "snapshot shop.a": Position((3, 2))}
    assert [(each.op, each.after["_id"]) for each in run.all()] == [("r", number) for number in range(1, 9)]
    assert run.positions["snapshot"].offset == (4, 2)
    run.kill()
    assert run.all() == []


def test_an_oplog_whose_places_come_again_is_never_passed(server: StandIn) -> None:
    server.oplog = [entry(1, "i", {"_id": 1})]
    run = reading(server, on_gap="skip")
    run.positions["oplog"] = Position((200, 1, 1))
    with pytest.raises(PermanentError, match="could not be told from those before"):
        run.start()


def test_an_oplog_without_what_was_read_of_it_was_rolled_back(server: StandIn) -> None:
    server.oplog = [entry(number, "i", {"_id": number}) for number in (1, 2, 3)]
    run = reading(server)
    run.all()
    run.kill()
    server.oplog = [entry(number, "i", {"_id": number}) for number in (1, 2, 4)]
    with pytest.raises(PermanentError, match="has other entries around 100-3, up to which it was read: it was rolled back"):
        run.start()
    run.kill()
    server.oplog = server.oplog[:2]
    with pytest.raises(PermanentError, match="ends before 100-3"):
        run.start()


def test_what_happens_to_collections_is_told(server: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    server.oplog = [
        entry(1, "c", {"drop": "a"}, ns="shop.$cmd"),
        entry(2, "c", {"renameCollection": "shop.b", "to": "shop.c"}, ns="shop.$cmd"),
        entry(3, "c", {"drop": "z"}, ns="other.$cmd"),
        entry(4, "i", {"_id": 1}),
    ]
    with caplog.at_level(logging.WARNING):
        assert len(reading(server, database_include="shop").all()) == 1
    assert "shop.a was dropped" in caplog.text
    assert "shop.b was renamed to shop.c" in caplog.text
    assert "other.z" not in caplog.text


def test_updates_have_the_documents_that_are_there_and_those_of_others_have_none(server: StandIn) -> None:
    server.documents["shop.a"][1] = {"_id": 1, "x": 9}
    server.oplog = [
        entry(1, "u", {"$v": 2, "diff": {"u": {"x": 5}}}, o2={"_id": 1}),
        entry(2, "u", {"$v": 2, "diff": {"u": {"x": 5}}}, o2={"_id": 2}),
        entry(3, "u", {"_id": 3, "whole": True}, o2={"_id": 3}),
    ]
    assert [(each.key["_id"], each.after) for each in reading(server).all()] == [
        (1, {"_id": 1, "x": 9}),
        (3, {"_id": 3, "whole": True}),
    ]
    fields = reading(server, change_stream_full_document="default").all()
    assert [each.after for each in fields] == [None, None, {"_id": 3, "whole": True}]
    assert fields[1].value["updateDescription"]["updatedFields"] == '{"x":{"$numberInt":"5"}}'


def test_a_tombstone_that_was_not_sent_is_sent_alone(server: StandIn) -> None:
    server.oplog = [entry(1, "i", {"_id": 1}), entry(2, "d", {"_id": 1}), entry(3, "i", {"_id": 2})]
    run = reading(server, tombstones="true")
    run.positions["oplog"] = Position((100, 2, 1))
    assert [(each.op, each.offset) for each in run.all()] == [("", (100, 2, 1, 1)), ("c", (100, 3, 1))]
    run = reading(server, tombstones="true")
    run.positions["oplog"] = Position((100, 2, 1, 1))
    assert [each.offset for each in run.all()] == [(100, 3, 1)]
