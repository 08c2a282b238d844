"""The client of HTTP, against a server that answers whatever it is told to."""

import gzip
import re
import socket
import ssl
import subprocess
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http import (
    AUTH,
    TLS,
    Answer,
    HttpClient,
    Login,
    NotLetIn,
    NotTrusted,
    RequestRejected,
    Tls,
    login_of,
    login_problems,
)
from rocketconnect_sdk.options import parse

SECRET = "s3cr3t-of-mine"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Answering:
    """Sends bytes to whoever asks, and closes; without any it holds the connection, and says nothing."""

    def __init__(self, data: bytes = GOOD, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[bytes] = []
        self._data = data
        self._context = context
        self._held: list[socket.socket] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                accepted = self._socket.accept()[0]
                with suppress(OSError):
                    accepted = self._context.wrap_socket(accepted, server_side=True) if self._context else accepted
                    self.asked.append(_request(accepted))
                    if self._data:
                        accepted.sendall(self._data)
                        accepted.close()
                    self._held.append(accepted)

    def close(self) -> None:
        for each in [self._socket, *self._held]:
            each.close()


def _request(accepted: socket.socket) -> bytes:
    """All of a request: a connection that is closed with some of it unread may lose the answer."""
    data = accepted.recv(1 << 16)
    length = re.search(rb"content-length: (\d+)", data, re.IGNORECASE)
    while length and len(data.partition(b"\r\n\r\n")[2]) < int(length[1]):
        data += accepted.recv(1 << 16)
    return data


@pytest.fixture
def nobody() -> Iterator[str]:
    """The URL of a port that nobody listens to, and nobody else takes."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def answered(status: str, body: str = "", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body.encode())}\r\n\r\n{body}".encode()


def error_of(data: bytes, login: Login | None = None, **more: float) -> Exception:
    with closing(Answering(data)) as server:
        client = HttpClient([server.url], login, seconds=more.get("seconds", 20), largest=1 << 20)
        with closing(client), pytest.raises((SystemAway, PermanentError)) as raised:
            client.asked("POST", "/things", b"body")
        assert SECRET not in str(raised.value)
        return raised.value


def test_what_is_asked_and_who_asks_arrive() -> None:
    for login, header in (
        (Login("me", "pw"), b"Basic bWU6cHc="),
        (Login(token=SECRET), b"Bearer " + SECRET.encode()),
        (Login(api_key=SECRET), b"ApiKey " + SECRET.encode()),
        (Login("me", "pä:s", names=("Authorization", "X-Key")), b"me\r\nx-key: " + "pä:s".encode()),
    ):
        with closing(Answering()) as server, closing(HttpClient([server.url + "/"], login, headers={"X-Own": "1"})) as client:
            assert client.asked("POST", "/a", b"{}", parameters={"b": "c d"}).json() == {}
            assert server.asked[0].startswith(b"POST /a?b=c%20d HTTP/1.1\r\n") or b"b=c+d" in server.asked[0]
            assert b"authorization: " + header.lower() in server.asked[0].lower()
            assert b"x-own: 1" in server.asked[0].lower()


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (answered("503 No", "later", "Retry-After: 7\r\n"), SystemAway, "answers 503: later"),
        (answered("429 Slow", '{"error":{"reason":"too many"}}'), SystemAway, "answers 429: too many"),
        (answered("401 No", f'{{"message":"{SECRET} is wrong"}}'), NotLetIn, r"answers 401: \*\*\* is wrong\. Give the user"),
        (answered("403 No"), NotLetIn, "answers 403: no reason given. Give who we are there the right"),
        (
            answered("302 There", headers="Location: http://b/\r\n"),
            RequestRejected,
            "answers 302: it is at http://b/. Redirects are not followed",
        ),
        (
            answered("400 Bad", '{"error":"invalid","error_description":"no such"}'),
            RequestRejected,
            "answers 400: invalid: no such",
        ),
        (b"rubbish\r\n\r\n", SystemAway, "does not answer: illegal status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", SystemAway, "does not answer: peer closed connection"),
        (answered("200 OK", "x" * (1 << 20) + "y"), SystemAway, "an answer of more than 1 MiB"),
    ],
)
def test_each_answer_that_is_not_good_is_told_with_what_follows(data: bytes, kind: type[Exception], words: str) -> None:
    error = error_of(data, Login("me", SECRET))
    assert isinstance(error, kind)
    with pytest.raises(kind, match=words):
        raise error
    if b"Retry-After" in data:
        assert isinstance(error, SystemAway)
        assert error.wait == 7


def packed(body: bytes, encoding: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nContent-Encoding: {encoding}\r\n\r\n".encode() + body


def test_an_answer_that_is_packed_though_nobody_asked_for_it_is_read() -> None:
    bare = zlib.compressobj(wbits=-15)
    for encoding, body in (
        ("gzip", gzip.compress(b'{"a":') + gzip.compress(b"1}")),
        ("deflate", zlib.compress(b'{"a":1}')),
        ("deflate", bare.compress(b'{"a":1}') + bare.flush()),
    ):
        with closing(Answering(packed(body, encoding))) as server, closing(HttpClient([server.url])) as client:
            assert client.asked("GET", "/").json() == {"a": 1}


def test_an_answer_takes_no_more_memory_than_it_may_have_however_it_is_packed() -> None:
    many = zlib.compressobj(wbits=31)
    once = b"".join(many.compress(bytes(1 << 20)) for _ in range(64)) + many.flush()
    for encoding, body in (("gzip", once), ("gzip, gzip", gzip.compress(once)), ("gzip", once[:-9]), ("br", once)):
        with closing(Answering(packed(body, encoding))) as server, closing(HttpClient([server.url], largest=1 << 20)) as client:
            tracemalloc.start()
            with pytest.raises(SystemAway, match="does not answer: an answer"):
                client.ask("GET", "/")
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert most < 8 << 20


def test_a_server_that_says_nothing_is_given_up() -> None:
    assert "no answer within 0.2 s (request.timeout)" in str(error_of(b"", seconds=0.2))


def test_a_server_that_can_t_be_reached_leads_to_the_next_and_one_that_may_have_done_it_does_not(nobody: str) -> None:
    with closing(Answering()) as server, closing(HttpClient([nobody, server.url])) as client:
        assert client.asked("GET", "/").status == 200
        assert client.place == server.url
    with (
        closing(Answering(b"half")) as broken,
        closing(Answering()) as server,
        closing(HttpClient([broken.url, server.url])) as client,
    ):
        with pytest.raises(SystemAway):
            client.asked("POST", "/")
        assert server.asked == []
        assert client.asked("POST", "/").status == 200
    with closing(HttpClient([nobody])) as client, pytest.raises(SystemAway, match=f"{nobody} does not answer: .*refused"):
        client.asked("GET", "/")


def test_a_secret_that_no_header_can_have_is_not_shown() -> None:
    for login in (Login(token=f"{SECRET}\n"), Login(api_key=f"{SECRET} ü"), Login("me", f"{SECRET}\n", names=("X-User", "X-Key"))):
        with pytest.raises(PermanentError, match="a character that no header has") as raised:
            HttpClient(["http://127.0.0.1:1"], login)
        assert SECRET not in str(raised.value)


def test_a_certificate_is_trusted_where_it_is_named_and_nowhere_else(tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with closing(Answering(context=context)) as server:
        with (
            closing(HttpClient([server.url], tls=Tls(prefix="a."))) as client,
            pytest.raises(NotTrusted, match=r"is not trusted: self.signed.* in a\.ssl\.ca\.location, or"),
        ):
            client.asked("GET", "/")
        with closing(HttpClient([server.url])) as client, pytest.raises(NotTrusted, match="Let the system trust the certificates"):
            client.asked("GET", "/")
        # One that none of the servers is, and one of them leads to.
        with closing(HttpClient(["http://127.0.0.1:1"], tls=Tls(str(certificate)))) as client:
            assert client.asked("GET", f"{server.url}/").status == 200
        # With a certificate of our own, too.
        with closing(HttpClient([server.url], tls=Tls(str(certificate), str(certificate), str(key)))) as client:
            assert client.asked("GET", "/").status == 200
    for tls, words in ((Tls(ca=str(key)), "ssl.ca.location"), (Tls(certificate=str(certificate)), "ssl.certificate.location")):
        with pytest.raises(PermanentError, match=words):
            HttpClient(["https://127.0.0.1:1"], tls=tls)


def test_hosts_that_the_executor_does_not_allow_are_not_spoken_to_through_a_proxy_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketconnect_sdk.permissions import connections
    from rocketconnect_sdk.permissions.hosts import Hosts

    with closing(Answering()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "")
        with closing(HttpClient(["http://10.1.2.3:9200"])) as client:
            assert client.asked("GET", "/a").status == 200
            assert proxy.asked[0].startswith(b"GET http://10.1.2.3:9200/a ")
        monkeypatch.setattr(connections, "_guard", connections._Guard(Hosts.parse("127.0.0.1")))
        with (
            closing(HttpClient(["http://10.1.2.3:9200"])) as client,
            pytest.raises(PermanentError, match=r"10\.1\.2\.3:9200 is no host"),
        ):
            client.asked("GET", "/a")
        assert len(proxy.asked) == 1


def test_a_whole_url_is_asked_in_the_place_of_the_servers_and_what_is_secret_in_it_stays_so(nobody: str) -> None:
    with closing(Answering()) as server, closing(HttpClient([nobody], Login("me", "pw"))) as client:
        answer = client.asked("PUT", server.url.replace("//", f"//other:{SECRET}@") + "/a?b=c")
        assert server.asked[0].startswith(b"PUT /a?b=c HTTP/1.1\r\n")
        assert b"authorization: basic bwu6chc=" in server.asked[0].lower()
        assert answer.url == f"{server.url}/a?b=c"
        with pytest.raises(SystemAway, match=f"^{nobody}/a does not answer: ") as raised:
            client.asked("GET", nobody.replace("//", f"//other:{SECRET}@") + f"/a?b={SECRET}")
        assert SECRET not in str(raised.value)
    for wrong in ("http://[a", "http://a:b/", "http://a b/"):
        with closing(HttpClient([nobody])) as client, pytest.raises((PermanentError, SystemAway)):
            client.asked("GET", wrong)


def test_where_an_answer_leads_is_a_whole_url() -> None:
    for location, target in (("/b?c", "http://a:1/b?c"), ("https://d/", "https://d/"), ("http://[", ""), (None, "")):
        headers = {} if location is None else {"location": location}
        assert Answer(307, b"", headers, "http://a:1/x").target == target


def test_a_large_body_arrives_whole() -> None:
    body = bytes(range(256)) * 5000
    for sent in (body, memoryview(body)):
        with closing(Answering()) as server, closing(HttpClient([server.url])) as client:
            client.asked("PUT", "/", sent)
            head, _, arrived = server.asked[0].partition(b"\r\n\r\n")
            assert arrived == body
            assert b"transfer-encoding" not in head.lower()


def test_a_wait_is_a_number_or_a_date_and_never_long() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    waits = {
        "7": 7,
        "86400": 300,
        "Thu, 01 Jan 2026 00:00:09 GMT": 9,
        "Thu, 01 Jan 2025 00:00:00 GMT": None,
        "soon": None,
        "": None,
    }
    assert {text: Answer(503, b"", {"retry-after": text}).wait(now) for text in waits} == waits


def test_who_we_are_is_said_once_and_whole() -> None:
    options = (*AUTH, *TLS)
    assert login_of(parse(options, {"user": "me"})) == Login("me")
    given = {"user": "me", "api.key": "${env:K}", "ssl.key.location": "/k"}
    told = [(problem.key, problem.reason) for problem in login_problems(parse(options, given))]
    assert told == [("api.key", "says who we are, and so does user"), ("ssl.key.location", "is a key without a certificate")]
