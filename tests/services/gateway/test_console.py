"""The console as the gateway serves it: whatever is built, and in a checkout where nothing is."""

import asyncio
import gzip
import http.client
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line
from services.gateway.console import routes as console
from services.gateway.console.files import read
from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
PAGE = '<!doctype html><script type="module" src="./console/index-1a2b.js"></script>'
SCRIPT = "console.log('a script');" * 100


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a build leaves, with things beside it that nobody is to get."""
    folder = tmp_path / "built"
    (folder / "console").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "inputs.sha256").write_text("a secret")
    (folder / "console/index-1a2b.js").write_text(SCRIPT)
    (folder / "console/index-3c4d.css").write_text("body { margin: 0 }")
    (folder / "console/icon-5e6f.svg").write_text("<svg/>")
    (folder / "console/notes.txt").write_text("a secret")
    (tmp_path / "secret.js").write_text("a secret")
    monkeypatch.setattr(console, "routes", partial(console.routes, folder))
    return folder


@pytest.fixture
def none_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "routes", partial(console.routes, tmp_path / "nothing"))


async def test_the_page_and_all_that_it_loads_are_served_with_their_kinds(built: Path, rest: httpx.AsyncClient) -> None:
    kinds = {
        "/": "text/html; charset=utf-8",
        "/console/index-1a2b.js": "text/javascript; charset=utf-8",
        "/console/index-3c4d.css": "text/css; charset=utf-8",
        "/console/icon-5e6f.svg": "image/svg+xml",
    }
    for path, kind in kinds.items():
        answer = await rest.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind), path
    assert (await rest.get("/")).text == PAGE
    assert (await rest.get("/console/index-1a2b.js")).text == SCRIPT
    assert (await rest.head("/")).status_code == 200


async def test_the_page_may_load_and_run_nothing_but_what_was_built(built: Path, rest: httpx.AsyncClient) -> None:
    for path in ("/", "/console/index-1a2b.js"):
        headers = (await rest.get(path)).headers
        policy = {
            name: value
            for name, _, value in (each.strip().partition(" ") for each in headers["content-security-policy"].split(";"))
        }
        assert "unsafe" not in headers["content-security-policy"]
        assert policy["default-src"] == "'none'"
        assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
        assert {policy[name] for name in ("frame-ancestors", "base-uri", "form-action")} == {"'none'"}
        assert (policy["require-trusted-types-for"], policy["trusted-types"]) == ("'script'", "'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"


async def test_what_the_page_loads_is_kept_for_ever_and_the_page_itself_is_asked_for_each_time(
    built: Path, rest: httpx.AsyncClient
) -> None:
    assert (await rest.get("/console/index-1a2b.js")).headers["cache-control"] == "public, max-age=31536000, immutable"
    page = await rest.get("/")
    assert page.headers["cache-control"] == "no-cache"
    again = await rest.get("/", headers={"If-None-Match": f'"other", W/{page.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == page.headers["etag"]
    assert "content-security-policy" in again.headers
    assert (await rest.get("/", headers={"If-None-Match": '"other"'})).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "packed"), [("gzip, br", True), ("br;q=1.0, GZIP;q=0.5", True), ("gzip;q=0", False), ("br", False), ("", False)]
)
async def test_who_takes_gzip_gets_it_under_a_name_of_its_own(
    built: Path, rest: httpx.AsyncClient, accepted: str, packed: bool
) -> None:
    async with rest.stream("GET", "/console/index-1a2b.js", headers={"Accept-Encoding": accepted}) as answer:
        body = b"".join([each async for each in answer.aiter_raw()])
    assert (gzip.decompress(body) if packed else body) == SCRIPT.encode()
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert answer.headers["vary"] == "Accept-Encoding"
    plain = await rest.get("/console/index-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert (plain.headers["etag"] == answer.headers["etag"]) is not packed


async def test_nothing_but_what_was_built_is_found_whatever_the_path_says(built: Path, rest: httpx.AsyncClient) -> None:
    paths = [
        "/console/notes.txt",
        "/console/inputs.sha256",
        "/console/index.html",
        "/console/index-0000.js",
        "/console/",
        "/console/../secret.js",
        "/console/../../secret.js",
        "/console/%2e%2e/%2e%2e/secret.js",
        "/console/..%2f..%2fsecret.js",
        "/console/..%5c..%5csecret.js",
        f"/console/{str(built.parent / 'secret.js').replace('/', '%2f')}",
        f"/console/{built.parent}/secret.js",
        "/console/index-1a2b.js%00",
        "/console/index-1a2b.js/",
        "/index.html",
    ]
    for path in paths:
        # Clients of HTTP would tidy these paths up before they are sent.
        connection = http.client.HTTPConnection(rest.base_url.host, rest.base_url.port or 80, timeout=60)
        status, said = await _asked(connection, path)
        assert status == 404, (path, status)
        assert b"a secret" not in said
        assert b"NO_SUCH_PATH" in said


async def test_pages_need_no_token_and_what_they_ask_for_does(built: Path, system: Any, serving: Serving, tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("reader", Role.READ, "token-of-reader"))
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        for path in ("/", "/console/index-1a2b.js"):
            assert (await rest.get(path)).status_code == 200
        for path in ("/v1/connectors", "/v1/connectors:watch", "/v1/states", "/overview", "/v1/docs"):
            assert (await rest.get(path)).status_code == 401, path
        # This is how the console learns that nothing may be changed.
        asked = await rest.post("/v1/connectors:validate", json={"config": {}}, headers={"Authorization": "Bearer token-of-reader"})
        assert (asked.status_code, asked.json()["reason"], asked.json()["metadata"]["role"]) == (403, "NOT_ALLOWED", "read")


async def test_a_check_of_an_empty_configuration_is_answered_to_who_may_write(built: Path, rest: httpx.AsyncClient) -> None:
    answer = await rest.post("/v1/connectors:validate", json={"config": {}})
    assert answer.status_code in (200, 400), answer.text


async def test_the_page_is_there_before_the_first_executor(built: Path, system: Any, serving: Serving) -> None:
    system.workers.workers = []
    async with serving(system.settings(await_executor=True)) as rest:
        assert (await rest.get("/v1/connectors")).json()["reason"] == "STARTING"
        assert (await rest.get("/")).text == PAGE


async def test_a_page_under_a_name_that_is_not_ours_is_refused(built: Path, rest: httpx.AsyncClient) -> None:
    answer = await rest.get("/", headers={"Host": "rebound.example"})
    assert (answer.status_code, answer.json()["reason"]) == (403, "HOST_NOT_ALLOWED")


def test_half_of_a_console_is_none(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    assert read(tmp_path) == {}


async def test_without_a_built_console_the_first_page_says_how_to_build_it(none_built: None, rest: httpx.AsyncClient) -> None:
    answer = await rest.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "make setup" in answer.text
    assert 'href="/overview"' in answer.text
    assert (await rest.get("/console/index-1a2b.js")).status_code == 404
    assert (await rest.get("/v1/connectors")).status_code == 200


async def _asked(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    def ask() -> tuple[int, bytes]:
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    return await asyncio.to_thread(ask)
