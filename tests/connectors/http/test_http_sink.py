"""What records become over HTTP, and what goes wrong there."""

import json
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connectors.http.signatures import Signer
from connectors.http.sink import HttpSink
from rocketconnect_sdk.errors import ConfigError, PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from tests.connectors.http.driven import running
from tests.connectors.http.receiver import Fault, Receiver, Sent, answers, breaks, writes


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().running() as server:
        yield server


def certificate(folder: Path, name: str = "server", *more: str) -> tuple[Path, Path]:
    made, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", *more]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


def change(op: str, before: object, after: object) -> str:
    return json.dumps({"op": op, "before": before, "after": after})


def test_a_record_is_a_request_to_a_url_of_its_own_with_headers_of_its_own(receiver: Receiver) -> None:
    headers = "X-Id=${value.id},X-Trace=${header.h},Accept=text/plain"
    with running(f"{receiver.url}/hooks/${{topic}}/${{value.id}}?k=${{key}}&x=1", headers=headers, method="PUT") as run:
        assert run.write([{"id": "a/b c"}, '{"id":7,"d":1.50}'], ["k", "ü&?"]) == {}
    first, second = receiver.seen
    assert (first.method, first.path) == ("PUT", "/hooks/orders/a%2Fb%20c?k=k&x=1")
    assert second.path.startswith("/hooks/orders/7?k=%C3%BC%26%3F")
    assert (first.body, second.body) == (b'{"id":"a/b c"}', b'{"id":7,"d":1.50}')
    assert (
        first.headers.items()
        >= {"x-id": "a/b c", "x-trace": "x", "accept": "text/plain", "content-type": "application/json"}.items()
    )


def test_a_record_that_has_nothing_for_a_place_or_leads_elsewhere_is_refused_alone(receiver: Receiver) -> None:
    with running(f"{receiver.url}/users/${{key}}", headers="X-N=${value.n}") as run:
        values = [{"n": 1}, {"n": 1}, {"n": 1}, {}, {"n": "a\r\nX-Evil: 1"}, {"n": "ü"}, {"n": 2}]
        refused = run.write(values, ["a", "..", "", "d", "e", "f", "g"])
    assert refused == {
        1: "the path /users/.. would lead elsewhere",
        2: "the record has nothing where the URL has a place",
        3: "the record has no n there, which ${value.n} stands for",
        4: "its header X-N has a character that no header has, such as the end of a line",
        5: "its header X-N has a character that no header has, such as the end of a line",
    }
    assert [each.path for each in receiver.seen] == ["/users/a", "/users/g"]
    assert all("x-evil" not in each.headers for each in receiver.seen)


def test_bodies_are_made_by_their_type(receiver: Receiver) -> None:
    value = {"n": Decimal("1.10"), "t": 'a"<&>ü', "o": [1]}
    body = (
        '{"id": "${key}", "n": "${value.n}", "o": "${value.o}", "all": "${value}", "text": "no ${value.n} of ${topic}", "c": 1.0}'
    )
    with running(receiver.url, body=body) as run:
        assert run.write([value], ["7"]) == {}
    assert receiver.seen[0].body.decode() == (
        '{"id":"7","n":1.10,"o":[1],"all":{"n":1.10,"t":"a\\"<&>ü","o":[1]},"text":"no 1.10 of orders","c":1.0}'
    )
    with running(receiver.url, body="t=${value.t}&n=${value.n}", content_type="application/x-www-form-urlencoded") as run:
        run.write([value])
    with running(receiver.url, body="<t a='${value.t}'/>", content_type="application/xml; charset=utf-8") as run:
        run.write([value])
    with running(receiver.url, body="${topic}: ${value.t}", content_type="text/plain") as run:
        run.write([value])
    assert [each.body.decode() for each in receiver.seen[1:]] == [
        "t=a%22%3C%26%3E%C3%BC&n=1.10",
        "<t a='a&quot;&lt;&amp;&gt;ü'/>",
        'orders: a"<&>ü',
    ]
    with running(receiver.url) as run:
        run.write(["text", b"\x00\xff", None, 1.5, change("d", {"id": 1}, None)])
    assert [each.body for each in receiver.seen[4:]] == [b"text", b"\x00\xff", b"", b"1.5", change("d", {"id": 1}, None).encode()]


