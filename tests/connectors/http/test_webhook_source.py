"""What requests become, and what is answered to those that are none."""

import gzip
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connectors.http.signatures import Signer
from connectors.http.webhook_source import WebhookSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.source import SourceTask
from services.executor.runtime.rocketmq.properties import extras_of
from tests import free_ports
from tests.connectors.http.sender import post, spoken
from tests.connectors.http.test_http_sink import certificate

SECRETS = {"${env:SECRET}": "geheim", "${env:OLD}": "alt", "${env:EMPTY}": ""}


class Hook:
    """A task that copies on a thread of its own.

    What its topic has is in `records`: (topic, key, value, headers); and in `batches`: the schema of each with its values.
    """

    def __init__(self, task: SourceTask, port: int) -> None:
        self.task, self.port = task, port
        self.records: list[tuple[object, object, Any, Mapping[str, str]]] = []
        self.batches: list[tuple[Schema | None, Sequence[object]]] = []
        self.is_paused = False
        self.rests = threading.Event()
        self._ends = False
        self._thread = threading.Thread(target=self._copy)

    def __enter__(self) -> "Hook":
        self.task.start({})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends, self.is_paused = True, False
        self._thread.join()
        self.task.close()

    def _copy(self) -> None:
        while not self._ends:
            if self.is_paused:
                self.rests.set()
                time.sleep(self.task.idle_seconds)
                continue
            batches = batches_of(self.task.poll())
            for batch in batches:
                self.batches.append((batch.schema, batch.values))
                topics, keys = (column or [None] * len(batch) for column in (batch.topics, batch.keys))
                for topic, key, value, headers in zip(topics, keys, batch.values, batch.headers or (), strict=True):
                    self.records.append((topic or "", key, value, headers))
                self.task.committed({batch.partition: Position(batch.offsets[-1])})
            if not batches:
                time.sleep(self.task.idle_seconds)

    def post(self, body: bytes | str = b"{}", path: str = "/in", **of: Any) -> tuple[int, str, dict[str, str]]:
        headers = {name.replace("_", "-"): text for name, text in of.pop("headers", {}).items()}
        return post(self.port, body.encode() if isinstance(body, str) else body, path, headers=headers, **of)

    @property
    def values(self) -> list[Any]:
        return [value for _, _, value, _ in self.records]


@contextmanager
def hook(context: TaskContext | None = None, /, **options: str) -> Iterator[Hook]:
    source, port = WebhookSource(), free_ports.choose()
    given = {"listen": f"127.0.0.1:{port}", **{key.replace("_", "."): value for key, value in options.items()}}
    config = parse(source.options, given).replaced(lambda text: SECRETS.get(text, text))
    with Hook(source.open(config, {"share": "0/1"}, context or TaskContext()), port) as made:
        yield made


def test_a_request_is_a_record_with_its_key_and_its_headers() -> None:
    with hook(key="${header.X-GitHub-Delivery}", headers="X-GitHub-Event", status="202") as made:
        sent = {"X-GitHub-Delivery": "d-1", "x-github-event": "push", "Content-Type": "application/json"}
        assert made.post('{"n": 1.5, "id": 12345678901234567890.25}', "/a?b=c", headers=sent)[:2] == (202, "")
        assert made.post('{"n": 2}', "/a", method="PUT")[0] == 202
    (topic, key, value, headers), (_, no_key, *_) = made.records
    assert (topic, key, no_key, value) == ("", "d-1", None, {"n": 1.5, "id": Decimal("12345678901234567890.25")})
    assert headers == {
        "X-GitHub-Event": "push",
        "http.method": "POST",
        "http.path": "/a",
        "http.content.type": "application/json",
    }


def test_paths_go_to_their_topics_and_others_are_not_found() -> None:
    with hook(paths="/github=pushes,/shop/*=orders,/shop/big/*=large,/shop/one=one") as made:
        for path in ("/github", "/shop/1", "/shop/big/1", "/shop/one?x=1"):
            assert made.post("{}", path)[0] == 200
        for path in ("/", "/shop", "/github/", "/%67ithub"):
            assert made.post("{}", path)[:2] == (404, "nothing is at this path")
    assert [topic for topic, *_ in made.records] == ["pushes", "orders", "large", "one"]


