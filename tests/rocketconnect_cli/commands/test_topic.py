"""`rocketconnect topic`: what it asks, and what people see."""

import json

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands import topic
from rocketconnect_cli.commands.root import app
from tests.rocketconnect_cli.conftest import RestFactory

_RECORD = {
    "queue": "orders/broker-a/0",
    "offset": "17",
    "storeTime": "2026-01-01T10:00:00Z",
    "bytes": "9",
    "properties": {"KEYS": "k", "TAGS": "t", "connect-ext-h": "1", "theirs": "x", "RCPOS": "uid-1|3|p|0|17"},
    "record": {
        "value": '{"id": 1}',
        "hasValue": True,
        "key": "k",
        "hasKey": True,
        "headers": {"h": "1", "MQ-SYS-TRACE_ON": "true"},
    },
    "source": {"connectorUid": "uid-1", "epoch": "3", "partition": "orders.csv", "offset": "[17]"},
}
_BAD = {"queue": "orders/broker-a/1", "offset": "4", "problem": "is not valid JSON", "body": "no json"}
_PACKED = {"queue": "orders/broker-a/1", "offset": "5", "row": 2, "rows": 9, "record": {}}
_ANSWER = {"problems": [], "records": [_RECORD, _BAD, _PACKED], "next": {"offsets": {}}}


def run(*words: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(app, ["topic", *words])
    return answer.exit_code, answer.stdout, answer.stderr


def test_messages_are_shown_with_all_that_is_known_of_them(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, _ANSWER)
    code, out, _ = run("peek", "orders", "-c", "json", "-s", "value.converter.schemas.enable=false", "-n", "3", "--url", rest.url)
    assert code == 0
    assert rest.asked[0] == "POST /v1/topics/orders:peek"
    config = {"value.converter.schemas.enable": "false", "value.converter": "json"}
    assert json.loads(rest.sent[0]) == {"config": config, "queue": "", "messages": 3}
    first, second, third = out.split("orders/broker-a/")[1:]
    for part in (
        "0 17",
        "9 bytes",
        'key "k"',
        "tag t",
        '{"id": 1}',
        "header h: 1",
        "theirs: x",
        "connector with uid uid-1: orders.csv [17], epoch 3",
    ):
        assert part in first, first
    assert "RCPOS" not in first
    assert "MQ-SYS" not in first
    assert "1 4" in second
    assert "can't be read: is not valid JSON\n  no json" in second
    assert "row 3 of 9" in third
    assert "tombstone" in third
    assert "property RCPOS: uid-1|3|p|0|17" in run("peek", "orders", "--properties", "--url", rest.url)[1]
    assert json.loads(run("peek", "orders", "-o", "json", "--url", rest.url)[1])["records"][0]["offset"] == "17"


def test_where_to_begin_is_an_offset_or_a_time(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, _ANSWER)
    assert run("peek", "o/x", "--offset", "5", "-q", "3", "--url", rest.url)[0] == 0
    assert rest.asked[0] == "POST /v1/topics/o%2Fx:peek"
    assert json.loads(rest.sent[0]) == {"config": {}, "queue": "3", "offset": 5, "messages": 10}
    assert run("peek", "o", "--since", "2026-01-01T10:00:00+01:00", "--url", rest.url)[0] == 0
    assert json.loads(rest.sent[2])["since"] == "2026-01-01T10:00:00+01:00"
    assert run("peek", "o", "--key", "order 1", "--since", "2026-01-01T10:00:00Z", "--url", rest.url)[0] == 0
    asked = json.loads(rest.sent[4])
    assert (asked["key"], asked["since"]) == ("order 1", "2026-01-01T10:00:00+00:00")
    code, _, err = run("peek", "o", "--since", "1h", "--offset", "5", "--url", rest.url)
    assert code == 2
    assert "two places" in err


def test_a_key_that_no_message_has_is_told_with_where_whole_keys_are_shown(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {"problems": [], "records": [], "next": []})
    assert run("peek", "orders", "--url", rest.url)[1] == "There are no messages to show.\n"
    shown = " ".join(run("peek", "orders", "--key", "2", "--url", rest.url)[1].split())
    assert shown == "No message has the key 2. Give it whole, as `rocketconnect topic peek orders --properties` shows it at KEYS."


def test_what_is_wrong_with_the_converters_is_told_and_what_went_wrong_ends_with_1(rest_factory: RestFactory) -> None:
    problem = {"key": "value.converter", "value": "jsn", "reason": "is not a converter", "fix": "Use json."}
    rest = rest_factory(200, {"problems": [problem], "records": []})
    code, _, err = run("peek", "orders", "-c", "jsn", "--url", rest.url)
    assert code == 2
    assert "Use json." in err
    rest = rest_factory(200, {"problems": [], "records": [], "trouble": "the broker is away"})
    code, _, err = run("peek", "orders", "--url", rest.url)
    assert code == 1
    assert "the broker is away" in err


def test_topics_are_listed_with_their_queues_and_messages(rest_factory: RestFactory) -> None:
    queues = [
        {"queue": "orders/broker-a/0", "earliest": "5", "latest": "10"},
        {"queue": "orders/broker-b/0", "latest": "2"},
    ]
    topics = [{"name": "orders", "queues": queues}, {"name": "locked", "trouble": "can't be read"}]
    rest = rest_factory(200, {"topics": topics, "nextPageToken": ""})
    code, out, _ = run("list", "--url", rest.url)
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["orders", "2", "7", "broker-a,", "broker-b"],
        ["locked", "-", "-", "can't", "be", "read"],
    ]
    assert "internal" not in rest.asked[0]
    run("list", "--all", "--url", rest.url)
    assert "internal=true" in rest.asked[1]