def test_several_records_are_one_request_as_far_as_they_go_together(receiver: Receiver) -> None:
    values: list[object] = [{"n": 1}, '{"n":2}', "text", None, 5]
    with running(f"{receiver.url}/${{key}}", request_format="array", request_records="3") as run:
        assert run.write(values, ["a", "a", "a", "a", "b"]) == {}
    assert [(each.path, each.json) for each in receiver.seen] == [
        ("/a", [{"n": 1}, {"n": 2}, "text"]),
        ("/a", [None]),
        ("/b", [5]),
    ]
    with running(receiver.url, request_format="lines", body='{"v": "${value}"}', request_bytes="1KiB") as run:
        assert run.write(["x" * 500] * 4) == {}
    assert [each.body.count(b"\n") for each in receiver.seen[3:]] == [2, 2]
    assert receiver.seen[3].headers["content-type"] == "application/x-ndjson"
    with running(receiver.url, request_format="joined", request_separator="\\r\\n--\\n") as run:
        assert run.write(["a", "b\r\n--\nc", "d", "e\nf"])[1].startswith("it has request.separator (b'\\r\\n--\\n') in it")
    assert [each.body for each in receiver.seen[-2:]] == [b"a", b"d\r\n--\ne\nf"]


def test_records_with_other_headers_or_at_another_url_are_no_part_of_a_request(receiver: Receiver) -> None:
    options = {"headers": "X-Kind=${value.kind}", "request_format": "array", "request_records": "9"}
    with running(f"{receiver.url}/${{key}}", **options) as run:
        values = [{"kind": kind, "n": n} for n, kind in enumerate("aabbb")]
        assert run.write(values, ["x", "x", "x", "x", "y"]) == {}
    seen = [(each.path, each.headers["x-kind"], [row["n"] for row in each.json]) for each in receiver.seen]
    assert seen == [("/x", "a", [0, 1]), ("/x", "b", [2, 3]), ("/y", "b", [4])]


def test_deletions_are_requests_of_their_own(receiver: Receiver) -> None:
    with running(f"{receiver.url}/rows/${{key}}", method="PUT", delete_enabled="true", request_format="array") as run:
        key = '{"id":7}'
        values = [change("c", None, {"id": 7, "a": 1}), change("d", {"id": 7}, None), None]
        receiver.faults = [lambda *_: False, lambda *_: False, answers(404)]
        assert run.write(values, [key, key, "gone"]) == {}
    assert [(each.method, each.path, each.body) for each in receiver.seen] == [
        ("PUT", "/rows/7", b'[{"id":7,"a":1}]'),
        ("DELETE", "/rows/7", b""),
    ]


def test_a_record_has_the_same_name_each_time_that_it_is_sent(receiver: Receiver) -> None:
    names = []
    for _ in range(2):
        with running(receiver.url, idempotency_header="Idempotency-Key") as run:
            receiver.faults = [answers(503, Retry_After="0"), breaks]
            with pytest.raises(SystemAway):
                run.write([1, 2])
            run.at = 0
            assert run.write([1, 2]) == {}
        names.append([each.headers["idempotency-key"] for each in receiver.seen])
        receiver.seen.clear()
    assert names[0] == names[1]
    assert [len(set(names[0])), len(names[0])] == [2, 3]
    with running(receiver.url, idempotency_header="Idempotency-Key", request_format="array") as run:
        run.write([1, 2])
    assert receiver.seen[0].headers["idempotency-key"] not in names[0]


def test_what_was_answered_before_a_connection_broke_is_not_sent_again(receiver: Receiver) -> None:
    with running(receiver.url) as run:
        receiver.faults = [lambda *_: False, lambda *_: False, breaks]
        with pytest.raises(SystemAway, match="does not answer"):
            run.write([1, 2, 3, 4])
        run.at = 0
        assert run.write([1, 2, 3, 4]) == {}
    assert [each.json for each in receiver.seen] == [1, 2, 3, 3, 4]


def test_a_busy_server_is_waited_for_as_long_as_it_says(receiver: Receiver) -> None:
    with running(receiver.url) as run:
        receiver.faults = [answers(429), answers(503, Retry_After="0")]
        assert run.write([1]) == {}
        began = time.monotonic()
        receiver.faults = [answers(429, "slow down", Retry_After="120")]
        with pytest.raises(SystemAway, match="answers 429: slow down") as raised:
            run.write([2])
        assert (raised.value.wait, time.monotonic() - began < 60) == (120, True)
        run.context.stopping.set()
        receiver.always = answers(500, "oh")
        with pytest.raises(SystemAway, match="answers 500: oh"):
            run.write([2])