def test_bodies_are_read_by_their_form_and_others_are_refused_to_who_sends_them() -> None:
    with hook() as made:
        for body in ("[1,", "", b"\xff", "[" * 100_000):
            status, text, _ = made.post(body)
            assert (status, text[:20]) == (400, "the body is no JSON:")
    with hook(value_format="form", key="${value.a}-${query.q}") as made:
        assert made.post("a=1&b=x+y%26&b=%C3%BC&c=", "/in?q=5")[0] == 200
        assert made.post(b"a=%FF")[0] == 400
    assert made.records[0][1:3] == ("1-5", {"a": "1", "b": ["x y&", "ü"], "c": ""})
    with hook(value_format="text") as made:
        assert made.post("ünï\r\n")[0] == 200
        assert made.post("")[0] == 200
        assert made.post(b"\xff")[:2] == (400, "the body is no text in UTF-8 at byte 0")
    assert made.values == ["ünï\r\n", ""]
    with hook(value_format="bytes") as made:
        assert made.post(b"\x00\xff")[0] == 200
    assert made.values == [b"\x00\xff"]


def test_a_request_may_be_many_records_which_are_stored_together() -> None:
    with hook(records="array", key="${value.id}") as made:
        assert made.post('[{"id": 1}, {"id": "b"}, 3, null]')[0] == 200
        assert made.post("[]")[0] == 200
        assert made.post("{}")[:2] == (400, "the body is no JSON array")
    assert [(key, value) for _, key, value, _ in made.records] == [("1", {"id": 1}), ("b", {"id": "b"}), (None, 3), (None, None)]
    with hook(records="lines") as made:
        assert made.post('{"a": 1}\n\n{"a": 2}\n')[0] == 200
        assert made.post('{"a": 3}\n{"a"')[0] == 400
    assert made.values == [{"a": 1}, {"a": 2}]


def test_who_is_not_known_is_not_let_in() -> None:
    with hook(user="me", password="${env:SECRET}", token="${env:OLD}", api_key="${env:SECRET}") as made:
        known = [{"Authorization": "Basic bWU6Z2VoZWlt"}, {"Authorization": "bearer alt"}, {"X-API-Key": "geheim"}]
        unknown = [{}, {"Authorization": "Basic bWU6"}, {"Authorization": "Bearer geheim"}, {"X-API-Key": "ü"}, {"X-API-Key": ""}]
        assert [made.post(headers=each)[0] for each in known] == [200] * 3
        for each in unknown:
            status, text, headers = made.post(headers=each)
            assert (status, text, headers["www-authenticate"]) == (401, "who sends this is not known", "Basic")
    assert len(made.values) == 3


@pytest.mark.parametrize("form", ["hex", "base64", "github", "stripe"])
def test_bodies_that_are_not_signed_right_are_not_let_in(form: str) -> None:
    with hook(hmac_secret="${env:SECRET}", hmac_secret_previous="${env:OLD}", hmac_form=form, hmac_header="X-S") as made:
        body = b'{"a": 1}'
        now = time.time()
        new, old, other = (Signer([secret], form).sign(body, now) for secret in ("geheim", "alt", "x"))
        assert made.post(body, headers={"X-S": new})[0] == 200
        assert made.post(body, headers={"X-S": old})[0] == 200
        assert made.post(body, headers={"X-S": other})[:2] == (401, "the request has a wrong signature in X-S")
        assert made.post(body + b" ", headers={"X-S": new})[0] == 401
        assert made.post(body)[:2] == (401, "the request has no header X-S")
        if form == "stripe":
            late = Signer(["geheim"], form).sign(body, now - 1000)
            assert "whose time is 1000 s away" in made.post(body, headers={"X-S": late})[1].replace("1001", "1000")
            assert made.post(body, headers={"X-S": f"{new},v1=00"})[0] == 200
    assert made.values[:2] == [{"a": 1}] * 2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"token": "${env:EMPTY}"}, "token"),
        ({"api_key": "${env:EMPTY}"}, "api.key"),
        ({"hmac_secret": "${env:EMPTY}"}, "hmac.secret"),
        ({"hmac_secret": "${env:EMPTY}", "hmac_secret_previous": "${env:OLD}"}, "hmac.secret"),
        ({"user": "me", "password": "${env:EMPTY}"}, "password"),
        ({"user": "${env:EMPTY}", "password": "${env:SECRET}"}, "user"),
        ({"challenge": "meta", "challenge_token": "${env:EMPTY}"}, "challenge.token"),
    ],
)
def test_a_secret_that_stands_for_nothing_lets_nobody_in(options: dict[str, str], named: str) -> None:
    with pytest.raises(PermanentError, match=f"{named} is given, and what it refers to is empty") as raised, hook(**options):
        pass
    assert raised.value.option == named