def test_a_topic_is_created_with_so_many_queues(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {"topic": {"name": "orders", "queues": [{"queue": "orders/b/0"}]}, "existed": False})
    code, out, _ = run("create", "orders", "--queues", "1", "--url", rest.url)
    assert (code, out.strip()) == (0, "orders created with 1 queue")
    assert rest.asked == ["PUT /v1/topics/orders"]
    assert json.loads(rest.sent[0])["queues"] == 1


def test_a_topic_is_deleted_and_those_are_named_that_may_miss_it(rest_factory: RestFactory) -> None:
    queues = [{"queue": "orders/b/0", "earliest": "5", "latest": "6"}]
    rest = rest_factory(200, {"topic": {"name": "orders", "queues": queues}, "connectors": ["lake", "store"]})
    code, out, err = run("delete", "orders", "--yes", "--url", rest.url)
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first == "orders deleted, with 1 message"
    assert second.startswith(
        "lake, store name it. A sink remembers what it had read there, and a source what it had sent: let each begin anew"
    )
    assert rest.asked[0].startswith("DELETE /v1/topics/orders?author=")


def test_a_topic_is_deleted_by_nobody_who_did_not_say_so(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {"topic": {"name": "orders"}})
    code, _, err = run("delete", "orders", "--url", rest.url)
    assert (code, err.strip()) == (
        2,
        "Error: orders was not deleted: it would be gone for good, and nobody can be asked here; say --yes",
    )
    assert rest.asked == []


