"""What items of a service become, how pages are asked for, and what goes wrong there."""

import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any

import pytest

from connectors.http import marks
from connectors.http.paging import next_link
from connectors.http.paths import Missing, Path, path_problem
from connectors.http.source import HttpSource
from rocketconnect_sdk import PermanentError, Position, Rejected, SourceBatch, SystemAway, TaskContext
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.cursors import CursorTask
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from tests.servers.http_api import Fault, Service

SOURCE = HttpSource()
_OPENED: list[CursorTask] = []


@pytest.fixture
def service() -> Iterator[Service]:
    with Service.running() as server:
        yield server
        while _OPENED:
            _OPENED.pop().close()


def config_of(url: str, options: Mapping[str, str]) -> Config:
    given = {name.replace("_", "."): text for name, text in options.items()}
    return parse(SOURCE.options, {"url": url, "poll.interval": "10ms", **given}).replaced(
        lambda text: "s3cret" if text == "${env:SECRET}" else text
    )


def started(
    url: str, positions: Mapping[str, Position] | None = None, context: TaskContext | None = None, **options: str
) -> CursorTask:
    config = config_of(url, options)
    task = SOURCE.open(config, SOURCE.plan(config, 1, {}).tasks[0], context or TaskContext())
    _OPENED.append(task)
    task.start(positions or {})
    return task


def polled(task: CursorTask, count: int = 20) -> list[SourceBatch]:
    return [batch for _ in range(count) for batch in batches_of(task.poll())]


def values(batches: list[SourceBatch]) -> list[Any]:
    return [value for batch in batches for value in batch.values]


def answers(status: int, body: Any = b"", **headers: str) -> Fault:
    def fault(handler: Any) -> bool:
        handler.answer(status, body, **headers)
        return True

    return fault


def breaks(handler: Any) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[")
    handler.close_connection = True
    return True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {"a": [{"b.c": 1}, 2], "ä-1": {"x": None}}),
        ("$", {"a": [{"b.c": 1}, 2], "ä-1": {"x": None}}),
        ("a[1]", 2),
        ("a[-1]", 2),
        ("$.a[0]", {"b.c": 1}),
        ('a[0]["b.c"]', 1),
        ('["ä-1"].x', None),
        ("ä-1.x", None),
    ],
)
def test_paths_name_places_in_json(text: str, value: object) -> None:
    assert Path(text).of({"a": [{"b.c": 1}, 2], "ä-1": {"x": None}}) == value


@pytest.mark.parametrize("text", ["a..b", "a.", ".a", "a[x]", 'a["b]', " a", "a[", "]", "$a["])
def test_what_is_no_path_is_told(text: str) -> None:
    assert path_problem(text)


def test_what_is_missing_at_a_path_is_told_with_what_is_there() -> None:
    for text, words in (("b.c", "no b for b.c, but an object with a"), ("a[2]", "a list of 1"), ("a[0].x", "no object: 1")):
        with pytest.raises(Missing, match=words.replace("[", r"\[")):
            Path(text).of({"a": [1]})
        assert Path(text).get({"a": [1]}) is None


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<https://a/?p=2>; rel="next"', "https://a/?p=2"),
        ('<https://a/1>; rel="prev", <https://a/?x=1,2;3>; title="a, b"; rel=next', "https://a/?x=1,2;3"),
        ('</b>; rel="last next"', "/b"),
        ('<https://a>; rel="nextish"', ""),
        ("", ""),
        ("rubbish", ""),
    ],
)
def test_the_next_page_is_found_among_links(header: str, target: str) -> None:
    assert next_link(header) == target


