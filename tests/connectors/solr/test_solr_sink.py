"""What documents become, what is refused, and what a server says: the stand-in and a real Solr pass the same."""

import time
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from connectors.solr.sink import SolrSink
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from tests.connectors.solr.conftest import Target
from tests.connectors.solr.driven import Run
from tests.servers.solr.real import Solr
from tests.servers.solr.standin import StandIn


def test_a_row_is_a_document_with_its_last_value_and_a_deletion_takes_it_away(target: Target) -> None:
    run = Run(target.url, collection=target.name, delete_enabled="true")
    assert run.problems == []
    assert run.write([{"n": 1, "x": "a"}, {"n": 2}, {"n": 3}], ["a", "b/ü ?", "a"]) == {}
    assert target.documents == {"a": {"id": "a", "n": 3}, "b/ü ?": {"id": "b/ü ?", "n": 2}}
    assert run.write([None, {"id": "b/ü ?", "_version_": 7, "n": None, "x": ""}, {"n": 5}], ["a", "b/ü ?", "a"]) == {}
    assert target.documents == {"a": {"id": "a", "n": 5}, "b/ü ?": {"id": "b/ü ?", "x": ""}}


def test_values_are_those_that_solr_has(target: Target) -> None:
    run = Run(target.url, collection=target.name, commit="soft")
    row = {
        "flag": True,
        "n": 2**53 + 1,
        "price": Decimal("1.5"),
        "x": "ünï",
        "b": b"\0\xff",
        "day": date(2026, 1, 2),
        "at": datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=timezone(timedelta(hours=1))),
        "tags": ["a", "b"],
        "inner": {"set": 1, "list": [{"c": 2}]},
    }
    assert run.write([row], ["k"]) == {}
    expected = {
        "id": "k",
        "flag": True,
        "n": 2**53 + 1,
        "price": 1.5,
        "x": "ünï",
        "b": "AP8=",
        "day": "2026-01-02T00:00:00Z",
        "at": "2026-01-02T02:04:05.678Z",
        "tags": ["a", "b"],
        "inner": '{"set":1,"list":[{"c":2}]}',
    }
    found = dict(target.documents["k"])
    assert {**found, "at": found["at"].replace("678000", "678")} == expected
    flat = Run(target.url, collection=target.name, objects="flat")
    assert flat.write([{"inner": {"a": "1", "b": {"c": "2"}}}], ["f"]) == {}
    assert target.documents["f"] == {"id": "f", "inner.a": "1", "inner.b.c": "2"}


def test_what_the_server_refuses_is_refused_alone(target: Target) -> None:
    for options in ({}, {"update_chain": "tolerant"}):
        run = Run(target.url, collection=target.name, **options)
        values = [{"n": "bad" if number in (3, 17) else number} for number in range(20)]
        refused = run.write([*values, "text", {"id": "other"}], [str(number) for number in range(22)])
        assert sorted(refused) == [3, 17, 20, 21]
        assert refused[3].startswith("the server refuses it: ERROR: [doc=3] Error adding field 'n'='bad'")
        assert refused[21] == "its field id is 'other', and its id '21'"
        assert sorted(target.documents, key=int) == [str(number) for number in range(20) if number not in (3, 17)]


def test_fields_are_changed_and_others_stay(target: Target) -> None:
    first = Run(target.url, collection=target.name)
    assert first.write([{"n": 1, "x": "a", "y": "b", "tags": ["p", "q"]}], ["k"]) == {}
    run = Run(target.url, collection=target.name, write_method="update", update_fields="n=inc,tags=add-distinct,more=remove")
    assert run.write([{"n": 2, "x": None, "tags": ["q", "r"]}, {"z": "new"}, {}, {}], ["k", "other", "k", "empty"]) == {}
    assert target.documents == {
        "k": {"id": "k", "n": 3, "y": "b", "tags": ["p", "q", "r"]},
        "other": {"id": "other", "z": "new"},
        "empty": {"id": "empty"},
    }
    assert "only numbers can be added" in run.write([{"n": "7"}], ["k"])[0]


def test_what_is_there_is_not_created_again(target: Target) -> None:
    run = Run(target.url, collection=target.name, write_method="create")
    assert run.write([{"x": "first"}, {"x": "second"}, {"x": "other"}], ["a", "a", "b"]) == {}
    assert target.documents == {"a": {"id": "a", "x": "first"}, "b": {"id": "b", "x": "other"}}