def test_what_no_message_can_have_is_refused_to_who_sends_it() -> None:
    with hook(headers="X-A", key="${value.id}${header.X-B}") as made:
        for head in (b"Content-Type: a/b\x01", b"X-A: \x02", b"X-A: a\x7f"):
            request = b"POST /in HTTP/1.1\r\nHost: a\r\n%b\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}" % head
            assert spoken(made.port, request).startswith(b"HTTP/1.1 400 ")
        wide = b"POST /in HTTP/1.1\r\nHost: a\r\nX-A: %b\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}" % (b"\xff" * 9_000)
        assert spoken(made.port, wide).startswith(b"HTTP/1.1 431 ")
        assert made.post(f'{{"id": "{"k" * 40_000}"}}')[0] == 413
        assert made.post(f'{{"id": "{"ü" * 8_000}"}}', headers={"X-A": "x" * 14_000})[0] == 413
        assert made.post(f'{{"id": "{"ü" * 5_000}"}}', headers={"X-A": "x" * 14_000})[0] == 200
        assert made.post('{"id": "k\\u0001"}', headers={"X-A": "a\tb"})[0] == 200
    keys, headers = [key for _, key, *_ in made.records], [each for *_, each in made.records]
    batch = SourceBatch(
        "p", ["v"] * len(keys), [(n,) for n in range(len(keys))], keys=keys, headers=headers, timestamps_ms=[1 << 43] * 2
    )
    assert extras_of(batch, [str(key).encode() for key in keys])[1] == {}


