"""The port of the metrics: what one client can take of the others, and who is told."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from rocketconnect.position.v1.position_service_pb2 import ListPositionsRequest
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line, new_token
from rocketconnect_kit.serving import scrapes
from rocketconnect_kit.serving.scrapes import Endpoint, Guard
from rocketconnect_kit.settings import ServiceSettings, SettingsError

Serve = Callable[..., Endpoint]
LARGE = 64 << 20


def shown(_environ: object, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"metrics"]


def large(_environ: object, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [bytes(LARGE)]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[Endpoint] = []

    def begin(guard: Guard = Guard(), app: Any = shown) -> Endpoint:  # noqa: B008 - it is frozen
        running.append(scrapes.start("127.0.0.1", 0, app, guard))
        return running[-1]

    yield begin
    for each in running:
        each.close()


def connect(endpoint: Endpoint) -> socket.socket:
    return socket.create_connection(("127.0.0.1", endpoint.server.server_port), timeout=60)


def get(endpoint: Endpoint, path: str = "/metrics", secure: ssl.SSLContext | None = None, **headers: str) -> tuple[int, str]:
    port = endpoint.server.server_port
    if secure is None:
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    else:
        asking = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=secure)
    try:
        asking.request("GET", path, headers=headers)
        answer = asking.getresponse()
        return answer.status, answer.read().decode().strip()
    finally:
        asking.close()


def is_closed(connection: socket.socket) -> bool:
    """Whether it has been, by the other side; waits for that."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_those_that_say_nothing_make_room_for_those_that_ask(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "MOST", 4)
    endpoint = serve()
    before = threading.active_count()
    silent = [connect(endpoint) for _ in range(40)]
    assert get(endpoint) == (200, "metrics")
    # The first of them wait no longer, and their threads are gone.
    assert all(is_closed(each) for each in silent[:36])
    deadline = time.monotonic() + 60
    while threading.active_count() > before + 4:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for each in silent:
        each.close()


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "HEAD_SECONDS", 0.5)
    with connect(serve()) as slow:
        slow.settimeout(0.1)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                slow.sendall(b"G")
                if slow.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("it is held for as long as something comes")


def test_who_does_not_read_the_answer_is_not_waited_for(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "ANSWER_SECONDS", 0.5)
    endpoint = serve(app=large)
    before = threading.active_count()
    with connect(endpoint) as slow:
        slow.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert slow.recv(1) != b""
        deadline = time.monotonic() + 60
        while threading.active_count() > before:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("head", [b"GET /" + b"a" * 20_000, b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000], ids=["path", "headers"])
def test_a_head_that_is_too_large_is_refused(serve: Serve, head: bytes) -> None:
    with connect(serve()) as asking:
        asking.sendall(head)
        assert asking.recv(100).startswith(b"HTTP/1.0 431 ")


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    own = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=s", "-addext", "subjectAltName=IP:127.0.0.1"]
    openssl("req", *own, "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem")
    return folder


def trusting(certificates: Path, *, shows: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates / "cert.pem")
    if shows:
        context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    return context


def settings(certificates: Path | None = None, **more: Any) -> ServiceSettings:
    tls = {} if certificates is None else {"tls_cert": certificates / "cert.pem", "tls_key": certificates / "key.pem"}
    return ServiceSettings(**{"metrics_guarded": True, **tls, **more})


def test_one_that_does_not_greet_keeps_nobody_else_waiting(serve: Serve, certificates: Path) -> None:
    endpoint = serve(Guard.of(settings(certificates)))
    with connect(endpoint):
        assert get(endpoint, secure=trusting(certificates)) == (200, "metrics")


def test_metrics_are_told_to_those_who_are_known_and_whether_all_is_well_to_everybody(serve: Serve, tmp_path: Path) -> None:
    token = new_token()
    (tmp_path / "tokens").write_text(line("prometheus", Role.READ, token))
    endpoint = serve(Guard.of(settings(tokens_files=str(tmp_path / "tokens"))))
    status, said = get(endpoint)
    assert (status, "rocketconnect token create" in said) == (401, True)
    assert get(endpoint, authorization=f"Bearer {token}x")[0] == 401
    assert get(endpoint, authorization=f"Bearer {token}") == (200, "metrics")
    assert get(endpoint, "/readyz") == (200, "ready")


def test_where_callers_show_certificates_those_who_ask_for_metrics_do(serve: Serve, certificates: Path) -> None:
    endpoint = serve(Guard.of(settings(certificates, tls_ca=certificates / "cert.pem")))
    assert get(endpoint, secure=trusting(certificates)) == (401, "show a certificate that --tls-ca has signed")
    assert get(endpoint, secure=trusting(certificates, shows=True)) == (200, "metrics")
    assert get(endpoint, "/readyz", secure=trusting(certificates)) == (200, "ready")


def test_without_that_setting_metrics_are_told_as_before(serve: Serve, certificates: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(line("somebody", Role.READ, new_token()))
    open_to_all = settings(certificates, tokens_files=str(tmp_path / "tokens"), metrics_guarded=False)
    assert get(serve(Guard.of(open_to_all))) == (200, "metrics")


def test_guarding_them_with_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match="nothing to guard them with: give --tls-cert and --tls-key, --tokens-files, or both"):
        settings()


@pytest.mark.slow
def test_a_service_goes_on_while_somebody_opens_more_connections_to_its_metrics_than_it_may_open_files(
    certificates: Path, tmp_path: Path
) -> None:
    token = new_token()
    (tmp_path / "tokens").write_text(line("prometheus", Role.SERVICE, token))
    read, write = os.pipe()
    tls = ("--tls-cert", f"{certificates}/cert.pem", "--tls-key", f"{certificates}/key.pem")
    guarded = ("--metrics-guarded", "true", "--tokens-files", f"{tmp_path}/tokens", *tls)
    service = (sys.executable, "-m", "services.position", "--data-dir", f"{tmp_path}/data", "--announce-fd", str(write), *guarded)
    with subprocess.Popen(["prlimit", "--nofile=256", *service], pass_fds=[write]) as process:
        os.close(write)
        try:
            with os.fdopen(read) as pipe:
                said = json.loads(pipe.readline())
            port = int(said["metrics"].rpartition(":")[2])
            silent = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(600)]
            credentials = grpc.ssl_channel_credentials((certificates / "cert.pem").read_bytes())
            with grpc.secure_channel(said["address"], credentials) as opened:
                stub: Any = PositionServiceStub(opened)
                stub.ListPositions(
                    ListPositionsRequest(connector_uid="x"), timeout=60, metadata=[("authorization", f"Bearer {token}")]
                )
            asking = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=trusting(certificates))
            asking.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
            assert b"rocketconnect_rpc_calls_total" in asking.getresponse().read()
            asking.close()
            # As the health check of its container asks.
            environment = {**os.environ, "ROCKETCONNECT_METRICS_PORT": str(port)}
            subprocess.run([sys.executable, "-m", "rocketconnect_kit.serving.probe"], env=environment, check=True)
            for each in silent:
                each.close()
        finally:
            process.kill()