def test_collections_are_of_the_records_and_names_that_are_none_are_refused(target: Target) -> None:
    run = Run(target.url, collection="${value.where}", id="${offset}")
    refused = run.write([{"where": target.name}, {"where": "../admin"}, {"where": target.name}])
    assert list(refused) == [1]
    assert refused[1].startswith("the collection '../admin' has more than letters")
    assert sorted(target.documents) == ["0", "2"]


def test_what_can_be_found_when_is_as_configured(standin: StandIn) -> None:
    for options, expected in (
        ({}, {"commit": "true", "openSearcher": "false", "commitWithin": "1000"}),
        ({"commit": "soft"}, {"softCommit": "true"}),
        ({"commit": "none", "commit_within": "0s", "update_chain": "c"}, {"update.chain": "c"}),
    ):
        Run(standin.url, collection="c", **options).write([{"n": 1}], ["k"])
        assert standin.parameters[-1] == {"wt": "json", **expected}


def test_documents_that_are_changed_by_each_try_have_a_request_of_their_own(standin: StandIn) -> None:
    counts = Run(standin.url, collection="c", write_method="update", update_fields="n=inc")
    assert sorted(counts.write([{"n": 1}, {"n": 10}, {"n": 100}, {"m": {"x": 1}}], ["k", "k", "k", "l"])) == []
    assert len(standin.bodies) == 4
    assert standin.documents("c")["k"]["n"] == 111
    Run(standin.url, collection="c", request_bytes="64KiB").write([{"x": "y" * 30_000} for _ in range(5)], list("abcde"))
    assert [len(body) // 10_000 for body in standin.bodies[4:]] == [6, 6, 3]


def test_a_server_that_is_busy_away_or_lacks_the_collection_is_waited_for(standin: StandIn) -> None:
    run = Run(standin.url, collection="late")
    standin.faults.append(lambda handler: handler.answer(503, b"busy", Retry_After="7"))
    with pytest.raises(SystemAway, match="busy") as busy:
        run.write([{"n": 1}], ["k"])
    assert busy.value.wait == 7
    standin.faults.append(lambda handler: handler.answer(200, b"<html>"))
    with pytest.raises(SystemAway, match="no answer of Solr"):
        run.write([{"n": 1}], ["k"])
    standin.absent.add("late")
    with pytest.raises(SystemAway, match="has no collection late now"):
        run.write([{"n": 1}], ["k"])
    (problem,) = Run(standin.url, collection="late").problems
    assert (problem.key, problem.is_warning) == ("collection", True)
    standin.absent.clear()
    assert run.write([{"n": 1}], ["k"]) == {}
    standin.password = "right"
    with pytest.raises(PermanentError, match="401"):
        run.write([{"n": 1}], ["k"])
    with pytest.raises(PermanentError, match="401"):
        Run(standin.url, collection="late", user="me", password="${env:SECRET}")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"collection": "a/b"}, "has more than letters, digits, points, - and _, or begins with -"),
        ({"update.fields": "n=inc"}, "means nothing with write.method=replace"),
        ({"token": "${env:A}", "user": "u"}, "says who we are, and so does user"),
    ],
)
def test_options_that_do_not_go_together_are_told(standin: StandIn, options: dict[str, str], reason: str) -> None:
    sink = SolrSink()
    found = list(sink.check(parse(sink.options, {"url": standin.url, "collection": "c", **options})))
    assert reason in [problem.reason for problem in found]


@pytest.mark.slow
def test_what_a_server_has_taken_survives_its_death_and_is_found_when_it_says_so(solr: Solr) -> None:
    with Solr().running() as server:
        for name, commit in (("hard", "hard"), ("log", "none")):
            run = Run(server.url, collection=server.make(name), id="${offset}", commit=commit, commit_within="0s")
            assert run.write([{"n": number} for number in range(2_000)]) == {}
        assert server.found("hard") == {}
        server.kill()
        with pytest.raises(SystemAway, match="does not answer"):
            run.write([{"n": 2_000}])
        server.start()
        assert sorted(each["n"] for each in server.documents("hard").values()) == list(range(2_000))
        assert run.write([{"n": 2_000}]) == {}
        # What is in the log is written again in the background.
        end = time.monotonic() + 60
        while len(server.documents("log")) < 2_001 and time.monotonic() < end:
            time.sleep(0.1)
        assert sorted(each["n"] for each in server.documents("log").values()) == list(range(2_001))
    soft = Run(solr.url, collection=solr.make("soft"), commit="soft")
    assert soft.write([{"n": 1}], ["k"]) == {}
    assert solr.found("soft") == {"k": {"id": "k", "n": 1}}