@pytest.mark.parametrize(
    ("form", "value", "mark", "asked"),
    [
        ("iso", "2026-01-01T01:00:00+01:00", 1_767_225_600_000_000, "2026-01-01T00:00:00Z"),
        ("iso", "2026-01-01T00:00:00.000001", 1_767_225_600_000_001, "2026-01-01T00:00:00.000001Z"),
        ("seconds", 1_767_225_600, 1_767_225_600, "1767225600"),
        ("milliseconds", 1_767_225_600_001, 1_767_225_600_001, "1767225600001"),
        ("number", 1.5, 1.5, "1.5"),
        ("text", "abc", "abc", "abc"),
    ],
)
def test_marks_are_asked_for_as_they_are_written(form: str, value: object, mark: object, asked: str) -> None:
    found = marks.mark_of(value, form)
    assert (found, marks.written(found, form)) == (mark, asked)
    less = marks.earlier(found, form, 2)
    assert less == found if form == "text" else marks.earlier(found, form, 0) > less  # type: ignore[operator]  # alike


def test_items_have_keys_and_times_and_are_asked_for_by_the_newest(service: Service) -> None:
    service.add(["a", "b"])
    options = {"mode": "incrementing", "incrementing_field": "at", "incrementing_parameter": "since", "key_fields": "id"}
    task = started(f"{service.url}/all?state=paid&tag=1&tag=2", incrementing_begin="2000", overlap="2s", **options)  # type: ignore[arg-type]
    (batch,) = polled(task, 1)
    assert [value["text"] for value in values([batch])] == ["a", "b"]
    assert batch.keys == ["1", "2"]
    assert batch.timestamps_ms == [1_767_225_700_000, 1_767_225_701_000]
    service.add(["c"])
    while not (found := values(polled(task, 1))):
        threading.Event().wait(0.005)
    assert [value["text"] for value in found] == ["c"]
    assert service.asked[0] == {"state": ["paid"], "tag": ["1", "2"], "since": ["2000"]}
    assert service.asked[-1]["since"] == ["2026-01-01T00:01:39Z"]
    (batch,) = polled(started(f"{service.url}/all", key_fields="id,none"), 1)
    assert batch.keys is not None
    assert batch.keys[0] == '{"id":1,"none":null}'


