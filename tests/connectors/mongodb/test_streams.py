"""Change streams of a stand-in; no MongoDB was there."""

import logging
import random
from collections.abc import Iterator

import bson
import pytest
from bson.raw_bson import RawBSONDocument
from bson.timestamp import Timestamp

from connectors.mongodb.source import MongodbSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Position, Rejected
from rocketconnect_sdk.source import Edge
from tests.connectors.mongodb.running import SOURCE, Reading, applied, shaken
from tests.servers.mongodb.stand_in import StandIn
from tests.suites import slow_but

RESUMABLE = (6, 7, 43, 63, 89, 91, 133, 150, 189, 216, 234, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436)
"""What servers answer in elections and shutdowns."""


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn().running() as stand_in:
        yield stand_in


def test_documents_come_first_and_then_each_change_with_its_place(server: StandIn) -> None:
    server.insert("shop.a", {"_id": 1, "x": 1}, {"_id": 2, "x": 2})
    server.insert("crm.b", {"_id": "k"})
    reading = Reading(server.url, collection_include=r"shop\..*, crm\.b", collection_exclude=r"shop\.c", tombstones="true")
    assert [(each.op, each.after["_id"], each.topic) for each in reading.all()] == [
        ("r", "k", "-crm-b"),
        ("r", 1, "-shop-a"),
        ("r", 2, "-shop-a"),
    ]
    assert reading.positions["snapshot"].offset == (1, 2)
    server.update("shop.a", 1, x=5)
    server.insert("shop.c", {"_id": 9})
    server.insert("shop.a", {"_id": 3}, {"_id": 4}, together=True)
    server.delete("shop.a", 2)
    assert [(each.op, each.key["_id"], each.after) for each in reading.all()] == [
        ("u", 1, {"_id": 1, "x": 5}),
        ("c", 3, {"_id": 3}),
        ("c", 4, {"_id": 4}),
        ("d", 2, None),
        ("", 2, None),
    ]
    updated, third, fourth = (each.value for each in reading.sent[3:6])
    assert updated["updateDescription"]["updatedFields"] == '{"x":{"$numberInt":"5"}}'
    assert updated["source"]["resumeToken"].startswith('{"_data":"82')
    assert third["transaction"] == {"id": f"{(b's' * 16).hex()}:5", "total_order": 1}
    assert fourth["transaction"]["total_order"] == 2
    assert fourth["source"]["ord"] == third["source"]["ord"]
    assert "token" in reading.positions["changes"].resume


@pytest.mark.slow
@pytest.mark.parametrize("code", RESUMABLE)
@pytest.mark.parametrize("command", ["getMore", "aggregate"])
def test_an_election_is_passed_without_loss(server: StandIn, code: int, command: str) -> None:
    _passes(server, code, command)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [[], ["ResumableChangeStreamError"]], ids=["no label", "resumable"])
def test_an_error_of_any_number_is_passed_where_its_label_says_so(server: StandIn, labels: list[str]) -> None:
    server.labels = labels
    if labels:
        _passes(server, 424242, "getMore")
    else:
        with pytest.raises(PermanentError, match="424242"):
            _passes(server, 424242, "getMore")


def test_a_token_that_the_pipeline_takes_away_is_no_history_that_is_lost(server: StandIn) -> None:
    reading = Reading(server.url, snapshot_mode="never", on_gap="skip")
    reading.all()
    server.failures["getMore"].append(280)
    with pytest.raises(PermanentError, match="280"):
        reading.poll()


def test_a_snapshot_is_done_when_all_of_it_is_stored(server: StandIn) -> None:
    server.insert("shop.a", {"_id": 1}, {"_id": 2})
    reading = Reading(server.url, 1)
    reading.all(store=False)
    reading.store()
    assert reading.positions["snapshot"].offset == (1, 1)
    reading.all()
    assert reading.positions["snapshot"].offset == (1, 2)


def test_a_server_that_steps_down_or_ends_connections_is_read_on_behind_what_was_given(server: StandIn) -> None:
    _passes(server, 189, "getMore")
    _passes(server, "closes", "getMore")