def test_a_record_with_which_the_server_fails_each_time_is_waited_for_or_refused(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.http.connection._FIRST_WAIT", 0.0001)

    def fails(handler: Any, sent: Sent) -> bool:
        if 3 in sent.json:
            handler.answer(500, {"error": "no three"})
        return 3 in sent.json

    receiver.always = fails
    with running(receiver.url, request_format="array") as run, pytest.raises(SystemAway, match="answers 500: no three"):
        run.write([1, 2, 3, 4])
    with running(receiver.url, request_format="array", server_error="refuse") as run:
        assert run.write([1, 2, 3, 4]) == {2: "the server fails with it: 500: no three"}
    assert [each.json for each in receiver.seen] == [[1, 2], [4]]


def test_of_what_a_server_refuses_as_a_whole_the_one_record_is_found(receiver: Receiver) -> None:
    def refuses(handler: Any, sent: Sent) -> bool:
        is_bad = "bad" in sent.json
        if is_bad:
            handler.answer(422, {"error": {"message": "no such thing"}})
        return is_bad

    receiver.always = refuses
    with running(receiver.url, request_format="array") as run:
        assert run.write([*range(9), "bad", *range(10, 20)]) == {9: "the server refuses it: 422: no such thing"}
    assert sorted(value for each in receiver.seen for value in each.json) == [*range(9), *range(10, 20)]


@pytest.mark.parametrize("form", ["single", "array"])
def test_several_requests_are_under_way_and_those_of_a_key_in_their_order(receiver: Receiver, form: str) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def slowly(handler: Any, sent: Sent) -> bool:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return False

    receiver.always = slowly
    keys = [f"k{number % 10}" for number in range(100)]
    with running(f"{receiver.url}/${{key}}", request_parallel="5", request_format=form) as run:
        assert run.write([{"n": number} for number in range(100)], keys) == {}
        receiver.faults = [answers(422)]
        assert list(run.write([{"n": 100}], ["k1"]).values()) == ["the server refuses it: 422: no reason given"]
    assert most[0] > 1
    sent = [(each.path, value["n"]) for each in receiver.seen for value in (each.json if form == "array" else [each.json])]
    for key in range(10):
        assert [number for path, number in sent if path == f"/k{key}"] == list(range(key, 100, 10))
    with running(receiver.url, request_parallel="5") as run:
        receiver.seen.clear()
        run.write(list(range(50)))
        assert [each.json for each in receiver.seen] == list(range(50))
        receiver.faults = [breaks]
        with pytest.raises(SystemAway):
            run.write([1, 2], ["a", "b"])


def test_requests_become_smaller_where_a_server_takes_none_so_large(receiver: Receiver) -> None:
    def largest(handler: Any, sent: Sent) -> bool:
        if len(sent.body) > 5_000:
            handler.answer(413)
        return len(sent.body) > 5_000

    receiver.always = largest
    with running(receiver.url, request_format="array") as run:
        assert run.write(["x" * 1_000] * 20 + ["y" * 9_000]) == {20: "the server refuses it: 413: no reason given"}
        assert sum(len(each.json) for each in receiver.seen) == 20
        receiver.faults = [lambda *_: False]
        run.write(["x" * 1_000] * 4)


@pytest.mark.parametrize(
    ("status", "url", "words"),
    [
        (301, "/a", "answers 301: it is at http://elsewhere. Redirects are not followed: give the URL that it leads to"),
        (401, "/a", "answers 401: no reason given. Give the user and the password"),
        (403, "/a", "answers 403: no reason given. Give who we are there the right"),
        (405, "/${key}", "answers 405"),
        (404, "/a", "answers 404"),
    ],
)
def test_what_a_server_says_to_whoever_asks_ends_the_task(receiver: Receiver, status: int, url: str, words: str) -> None:
    receiver.always = answers(status, Location="http://elsewhere") if status == 301 else answers(status)
    with running(receiver.url + url) as run, pytest.raises(PermanentError) as raised:
        run.write([1], ["k"])
    assert words in str(raised.value)


def test_a_url_of_a_record_that_is_not_there_is_the_matter_of_that_record(receiver: Receiver) -> None:
    receiver.faults = [answers(404, "no user a")]
    with running(f"{receiver.url}/${{key}}") as run:
        assert run.write([1, 2], ["a", "b"]) == {0: "the server refuses it: 404: no user a"}


@pytest.mark.parametrize(
    "fault",
    [
        writes(b"hello\r\n\r\n"),
        writes(b""),
        writes(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
        writes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        answers(200, b"x" * (17 << 20)),
        breaks,
    ],
)
def test_an_answer_that_is_none_loses_nothing(receiver: Receiver, fault: Fault) -> None:
    with running(receiver.url) as run:
        receiver.faults = [fault]
        with pytest.raises(SystemAway, match="does not answer"):
            run.write([1])
        run.at = 0
        assert run.write([1]) == {}
    assert receiver.seen[-1].json == 1


def test_a_server_that_hangs_is_left_after_the_time_of_a_request(receiver: Receiver) -> None:
    with running(receiver.url, request_timeout="1s") as run:
        receiver.faults = [lambda handler, _: handler.rfile.read(1) == b""]
        with pytest.raises(SystemAway, match=r"no answer within 1 s \(request.timeout\)"):
            run.write([1])


def test_who_we_are_is_shown_in_each_way_and_never_told(receiver: Receiver) -> None:
    ways: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"user": "me", "password": "${env:SECRET}"}, {"authorization": "Basic bWU6Z2VoZWlt"}),
        ({"token": "${env:SECRET}"}, {"authorization": "Bearer geheim"}),
        ({"api_key": "${env:SECRET}"}, {"authorization": "ApiKey geheim"}),
        ({"api_key": "${env:SECRET}", "api_key_header": "X-Api-Key"}, {"x-api-key": "geheim"}),
    ]
    for options, shown in ways:
        with running(receiver.url, **options) as run:
            run.write([1])
            assert receiver.seen[-1].headers.items() >= shown.items()
            receiver.faults = [answers(403, f"I don't know {next(iter(shown.values()))}")]
            with pytest.raises(PermanentError, match=r"I don't know .*\*\*\*") as raised:
                run.write([2])
            assert "geheim" not in str(raised.value)
            receiver.faults = [answers(422, f"is by {next(iter(shown.values()))}")]
            assert "geheim" not in run.write([3])[0]


