"""Secrets in Vault: what is read of it, what is not, and what answers that are none come to."""

import ssl
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocketconnect_sdk.errors import SystemAway
from services.executor.secrets.providers import Unresolved
from services.executor.secrets.providers.vault import Vault
from services.executor.secrets.vault_access import PATHS, check_address, conflicts
from tests.servers import openbao
from tests.services.executor.secrets.providers.answering import TOKEN, Answer, Request, answering, as_vault, told

SECRETS: dict[str, dict[str, object] | None] = {
    "secret/team/db": {"password": "pw-1", "a:b": "colon", "port": 5432, "none": None},
    "secret/team/of one/é?x=1#y": {"password": "pw-2"},
    "secret/team/deleted": None,
    "secret/other/db": {"password": "hidden"},
    "etl/secret/team/db": {"password": "pw-etl"},
}


@dataclass(frozen=True)
class Server:
    """A Vault with SECRETS, of which a token may read what is beneath secret/team."""

    address: str
    token: str
    other: str
    ca: Path | None = None


@pytest.fixture(scope="module", params=["ours", pytest.param("openbao", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """What answers as the documentation says, and the real thing."""
    if request.param == "ours":
        with answering(as_vault(SECRETS)) as found:
            yield Server(found.address, TOKEN, "s.unknown")
        return
    with openbao.running(tmp_path_factory.mktemp("openbao")) as bao:
        bao.call("POST", "sys/namespaces/etl")
        bao.call("POST", "sys/mounts/secret", {"type": "kv", "options": {"version": "2"}}, namespace="etl")
        for secret, values in SECRETS.items():
            namespace, path = ("etl", secret.removeprefix("etl/")) if secret.startswith("etl/") else ("", secret)
            target = "/".join(map(_quoted, path.replace("secret/", "secret/data/", 1).split("/")))
            bao.call("POST", target, {"data": values or {"password": "old"}}, namespace=namespace)
            if values is None:
                bao.call("DELETE", target)
        policy = 'path "secret/data/team/*" { capabilities = ["read"] }\npath "etl/secret/data/team/*" { capabilities = ["read"] }'
        bao.call("PUT", "sys/policies/acl/team", {"policy": policy})
        token = bao.call("POST", "auth/token/create", {"policies": ["team"], "no_default_policy": True})["auth"]["client_token"]
        yield Server(bao.address, token, "s.unknown", bao.ca)


def _quoted(segment: str) -> str:
    from urllib.parse import quote

    return quote(segment, safe="")


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return file


def reading(server: Server, tmp_path: Path, *, token: str = "", paths: str = "secret/team", namespace: str = "") -> Vault:
    file = tmp_path / "token"
    file.write_text(f"{token or server.token}\n")
    return Vault(told(server.address, file, paths=paths, ca=server.ca, namespace=namespace))


def refusal(vault: Vault, name: str) -> str:
    """How it is refused, without anything that nobody is to see."""
    with pytest.raises(Unresolved) as raised:
        vault.look_up(name)
    shown = "".join(traceback.format_exception(raised.value))
    assert not [secret for secret in (TOKEN, "pw-1", "hidden") if secret in shown]
    return f"{raised.value.reason}. {raised.value.fix}"


def away(vault: Vault, name: str = "secret/team/db:password") -> str:
    with pytest.raises(SystemAway) as raised:
        vault.look_up(name)
    assert TOKEN not in "".join(traceback.format_exception(raised.value))
    return str(raised.value)


def test_a_key_of_a_secret_is_read_at_the_path_that_the_command_line_of_vault_takes(server: Server, tmp_path: Path) -> None:
    vault = reading(server, tmp_path)
    assert vault.look_up("secret/team/db:password") == "pw-1"
    assert vault.look_up("/secret/team/db/:password") == "pw-1"
    assert vault.look_up("secret/team/of one/é?x=1#y:password") == "pw-2"


def test_the_namespace_is_the_operators(server: Server, tmp_path: Path) -> None:
    assert reading(server, tmp_path, namespace="etl").look_up("secret/team/db:password") == "pw-etl"


def test_what_is_not_there_says_so(server: Server, tmp_path: Path) -> None:
    vault = reading(server, tmp_path)
    assert "does not have. Add it: vault kv patch secret/team/db user=VALUE." in refusal(vault, "secret/team/db:user")
    assert "is no text" in refusal(vault, "secret/team/db:port")
    for name in ("secret/team/none:password", "secret/team/deleted:password", "secret/team/data/db:password"):
        assert "there is no secret, or it was deleted (404)" in refusal(vault, name)


def test_what_vault_does_not_let_us_read_says_so(server: Server, tmp_path: Path) -> None:
    assert "does not let this executor read (403)" in refusal(reading(server, tmp_path, paths="secret"), "secret/other/db:password")
    assert "does not let this executor read (403)" in refusal(
        reading(server, tmp_path, token=server.other), "secret/team/db:password"
    )


def test_what_the_operator_does_not_let_connectors_read_is_not_asked_for(token_file: Path) -> None:
    with answering(as_vault(SECRETS)) as server:
        vault = Vault(told(server.address, token_file, paths="secret/team, secret/one/db"))
        for path in (
            "secret/other/db",
            "secret/teammate/db",
            "secret",
            "secret/team/../other/db",
            "secret/team/./db",
            "secret/team//db",
            "secret/one/../team/db",
            "sys/internal/ui/mounts",
            "../sys/seal-status",
            "",
            "*",
        ):
            assert "lets no connector read" in refusal(vault, f"{path or '//'}:password")
        assert "names no secret in a mount" in refusal(Vault(told(server.address, token_file, paths="secret")), "secret:password")
        assert server.requests == []


def test_a_path_can_not_be_more_than_a_path(token_file: Path) -> None:
    with answering(as_vault({})) as server:
        vault = Vault(told(server.address, token_file))
        for path in ("secret/team/a?version=1", "secret/team/%2e%2e/%2E%2E/other", "secret/team/a\r\nX-Evil: 1", "secret/team/a#b"):
            assert "(404)" in refusal(vault, f"{path}:password")
        assert [request.target for request in server.requests] == [
            "/v1/secret/data/team/a%3Fversion%3D1",
            "/v1/secret/data/team/%252e%252e/%252E%252E/other",
            "/v1/secret/data/team/a%0D%0AX-Evil%3A%201",
            "/v1/secret/data/team/a%23b",
        ]
        assert not [request for request in server.requests if "x-evil" in request.headers]


def test_a_secret_is_asked_for_once_for_all_of_its_keys(token_file: Path) -> None:
    with answering(as_vault(SECRETS)) as server:
        vault = Vault(told(server.address, token_file))
        assert vault.look_up("secret/team/db:password") == "pw-1"
        assert vault.look_up("secret/team/db:password") == "pw-1"
        refusal(vault, "secret/team/db:user")
        assert len(server.requests) == 1
        assert server.requests[0].headers["x-vault-request"] == "true"
        assert "x-vault-namespace" not in server.requests[0].headers


def test_a_token_that_was_renewed_is_used_the_next_time(token_file: Path) -> None:
    token_file.write_text("s.old")
    with answering(as_vault(SECRETS)) as server:
        vault = Vault(told(server.address, token_file))
        assert "(403)" in refusal(vault, "secret/team/db:password")
        token_file.write_text(TOKEN)
        assert vault.look_up("secret/team/db:password") == "pw-1"


@pytest.mark.parametrize(
    "content", [b"", b"\n", f"{TOKEN}\nX-Evil: 1".encode(), f"{TOKEN} b".encode(), f"{TOKEN}\xff".encode("latin-1"), None]
)
def test_a_file_that_is_no_token_is_told_and_its_content_is_not(content: bytes | None, token_file: Path) -> None:
    token_file.unlink() if content is None else token_file.write_bytes(content)
    with answering(as_vault(SECRETS)) as server:
        said = refusal(Vault(told(server.address, token_file)), "secret/team/db:password")
        assert "--vault-token-file" in said
        assert ("No such file" in said) == (content is None)
        assert server.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_token_goes_to_no_other_server(status: int, token_file: Path) -> None:
    with answering(as_vault(SECRETS)) as other:

        def elsewhere(request: Request) -> Answer:
            return status, {"Location": other.address + request.target}, b""

        with answering(elsewhere) as server:
            assert "give the address of the active one" in away(Vault(told(server.address, token_file)))
            assert len(server.requests) == 1
        assert other.requests == []


def test_a_proxy_of_the_environment_is_not_asked(token_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(as_vault({})) as proxy, answering(as_vault(SECRETS)) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        assert Vault(told(server.address, token_file)).look_up("secret/team/db:password") == "pw-1"
        assert proxy.requests == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((503, b'{"errors":["Vault is sealed"]}'), "can't answer now (503, it is sealed or starting)"),
        ((429, b"{}"), "can't answer now (429)"),
        ((473, b"{}"), "sends us to another server (473)"),
        ((200, b"<html>"), "does not answer as Vault does"),
        ((200, b"[1]"), "does not answer as Vault does"),
        ((200, b'{"data": {"password": "pw-1"}}'), "does not answer as Vault does"),
        ((200, b'{"data": {"data": "pw-1"}}'), "does not answer as Vault does"),
        ((200, b'{"data": {"data": {"a": "' + b"x" * (5 << 20) + b'"}}}'), "does not answer as Vault does"),
    ],
)
def test_a_server_that_can_not_answer_now_is_asked_again_later(answer: tuple[int, bytes], said: str, token_file: Path) -> None:
    with answering(lambda request: (answer[0], {}, answer[1])) as server:
        assert said in away(Vault(told(server.address, token_file)))
    assert "cannot be reached: Connection refused" in away(Vault(told(server.address, token_file)))


@pytest.mark.parametrize("status", [200, 400, 403, 404, 418, 500])
def test_a_server_that_repeats_the_token_does_not_get_it_shown(status: int, token_file: Path) -> None:
    def repeats(request: Request) -> Answer:
        token = request.headers["x-vault-token"]
        return status, {"X-Token": token, "Location": f"https://{token}/"}, f'{{"errors": ["{token}"]}}'.encode()

    with answering(repeats) as server:
        vault = Vault(told(server.address, token_file))
        if status in (200, 500):
            away(vault)
        else:
            assert str(status) in refusal(vault, "secret/team/db:password")


@pytest.mark.parametrize("drip", ["body", "head"])
def test_an_answer_that_never_ends_ends_in_time(drip: str, token_file: Path) -> None:
    import socket

    stopped = threading.Event()

    def drips() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if drip == "body" else b""))
            for _ in range(400):  # 20 s, unless it is stopped
                if stopped.wait(0.05):
                    return
                try:
                    connection.sendall(b"X-A: b\r\n" if drip == "head" else b" ")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drips)
        thread.start()
        vault = Vault(told(f"http://127.0.0.1:{listening.getsockname()[1]}", token_file), seconds=0.5)
        assert "does not answer within 0.5 s" in away(vault)
        stopped.set()
        thread.join()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a file with a certificate for a name, signed by itself, and its key."""

    def make(subject: str) -> Path:
        folder = tmp_path_factory.mktemp("certificates")
        request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=vault"]
        request += ["-addext", f"subjectAltName={subject}", "-keyout", str(folder / "key"), "-out", str(folder / "cert")]
        subprocess.run(request, capture_output=True, check=True)
        (folder / "both").write_text((folder / "key").read_text() + (folder / "cert").read_text())
        return folder / "both"

    return make


def test_the_certificate_is_verified_before_the_token_is_shown(certificates: Callable[[str], Path], token_file: Path) -> None:
    right, wrong = certificates("IP:127.0.0.1"), certificates("DNS:elsewhere.test")
    with answering(as_vault(SECRETS), certificate=right) as server:
        assert Vault(told(server.address, token_file, ca=right)).look_up("secret/team/db:password") == "pw-1"
        for ca in (None, wrong):
            assert "certificate verify failed" in away(Vault(told(server.address, token_file, ca=ca)))
        assert len(server.requests) == 1
    with answering(as_vault(SECRETS), certificate=wrong) as server:
        assert "certificate verify failed" in away(Vault(told(server.address, token_file, ca=wrong)))
        assert server.requests == []


def test_a_certificate_authority_that_is_not_there_is_told(token_file: Path, tmp_path: Path) -> None:
    with pytest.raises((OSError, ssl.SSLError)):
        ssl.create_default_context(cafile=tmp_path / "none")
    assert "No such file" in away(Vault(told("https://127.0.0.1:1", token_file, ca=tmp_path / "none")))


def test_without_a_vault_none_is_read() -> None:
    assert "was told of no Vault. Start the executor with --vault-address" in refusal(
        Vault({PATHS: "secret"}), "secret/db:password"
    )


@pytest.mark.parametrize(
    "address", ["", "https://vault:8200", "https://vault/", "http://127.0.0.1:8100", "http://localhost:1", "http://[::1]:1"]
)
def test_a_token_may_go_over_tls_or_stay_on_the_machine(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://vault:8200", "would show the token"),
        ("http://127.0.0.1.evil.test", "would show the token"),
        ("vault:8200", "is no address"),
        ("https://", "is no address"),
        ("https://user@vault", "is no address"),
        ("https://:password@vault", "is no address"),
        ("https://vault/v1", "is no address"),
        ("https://vault?a", "is no address"),
        ("ftp://vault", "is no address"),
        ("https://vault:0", "has no port"),
        ("https://vault:70000", "ort out of range"),
    ],
)
def test_an_address_that_would_show_the_token_or_is_none_is_refused(address: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_address(address)


def test_settings_that_do_not_go_together_are_all_told() -> None:
    assert list(conflicts("https://v", "/t", "secret,team/kv", "secret/a,team/kv/b,team/kv")) == []
    assert list(conflicts("", "", "secret", "")) == []
    assert "go together" in "".join(conflicts("https://v", "", "secret", ""))
    told = list(conflicts("", "", "secret", "team/kv/b,secret/a"))
    assert len(told) == 2
    assert "'team/kv/b' begins with none of the mounts (secret)" in told[1]