def _passes(server: StandIn, code: int | str, command: str) -> None:
    reading = Reading(server.url, snapshot_mode="never")
    reading.all()
    before = len(reading.sent)
    server.insert("shop.a", *({"_id": number} for number in range(before, before + 3)))
    server.failures[command].extend([code, code, code])
    if command == "aggregate":
        reading.kill()
    server.failures["getMore"].append(10107)
    tries = 0
    while len(reading.sent) < before + 3:
        tries += 1
        assert tries < 50
        try:
            reading.poll()
        except (SystemAway, RetriableError):
            continue
    assert [each.key["_id"] for each in reading.sent] == list(range(before, before + 3))
    reading.kill()


@pytest.mark.parametrize("mode", ["never", pytest.param("initial", marks=pytest.mark.slow)])
def test_history_that_is_lost_is_told_and_never_passed_in_silence(server: StandIn, mode: str) -> None:
    server.insert("shop.a", {"_id": 1})
    reading = Reading(server.url, snapshot_mode=mode)
    reading.all()
    server.insert("shop.a", {"_id": 2})
    reading.all()
    reading.kill()
    server.insert("shop.a", {"_id": 3}, {"_id": 4})
    server.forget()
    with pytest.raises(PermanentError, match=r"were removed.*never read.*on\.gap=skip"):
        reading.start()
    reading.kill()
    server.insert("shop.a", {"_id": 5})
    again = Reading(server.url, snapshot_mode="when_needed")
    again.positions = dict(reading.positions)
    assert sorted(each.after["_id"] for each in again.all()) == [1, 2, 3, 4, 5]
    assert again.positions["snapshot"].offset[1] == 2


def test_history_that_is_lost_while_it_is_read_is_told(server: StandIn) -> None:
    reading = Reading(server.url, snapshot_mode="never")
    server.insert("shop.a", {"_id": 1})
    reading.all()
    server.insert("shop.a", {"_id": 2})
    reading.all()
    server.insert("shop.a", {"_id": 3})
    server.forget()
    server.failures["getMore"].append(286)
    with pytest.raises(RetriableError, match="removed"):
        reading.poll()
    with pytest.raises(PermanentError, match="never read"):
        reading.poll()