def test_a_secret_may_be_a_part_of_the_url(receiver: Receiver) -> None:
    url = f"{receiver.url}/services/${{env:SECRET}}/${{key}}"
    assert problems({"url": url}) == {}
    with running(url) as run:
        run.write([1], ["k"])
        receiver.always = answers(405)
        with pytest.raises(PermanentError) as raised:
            run.write([1], ["k"])
    assert receiver.seen[0].path == "/services/geheim/k"
    assert "geheim" not in str(raised.value)


def test_a_token_of_oauth_is_asked_for_once_and_again_when_it_ends(receiver: Receiver) -> None:
    given = {"oauth_token_url": f"{receiver.url}/oauth/token", "oauth_client_id": "me", "oauth_client_secret": "${env:SECRET}"}
    with running(receiver.url, **given, oauth_scope="a b", oauth_parameters="audience=x") as run:
        run.write([1, 2])
        receiver.faults = [answers(401, "token-1 is over")]
        run.write([3])
        assert receiver.asked[0].headers["authorization"] == "Basic bWU6Z2VoZWlt"
        assert receiver.asked[0].body == b"grant_type=client_credentials&scope=a+b&audience=x"
        receiver.faults = [answers(401, "token-2 is over"), answers(401, "token-3 is none")]
        with pytest.raises(PermanentError, match=r"answers 401: \*\*\* is none"):
            run.write([4])
    assert [each.headers["authorization"] for each in receiver.seen] == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    receiver.seconds = 0
    with running(receiver.url, **given, oauth_client_auth="body") as run:
        before = receiver.tokens
        run.write([1, 2])
        assert receiver.tokens == before + 2
    assert receiver.asked[-1].body.endswith(b"client_id=me&client_secret=geheim")
    receiver.seconds = "rubbish"
    with pytest.raises(SystemAway, match="with what is no token of OAuth 2"), running(receiver.url, **given):
        raise AssertionError
    receiver.seconds = None
    for how in ("basic", "body"):
        wrong = given | {"oauth_client_secret": "${env:WRONG}", "oauth_client_auth": how}
        with pytest.raises(PermanentError, match="answers 401: invalid_client: Unknown client"), running(receiver.url, **wrong):
            raise AssertionError


@pytest.mark.parametrize("form", ["hex", "base64", "github", "stripe"])
def test_bodies_are_signed_so_that_who_knows_the_secret_can_tell(receiver: Receiver, form: str) -> None:
    with running(receiver.url, hmac_secret="${env:SECRET}", hmac_form=form) as run:
        run.write(["ü" * 5])
    (sent,) = receiver.seen
    header = {"github": "X-Hub-Signature-256", "stripe": "Stripe-Signature"}.get(form, "X-Signature")
    given, now = sent.headers[header.lower()], time.time()
    signer = Signer(["other", "geheim"], form, header)
    assert signer.problem(sent.body, given, now) is None
    assert signer.problem(sent.body + b" ", given, now) == f"has a wrong signature in {header}"
    assert Signer(["other"], form, header).problem(sent.body, given, now) == f"has a wrong signature in {header}"
    assert signer.problem(sent.body, "", now) == f"has no header {header}"
    if form == "stripe":
        assert signer.problem(sent.body, given, now + 1000) is not None
        assert signer.problem(sent.body, "v1=00", now) == "has no time t= in Stripe-Signature"