def test_browsers_are_told_which_pages_may_send_and_beacons_need_no_permission() -> None:
    page = "https://shop.example.com"
    with hook(cors_origins=page, value_format="text") as made:
        asks = {"Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        status, _, headers = made.post(method="OPTIONS", headers=asks)
        assert status == 204
        assert (
            headers.items()
            >= {
                "access-control-allow-origin": page,
                "access-control-allow-headers": "content-type",
                "access-control-allow-methods": "POST, PUT, PATCH",
                "access-control-allow-credentials": "true",
                "vary": "Origin",
            }.items()
        )
        beacon = {"Origin": page, "Content-Type": "text/plain;charset=UTF-8"}
        status, _, headers = made.post("beacon", headers=beacon)
        assert (status, headers["access-control-allow-origin"]) == (200, page)
        assert made.post("evil", headers={"Origin": "https://evil.example.com"})[0] == 403
        assert made.post(method="OPTIONS", headers={**asks, "Origin": "https://evil.example.com"})[0] == 405
    assert made.values == ["beacon"]
    with hook(cors_origins="*") as made:
        assert made.post(headers={"Origin": "https://any"})[2]["access-control-allow-origin"] == "*"
    with hook() as made:
        assert "access-control-allow-origin" not in made.post(headers={"Origin": page})[2]


def test_what_was_packed_piece_by_piece_is_read_whole() -> None:
    pieces = gzip.compress(b"one\n") + gzip.compress(b"two\n" + bytes(100_000) + b"\n") + gzip.compress(b"three")
    with hook(value_format="text", records="lines") as made:
        assert made.post(pieces, headers={"Content-Encoding": "gzip"})[0] == 200
        assert made.values == ["one", "two", "\0" * 100_000, "three"]
        assert made.post(gzip.compress(b"") * 1_001, headers={"Content-Encoding": "gzip"})[0] == 400
    with hook(body_bytes="1000", value_format="text") as made:
        too_many = gzip.compress(b"x" * 600) + gzip.compress(b"x" * 401)
        assert made.post(too_many, headers={"Content-Encoding": "gzip"})[0] == 413
        assert made.post(pieces[:-5], headers={"Content-Encoding": "gzip"})[0] in (400, 413)


def test_bodies_may_be_packed_and_have_a_size() -> None:
    with hook(body_bytes="1000", value_format="text") as made:
        packed = {"Content-Encoding": "gzip"}
        assert made.post(gzip.compress(b"x" * 1000), headers=packed)[0] == 200
        assert made.post(gzip.compress(b"x" * 1001), headers=packed)[:2] == (413, "a body has 1,000 bytes at most")
        assert made.post(b"x" * 1001)[0] == 413
        assert made.post(b"no gzip", headers=packed)[0] == 400
        assert made.post(gzip.compress(b"x" * 100)[:-9], headers=packed)[:2] == (400, "the body is no whole gzip")
        assert made.post(b"x", headers={"Content-Encoding": "br"})[0] == 415
        chunks = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"3e8\r\n" + b"y" * 1000 + b"\r\n"
        assert spoken(made.port, chunks + b"1\r\ny\r\n0\r\n\r\n").startswith(b"HTTP/1.1 413 ")
        assert spoken(made.port, chunks.replace(b"a\r\n", b"a\r\nConnection: close\r\n", 1) + b"0\r\n\r\n").startswith(
            b"HTTP/1.1 200 "
        )
    assert made.values == ["x" * 1000, "y" * 1000]
    with hook(TaskContext(max_record_bytes=100), records="lines", value_format="text") as made:
        assert made.post("a\n" + "b" * 101)[:2] == (413, "a record has 100 bytes at most, and one has 101")
    assert made.values == []


def test_a_client_that_waits_for_leave_to_send_gets_it() -> None:
    with hook(value_format="text") as made, socket.create_connection(("127.0.0.1", made.port), 60) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"ok")
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        # The connection goes on, and two may be sent at once.
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na" * 2)
        found = b""
        while found.count(b"HTTP/1.1 200 ") < 2:
            found += client.recv(100)
    assert made.values == ["ok", "a", "a"]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\x00" * 200, b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"405"),
        (b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", b"405"),
    ],
)
def test_what_is_no_request_is_refused_and_others_are_served(data: bytes, status: bytes) -> None:
    with hook() as made:
        assert spoken(made.port, data).startswith(b"HTTP/1.1 %b " % status)
        assert made.post()[0] == 200
    assert made.values == [{}]


def test_who_sends_too_slowly_or_goes_away_in_the_middle_holds_up_nobody() -> None:
    with hook(request_timeout="1s", connections_max="2") as made:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"
        for slow in (head, b"POST / HT"):
            assert spoken(made.port, slow).startswith(b"HTTP/1.1 408 ")
        with socket.create_connection(("127.0.0.1", made.port), 60) as client:
            client.sendall(head)
        # Those who have gone are forgotten soon.
        while made.post()[0] != 200:
            pass
        with served(made.port), served(made.port):
            assert spoken(made.port, b"").startswith(b"HTTP/1.1 503 ")
    assert made.values == [{}] * len(made.values)


def served(port: int) -> socket.socket:
    """A connection that goes on, and has been answered."""
    while True:
        client = socket.create_connection(("127.0.0.1", port), 60)
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
        if client.recv(100).startswith(b"HTTP/1.1 200 "):
            return client
        client.close()


def test_who_waits_too_long_is_told_to_come_again() -> None:
    with hook(answer_timeout="1s", value_format="text") as made:
        made.is_paused = True
        assert made.rests.wait(60)
        status, text, headers = made.post("y")
        assert (status, text) == (503, "it is not known whether this is stored: send it again")
        assert headers["retry-after"] == "1"
        made.is_paused = False
        while made.post("z")[0] != 200:
            pass
    # What nobody had taken when its time was over is not there.
    assert set(made.values) == {"z"}