def test_an_item_of_a_clock_that_is_ahead_hides_none_that_come_later(service: Service) -> None:
    times = ["2026-01-01T00:00:00Z", "2199-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]
    items = [{"id": number, "at": at} for number, at in enumerate(times)]
    service.items += items[:2]
    task = started(f"{service.url}/all", mode="incrementing", incrementing_field="at")
    assert [value["id"] for value in values(polled(task, 1))] == [0, 1]
    service.items.append(items[2])
    found: list[Any] = []
    end = time.monotonic() + 60
    while not found and time.monotonic() < end:
        found = values(polled(task, 1))
        threading.Event().wait(0.005)
    assert [value["id"] for value in found] == [2]


def test_the_newest_time_that_an_item_can_have_is_a_little_behind_now() -> None:
    now = time.time()
    for form, steps in (("seconds", 1), ("milliseconds", 1_000), ("iso", 1_000_000)):
        newest = marks.latest(form)
        assert isinstance(newest, int)
        assert now * steps < newest < (now + 3_600) * steps
    assert marks.latest("number") is marks.latest("text") is None


def test_an_item_without_the_field_is_a_bad_record(service: Service) -> None:
    service.add(["a"])
    service.items.append({"id": 7, "at": "soon"})
    service.items.append({"id": 8, "at": "2026-05-01T00:00:00Z", "text": "c"})
    first, bad, last = values(polled(started(f"{service.url}/all", mode="incrementing", incrementing_field="at"), 1))
    assert (first["text"], last["text"]) == ("a", "c")
    assert isinstance(bad, Rejected)
    assert "'soon' is no time as ISO 8601 has it: by at new items are known" in bad.reason


def test_all_pages_are_read_once_and_numbers_of_pages_have_pages_of_one_size(service: Service) -> None:
    service.add([str(number) for number in range(12)])
    task = started(
        f"{service.url}/number", context=TaskContext(batch_records=2), pages="number", page_size_parameter="limit", page_size="4"
    )
    assert [value["text"] for value in values(polled(task))] == [str(number) for number in range(12)]
    assert task.finished
    assert [(asked["page"], asked["limit"]) for asked in service.asked] == [([str(number)], ["4"]) for number in (1, 2, 3, 4)]


def test_who_we_are_is_shown_to_the_service_alone(service: Service) -> None:
    service.add([str(number) for number in range(9)])
    options = {"api_key": "${env:SECRET}", "api_key_header": "X-API-Key", "headers": "X-Tenant=7"}
    polled(started(f"{service.url}/all", **options), 1)  # type: ignore[arg-type]
    assert (service.headers["x-api-key"], service.headers["x-tenant"]) == ("s3cret", "7")
    assert "authorization" not in service.headers
    polled(started(f"{service.url}/all", token="${env:SECRET}"), 1)
    assert service.headers["authorization"] == "Bearer s3cret"
    service.faults += [answers(200, [{"id": 1}], Link='<http://elsewhere.example/?p=2>; rel="next"')]
    with pytest.raises(PermanentError, match=r"the next page is at another server, http://elsewhere\.example, which must not see"):
        polled(started(f"{service.url}/link", pages="link"), 1)
    service.faults += [answers(400, {"error": "the key s3cret is none"})]
    with pytest.raises(PermanentError, match=r"the key \*\*\* is none"):
        polled(started(f"{service.url}/all", **options), 1)  # type: ignore[arg-type]


def test_requests_have_a_pace(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.add([str(number) for number in range(12)])
    now = [0.0]
    monkeypatch.setattr("connectors.http.asking.time.monotonic", lambda: now[0])
    monkeypatch.setattr("connectors.http.asking._WAIT_SECONDS", 0.001)
    task = started(f"{service.url}/link", pages="link", requests_interval="10s")
    assert len(values(polled(task, 5))) == 5
    now[0] = 10.0
    assert len(values(polled(task, 5))) == 5
    assert len(service.asked) == 2


def test_a_page_that_is_too_long_is_asked_for_with_fewer_items(service: Service) -> None:
    service.add(["x" * 300] * 12)
    size = {"page_size_parameter": "limit", "page_size": "12", "response_bytes": "2KiB"}
    task = started(f"{service.url}/offset", pages="offset", **size)  # type: ignore[arg-type]
    assert len(values(polled(task, 40))) == 12
    with pytest.raises(PermanentError, match=r"a page is an answer of more than .*\(page\.size\), or raise response\.bytes"):
        polled(started(f"{service.url}/all", response_bytes="2KiB"))


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (answers(429, {"message": "slow down"}, Retry_After="7"), SystemAway, "answers 429: slow down"),
        (answers(503, b"<html>bad gateway</html>"), SystemAway, "answers 503: <html>bad gateway"),
        (answers(200, b"<html>hello</html>"), SystemAway, "answers with what is no JSON that can be read"),
        (answers(200, b"[" * 100_000), SystemAway, "no JSON that can be read"),
        (answers(200, {"error": "later"}), SystemAway, "what is at \\$ is no list"),
        (
            answers(200, b"abcde", Content_Encoding="gzip"),
            SystemAway,
            "does not answer: an answer that is no gzip: .* check$",
        ),
        (answers(200, b"abcde", Content_Encoding="br"), SystemAway, "Content-Encoding: br, where identity was asked for$"),
        (breaks, SystemAway, "does not answer: peer closed connection"),
        (answers(401, {"message": "who?"}), PermanentError, "answers 401: who\\?"),
        (answers(404, b"nothing here"), PermanentError, "answers 404: nothing here"),
        (answers(301, b"", Location="https://other/"), PermanentError, "Redirects are not followed"),
    ],
)
def test_an_answer_that_is_none_loses_nothing(service: Service, fault: Fault, error: type[Exception], words: str) -> None:
    service.add(["a"])
    task = started(f"{service.url}/all")
    service.faults += [fault]
    with pytest.raises(error, match=words) as raised:
        task.poll()
    assert getattr(raised.value, "wait", None) == (7 if "429" in words else None)
    task.start({})
    assert [value["text"] for value in values(polled(task, 3))] == ["a"]


