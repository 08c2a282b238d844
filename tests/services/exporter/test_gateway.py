"""Asking a gateway that speaks TLS, and several."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_kit.settings import ServiceSettings
from services.exporter import gateway


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    made = tmp_path / "cert.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(made[0]), "-keyout", str(made[1])]
    subprocess.run([*request, *names], check=True, capture_output=True)
    return made


@asynccontextmanager
async def healthy(context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask(address: str, **settings: Any) -> str:
    return await asyncio.to_thread(gateway.ask, address, ServiceSettings(**settings), 20.0)


async def test_a_gateway_with_mutual_tls_gets_our_certificate(pair: tuple[Path, Path]) -> None:
    certificate, key = pair
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    async with healthy(context) as address:
        assert await ask(address, tls_ca=certificate, tls_cert=certificate, tls_key=key) == ""
        assert await ask(address, tls_ca=certificate) != ""
        assert await ask(address) != ""


async def test_one_of_several_is_enough() -> None:
    async with healthy() as address:
        assert await ask(f"127.0.0.1:1,{address}") == ""
    assert "refused" in await ask("127.0.0.1:1,127.0.0.1:2")


@asynccontextmanager
async def answering(status: str, body: str, asked: list[str]) -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_it_is_asked_with_the_own_token_and_by_names_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("rct_abc\n")
    asked: list[str] = []
    async with answering("200 OK", '{"a": 1}', asked) as address:
        made = gateway.Gateway(f"127.0.0.1:1,{address}", ServiceSettings(token_file=tmp_path / "token"), 20.0)
        assert await asyncio.to_thread(made.get, ["connectors", "a/b c", "deadLetters:count"], {"names": ["x", "y&z"]}) == {"a": 1}
    (head,) = asked
    assert head.startswith("GET /v1/connectors/a%2Fb%20c/deadLetters:count?names=x&names=y%26z HTTP/1.1\r\n")
    assert "Authorization: Bearer rct_abc\r\n" in head


@pytest.mark.parametrize(
    ("status", "body", "cause", "reason"),
    [
        ("400 Bad", '{"detail": "keeps none", "reason": "NO_DEAD_LETTER_TOPIC"}', "400: keeps none", "NO_DEAD_LETTER_TOPIC"),
        ("401 No", '{"detail": "who", "reason": "NOT_KNOWN"}', "401: who", "NOT_KNOWN"),
        ("502 Bad", "<html>", "Expecting value", ""),
        ("200 OK", "[1]", "no object", ""),
        ("200 OK", '{"a": ', "Expecting value", ""),
    ],
)
async def test_what_it_does_not_tell_has_a_reason(status: str, body: str, cause: str, reason: str) -> None:
    async with answering(status, body, []) as address:
        made = gateway.Gateway(address, ServiceSettings(), 20.0)
        with pytest.raises(gateway.NotTold, match=cause) as found:
            await asyncio.to_thread(made.get, ["topics"], {})
    assert found.value.reason == reason