def test_who_finds_no_room_is_told_to_come_again() -> None:
    with hook(TaskContext(buffer_bytes=1000), value_format="text") as made:
        end = time.monotonic() + 60
        with socket.create_connection(("127.0.0.1", made.port), 60) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 901\r\n\r\n" + b"x" * 900)
            while (answer := made.post("y" * 200))[0] == 200:
                assert time.monotonic() < end
            assert answer[:2] == (503, "too much is waiting: send it again")
        while made.post("z" * 200)[0] != 200:
            assert time.monotonic() < end
        assert made.post("w" * 2000)[0] == 200


def test_tasks_have_ports_of_their_own() -> None:
    source = WebhookSource()
    config = parse(source.options, {"listen": "127.0.0.1:65530"})
    assert len(source.plan(config, 100, {}).tasks) == 6
    port = free_ports.choose()
    config = parse(source.options, {"listen": f"127.0.0.1:{port - 1}"})
    with Hook(source.open(config, {"share": "1/2"}, TaskContext(task=1)), port) as made:
        assert made.post()[0] == 200


def test_an_address_that_can_t_be_had_is_told() -> None:
    source = WebhookSource()
    for listen, words in (("192.0.2.1:8900", "is no address of the machine"), ("no.such.host.invalid:8900", "is no address")):
        task = source.open(parse(source.options, {"listen": listen}), {"share": "0/1"}, TaskContext())
        with pytest.raises(PermanentError, match=words):
            task.start({})
        task.close()


def test_certificates_of_both_sides_are_looked_at(tmp_path: Path) -> None:
    ours, key = certificate(tmp_path)
    theirs, their_key = certificate(tmp_path, "client")
    given = {"ssl_certificate_location": str(ours), "ssl_key_location": str(key), "ssl_ca_location": str(theirs)}
    with hook(**given) as made:
        context = ssl.create_default_context(cafile=str(ours))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            made.post(tls=context)
        with pytest.raises(ConnectionError):
            made.post()
        context.load_cert_chain(theirs, their_key)
        assert made.post(tls=context)[0] == 200
    for wrong in ({"ssl_certificate_location": str(key)}, {**given, "ssl_ca_location": str(key)}):
        with pytest.raises(PermanentError, match=r"Put .* there on the executor"), hook(**wrong):
            raise AssertionError


def problems(**options: str) -> dict[str, str]:
    source = WebhookSource()
    given = {key.replace("_", "."): value for key, value in options.items()}
    try:
        return {each.key: each.reason for each in source.check(parse(source.options, given))}
    except ConfigError as error:
        return {each.key: each.reason for each in error.problems}


def test_what_is_configured_wrong_is_told_at_once() -> None:
    assert problems(
        listen="8900",
        paths="/a=b c",
        key="${body}",
        headers="Authorization",
        cors_origins="shop",
        hmac_secret="plain",
        status="500",
        body_bytes="0",
    ).keys() == {"listen", "paths", "key", "headers", "cors.origins", "hmac.secret", "status", "body.bytes"}
    assert problems(
        listen="0.0.0.0:8900",
        password="${env:A}",
        ssl_key_location="/k",
        hmac_form="stripe",
        records="array",
        value_format="text",
        api_key_header="X",
    ) == {
        "password": "is there without a user",
        "api.key.header": "has no API key to look for",
        "listen": "lets anybody send who reaches the port",
        "ssl.key.location": "means nothing without a certificate of our own",
        "hmac.form": "means nothing without hmac.secret",
        "records": "means nothing with value.format=text",
    }
    assert problems(listen="[::1]:80") == {}
    assert problems(listen="::1:80").keys() == {"listen"}
    assert problems(listen=":8900", token="${env:A}", paths="/a=t,/a=u") == {"paths": "has /a twice"}
    assert problems(listen=":8900", token="${env:A}", hmac_secret="${env:A}", hmac_tolerance="1m").keys() == {"hmac.tolerance"}