def test_signatures_are_those_that_others_publish() -> None:
    github = Signer(["It's a Secret to Everybody"], "github", "X-Hub-Signature-256")
    digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert github.sign(b"Hello, World!", 0) == f"sha256={digest}"


def problems(given: Mapping[str, str]) -> dict[str, str]:
    sink = HttpSink()
    try:
        return {each.key: each.reason for each in sink.check(parse(sink.options, given))}
    except ConfigError as error:
        return {each.key: each.reason for each in error.problems}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://a/b", "is no URL of http or https"),
        ("http://a b/", "is no URL of http or https"),
        ("http://me:pass@a/", "has a user or a password in it, and these have options of their own"),
        ("http://${topic}.example.com/", "has the name of the server made of something, and that is the same for all records"),
        ("http://a/${nothing}", "${nothing} stands for nothing"),
        ("http://a/#b", "has a # in it, and what is behind that is never sent"),
        ("http://a/?x=1&x=${key}", "has the parameter x twice"),
        ("http://a:99999/", "is no URL of http or https"),
    ],
)
def test_a_url_that_can_t_be_one_is_told(url: str, reason: str) -> None:
    assert problems({"url": url}) == {"url": reason}


def test_what_is_configured_wrong_is_told_at_once(receiver: Receiver) -> None:
    wrong = {"headers": "Host=a", "idempotency.header": "a b", "request.bytes": "1", "password": "plain", "method": "GET"}
    assert problems({**wrong, "oauth.token.url": "x"}).keys() == {"url", "oauth.token.url", *wrong}
    given = {
        "url": receiver.url,
        "body": '{"${key}": 1}',
        "request.records": "5",
        "request.separator": ",",
        "oauth.scope": "a",
        "api.key.header": "X-Key",
        "hmac.form": "github",
        "ssl.key.location": "/k",
        "headers": "X-Id=1",
        "idempotency.header": "x-id",
    }
    assert problems(given) == {
        "body": "has ${key} as a name, and only values are made of records",
        "request.records": "is more than one, and request.format=single",
        "request.separator": "means nothing with request.format=single",
        "oauth.token.url": "is empty, and oauth.scope means nothing without it",
        "api.key.header": "has no API key to show",
        "hmac.form": "means nothing without hmac.secret",
        "ssl.key.location": "is a key without a certificate",
        "idempotency.header": "is a header that headers has already",
    }
    no_json = problems({"url": receiver.url, "body": "${key}"})
    assert no_json["body"].startswith("is no JSON, which content.type says")
    text = {"url": receiver.url, "body": "${key}", "content.type": "text/plain", "request.format": "array"}
    assert problems(text) == {"content.type": "is no JSON, which request.format=array is made of"}


def test_a_server_that_is_away_is_a_warning_and_waited_for() -> None:
    sink = HttpSink()
    (problem,) = sink.check(parse(sink.options, {"url": "http://127.0.0.1:1/a"}))
    assert problem.is_warning
    # The rest of a URL may be a secret.
    assert problem.value == "http://127.0.0.1:1"
    with pytest.raises(SystemAway, match="does not answer"), running("http://127.0.0.1:1/a"):
        raise AssertionError


def test_certificates_of_both_sides_are_looked_at(tmp_path: Path) -> None:
    made, key = certificate(tmp_path)
    ours, our_key = certificate(tmp_path, "client")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    context.load_verify_locations(ours)
    context.verify_mode = ssl.CERT_REQUIRED
    with Receiver(context).running() as server:
        told = problems({"url": server.url})
        assert "the certificate of the server is not trusted" in told["ssl.ca.location"]
        assert problems({"url": server.url, "ssl.ca.location": str(key)}).keys() == {"ssl.ca.location"}
        with pytest.raises(SystemAway), running(server.url, ssl_ca_location=str(made)):
            raise AssertionError
        own = {"ssl_certificate_location": str(ours), "ssl_key_location": str(our_key)}
        with running(server.url, ssl_ca_location=str(made), **own) as run:
            assert run.write([1]) == {}
        assert len(server.seen) == 1