@pytest.mark.parametrize(("answer", "code"), [("n", 2), ("y", 0)])
def test_people_are_asked_before_a_topic_is_deleted(
    rest_factory: RestFactory, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr(topic, "is_asked", lambda: True)
    rest = rest_factory(200, {"topic": {"name": "orders"}})
    result = CliRunner().invoke(app, ["topic", "delete", "orders", "--url", rest.url], input=f"{answer}\n")
    assert (result.exit_code, len(rest.asked)) == (code, 1 if code == 0 else 0)
    assert "Delete orders with all of its messages, for good?" in result.stderr


def test_a_topic_with_dead_letters_that_nobody_has_replayed_is_deleted_only_when_that_is_meant_too(
    rest_factory: RestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    detail = "topic 'dead' holds 2 dead letters of orders that nobody has replayed, and they would go with it"
    rest = rest_factory(409, {"detail": detail, "reason": "DEAD_LETTERS_NOT_REPLAYED", "problems": []})
    monkeypatch.setattr(topic, "is_asked", lambda: True)
    result = CliRunner().invoke(app, ["topic", "delete", "dead", "--url", rest.url], input="y\nn\n")
    assert (result.exit_code, len(rest.asked)) == (2, 1)
    assert f"{detail}. Delete it all the same?" in result.stderr
    result = CliRunner().invoke(app, ["topic", "delete", "dead", "--url", rest.url], input="y\ny\n")
    assert "letters=true" not in rest.asked[1]
    assert "letters=true" in rest.asked[2]


def test_with_yes_a_topic_goes_with_its_dead_letters_and_it_says_how_many(rest_factory: RestFactory) -> None:
    queues = [{"queue": "dead/b/0", "earliest": "0", "latest": "3"}]
    rest = rest_factory(200, {"topic": {"name": "dead", "queues": queues}, "letters": "2"})
    _, out, _ = run("delete", "dead", "--yes", "--url", rest.url)
    assert out == "dead deleted, with 3 messages, among them 2 dead letters that nobody had replayed\n"
    assert "letters=true" in rest.asked[0]


def test_who_has_sent_a_message_is_told_by_name_and_with_its_uid_where_all_is_shown(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, _ANSWER)
    named = {"connectors": [{"name": "orders-in", "uid": "uid-1"}], "nextPageToken": ""}
    rest.bodies["/v1/connectors"] = json.dumps(named).encode()
    assert "  from connector orders-in: orders.csv [17], epoch 3\n" in run("peek", "orders", "--url", rest.url)[1]
    assert "  from connector orders-in (uid uid-1): " in run("peek", "orders", "--url", rest.url, "--properties")[1]
    records = json.loads(run("peek", "orders", "--url", rest.url, "-o", "json")[1])["records"]
    (source,) = [row["source"] for row in records if "source" in row]
    assert (source["connectorUid"], source["connectorName"]) == ("uid-1", "orders-in")


def test_a_sender_that_is_gone_or_that_nobody_names_hides_no_message(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, _ANSWER)
    nobody = {"connectors": [], "nextPageToken": ""}
    for answer, told in ((nobody, "a connector that is gone (uid uid-1)"), ({}, "connector with uid uid-1")):
        rest.bodies["/v1/connectors"] = json.dumps(answer).encode()
        code, out, _ = run("peek", "orders", "--url", rest.url)
        assert (code, f"  from {told}: orders.csv [17]" in out) == (0, True)


def test_names_are_asked_for_once_and_only_for_messages_of_connectors(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {**_ANSWER, "records": [_BAD]})
    run("peek", "orders", "--url", rest.url)
    assert not any(asked.startswith("GET /v1/connectors") for asked in rest.asked)


def test_rows_are_told_from_the_messages_that_hold_them(rest_factory: RestFactory) -> None:
    packed = [{**_PACKED, "row": 0}, {**_PACKED, "row": 1}, {**_PACKED, "offset": "6", "row": 0, "rows": 3_000}]
    rest = rest_factory(200, {**_ANSWER, "records": [_RECORD, *packed]})
    _, out, _ = run("peek", "orders", "--url", rest.url)
    assert out.splitlines()[-1] == "Shown: 3 of the 3,009 rows of 2 packed messages."
    rest = rest_factory(200, {**_ANSWER, "records": [_RECORD]})
    assert "Shown" not in run("peek", "orders", "--url", rest.url)[1]


def test_a_trace_is_shown_step_by_step_and_says_what_is_missing(rest_factory: RestFactory) -> None:
    sent = {
        "kind": "TRACE_STEP_KIND_SENT",
        "group": "producers",
        "clientHost": "10.0.0.1",
        "time": "2026-01-01T10:00:00.123Z",
        "took": "1.004s",
        "result": "success",
        "storeHost": "10.0.0.9:10911",
        "messageType": "delayed",
    }
    got = {"kind": "TRACE_STEP_KIND_CONSUMED", "group": "readers", "retries": 2, "messageType": ""}
    stored = {
        "queue": "orders/b/0",
        "offset": "7",
        "storeTime": "2026-01-01T10:00:00.500Z",
        "storeHost": "10.0.0.9:10911",
        "bytes": "9",
    }
    traced = {"messageId": "ID1", "keys": "k", "tags": "t", "stored": stored, "steps": [sent, got]}
    answer = {"messages": [traced, {"messageId": "ID2", "steps": []}], "garbled": 1, "trouble": "there was no time"}
    rest = rest_factory(200, answer)
    code, out, _ = run(
        "trace", "o/x", "--key", "k", "--trace-topic", "theirs", "--since", "2026-01-01T10:00:00Z", "--url", rest.url
    )
    assert code == 0
    assert rest.asked[0].startswith("GET /v1/topics/o%2Fx/traces?")
    for part in ("key=k", "traceTopic=theirs", "since=2026-01-01T10%3A00%3A00%2B00%3A00"):
        assert part in rest.asked[0]
    assert "messageId" not in rest.asked[0]
    head, _, first, second, other, none, garbled, trouble = out.splitlines()
    for part in ("ID1", "orders/b/0 7 of 10.0.0.9:10911", "9 bytes", 'key "k"', "tag t"):
        assert part in head
    for part in (".123Z", "sent", "producers", "10.0.0.1", "1,004 ms", "success", "to 10.0.0.9:10911, delayed"):
        assert part in first
    assert second.split() == ["-", "consumed", "readers", "-", "-", "not", "told", "retry", "2"]
    assert "ID2" in other
    assert "no trace" in none
    assert garbled == "1 part of the trace can't be read, and is left out."
    assert trouble == "This may not be all: there was no time."
    assert json.loads(run("trace", "o", "--id", "ID1", "-o", "json", "--url", rest.url)[1]) == answer
    for words in ((), ("--key", "k", "--id", "ID1")):
        code, _, err = run("trace", "o", *words, "--url", rest.url)
        assert (code, "--key KEY or --id ID" in err) == (2, True)
    nothing = rest_factory(200, {"messages": []})
    assert "No message with a trace is there." in run("trace", "o", "--key", "k", "--url", nothing.url)[1]