def test_a_stream_that_is_invalidated_goes_on_behind_that(server: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    reading = Reading(server.url, snapshot_mode="never", database_include="shop")
    reading.all()
    server.insert("shop.a", {"_id": 1})
    server.tell("drop", "shop.a")
    server.tell("rename", "shop.b", to={"db": "shop", "coll": "c"})
    server.tell("dropDatabase", "shop.")
    server.tell("invalidate")
    server.insert("shop.a", {"_id": 2})
    with caplog.at_level(logging.INFO):
        assert [each.key["_id"] for each in reading.all()] == [1, 2]
    assert "shop.a was dropped: targets keep" in caplog.text
    assert "shop.b was renamed to shop.c" in caplog.text
    reading.kill()
    assert reading.all() == []


def test_an_update_of_a_document_that_is_gone_has_no_record_and_its_deletion_has(server: StandIn) -> None:
    reading = Reading(server.url, snapshot_mode="never")
    reading.all()
    server.insert("shop.a", {"_id": 1})
    server.update("shop.a", 1, x=2)
    server.delete("shop.a", 1)
    assert [each.op for each in reading.all()] == ["c", "d"]
    fields = Reading(server.url, snapshot_mode="never", change_stream_full_document="default")
    fields.all()
    server.update("shop.a", 1, x=3)
    (update,) = fields.all()
    assert (update.after, update.value["updateDescription"]["updatedFields"]) == (None, '{"x":{"$numberInt":"3"}}')


def test_places_move_where_nothing_is_captured(server: StandIn) -> None:
    reading = Reading(server.url, snapshot_mode="never", collection_include=r"shop\.a")
    reading.all()
    before = reading.positions["changes"].offset
    server.insert("other.b", *({"_id": number} for number in range(7)))
    reading.all()
    assert reading.sent == []
    assert reading.positions["changes"].offset > before
    reading.kill()
    server.insert("shop.a", {"_id": 1})
    assert [each.key["_id"] for each in reading.all()] == [1]


def test_options_of_the_stream_are_sent(server: StandIn) -> None:
    options = {"change_stream_full_document": "required", "change_stream_full_document_before_change": "whenAvailable"}
    Reading(server.url, snapshot_mode="never", pipeline='[{"$match": {"x": 1}}]', **options).all()
    (asked, *_) = [each for each in server.asked if "aggregate" in each]
    stream, match = asked["pipeline"]
    assert (stream["$changeStream"]["fullDocument"], match) == ("required", {"$match": {"x": 1}})
    assert stream["$changeStream"]["fullDocumentBeforeChange"] == "whenAvailable"


@pytest.mark.parametrize("way", ["rubbish", pytest.param("hangs", marks=pytest.mark.slow), "closes"])
def test_a_server_that_goes_away_or_answers_rubbish_is_waited_for(server: StandIn, way: str) -> None:
    reading = Reading(server.url, snapshot_mode="never", request_timeout="0.5s")
    reading.all()
    server.failures["getMore"].extend([way] * 2)
    server.failures["aggregate"].extend([way] * 4)
    server.insert("shop.a", {"_id": 1})
    with pytest.raises(SystemAway):
        for _ in range(3):
            reading.poll()
    server.failures.clear()
    assert [each.key["_id"] for each in reading.all()] == [1]


def test_checks_tell_what_is_missing(server: StandIn) -> None:
    def told(**options: str) -> list[tuple[str, str, bool]]:
        config = parse(SOURCE.options, {"url": server.url, **{key.replace("_", "."): each for key, each in options.items()}})
        return [(each.key, each.reason, each.is_warning) for each in SOURCE.check(config)]

    server.insert("shop.a", {"_id": 1})
    assert told() == []
    ((key, reason, is_warning),) = told(collection_include=r"shop\.none")
    assert (key, "no collection" in reason, is_warning) == ("collection.include", True, True)
    server.documents["shop.a$b"][1] = server.documents["shop.a@b"][1] = {"_id": 1}
    ((key, reason, is_warning),) = told()
    assert (key, "shop.a$b and of shop.a@b" in reason, is_warning) == ("collection.topic", True, False)
    del server.documents["shop.a$b"]
    server.failures["aggregate"].append(40324)
    ((key, reason, is_warning),) = told(pipeline='[{"$match": {"x": {"$no": 1}}}]')
    assert (key, "40324" in reason, is_warning) == ("pipeline", True, False)
    server.failures["aggregate"].append(13)
    ((key, reason, is_warning),) = told()
    assert (key, "refuses the user" in reason, is_warning) == ("user", True, False)
    server.alone = True
    ((key, reason, is_warning),) = told()
    assert (key, "needs a replica set" in reason, is_warning) == ("capture.mode", True, False)
    assert told(snapshot_mode="only") == []
    ((key, _, is_warning),) = [
        (each.key, each.reason, each.is_warning)
        for each in SOURCE.check(parse(SOURCE.options, {"url": "mongodb://127.0.0.1:1/", "request.timeout": "0.2s"}))
    ]
    assert (key, is_warning) == ("url", True)


def test_a_wrong_password_ends_the_task_and_a_check_and_is_in_no_message(server: StandIn) -> None:
    reading = Reading(server.url, user="reader", auth_mechanism="PLAIN", snapshot_mode="never")
    reading.knows(password="s3cret")
    server.failures["saslStart"].extend([18] * 9)
    with pytest.raises(PermanentError, match=r"refuses the user.*read to read") as caught:
        reading.start()
    assert "s3cret" not in str(caught.value)
    (problem,) = SOURCE.check(reading.config)
    assert (problem.key, problem.is_warning, "s3cret" in str(problem)) == ("user", False, False)


def test_positions_are_found_by_time_and_at_the_end(server: StandIn) -> None:
    server.insert("shop.a", {"_id": 1})
    config = parse(SOURCE.options, {"url": server.url})
    end = SOURCE.find_position(config, "changes", Edge.LATEST)
    assert end == Position((server.now.time, server.now.inc + 1, 0))
    reading = Reading(server.url, snapshot_mode="never")
    reading.positions["changes"] = Position((Timestamp(server.now.time, 0).time, 0, 0))
    assert [each.key["_id"] for each in reading.all()] == [1]


def test_a_token_that_is_none_is_told(server: StandIn) -> None:
    reading = Reading(server.url, snapshot_mode="never")
    reading.positions["changes"] = Position((1, 2, 3), {"token": "no json"})
    with pytest.raises(PermanentError, match="no token of a change stream"):
        reading.start()
    reading.positions["snapshot shop.a"] = Position((1, 1, 5), {})
    server.insert("shop.a", {"_id": 1})
    lost = Reading(server.url)
    lost.positions["snapshot shop.a"] = Position((1, 1, 2, 5), {})
    with pytest.raises(PermanentError, match="no _id behind which"):
        lost.all()


def test_a_text_that_is_no_utf8_makes_its_record_a_bad_one_and_hides_no_other(server: StandIn) -> None:
    for number, text in enumerate(("good", "bad", "fine")):
        data = bson.encode({"_id": number, "text": text}).replace(b"bad", b"b\xffd")
        server.documents["shop.a"][number] = RawBSONDocument(data)  # type: ignore[assignment]  # as a server may have it
    reading = Reading(server.url)
    first, bad, last = reading.all()
    assert (first.after["text"], last.after["text"]) == ("good", "fine")
    assert isinstance(bad.value, Rejected)
    assert (bad.key, bad.value.error) == ({"_id": 1}, "InvalidUtf8")
    assert b"b\xffd" in bad.value.original


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_killed_at_any_step_it_gives_each_change_once_and_every_document(server: StandIn, seed: int) -> None:
    _shaken(server, seed, 150)


def test_killed_now_and_then_it_gives_each_change_once(server: StandIn) -> None:
    _shaken(server, 99, 25)


def _shaken(server: StandIn, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    server.insert("shop.a", *({"_id": number, "x": 0} for number in range(9)))
    reading = Reading(server.url, 4)
    begun = None
    for step in range(steps):
        identity = chance.randrange(12)
        if chance.random() < 0.5:
            server.update("shop.a", identity, x=step)
        elif identity in server.documents["shop.a"]:
            server.delete("shop.a", identity)
        else:
            server.insert("shop.a", {"_id": identity, "x": step}, {"_id": 100 + step}, together=True)
        shaken(reading, chance)
        if begun is None and "changes" in reading.positions:
            begun = reading.positions["changes"].offset
    reading.kill()
    reading.all()
    assert applied(reading.sent).get("-shop-a", {}) == {str(each["_id"]): each for each in server.documents["shop.a"].values()}
    assert begun is not None
    changes = [each for each in reading.sent if each.partition == "changes"]
    offsets = [each.offset for each in changes]
    assert offsets == sorted(set(offsets))
    happened = [
        each
        for each in server.events
        if (each["clusterTime"].time, each["clusterTime"].inc) >= begun[:2] and each["operationType"] in ("insert", "delete")
    ]
    given = [each for each in changes if each.op in ("c", "d")]
    assert [str(each.key["_id"]) for each in given] == [str(each["documentKey"]["_id"]) for each in happened]


@slow_but("test_it_reads_everything")
class TestSnapshot(SourceSuite):
    @pytest.fixture
    def case(self, server: StandIn) -> SourceCase:
        server.insert("shop.a", *({"_id": number, "x": f"é{number}"} for number in range(18)))
        config = {"url": server.url, "change.form": "row", "document.form": "relaxed", "snapshot.chunk.size": "5"}
        return SourceCase(MongodbSource(), config, [f'{{"_id":{number},"x":"é{number}"}}' for number in range(18)])
