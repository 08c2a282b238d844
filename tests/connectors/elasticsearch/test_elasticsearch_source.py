"""What documents become, and what goes wrong where they are read."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from connectors.elasticsearch.rows import Documents, schema_of
from connectors.elasticsearch.source import ElasticsearchSource
from rocketconnect_sdk import PermanentError, Position, Rejected, SourceBatch, SystemAway, TaskContext
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.cursors import CursorTask
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.schema import Type
from tests.servers.search.standin import PageFault, StandIn

SOURCE = ElasticsearchSource()
_OPENED: list[CursorTask] = []


@pytest.fixture(autouse=True)
def _tasks_end() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


def config_of(url: str, options: Mapping[str, str]) -> Any:
    given = {"index": "orders", "incrementing.field": "n", "poll.interval": "10ms"}
    given |= {name.replace("_", "."): text for name, text in options.items()}
    given = {name: text for name, text in given.items() if text}
    return parse(SOURCE.options, {"url": url, **given}).replaced(lambda text: "wrong" if text == "${env:SECRET}" else text)


def started(
    url: str, positions: Mapping[str, Position] | None = None, context: TaskContext | None = None, **options: str
) -> CursorTask:
    config = config_of(url, options)
    task = SOURCE.open(config, SOURCE.plan(config, 1, {}).tasks[0], context or TaskContext())
    _OPENED.append(task)
    task.start(positions or {})
    return task


def polled(task: CursorTask, count: int = 8) -> list[SourceBatch]:
    return [batch for _ in range(count) for batch in batches_of(task.poll())]


def values(batches: list[SourceBatch]) -> list[Any]:
    return [value for batch in batches for value in batch.values]


def put(standin: StandIn, *documents: Mapping[str, Any], index: str = "orders") -> None:
    for each in documents:
        standin.apply("index", {"_index": index, "_id": f"id-{each.get('n')}"}, dict(each))


def answers(status: int, body: Any = b"", **headers: str) -> PageFault:
    def fault(handler: Any) -> bool:
        handler.answer(status, body, **headers)
        return True

    return fault


def passes(handler: Any) -> bool:
    del handler
    return False


@pytest.mark.parametrize("flavor", ["elasticsearch", "opensearch", "old"])
def test_documents_have_their_ids_as_keys_and_come_in_the_order_of_the_field(standin: StandIn, flavor: str) -> None:
    standin.pages.flavor = flavor
    put(standin, {"n": 3}, {"n": 1}, {"n": 2, "state": "paid"}, {"other": 1})
    task = started(standin.url)
    (batch,) = polled(task)
    assert (batch.values, batch.keys) == ([{"n": 1}, {"n": 2, "state": "paid"}, {"n": 3}], ["id-1", "id-2", "id-3"])
    assert batch.timestamps_ms is None
    task.committed({batch.partition: Position(batch.end)})
    assert not standin.pages.points


def test_times_of_the_field_are_those_of_records(standin: StandIn) -> None:
    standin.pages.kinds["at"] = "date"
    put(standin, {"at": "2026-01-01T00:00:00.123Z"})
    (batch,) = polled(started(standin.url, incrementing_field="at"))
    assert batch.timestamps_ms == [1_767_225_600_123]
    (query,) = {json.dumps(body["query"]) for body in standin.pages.asked[:1]}
    assert query == '{"bool": {"filter": [{"exists": {"field": "at"}}]}}'


def test_a_document_of_a_clock_that_is_ahead_hides_none_that_come_later(standin: StandIn) -> None:
    standin.pages.kinds["at"] = "date"
    put(standin, {"at": "2026-01-01T00:00:00Z", "n": 1}, {"at": "2199-01-01T00:00:00Z", "n": 2})
    task = started(standin.url, incrementing_field="at")
    assert [value["n"] for value in values(polled(task))] == [1, 2]
    put(standin, {"at": "2026-01-01T00:00:01Z", "n": 3})
    found: list[Any] = []
    end = time.monotonic() + 60
    while not found and time.monotonic() < end:
        found = values(polled(task))
    assert [value["n"] for value in found] == [3]


def test_queries_and_fields_choose(standin: StandIn) -> None:
    put(standin, {"n": 1, "state": "new"}, {"n": 2, "state": "paid"})
    task = started(standin.url, query='{"term":{"state":"paid"}}', fields="n")
    assert values(polled(task)) == [{"n": 2}]


def test_each_index_of_a_pattern_is_a_partition_and_a_snapshot_reads_all_of_it_once(standin: StandIn) -> None:
    put(standin, {"n": 1}, index="logs-a")
    put(standin, {"n": 2}, {"m": 3}, index="logs-b")
    task = started(standin.url, index="logs-*", mode="snapshot", incrementing_field="")
    found = {batch.partition: batch.values for batch in polled(task)}
    assert found == {"logs-a@uuid-of-logs-a": [{"n": 1}], "logs-b@uuid-of-logs-b": [{"n": 2}, {"m": 3}]}
    assert task.finished
    with pytest.raises(SystemAway, match=r"no such index \[none\]"):
        SOURCE.streams(config_of(standin.url, {"index": "none"}))


def test_a_snapshot_goes_on_in_its_point_in_time_whatever_is_written_meanwhile(standin: StandIn) -> None:
    put(standin, *({"n": number} for number in range(6)))
    url = standin.url
    first = polled(started(url, context=TaskContext(batch_records=4), mode="snapshot", incrementing_field=""), 1)
    put(standin, {"n": 6}, {"n": 7})
    at = {batch.partition: Position(batch.end, batch.resume or {}) for batch in first}
    assert values(polled(started(url, at, mode="snapshot", incrementing_field=""))) == [{"n": 4}, {"n": 5}]


PROPERTIES = {
    "flag": {"type": "boolean"},
    "small": {"type": "byte"},
    "n": {"type": "long"},
    "big": {"type": "unsigned_long"},
    "x": {"type": "half_float"},
    "name": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
    "bytes": {"type": "binary"},
    "at": {"type": "date"},
    "nanos": {"type": "date_nanos"},
    "inner": {"properties": {"a": {"type": "keyword"}}},
    "items": {"type": "nested", "properties": {"b": {"type": "integer"}}},
    "where": {"type": "geo_point"},
}


def test_the_mapping_says_the_types_of_rows() -> None:
    schema = schema_of(PROPERTIES)
    types = {each.name: each.schema.type for each in schema.fields}
    assert types["small"] is Type.INT8
    assert types["where"] is Type.JSON
    given = {
        "flag": "true",
        "small": -128,
        "n": "12",
        "big": 18_446_744_073_709_551_615,
        "x": 0.1,
        "name": "ünï",
        "bytes": "AP8=",
        "at": "2026-01-02T03:04:05.678901Z",
        "nanos": "2026-01-02T03:04:05.678901234Z",
        "inner": {"a": None},
        "items": {"b": 1.0},
        "where": {"lat": 1},
    }
    assert Documents(schema).read(json.dumps(given).encode()) == {
        "flag": True,
        "small": -128,
        "n": 12,
        "big": 18_446_744_073_709_551_615,
        "x": 0.1,
        "name": "ünï",
        "bytes": b"\x00\xff",
        "at": datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
        "nanos": 1_767_323_045_678_901_234,
        "inner": {"a": None},
        "items": [{"b": 1}],
        "where": '{"lat":1}',
    }
    assert [each.name for each in schema_of(PROPERTIES, ["n", "inner.a"]).fields] == ["n", "inner"]


@pytest.mark.parametrize(
    ("text", "at"), [('"2026-01-02"', (2026, 1, 2)), ('"2026-01-02 03:04:05"', (2026, 1, 2, 3, 4, 5)), ("86400000", (1970, 1, 2))]
)
def test_times_are_read_in_the_forms_that_the_server_takes(text: str, at: tuple[int, ...]) -> None:
    found: Any = Documents(schema_of({"at": {"type": "date"}})).read(b'{"at":%b}' % text.encode())
    assert found == {"at": datetime(*at, tzinfo=UTC)}  # type: ignore[misc, arg-type]  # as many as there are


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b'{"n":[1,2]}', "n is a list, and int64 there"),
        (b'{"n":1.5}', "n is 1.5, and int64 there"),
        (b'{"n":"x"}', "does not say what the document has"),
        (b'{"n":"1e99999999"}', "n is '1e99999999', and int64 there"),
        (b'{"x":"1e999"}', "x is '1e999', and float64 there"),
        (b'{"n":"NaN"}', "does not say what the document has"),
        (b'{"n":true}', "n is True, and int64 there"),
        (b'{"small":128}', "small is 128, and int8 there"),
        (b'{"big":-1}', "big is -1, and uint64 there"),
        (b'{"flag":"yes"}', "flag is 'yes', and boolean there"),
        (b'{"name":1}', "name is 1, and string there"),
        (b'{"at":"yesterday"}', "is not of the form"),
        (b'{"at":true}', "at is True, and timestamp there"),
        (b'{"bytes":"?"}', "does not say what the document has"),
        (b'{"inner":1}', "inner is 1, and an object there"),
        (b'{"inner.a":1}', "inner.a is no field there"),
        (b"[1]", "the document is a list, and an object there"),
        (b'{"n":1e999}', "the document can't be read"),
    ],
)
def test_a_document_that_the_mapping_does_not_say_is_a_bad_record(document: bytes, reason: str) -> None:
    found = Documents(schema_of(PROPERTIES)).read(document)
    assert isinstance(found, Rejected)
    assert reason in found.reason
    assert found.original == document


def test_typed_rows_come_with_their_schema_and_a_bad_one_among_them(standin: StandIn) -> None:
    put(standin, {"n": 1, "t": "a"}, {"n": 2, "t": ["a", "b"]})
    (batch,) = polled(started(standin.url, rows="mapping"))
    assert [each.name for each in batch.schema.fields] == ["n", "t"] if batch.schema else False
    first, second = batch.values
    assert first == {"n": 1, "t": "a"}
    assert isinstance(second, Rejected)
    assert "rows=json keeps it as it is" in second.reason


def test_an_index_that_is_deleted_is_told_and_another_plan_is_asked_for(standin: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    put(standin, {"n": 1})
    asked: list[int] = []
    task = started(standin.url, context=TaskContext(replan=lambda: asked.append(1)))
    polled(task, 1)
    del standin.indexes["orders"]
    standin.pages.points.clear()
    while not asked:
        task.poll()
    assert "orders is not there any more" in caplog.text


def test_a_page_that_is_too_large_is_asked_for_with_fewer_documents(standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    put(standin, *({"n": number, "text": "x" * 1000} for number in range(40)))
    standin.pages.largest = 30
    assert [value["n"] for value in values(polled(started(standin.url), 20))] == list(range(40))
    monkeypatch.setattr("connectors.elasticsearch.client._LARGEST", 5_000)
    standin.pages.largest = 10_000
    assert [value["n"] for value in values(polled(started(standin.url), 40))] == list(range(40))
    put(standin, {"n": 50, "text": "x" * 9_000})
    with pytest.raises(PermanentError, match=r"orders: a page is an answer of more than .*: leave out large fields \(fields\)"):
        polled(started(standin.url), 60)


@pytest.mark.parametrize(
    ("faults", "error", "words"),
    [
        ([answers(429, {"error": {"type": "x", "reason": "busy"}}, Retry_After="9")], SystemAway, "answers 429: busy"),
        ([passes, answers(503, b"<html>gateway</html>")], SystemAway, "answers 503"),
        (
            [passes, passes, answers(200, b"<html>hello</html>")],
            SystemAway,
            "answers with what is no answer of the search API: <html>hello",
        ),
        ([passes, passes, answers(200, {"hits": {"hits": [{"_id": 1}]}})], SystemAway, "no answer of the search API"),
        ([answers(200, b"[" * 100_000)], SystemAway, "no answer of a search engine"),
        ([passes, answers(200, {"x": 1})], SystemAway, "no point in time"),
        (
            [passes, passes, answers(200, {"_shards": {"failed": 1}, "hits": {"hits": []}})],
            SystemAway,
            "some shards of orders do not",
        ),
        (
            [passes, passes, answers(403, {"error": {"reason": "no rights"}})],
            PermanentError,
            "answers 403: no rights. Give who we are",
        ),
        ([passes, passes, answers(400, {"error": {"reason": "bad query"}})], PermanentError, "answers 400: bad query"),
        ([passes, passes, answers(404, {"error": {"reason": "gone"}})], SystemAway, "ended before it gave anything: gone"),
    ],
)
def test_an_answer_that_is_none_loses_nothing(
    standin: StandIn, faults: list[PageFault], error: type[Exception], words: str
) -> None:
    put(standin, {"n": 1})
    task = started(standin.url)
    standin.page_faults += faults
    with pytest.raises(error, match=words):
        task.poll()
    task.start({})
    assert values(polled(task)) == [{"n": 1}]


def test_an_index_that_keeps_no_documents_ends_the_task(standin: StandIn) -> None:
    put(standin, {"n": 1})
    task = started(standin.url)
    hit = {"_id": "1", "sort": [1, 1]}
    standin.page_faults += [passes, passes, answers(200, {"_shards": {"failed": 0}, "hits": {"hits": [hit]}})]
    with pytest.raises(PermanentError, match=r"the index orders keeps no documents \(_source\)"):
        task.poll()


def problems(given: Mapping[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "elasticsearch_source", "topic": "t", **given})
    return {each.key: str(each) for each in checked.problems}


def test_what_is_configured_wrong_is_told_at_once(standin: StandIn) -> None:
    wrong = {"url": "http://a:1,me@b", "index": "a b", "mode": "x", "query": "[]", "overlap": "-1"}
    assert problems(wrong).keys() == {"url", "index", "mode", "query", "overlap"}
    given = {"url": standin.url, "index": "orders"}
    assert "mode=incrementing needs it" in problems({**given, "token": "${env:T}"})["incrementing.field"]
    put(standin, {"n": 1, "t": "text", "k": "x"})
    both = problems({**given, "mode": "snapshot", "incrementing.field": "n", "overlap": "5", "ssl.key.location": "/key"})
    assert both.keys() == {"incrementing.field", "overlap", "ssl.key.location"}
    standin.pages.kinds["k"] = "keyword"
    assert "Name t.keyword" in problems({**given, "incrementing.field": "t"})["incrementing.field"]
    assert "Set it to 0" in problems({**given, "incrementing.field": "k", "overlap": "5"})["overlap"]
    assert "a field of no document of orders yet" in problems({**given, "incrementing.field": "none"})["incrementing.field"]
    assert "no such index [none]" in problems({**given, "index": "none", "incrementing.field": "n"})["index"]
    assert "matches no index" in problems({**given, "index": "none-*", "incrementing.field": "n"})["index"]
    assert problems({**given, "incrementing.field": "n"}) == {}


def test_a_user_whom_the_server_does_not_know_ends_the_task_and_shows_no_password(standin: StandIn) -> None:
    put(standin, {"n": 1})
    config = config_of(standin.url, {"user": "me", "password": "${env:SECRET}"})
    task = SOURCE.open(config, SOURCE.plan(config, 1, {}).tasks[0], TaskContext())
    _OPENED.append(task)
    standin.password = "right"
    task.start({})
    with pytest.raises(PermanentError, match=r"answers 401: unable to authenticate") as raised:
        task.poll()
    assert "wrong" not in str(raised.value)


def test_what_it_reads_is_named_the_same_however_it_is_written() -> None:
    first = list(SOURCE.origins(parse(SOURCE.options, {"url": "http://B:1/,http://a:1", "index": "logs-*,-logs-old,orders"})))
    (second,) = SOURCE.origins(parse(SOURCE.options, {"url": "http://a:1,http://b:1", "index": "orders"}))
    assert [(each.name, each.is_pattern, list(each.without)) for each in first] == [
        ("logs-*", True, ["logs-old"]),
        ("orders", False, []),
    ]
    assert second in first


def test_numbers_keep_an_overlap_and_texts_have_none(standin: StandIn) -> None:
    put(standin, {"n": 100, "k": "b"})
    standin.pages.kinds["k"] = "keyword"
    task = started(standin.url, overlap="10")
    assert values(polled(task)) == [{"n": 100, "k": "b"}]
    put(standin, {"n": 89}, {"n": 90})
    end = threading.Event()
    found: list[Any] = []
    while not found and not end.wait(0.005):
        found = values(polled(task, 1))
    assert found == [{"n": 90}]
    assert values(polled(started(standin.url, incrementing_field="k"))) == [{"n": 100, "k": "b"}]