def test_an_empty_answer_has_no_items(service: Service) -> None:
    service.faults += [answers(204), answers(200, {"items": None})]
    assert values(polled(started(f"{service.url}/all"), 1)) == []
    assert values(polled(started(f"{service.url}/all", items="items"), 1)) == []


def test_pages_that_lead_nowhere_end_the_task(service: Service) -> None:
    same = answers(200, {"items": [{"id": 1}], "next": "a"})
    service.faults += [same, same]
    with pytest.raises(PermanentError, match="the page behind a page is that page again"):
        polled(started(f"{service.url}/x", pages="cursor", pages_path="next", items="items"))
    service.faults += [answers(200, {"items": [{"id": 1}], "next": None, "more": False})]
    task = started(f"{service.url}/x", mode="append", pages="cursor", pages_path="next", pages_more="more", items="items")
    with pytest.raises(PermanentError, match="the last page has no cursor"):
        polled(task)


def problems(given: Mapping[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "http_source", "topic": "t", **given})
    return {each.key: str(each) for each in checked.problems}


def test_what_is_configured_wrong_is_told_at_once(service: Service) -> None:
    wrong = {"url": "ftp://a", "headers": "Authorization=x", "items": "a..b", "mode": "x", "pages": "y", "page.size": "0"}
    assert problems(wrong).keys() == wrong.keys()
    for url in ("https://me:pw@host/a", "https://host/#a", "https://"):
        assert problems({"url": url}).keys() == {"url"}
    given = {"url": f"{service.url}/all", "api.key": "${env:K}"}
    found = problems({**given, "mode": "incrementing", "pages": "cursor", "page.size": "5", "key.fields": "a..b"})
    assert found.keys() == {"incrementing.field", "pages.path", "page.size", "key.fields"}
    found = problems({**given, "mode": "append", "pages": "link", "overlap": "1s", "pages.path": "a", "pages.parameter": "p"})
    assert found.keys() == {"pages", "overlap", "pages.path", "pages.parameter"}
    assert problems({**given, "mode": "append", "pages": "cursor", "pages.path": "a"}).keys() == {"pages.more"}
    text = {"mode": "incrementing", "incrementing.field": "a", "incrementing.form": "text", "overlap": "1s"}
    assert problems({**given, **text}).keys() == {"overlap"}
    assert problems({"url": given["url"], "api.key.header": "X-Key"}).keys() == {"api.key.header"}
    assert not service.asked


def test_the_first_page_is_looked_at(service: Service) -> None:
    given = {"url": f"{service.url}/all"}
    assert problems(given) == {}
    assert (
        "there is no data for data.items, but" in problems({**given, "url": f"{service.url}/feed", "items": "data.items"})["items"]
    )
    service.faults += [answers(404, {"message": "no such thing"}), answers(401, b"who"), answers(500, b"broken")]
    assert "no such thing" in problems(given)["url"]
    assert "answers 401" in problems(given)["user"]
    assert "answers 500: broken" in problems(given)["url"]
    assert "does not answer" in problems({"url": "http://127.0.0.1:1/"})["url"]


def test_a_certificate_that_is_not_trusted_is_told_and_one_that_is_named_is_trusted(tmp_path: File) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Service.running() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:") + "/all"
        assert "the certificate of the server is not trusted" in problems({"url": url})["ssl.ca.location"]
        assert problems({"url": url, "ssl.ca.location": str(certificate)}) == {}


def test_what_it_reads_is_named_the_same_however_it_is_written() -> None:
    (first,) = SOURCE.origins(config_of("https://API.example/a?b=1&a=2", {}))
    (second,) = SOURCE.origins(config_of("https://api.example/a?a=2&b=1", {}))
    (other,) = SOURCE.origins(config_of("https://api.example/a", {}))
    assert first.overlaps(second)
    assert not first.overlaps(other)
